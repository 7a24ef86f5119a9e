"""`skillopt report`: one HTML file about a run, whatever its mode and whoever wrote its texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from recorded_runs import MODES, folder_of, run_of
from sample_runs import events, plan, rollout, state, summary
from scripted_run import SKILL, ScriptedRun, item, make_plan

from producer.cli import main
from producer.queue.models import CurveRow
from producer.run_folder import RunFolder
from producer.view.report import report_html
from producer.view.report.markup import Html, join, tag
from producer.view.report.plots import curve_plot, interval_plot
from skillopt.domain.events import encode_event
from skillopt.domain.item import Splits
from skillopt.state.ports import LogEntry

HOSTILE = '<script>alert(1)</script><img src="https://example.org/x" onerror=alert(2)> & \x1b[31m'
VOID = {"meta", "line", "rect", "circle", "path", "br"}


class Page(HTMLParser):
    """Reads a page; fails on tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for one, attributes in self.tags if one == name]


@pytest.fixture
def store(tmp_path):
    of = plan()
    folder = RunFolder(tmp_path / "runs" / of.run_id)
    folder.create(of, {"skill": "SKILL.md"})
    folder.mirror(
        [
            LogEntry(seq=number, at=100.0 + number, event=encode_event(event))
            for number, event in enumerate(events(of), start=1)
        ]
    )
    folder.derive(state())
    folder.write_summary(summary())
    said = rollout(item="v2", rollout="ab" * 32, hard=1.0, feedback="the last line is DONE")
    folder.write_records("step-0001-3-gate", [rollout(), said])
    return tmp_path


def folder_in(store) -> RunFolder:
    return RunFolder(store / "runs" / plan().run_id)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_run_of_any_mode_gets_a_page_that_needs_nothing_else(mode, tmp_path):
    run = run_of(mode).finish()
    text = report_html(folder_of(run, tmp_path / "run"))
    page = Page(text)
    assert not {name for name, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    for _, attributes in page.tags:
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in text and "@import" not in text
    assert all(one.get("aria-label") or one.get("aria-hidden") for one in page.all("svg"))


def test_the_policy_of_the_page_allows_its_own_style_and_nothing_else(store):
    text = report_html(folder_in(store))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    [policy] = [one["content"] for one in Page(text).all("meta") if "http-equiv" in one]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


def test_a_finished_run_is_told_with_scores_steps_reasons_and_spend(store):
    page = Page(report_html(folder_in(store)))
    for words in (
        "the validation score is at its maximum",
        "best, validation",
        "Step 1 (epoch 1)",
        "Verdict:",
        "+- End with the line DONE.",
        "Where each line comes from",
        "Tokens in",
    ):
        assert words in page.text
    titles = [one["href"] for one in page.all("a")]
    assert titles == [f"#{one['id']}" for one in page.all("h2")]


def test_what_the_judge_said_of_a_changed_task_is_shown(store):
    assert "the last line is DONE" in Page(report_html(folder_in(store))).text


def test_a_run_without_a_summary_says_that_its_spend_is_not_written_yet(tmp_path):
    run = run_of("edits").finish()
    page = Page(report_html(folder_of(run, tmp_path / "run")))
    assert "What it spent is written down when the run pauses or ends." in page.text
    assert "$0" not in page.text


def test_a_run_that_has_just_begun_has_a_report_too(tmp_path):
    run = run_of("edits")
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, {})
    folder.mirror(run.log()[:1])
    page = Page(report_html(folder))
    assert "Nothing has been measured yet." in page.text
    assert "No step has begun yet." in page.text


def test_what_others_wrote_is_shown_and_never_markup(tmp_path):
    splits = Splits(
        train=tuple(item(f"{HOSTILE}{n}", word) for n, word in enumerate(("alpha", "beta") * 4)),
        val=(item(f"{HOSTILE}v", "alpha"), item("v2", "gamma")),
        test=(),
    )
    of = make_plan(skill=f"{SKILL}\n{HOSTILE}\n", splits=splits, name="hostile")
    run = ScriptedRun(of).finish()
    text = report_html(folder_of(run, tmp_path / "run"))
    page = Page(text)
    assert page.all("script") == [] and page.all("img") == []
    assert "<script>alert(1)</script>" in page.text
    assert "\x1b" not in text


def test_the_command_writes_into_the_runs_folder_or_where_it_is_told(store, tmp_path, capsys):
    assert main.run_command(["report", "last", "--store", str(store)]) == 0
    inside = folder_in(store).path / "report.html"
    assert inside.read_text().startswith("<!doctype html>")
    target = tmp_path / "else" / "mine.html"
    capsys.readouterr()
    arguments = ["report", "last", "--store", str(store), "--out", str(target), "--json"]
    assert main.run_command(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"run": plan().run_id, "file": str(target), "bytes": target.stat().st_size}
    assert target.read_bytes() == inside.read_bytes()


def test_a_folder_as_target_is_refused_with_the_fix(store, tmp_path, capsys):
    assert main.run_command(["report", "last", "--store", str(store), "--out", str(tmp_path)]) == 2
    assert f"--out: {str(tmp_path)!r} is a folder; name a file in it" in capsys.readouterr().err


def row(label: str, verdict: str | None, **scores: float | None) -> CurveRow:
    known = {"train": None, "val": 0.5, "candidate": None, "best": 0.5}
    return CurveRow(label=label, verdict=verdict, **{**known, **scores})


def test_the_curve_draws_each_verdict_with_a_mark_of_its_own():
    drawn = curve_plot(
        [
            row("0", None),
            row("1", "accepted", candidate=0.7, val=0.7, best=0.7),
            row("2", "rejected", candidate=0.4, train=0.3),
            row("3", "skipped"),
            row("4", "underpowered", candidate=0.75),
        ]
    )
    marks = [one["class"] for one in Page(drawn).all("path") + Page(drawn).all("circle")]
    for kind in ("accepted", "rejected", "skipped", "other"):
        assert marks.count(f"mark {kind}") == 1
    assert marks.count("dot") == 1 and marks.count("train-dot") == 1


def test_a_curve_of_one_point_stays_within_its_frame():
    [dot] = [one for one in Page(curve_plot([row("0", None, val=1.0, best=1.0)])).all("circle")]
    assert 0 < float(dot["cx"]) < 760 and 0 <= float(dot["cy"]) < 270


def test_without_a_score_there_is_no_plot_of_intervals():
    assert interval_plot({"initial": None}) is None


def test_markup_escapes_text_and_attributes_but_not_markup():
    made = tag("p", "a < b", Html("<b>c</b>"), None, ["&"], title='"quoted"', class_="x", id=None)
    assert made == '<p title="&quot;quoted&quot;" class="x">a &lt; b<b>c</b>&amp;</p>'
    assert join("<") == "&lt;"
