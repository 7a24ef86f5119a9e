"""A skill as a folder: SKILL.md, which is trained, and files beside it, which stay as they are."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from skillopt.domain.fingerprint import canonical_json, sha256_hex
from skillopt.errors import StateCorrupt

SKILL_FILE = "SKILL.md"
_MANIFEST: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class SkillFile(BaseModel):
    """A file beside SKILL.md; its path is relative and has forward slashes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    base64: str
    executable: bool = False

    @classmethod
    def of(cls, path: str, content: bytes, *, executable: bool = False) -> SkillFile:
        encoded = base64.b64encode(content).decode("ascii")
        return cls(path=path, base64=encoded, executable=executable)

    @property
    def content(self) -> bytes:
        return base64.b64decode(self.base64)


def manifest(skill: str, files: Sequence[SkillFile]) -> bytes:
    """List every file of the folder with its hash; the hash of this list is the skill's hash."""
    hashes = {file.path: sha256_hex(file.content) for file in files}
    return canonical_json({**hashes, SKILL_FILE: sha256_hex(skill.encode())})


def read_manifest(encoded: bytes) -> dict[str, str]:
    """Read a manifest: path -> hash of the file. Raises StateCorrupt if it is none."""
    try:
        listed = _MANIFEST.validate_json(encoded)
    except ValidationError as error:
        raise StateCorrupt(f"a skill folder's list of files is not understood: {error}") from error
    if SKILL_FILE not in listed:
        raise StateCorrupt(f"a skill folder's list of files has no {SKILL_FILE}")
    return listed
