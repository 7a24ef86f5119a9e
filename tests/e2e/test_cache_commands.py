"""`skillopt cache` on stores that real runs have filled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fleet_command import skillopt

from producer.cli.main import run_command

pytestmark = pytest.mark.xdist_group("e2e-cache-commands")

TASKS = 4

Cache = Callable[..., tuple[int, dict[str, Any]]]


@dataclass
class Bench:
    """A folder with tasks and skills, and one store for all runs."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def evaluate(self, name: str, *arguments: str, backend: str = "") -> dict[str, Any]:
        """Evaluate a document under a name of its own; gives the summary."""
        spec = self.folder / f"{name}.yaml"
        spec.write_text(
            f"name: {name}\nskill: SKILL.md\ntasks: tasks\nmodel: {{target: sim}}\n"
            f"backends: {{sim: {{kind: simulated{backend}}}}}\n"
        )
        code, summary = skillopt("eval", spec.name, "--store", "store", *arguments, cwd=self.folder)
        return {"exit": code, **summary}


def bench(folder: Path) -> Bench:
    checks = [{"op": "contains", "arg": "Owner:"}]
    (folder / "tasks").mkdir(parents=True)
    for split, count in (("train", 1), ("val", 1), ("test", TASKS)):
        rows = [
            {
                "id": f"{split}-{number}",
                "task": f"Summarise {split} meeting {number} of the harbour board.",
                "judge": {"kind": "rule", "checks": checks},
            }
            for number in range(count)
        ]
        (folder / "tasks" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "SKILL.md").write_text("# Minutes\n\nAlways include the exact text 'Owner:'.\n")
    (folder / "other.md").write_text("# Minutes\n\nSummarise the meeting.\n")
    return Bench(folder)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Five runs on one store; the comments say how each differs from the first."""
    made = bench(tmp_path_factory.mktemp("cache"))
    runs = [
        made.evaluate("first"),
        made.evaluate("same"),  # in nothing
        made.evaluate("warmer", backend=", params: {temperature: 0.5}"),
        made.evaluate("alone", "--cache", "refresh"),
        made.evaluate("edited", "--skill", "other.md"),
    ]
    assert [run["exit"] for run in runs] == [0] * len(runs), runs
    return made


@pytest.fixture
def cache(capsys: pytest.CaptureFixture[str]) -> Cache:
    """Give a cache command; gives its exit code and the one object it printed."""

    def give(bench: Bench, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = run_command(["cache", *arguments, "--store", str(bench.store), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return give


def test_stats_count_results_documents_and_reuse(filled: Bench, cache: Cache) -> None:
    code, stats = cache(filled, "stats")
    assert code == 0
    assert stats["results"]["rollout"]["count"] == 4 * TASKS
    assert stats["results"]["rollout"]["bytes"] > 0
    assert stats["results"]["judge"]["count"] > 0
    assert stats["results"]["optimize"] == {"count": 0, "bytes": 0}
    assert stats["blobs"]["count"] > 0
    assert stats["documents"] == 2
    assert [one["results"] for one in stats["top"]] == [3 * TASKS, TASKS]
    assert stats["reuse"] == {"runs": 5, "replies": 5 * TASKS, "reused": TASKS}
    assert stats["worth"]["calls"] == 4 * TASKS
    assert 0 < stats["first_expiry_s"] <= stats["last_expiry_s"] <= 14 * 86_400
    assert len(cache(filled, "stats", "--top", "1")[1]["top"]) == 1


def test_a_document_is_shown_by_file_hash_and_run(filled: Bench, cache: Cache) -> None:
    code, by_file = cache(filled, "show", str(filled.folder / "other.md"))
    assert code == 0
    [document] = by_file["documents"]
    assert [one["task"] for one in document["attempts"]] == [f"test-{n}" for n in range(TASKS)]
    [first, *_] = document["attempts"]
    assert (first["backend"], first["sample"], first["outcome"]) == ("sim", 0, "scored")
    assert (first["hard"], first["soft"]) == (0.0, 0.0)
    assert first["payer"].startswith("edited-")
    assert first["receipt"]["calls"] == 1
    assert first["receipt"]["input_tokens"] > 0
    assert first["receipt"]["worker"]
    assert 0 <= first["age_s"] < 600
    assert first["expires_in_s"] > 13 * 86_400
    for reference in (document["skill"], document["skill"][:8], "edited"):
        found = cache(filled, "show", reference)[1]["documents"]
        jobs = [[one["job"] for one in other["attempts"]] for other in found]
        assert jobs == [[one["job"] for one in document["attempts"]]]


def test_results_of_one_run_alone_are_marked(filled: Bench, cache: Cache) -> None:
    [document] = cache(filled, "show", str(filled.folder / "SKILL.md"))[1]["documents"]
    owners = [one["private_to"] for one in document["attempts"]]
    assert owners.count(None) == 2 * TASKS
    [owner] = {owner for owner in owners if owner}
    assert owner.startswith("alone-")


@pytest.mark.parametrize("reference", ["nothing", "ffffffff", "zz"])
def test_a_document_that_is_not_there_is_named(filled: Bench, cache: Cache, reference: str) -> None:
    code, answer = cache(filled, "show", reference)
    assert code == 2
    assert repr(reference) in answer["error"]["message"]


def test_looking_renews_nothing(filled: Bench, cache: Cache) -> None:
    def expiries() -> dict[str, float]:
        found = cache(filled, "show", str(filled.folder / "SKILL.md"))[1]["documents"]
        return {one["job"]: one["expires_in_s"] for one in found[0]["attempts"]}

    before = expiries()
    cache(filled, "stats")
    cache(filled, "explain", "warmer")
    after = expiries()
    assert after.keys() == before.keys()
    assert all(after[job] < before[job] for job in before)


@pytest.mark.parametrize(
    ("run", "verdict", "reason"),
    [
        ("first", "made", "no earlier result has the task's text"),
        ("same", "reused", "reused"),
        ("warmer", "made", "nearest earlier result: another backend or other parameters"),
        ("alone", "made", "cache: refresh"),
        ("edited", "made", "nearest earlier result: another document"),
    ],
)
def test_every_hit_and_miss_of_a_run_has_its_reason(
    filled: Bench, cache: Cache, run: str, verdict: str, reason: str
) -> None:
    code, answer = cache(filled, "explain", run)
    assert code == 0
    told = {(one["verdict"], one["reason"]) for one in answer["attempts"]}
    assert told == {(verdict, reason)}
    assert len(answer["attempts"]) == TASKS


def test_one_attempt_is_told_in_full(filled: Bench, cache: Cache, capsys) -> None:
    [hit] = cache(filled, "explain", "same", "--task", "test-1")[1]["attempts"]
    assert hit["payer"].startswith("first-")
    assert hit["receipt"]["calls"] == 1
    [miss] = cache(filled, "explain", "warmer", "--task", "test-1", "--sample", "0")[1]["attempts"]
    assert list(miss["nearest"][0]["differences"]) == ["backend"]
    assert "'sim'" in miss["sentences"][0]
    assert "parameters" in miss["sentences"][0]
    [edited] = cache(filled, "explain", "edited", "--task", "test-1")[1]["attempts"]
    assert list(edited["nearest"][0]["differences"]) == ["skill"]
    arguments = ["cache", "explain", "warmer", "--task", "test-1", "--store", str(filled.store)]
    assert run_command(arguments) == 0
    page = capsys.readouterr().out
    for field, value in miss["spec"].items():
        assert f"{field}: {value}" in page
    assert f"job: {miss['job']}" in page


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["explain", "nobody"], "'nobody'"),
        (["explain", "first", "--task", "test-11"], "did you mean 'test-1'"),
        (["explain", "first", "--step", "3"], "--step 3"),
        (["explain", "first", "--task", "test-1", "--sample", "9"], "--sample 9"),
        (["clear"], "--all"),
        (["clear", "--all", "--older-than", "7d"], "--all"),
        (["clear", "--older-than", "soon", "--yes"], "'soon'"),
        (["clear", "--backend", "gpt", "--yes"], "'gpt'"),
        (["clear", "--all"], "--yes"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    filled: Bench, cache: Cache, arguments: list[str], named: str
) -> None:
    code, answer = cache(filled, *arguments)
    assert code == 2
    assert named in answer["error"]["message"]


def test_pages_for_people_name_what_matters(filled: Bench, capsys) -> None:
    for arguments, words in (
        (["stats"], ["attempts", "judgements", "reused: 4 of 20 replies", "2 documents"]),
        (["show", str(filled.folder / "other.md")], ["test-0", "sim", "edited-", "4 results"]),
        (["explain", "same"], ["4 attempts, 4 reused, 0 made"]),
        (["clear", "--all", "--dry-run"], ["Would remove", "16 calls"]),
    ):
        assert run_command(["cache", *arguments, "--store", str(filled.store)]) == 0
        page = capsys.readouterr().out
        assert [word for word in words if word not in page] == []


@pytest.mark.slow
def test_what_was_cleared_is_paid_again(tmp_path: Path, cache: Cache) -> None:
    made = bench(tmp_path / "bench")
    made.evaluate("first")
    made.evaluate("edited", "--skill", "other.md")
    other = str(made.folder / "other.md")
    code, dry = cache(made, "clear", "--skill", other, "--dry-run")
    assert (code, dry["matching"], dry["removed"], dry["calls"]) == (0, TASKS, 0, TASKS)
    assert cache(made, "clear", "--older-than", "7d", "--yes")[1]["matching"] == 0
    code, cleared = cache(made, "clear", "--skill", other, "--yes")
    assert (code, cleared["removed"], cleared["kept"]) == (0, TASKS, 0)
    assert cache(made, "stats")[1]["documents"] == 1
    assert made.evaluate("again", "--skill", "other.md")["calls"]["total"] == TASKS
    assert made.evaluate("kept")["calls"]["total"] == 0
    code, cleared = cache(made, "clear", "--backend", "sim", "--yes")
    assert (code, cleared["removed"]) == (0, 2 * TASKS)


def test_what_an_unfinished_run_goes_by_is_kept(tmp_path: Path, cache: Cache) -> None:
    made = bench(tmp_path / "bench")
    paused = made.evaluate("paused", "--set", "budget.max_calls=2")
    assert paused["exit"] == 3
    code, cleared = cache(made, "clear", "--all", "--yes")
    assert code == 0
    assert (cleared["removed"], cleared["kept"]) == (0, 2 + 2)  # each with its judgement
    finished = made.evaluate("paused", "--set", "budget.max_calls=100")
    assert finished["exit"] == 0
    assert finished["new_calls"] == TASKS - 2
    assert cache(made, "clear", "--all", "--yes")[1]["removed"] == 2 * TASKS
    code, stats = cache(made, "stats")
    assert (code, stats["documents"]) == (0, 0)
