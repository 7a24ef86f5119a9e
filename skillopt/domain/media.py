"""What a file is, by its content and its name, and how a model can be shown it.

The type enters the hash of a task, so it follows from the file alone: neither the tables of a
machine nor those of a Python version have a say in it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final, Literal

#: "file": only a program that opens files can make something of it.
Form = Literal["text", "image", "file"]

UNKNOWN_TEXT: Final = "text/plain"
UNKNOWN_FILE: Final = "application/octet-stream"

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_TEXT_TYPES: Final = MappingProxyType(
    {
        ".css": "text/css",
        ".csv": "text/csv",
        ".htm": "text/html",
        ".html": "text/html",
        ".js": "text/javascript",
        ".json": "application/json",
        ".jsonl": "application/jsonl",
        ".markdown": "text/markdown",
        ".md": "text/markdown",
        ".py": "text/x-python",
        ".svg": "image/svg+xml",
        ".toml": "application/toml",
        ".tsv": "text/tab-separated-values",
        ".xml": "application/xml",
        ".yaml": "application/yaml",
        ".yml": "application/yaml",
    }
)
_TEXTS: Final = frozenset({UNKNOWN_TEXT, *_TEXT_TYPES.values()})
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_FILE_TYPES: Final = MappingProxyType(
    {
        ".docx": f"{_OFFICE}.wordprocessingml.document",
        ".gz": "application/gzip",
        ".mp3": "audio/mpeg",
        ".mp4": "video/mp4",
        ".parquet": "application/vnd.apache.parquet",
        ".pptx": f"{_OFFICE}.presentationml.presentation",
        ".sqlite": "application/vnd.sqlite3",
        ".wav": "audio/wav",
        ".xls": "application/vnd.ms-excel",
        ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
        ".zip": "application/zip",
    }
)


def media_type_of(name: str, content: bytes) -> str:
    """Give the type of a file. Content decides what it is, the name only what it is called."""
    for signature, media_type in _SIGNATURES:
        if content.startswith(signature):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    suffix = PurePosixPath(name).suffix.lower()
    if _is_text(content):
        return _TEXT_TYPES.get(suffix, UNKNOWN_TEXT)
    return _FILE_TYPES.get(suffix, UNKNOWN_FILE)


def form_of(media_type: str) -> Form:
    """Say how a model can be shown a file of this type; a text is UTF-8 throughout."""
    if media_type in _IMAGES:
        return "image"
    return "text" if media_type in _TEXTS else "file"


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False
