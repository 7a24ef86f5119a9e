"""A skill as a folder: SKILL.md, which is trained, and files beside it, which stay as they are."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from skillopt.domain.fingerprint import canonical_json, sha256_hex, text_hash
from skillopt.domain.misread import in_short
from skillopt.errors import NotUnderstood, StateCorrupt

SKILL_FILE = "SKILL.md"


class SkillFile(BaseModel):
    """A file beside SKILL.md; its path is relative and has forward slashes.

    A path that leads out of the folder is refused: whoever writes a folder trusts it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    base64: str
    executable: bool = False

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or "/".join(parts) != path or ".." in parts or "\0" in path:
            raise ValueError(f"{path!r} is not a path inside a folder; write it as `folder/file`")
        if path == SKILL_FILE:
            raise ValueError(f"{path!r} is the document itself, not a file beside it")
        return path

    @field_validator("base64")
    @classmethod
    def _decodes(cls, encoded: str) -> str:
        try:
            base64.b64decode(encoded, validate=True)
        except ValueError as error:
            raise ValueError(f"the content of a file is not base64: {error}") from None
        return encoded

    @classmethod
    def of(cls, path: str, content: bytes, *, executable: bool = False) -> SkillFile:
        encoded = base64.b64encode(content).decode("ascii")
        return cls(path=path, base64=encoded, executable=executable)

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.base64)

    @cached_property
    def hash(self) -> str:
        return sha256_hex(self.content)


class Manifest(BaseModel):
    """The files of a folder: path -> hash, and which of them may be run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str]
    executable: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The hash of SKILL.md."""
        return self.files[SKILL_FILE]

    @property
    def beside(self) -> dict[str, str]:
        """What lies beside SKILL.md."""
        return {path: sha256 for path, sha256 in self.files.items() if path != SKILL_FILE}


def manifest(skill: str, files: Sequence[SkillFile]) -> bytes:
    """List every file of the folder with its hash; the hash of this list is the skill's hash.

    A script that may be run is another than one that may not.
    """
    return canonical_json(
        {
            "files": {**{file.path: file.hash for file in files}, SKILL_FILE: text_hash(skill)},
            "executable": sorted(file.path for file in files if file.executable),
        }
    )


def read_manifest(encoded: bytes) -> Manifest:
    """Read a manifest; raises StateCorrupt if it is none."""
    try:
        listed = Manifest.model_validate_json(encoded)
    except ValidationError as error:
        raise NotUnderstood(
            f"a skill folder's list of files is not understood: {in_short(error)}"
        ) from error
    if SKILL_FILE not in listed.files:
        raise StateCorrupt(f"a skill folder's list of files has no {SKILL_FILE}")
    return listed
