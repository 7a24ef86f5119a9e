"""What a file is follows from the file alone."""

from __future__ import annotations

import pytest

from skillopt.domain.media import form_of, media_type_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


@pytest.mark.parametrize(
    ("name", "content", "media_type", "form"),
    [
        ("a.png", PNG, "image/png", "image"),
        ("a.txt", PNG, "image/png", "image"),
        ("a", b"\xff\xd8\xff\xe0\0", "image/jpeg", "image"),
        ("a.gif", b"GIF89a\x01", "image/gif", "image"),
        ("a.webp", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "image"),
        ("a.pdf", b"%PDF-1.7 all of it is text", "application/pdf", "file"),
        ("a.csv", b"a,b\n1,2\n", "text/csv", "text"),
        ("A.JSON", b"{}", "application/json", "text"),
        ("a.svg", b"<svg/>", "image/svg+xml", "text"),
        ("Makefile", "café".encode(), "text/plain", "text"),
        ("a.png", b"not a picture", "text/plain", "text"),
        ("empty", b"", "text/plain", "text"),
        ("a.txt", "café".encode("latin-1"), "application/octet-stream", "file"),
        ("a.txt", b"zero\0byte", "application/octet-stream", "file"),
        ("a.zip", b"PK\x03\x04\xff\xfe", "application/zip", "file"),
        ("a.wav", b"RIFF\x10\0\0\0WAVE\xff", "audio/wav", "file"),
    ],
)
def test_content_decides_and_the_name_only_specifies(name, content, media_type, form):
    assert media_type_of(name, content) == media_type
    assert form_of(media_type) == form
