"""The commands of the team queue against a double of it: what they ask, show and exit with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from queue_double import CURVE, RUN, QueueDouble, event, row, status

from producer.cli import main
from producer.interruption import Interrupted
from producer.queue import open as opening
from producer.queue.models import ControlReply, Quota
from producer.queue.port import Queue
from producer.view.watch_page import points_of
from skillopt.errors import Conflict, StateUnavailable

URL = "https://queue.example.org"
CREATED = event(1, "run_created", "run created")
GATED = event(2, "gated", "step 1: accepted, new best: hard rose")


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("SKILLOPT_URL", "SKILLOPT_TOKEN", "SKILLOPT_REDIS_URL", "SKILLOPT_BACKENDS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def queue(monkeypatch) -> QueueDouble:
    """A queue that is found wherever a command looks for one."""
    double = QueueDouble()

    def open_double(url: str | None = None, token: str | None = None, store: Any = None) -> Queue:
        double.asked.append(("open", url, store))
        return double

    monkeypatch.setattr(opening, "open_queue", open_double)
    return double


def command(*arguments: str) -> int:
    return main.run_command([*arguments, "--url", URL])


def asked(queue: QueueDouble) -> list[tuple[Any, ...]]:
    """What was asked of the queue, after it was opened, and closed in the end."""
    assert queue.asked[0] == ("open", URL, None)
    assert queue.closed
    return queue.asked[1:]


# --- submit -----------------------------------------------------------------------------------


def test_submit_sends_spec_priority_labels_and_settings(queue, capsys):
    options = ["--priority", "high", "--label", "ticket=H-17", "--label", "note=a=b"]
    assert command("submit", "my/spec.yaml", *options, "--set", "train.num_epochs=1") == 0
    tags = {"priority": "high", "labels": {"ticket": "H-17", "note": "a=b"}}
    assert asked(queue) == [("submit", Path("my/spec.yaml"), tags, ("train.num_epochs=1",))]
    out = capsys.readouterr().out
    assert f"{RUN} is queued, place 1 on its backends: waiting for a coordinator" in out
    assert f"skillopt watch {RUN}" in out


def test_submit_leaves_the_priority_to_the_spec(queue, capsys):
    assert command("submit", "spec.yaml", "--json") == 0
    assert asked(queue) == [("submit", Path("spec.yaml"), {"labels": {}}, ())]
    assert json.loads(capsys.readouterr().out)["run"] == RUN


def test_submit_can_stay_and_watch(queue, capsys):
    queue.told = [CREATED, status(phase="finished", words="all 6 steps are done")]
    assert command("submit", "spec.yaml", "--watch", "--json") == 0
    assert json.loads(capsys.readouterr().out)["row"]["phase"] == "finished"
    assert ("follow", RUN) in asked(queue)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("ticket", "--label: 'ticket' is not understood; write name=value"),
        ("=x", "--label: '=x' is not understood"),
        ("a b=x", "--label: 'a b' does not fit; a name is like"),
        ("a=" + "x" * 201, "a value has up to 200 characters"),
    ],
)
def test_submit_refuses_a_label_that_is_none(queue, capsys, label, words):
    assert command("submit", "spec.yaml", "--label", label) == 2
    assert words in capsys.readouterr().err
    assert queue.asked == []


# --- runs and status --------------------------------------------------------------------------


def test_runs_asks_for_what_is_meant_and_says_why(queue, capsys):
    options = ["--owner", "alice", "--phase", "running", "--label", "ticket=H-17", "--limit", "5"]
    assert command("runs", *options) == 0
    assert asked(queue) == [("runs", "alice", "running", {"ticket": "H-17"}, 5)]
    out = capsys.readouterr().out
    assert RUN in out
    assert "0.500 to 0.750" in out
    assert "$0.2500" in out
    assert "$0.7500" in out
    assert f"{RUN}: step 2: trying the train tasks (3 of 8)  [ticket=H-17]" in out


def test_runs_prints_every_row_as_json(queue, capsys):
    assert command("runs", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"runs": [row().model_dump(mode="json")]}


def test_no_runs_are_told_in_words(queue, capsys):
    assert command("runs", "--phase", "cancelled") == 0
    assert "skillopt submit" in capsys.readouterr().out


def test_status_tells_share_spend_budget_and_warnings(queue, capsys):
    changes = {"warnings": ["val has 3 tasks"], "given_up": 2, "left_out": {"t1": "no tool"}}
    queue.status_now = status(changes)
    assert command("status", "last") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "alice (team blue)" in out
    assert "gpt: 4 in flight of 8 allowed, 20 wanted" in out
    assert "24 calls, 6 cache hits (25%), 1,000 tokens, cost $0.2500" in out
    assert "target 20 ($0.2000), optimizer 4 ($0.0500)" in out
    assert "max_usd $5.00, max_calls 2,000" in out
    assert "about 2 min 00 s" in out
    assert "2 jobs; see `skillopt dead list`" in out
    assert "left out t1" in out
    assert "warning: val has 3 tasks" in out


def test_unknown_money_is_never_shown_as_zero(queue, capsys):
    spent = row().spent.model_copy(update={"usd": None, "usd_by_role": None})
    queue.status_now = status(spent=spent, projected_usd=None)
    assert command("status", "last") == 0
    out = capsys.readouterr().out
    assert "cost not priced" in out
    assert "$0" not in out


def test_text_of_others_cannot_steer_the_terminal(queue, capsys):
    queue.status_now = status(words="wait \x1b[31m[bold]now", phase="paused", name="\x1b[2Jx")
    assert command("status", "last") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[bold]now" in out


# --- watch ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "why", "code"),
    [
        ("finished", None, 0),
        ("paused", "budget", 3),
        ("paused", "coverage", 4),
        ("paused", "infrastructure", 4),
        ("paused", "requested", 130),
        ("cancelled", None, 130),
    ],
)
def test_watch_exits_as_the_run_came_to_rest(queue, capsys, end, why, code):
    paused = [] if why is None else [event(3, "paused", "paused", why=why)]
    queue.told = [CREATED, status(), GATED, *paused, status(phase=end, words="so")]
    assert command("watch", "last", "--json") == code
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["row"]["phase"] == end
    assert [point["label"] for point in told["curve"]] == [point.label for point in CURVE]
    assert "s] step 1: accepted, new best: hard rose\n" in err


def test_watch_knows_the_run_by_its_id_and_reads_the_curve_only_when_it_may_have_grown(queue):
    queue.told = [CREATED, status(), status(), GATED, status(), status(phase="finished", words="x")]
    assert command("watch", "last") == 0
    assert asked(queue) == [("status", "last"), ("follow", RUN), ("curve", RUN), ("curve", RUN)]


def test_watch_waits_through_a_pause_if_asked_to_stay(queue, capsys):
    paused = event(2, "paused", "paused", why="budget")
    going_on = [event(3, "resumed", "resumed"), status(phase="finished", words="x")]
    queue.told = [CREATED, paused, status(phase="paused", words="x"), *going_on]
    assert command("watch", "last", "--stay") == 0
    assert "finished" in capsys.readouterr().out


def test_interrupting_a_watch_harms_nothing_and_says_that_the_run_goes_on(queue, capsys):
    queue.told = [CREATED, status(), Interrupted()]
    assert command("watch", "last") == 130
    assert f"the run goes on: `skillopt watch {RUN}`" in capsys.readouterr().err
    assert {one[0] for one in asked(queue)} <= {"status", "follow", "curve"}


def test_an_interrupted_watch_still_prints_its_one_object(queue, capsys):
    queue.told = [CREATED, status(), Interrupted()]
    assert command("watch", "last", "--json") == 130
    assert json.loads(capsys.readouterr().out)["row"]["run"] == RUN


def test_a_queue_that_goes_away_fails_the_watch(queue, capsys):
    queue.told = [CREATED, status(), StateUnavailable("away")]
    assert command("watch", "last") == 4
    assert "away" in capsys.readouterr().err


def test_the_curve_marks_the_best_and_what_was_not_kept():
    points = points_of(CURVE)
    assert [point.label for point in points] == ["0", "1", "2"]
    assert [point.best for point in points] == [False, True, False]
    assert [point.rejected for point in points] == [None, None, 0.25]
    assert [point.best for point in points_of(CURVE[:1])] == [True]


# --- steering ---------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_a_run_is_steered_and_the_answer_told(queue, capsys, verb):
    assert command(verb, "briefs") == 0
    assert asked(queue) == [(verb, "briefs")]
    assert capsys.readouterr().out == f"run '{RUN}' is so now\n"


def test_a_request_that_nobody_has_taken_up_is_no_failure_and_told_as_json(queue, capsys):
    queue.reply = ControlReply(run=RUN, outcome="waiting", words="told")
    assert command("cancel", "briefs", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": RUN,
        "outcome": "waiting",
        "words": "told",
    }


def test_a_run_that_is_in_no_state_for_it_is_an_error_of_input(queue, capsys, monkeypatch):
    def refuse(run: str) -> ControlReply:
        raise Conflict("it is finished")

    monkeypatch.setattr(queue, "resume", refuse)
    assert command("resume", "briefs", "--json") == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "conflict"


def test_retune_reads_keys_as_a_spec_writes_them(queue):
    settings = {
        "budget.max_usd=5": ("max_usd", 5.0),
        "budget.max_calls=2_000": ("max_calls", 2000),
        "max_tokens=none": ("max_tokens", None),
        "priority=high": ("priority", "high"),
        "window=8": ("window", 8),
        "stop.patience=3": ("patience", 3),
        "stop.target_score=null": ("target_score", None),
    }
    options = [part for one in settings for part in ("--set", one)]
    assert command("retune", "last", *options) == 0
    assert asked(queue) == [("retune", "last", dict(settings.values()))]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("train.num_epochs=3", "'train.num_epochs' does not change while a run goes on"),
        ("budget.max_usb=3", "did you mean 'budget.max_usd'?"),
        ("window=many", "--set window: 'many' does not fit"),
        ("window=0", "--set window: '0' does not fit"),
        ("budget.max_usd=inf", "'inf' is no number"),
        ("priority=urgent", "--set priority: 'urgent' does not fit"),
        ("priority=none", "give low, normal or high"),
        ("window", "'window' is not understood; write --set budget.max_usd=5"),
        ("window=", "'window=' is not understood"),
    ],
)
def test_retune_names_the_value_and_the_fix(queue, capsys, written, words):
    assert command("retune", "last", "--set", written) == 2
    assert words in capsys.readouterr().err
    assert queue.asked == []


def test_retune_without_a_change_lists_what_can(queue, capsys):
    assert command("retune", "last") == 2
    assert "stop.target_score" in capsys.readouterr().err


# --- quotas, spend, limits --------------------------------------------------------------------


def test_a_quota_is_set_and_what_is_not_named_stays(queue, capsys):
    assert command("quota", "set", "alice", "--max-runs", "none") == 0
    changed = Quota(owner="alice", max_runs=None, max_window=16, runs=1)
    assert asked(queue) == [("set_quota", changed)]
    assert "no limit" in capsys.readouterr().out


def test_an_owner_without_a_quota_gets_one(queue, capsys):
    assert command("quota", "set", "bob", "--max-runs", "3", "--json") == 0
    assert asked(queue) == [("set_quota", Quota(owner="bob", max_runs=3))]
    assert json.loads(capsys.readouterr().out)["max_runs"] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "say what to change for 'alice': --max-runs or --max-window"),
        (["--max-runs", "few"], "--max-runs: 'few' is no whole number; give one, or none"),
        (["--max-window", "1.5"], "--max-window: '1.5'"),
    ],
)
def test_a_quota_that_is_none_is_refused(queue, capsys, options, words):
    assert command("quota", "set", "alice", *options) == 2
    assert words in capsys.readouterr().err
    assert queue.asked == []


def test_quotas_are_listed(queue, capsys):
    assert command("quota", "show", "--json") == 0
    assert json.loads(capsys.readouterr().out)["quotas"][0]["owner"] == "alice"


def test_spend_sums_up_and_tells_calls_without_a_price(queue, capsys):
    assert command("spend", "--by", "team", "--since", "7d") == 0
    assert asked(queue) == [("spend", "team", 604_800.0)]
    out = capsys.readouterr().out
    assert "1,200" in out
    assert "$1.50" in out
    assert "3 calls to backends without a price" in out


def test_spend_without_any_price_is_not_zero(queue, capsys):
    queue.spent = [queue.spent[0].model_copy(update={"unpriced_calls": 1_200, "usd": 0.0})]
    assert command("spend") == 0
    assert "not priced" in capsys.readouterr().out


def test_spend_refuses_an_age_that_is_none(queue, capsys):
    assert command("spend", "--since", "yesterday") == 2
    assert "--since 'yesterday' is not an age" in capsys.readouterr().err


def test_limits_are_set_live_and_shown(queue, capsys):
    assert command("backends", "set", "gpt", "rpm=1_300", "concurrency=none") == 0
    assert asked(queue) == [("set_limits", "gpt", {"rpm": 1300, "concurrency": None})]
    assert "gpt: rpm 300 (set), concurrency 8" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("rpm", "'rpm' is not understood; write e.g. rpm=300, or rpm=none"),
        ("rpm=fast", "'rpm=fast' is not understood"),
        ("rmp=3", "did you mean 'rpm'?"),
    ],
)
def test_a_limit_that_is_none_is_refused(queue, capsys, written, words):
    assert command("backends", "set", "gpt", written) == 2
    assert words in capsys.readouterr().err
    assert queue.asked == []


@pytest.mark.parametrize("arguments", [[], ["list"], ["--store", "none"], ["list", "--store", "x"]])
def test_backends_lists_without_naming_a_command(capsys, arguments, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    assert main.run_command(["backends", *arguments, "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["backends"]] == ["sim"]


# --- export -----------------------------------------------------------------------------------


def test_export_asks_the_queue_that_is_named(queue, capsys):
    assert command("export", "briefs", "out", "--no-records") == 0
    assert asked(queue) == [("export", "briefs", Path("out"), False)]
    assert f"1 files (12 bytes) of {RUN} in out" in capsys.readouterr().out


@pytest.mark.parametrize("variable", ["SKILLOPT_URL", "SKILLOPT_REDIS_URL"])
def test_export_asks_the_queue_that_a_variable_names(queue, monkeypatch, variable):
    monkeypatch.setenv(variable, "redis://queue.example.org/0")
    assert main.run_command(["export", "briefs", "out"]) == 0
    assert queue.asked[1][0] == "export"


@pytest.mark.parametrize("place", [["briefs", "out", "--store", "here"], ["./briefs", "out"]])
def test_export_of_a_store_or_folder_stays_on_this_machine(queue, monkeypatch, place):
    monkeypatch.setenv("SKILLOPT_URL", URL)
    assert main.run_command(["export", *place]) == 2
    assert queue.asked == []


# --- which queue ------------------------------------------------------------------------------


def test_without_a_queue_every_way_to_name_one_is_told(capsys):
    assert main.run_command(["runs"]) == 2
    err = capsys.readouterr().err
    for word in ("--url", "SKILLOPT_URL", "SKILLOPT_TOKEN", "--redis", "SKILLOPT_REDIS_URL"):
        assert word in err


def test_two_queues_are_refused_without_showing_a_password(capsys):
    redis = "redis://:hunter2@host/0"
    assert main.run_command(["runs", "--url", URL, "--redis", redis]) == 2
    err = capsys.readouterr().err
    assert "are two queues" in err
    assert "hunter2" not in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--redis", URL], "is a server's URL; give it as --url"),
        (["--url", " "], "--url ' ' is no URL"),
        (["--url", URL], "asks for a token; set SKILLOPT_TOKEN"),
        (["--url", "ftp://host"], "'ftp://host' is not understood"),
    ],
)
def test_a_url_that_does_not_fit_is_refused(capsys, options, words):
    assert main.run_command(["runs", *options]) == 2
    assert words in capsys.readouterr().err
