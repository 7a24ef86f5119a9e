"""The command line's shell: exit codes, one message, a pure standard output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from producer.cli import environment, main
from producer.cli.errors import ExitCode, exit_code_of, message_of
from producer.cli.help_text import help_text
from skillopt import errors

ROOT = Path(main.__file__).parents[2]
START = "from producer.cli.main import entry; entry()"


@pytest.fixture
def failing(monkeypatch):
    """Make `check` fail with a given error."""

    def fail_with(error: BaseException) -> None:
        def check(json: bool = False) -> None:
            raise error

        app = typer.Typer(name="skillopt")
        app.command("check")(check)
        app.callback(invoke_without_command=True)(main.root)
        monkeypatch.setattr(main, "app", app)

    return fail_with


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("spec.yaml:3: no"), 2),
        (errors.TaskError("t"), 2),
        (errors.StoreBusy("held by pid 7"), 2),
        (errors.BudgetExhausted("calls"), 3),
        (errors.StateUnavailable("away"), 4),
        (errors.AuthFailed("no"), 4),
        (ValueError("odd"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code_and_one_message(failing, capsys, error, code):
    failing(error)
    assert main.run_command(["check"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("skillopt: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_with_json_an_error_is_the_only_thing_on_standard_output(failing, capsys):
    failing(errors.ConfigError("spec.yaml:3: train.batch is not a known key"))
    assert main.run_command(["check", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "error": {"code": "bad_config", "message": "spec.yaml:3: train.batch is not a known key"}
    }
    assert err == ""


def test_a_traceback_is_shown_on_request_only(failing, capsys, monkeypatch):
    failing(errors.StateUnavailable("away"))
    monkeypatch.setenv("SKILLOPT_DEBUG", "1")
    main.run_command(["check", "--json"])
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == "state_unavailable"
    assert "Traceback" in err


def test_control_characters_in_a_message_do_not_reach_the_terminal(failing, capsys):
    failing(errors.ConfigError("value '\x1b[2J' is odd"))
    main.run_command(["check"])
    assert "\x1b" not in capsys.readouterr().err


def test_a_chosen_exit_code_is_kept(failing):
    failing(typer.Exit(3))
    assert main.run_command(["check"]) == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nonsense"], "nonsense"),
        (["chek", "x.yaml"], "check"),
        (["check"], "SPEC"),
        (["check", "x.yaml", "--wrong"], "--wrong"),
        (["check", "x.yaml", "--limit", "0"], "'--limit': Input should be greater"),
        (["check", "x.yaml", "--limit", "many"], "(given: 'many')"),
        (["check", "x.yaml", "--cache", "maybe"], "maybe"),
        (["run", "x.yaml", "--workers", "0"], "(given: '0')"),
        (["simulate", "--competence", "high"], "(given: 'high')"),
        (["simulate", "--competence", "7"], "competence is 7"),
        (["simulate", "--host", "0.0.0.0"], "0.0.0.0"),
        (["simulate", "--nonsense"], "--nonsense"),
    ],
)
def test_a_wrong_command_or_option_exits_2_and_is_named(capsys, arguments, named):
    assert main.run_command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert named in err


def test_a_wrong_option_is_json_too(capsys):
    assert main.run_command(["check", "--json", "x.yaml", "--limit", "0"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == "usage"
    assert err == ""


def test_usage_errors_point_to_the_help_of_the_command(capsys):
    main.run_command(["simulate", "--nonsense"])
    assert "skillopt simulate --help" in capsys.readouterr().err


def test_help_lists_the_groups_in_order(capsys):
    assert main.run_command(["--help"]) == 0
    out, err = capsys.readouterr()
    places = [out.index(f" {group} ") for group in ("Start", "Understand", "Team", "Operate")]
    assert places == sorted(places)
    assert err == ""


def test_help_takes_one_line_for_each_command(capsys):
    main.run_command(["--help"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    listed = [row.strip("│ ").split(" ")[0] for row in rows if "--" not in row]
    everything = (*main.COMMANDS, *main.GROUPS)
    panels = dict.fromkeys(group for group, _, _ in everything)
    assert listed == [name for panel in panels for group, name, _ in everything if group == panel]


@pytest.mark.parametrize("group", [[], ["budget"], ["cache"]])
def test_no_command_shows_the_help_and_is_an_error(capsys, group):
    assert main.run_command(group) == 2
    out, err = capsys.readouterr()
    assert f"Usage: {' '.join(['skillopt', *group])}" in out
    assert err == ""


@pytest.mark.parametrize("name", [name for _, name, _ in main.COMMANDS])
def test_every_command_teaches_with_an_example(capsys, name):
    assert main.run_command([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example" in out
    assert f"skillopt {name}" in out
    # What a service has to tell is a log.
    assert "--json" in out or "--log-format" in out


def test_the_version_names_our_distribution(capsys):
    assert main.run_command(["--version"]) == 0
    assert capsys.readouterr().out.startswith("skillopt-fleet ")


def test_every_simulator_option_is_a_flag_with_its_description(capsys):
    from skillopt.simulator.options import SimulatorOptions

    main.run_command(["simulate", "--help"])
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name, field in SimulatorOptions.model_fields.items():
        assert f"--{name.replace('_', '-')} " in out
        assert field.description.split(";")[0][:20] in out


# --- the environment ------------------------------------------------------------------------


@pytest.fixture
def both_installed(monkeypatch):
    real = environment.metadata.version

    def version(name: str) -> str:
        return "0.2.0" if name == "skillopt" else real(name)

    monkeypatch.setattr(environment.metadata, "version", version)


def test_the_other_distribution_in_the_environment_is_refused(both_installed, capsys):
    assert main.run_command(["--help"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "'skillopt-fleet' and 'skillopt' (0.2.0)" in err
    assert "environment of its own" in err


def test_the_refusal_is_json_too(both_installed, capsys):
    assert main.run_command(["check", "x.yaml", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "environment"


def test_alone_there_is_no_conflict():
    assert environment.conflict() is None


def run_process(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, **environ},
        check=False,
    )


def test_help_imports_nothing_heavy():
    heavy = ("celery", "openai", "aiohttp", "redis", "pydantic", "skillopt.domain")
    code = (
        "import sys; from producer.cli.main import run_command; code = run_command(['--help']); "
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr); "
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_a_process_exits_with_the_code_and_a_pure_standard_output():
    done = run_process("check", "does-not-exist.yaml", "--json")
    assert done.returncode == 2
    assert "does-not-exist.yaml" in json.loads(done.stdout)["error"]["message"]
    assert done.stderr == ""


def test_a_terminal_without_unicode_still_gets_its_output():
    done = run_process("check", "configs/example/spec.yaml", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_a_reader_that_leaves_early_causes_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-c", START, "simulate", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    process.stdout.close()
    stderr = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in stderr
    assert "Exception" not in stderr


# --- small parts ----------------------------------------------------------------------------


def test_exit_codes_are_the_documented_ones():
    assert [int(code) for code in ExitCode] == [0, 2, 3, 4, 130]
    assert exit_code_of(errors.SkillOptError("x")) == 4


def test_a_file_error_names_the_file():
    assert message_of(PermissionError(13, "Permission denied", "/some/file")) == (
        "'/some/file': Permission denied"
    )


def test_help_wraps_prose_and_keeps_examples():
    def command() -> None:
        """First line.

        Some words
        go on.

        Example:
          skillopt x
        """

    assert help_text(command) == "First line.\n\nSome words go on.\n\nExample:\n  skillopt x"
