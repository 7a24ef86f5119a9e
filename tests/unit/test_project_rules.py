"""Rules of the project that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("skillopt", "producer", "workers")
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 60


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_modules_and_functions_stay_small() -> None:
    long_modules = [
        str(path.relative_to(ROOT))
        for path in modules()
        if len(path.read_text(encoding="utf-8").splitlines()) > MAX_MODULE_LINES
    ]
    long_functions = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in modules()
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert long_modules == []
    assert long_functions == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_error_documents_itself() -> None:
    from skillopt import errors

    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    tree = [one for one in classes if issubclass(one, errors.SkillOptError)]
    assert len(tree) > 10
    assert all((one.__doc__ or "").strip() for one in tree)
    codes = [one.code for one in tree]
    assert len(codes) == len(set(codes))


def test_every_lua_script_documents_its_keys_and_replies() -> None:
    scripts = sorted((ROOT / "skillopt/state/redis/lua").glob("*.lua"))
    assert len(scripts) > 10
    for script in scripts:
        if script.name == "shared.lua":
            continue
        header = script.read_text(encoding="utf-8").split("\n\n", 1)[0]
        for word in ("KEYS", "ARGV", "Reply"):
            assert word in header, f"{script.name} does not document {word}"


def test_pinned_versions_name_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+", line), line


def test_make_targets_named_in_the_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md", ".ci/run"):
        used = re.findall(r"\bmake ([a-z0-9-]+)", (ROOT / document).read_text(encoding="utf-8"))
        assert used, document
        assert set(used) <= targets, document


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_named_in_the_documents_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:skillopt|producer|workers|tests|configs)/[\w./-]+)`", text))
    assert named
    missing = [path for path in named if not (ROOT / path).exists()]
    assert missing == []


def test_nothing_private_is_committed() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    home = re.escape(f"{Path.home()}/")
    pattern = re.compile(rf"--(?:extra-)?index-url|https?://[^\s\"']+/simple\b|{home}")
    this = Path(__file__).resolve()
    for path in files:
        if path.resolve() == this or not path.is_file():
            continue
        match = pattern.search(path.read_bytes().decode("utf-8", errors="replace"))
        assert match is None, f"{path.relative_to(ROOT)}: {match.group(0) if match else ''}"
