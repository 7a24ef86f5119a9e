"""`skillopt doctor` and `skillopt backends` as a person gives them, without any server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from producer.cli import main
from producer.doctor.check import failed, ok, skipped, warning
from producer.view.doctor_page import check_lines, closing_line, doctor_object

KEY = "sk-planted-0123456789abcdef"
CATALOGUE = """\
backends:
  gpt:
    kind: openai_chat
    model: gpt-x
    api_key_env: PLANTED_KEY
    price: {input: 1, output: 2}
    limits: {rpm: 100, concurrency: 4}
  local: {kind: openai_compatible, model: m, base_url: "http://127.0.0.1:9/v1"}
  broken: {kind: openai_chatt}
"""
SPEC = """\
skill: SKILL.md
tasks: tasks.jsonl
model: {target: local, optimizer: gpt}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("SKILLOPT_BACKENDS", "SKILLOPT_REDIS_URL", "SIM_URL", "SKILLOPT_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLANTED_KEY", KEY)
    Path("backends.yaml").write_text(CATALOGUE)
    Path("spec.yaml").write_text(SPEC)
    return tmp_path


def given(capsys, *arguments: str) -> tuple[int, str]:
    code = main.run_command(list(arguments))
    out, err = capsys.readouterr()
    assert KEY not in out + err
    return code, out + err


def given_json(capsys, *arguments: str) -> tuple[int, dict]:
    code = main.run_command([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert KEY not in out + err
    assert err == ""
    return code, json.loads(out)


# --- doctor -----------------------------------------------------------------------------------


def test_the_backends_of_a_spec_are_looked_at_and_the_others_are_not(capsys):
    code, found = given_json(capsys, "doctor", "spec.yaml", "--no-probe")
    assert code == 0
    named = {check["name"] for check in found["checks"]}
    assert {"backend gpt", "backend local", "call gpt", "call local"} <= named
    assert "backend broken" not in named
    assert found["ok"] is True
    assert set(found["checks"][0]) == {"name", "status", "value", "detail", "fix"}


def test_an_entry_that_is_wrong_fails_with_exit_code_4(capsys):
    code, found = given_json(capsys, "doctor", "--backends", "backends.yaml", "--no-probe")
    assert (code, found["ok"]) == (4, False)
    [broken] = [check for check in found["checks"] if check["name"] == "backend broken"]
    assert broken["status"] == "failed"


def test_one_backend_can_be_chosen(capsys):
    arguments = ("doctor", "--backends", "backends.yaml", "--backend", "gpt", "--no-probe")
    code, found = given_json(capsys, *arguments)
    assert code == 0
    entries = [one["name"] for one in found["checks"] if one["name"].startswith("backend ")]
    assert entries == ["backend gpt"]


def test_a_missing_key_fails_and_is_named(capsys, monkeypatch):
    monkeypatch.delenv("PLANTED_KEY")
    code, text = given(capsys, "doctor", "spec.yaml", "--no-probe")
    assert code == 4
    assert "failed   credential gpt" in text
    assert "fix: export PLANTED_KEY=…" in text


def test_a_price_that_a_budget_needs_fails_if_it_is_missing(capsys):
    code, _ = given(capsys, "doctor", "spec.yaml", "--no-probe")
    assert code == 0
    Path("spec.yaml").write_text(f"{SPEC}budget: {{max_usd: 2}}\n")
    code, text = given(capsys, "doctor", "spec.yaml", "--no-probe")
    assert code == 4
    assert "failed   price local: unknown" in text
    assert "budget.max_usd is 2" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor", "missing.yaml"),
        ("doctor", "--backends", "missing.yaml"),
        ("doctor", "--backend", "nobody"),
        ("doctor", "--redis", f"http://:{KEY}@host"),
        ("doctor", "backends.yaml"),
        ("backends", "missing.yaml"),
        ("backends", "--backends", "missing.yaml"),
        ("backends", "--redis", "host:6379"),
    ],
)
def test_input_that_is_not_usable_exits_2(capsys, arguments):
    code, text = given(capsys, *arguments)
    assert code == 2
    assert text.startswith("skillopt: ")


def test_looking_makes_nothing(capsys, folder):
    before = sorted(path.name for path in folder.iterdir())
    given(capsys, "doctor", "spec.yaml", "--no-probe")
    given(capsys, "backends", "spec.yaml")
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_is_called_is_said_before_it_is(capsys):
    code, text = given(capsys, "doctor", "spec.yaml", "--backend", "local")
    assert code == 4
    assert text.index("One short call to each of: local") < text.index("failed   call local")
    assert text.rstrip().endswith("1 check failed, 1 warning.")


def test_a_finding_shows_why_it_matters_and_what_to_do():
    shown = check_lines(warning("redis clock", "9 s apart", "set it", "times differ")).plain
    assert shown.splitlines() == [
        "warning  redis clock: 9 s apart",
        "         times differ",
        "         fix: set it",
    ]
    assert "\x1b" not in check_lines(ok("x", "a\x1b[2Jb")).plain


def test_the_end_says_how_things_are():
    checks = [ok("a", "1"), skipped("b", "2")]
    assert closing_line(checks).plain == "All is well."
    checks += [warning("c", "3", "f"), failed("d", "4", "f"), failed("e", "5", "f")]
    assert closing_line(checks).plain == "2 checks failed, 1 warning."
    assert doctor_object(checks)["ok"] is False


# --- backends ---------------------------------------------------------------------------------


def test_every_backend_is_listed_with_what_it_is(capsys):
    code, text = given(capsys, "backends", "spec.yaml")
    assert code == 0
    assert "gpt  openai_chat, model gpt-x  (optimizer)" in text
    assert "100 requests a minute, 4 at a time" in text
    assert "api_key: PLANTED_KEY set" in text
    assert "not priced" in text
    assert "'openai_chatt' is not known" in text
    assert "sim  simulated" in text
    assert "Workers are not known: no Redis runs in the store" in text


def test_a_program_reads_the_same_list(capsys, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", " ")
    code, found = given_json(capsys, "backends", "--backends", "backends.yaml")
    assert (code, found["redis"]) == (0, None)
    entries = {one["name"]: one for one in found["backends"]}
    assert set(entries) == {"broken", "gpt", "local", "sim"}
    gpt = entries["gpt"]
    assert gpt["defined_in"] == "backends.yaml:2"
    assert gpt["price"] == {"input": 1.0, "output": 2.0, "cached_input": None}
    assert gpt["limits"]["rpm"] == 100
    assert gpt["credential"] == {
        "kind": "api_key",
        "variables": {"PLANTED_KEY": False},
        "login_file": None,
        "present": False,
    }
    assert len(gpt["fingerprint"]) == 64
    assert "workers" not in gpt
    assert entries["local"]["price"] is None
    assert entries["broken"]["error"]
    assert entries["sim"]["packaged"] is True


def test_a_redis_that_is_away_hides_no_backend(capsys):
    url = f"redis://:{KEY}@127.0.0.1:9/0"
    code, found = given_json(capsys, "backends", "--redis", url)
    assert code == 0
    assert found["redis"]["reached"] is False
    assert "127.0.0.1:9" in found["redis"]["problem"]
    assert [one["name"] for one in found["backends"]] == ["sim"]
