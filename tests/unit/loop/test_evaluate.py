from __future__ import annotations

from dataclasses import replace

import pytest
from loop_values import Table
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import Splits
from skillopt.domain.jobs import JudgeSpec, RolloutSpec
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.loop.evaluate import Evaluation, evaluate

ITEMS = (item("one", "alpha"), item("two", "beta"))


class Bench:
    """Two items, looked at again and again while results come in."""

    def __init__(self, samples: int = 1, first: int = 0) -> None:
        self.run = ScriptedRun(make_plan(splits=Splits(val=ITEMS)))
        self.state, self.facts = self.run.state, Table()
        self.samples = range(first, first + samples)

    def look(self) -> Evaluation:
        return evaluate(
            self.state,
            self.facts,
            self.run.factory,
            skill=self.state.current,
            split="val",
            items=ITEMS,
            samples=self.samples,
            stage="baseline",
        )

    def answer_all(self, text: str) -> Evaluation:
        for job in self.look().wanted:
            self.facts.reply(job.id, text)
        return self.look()

    def judge_all(self, *scores: tuple[float, float]) -> Evaluation:
        for job, (hard, soft) in zip(self.look().wanted, scores, strict=True):
            self.facts.bodies[job.id] = JudgementBody(hard=hard, soft=soft)
        return self.look()

    def give_up(self, job: str) -> None:
        self.state = replace(self.state, given_up={**self.state.given_up, job: "429"})

    def leave_out(self, name: str) -> None:
        self.state = replace(self.state, left_out={**self.state.left_out, name: "broken"})


def test_at_first_every_rollout_is_wanted_in_the_order_of_items_and_samples():
    found = Bench(samples=2).look()
    assert [job.label for job in found.wanted] == [
        "baseline / one / 0",
        "baseline / one / 1",
        "baseline / two / 0",
        "baseline / two / 1",
    ]
    assert all(isinstance(job.spec, RolloutSpec) for job in found.wanted)
    assert len({job.id for job in found.wanted}) == 4
    assert not found.complete


def test_a_rollout_brings_every_text_that_its_spec_names():
    job = Bench().look().wanted[0]
    stored = {sha256_hex(blob) for blob in job.blobs}
    assert isinstance(job.spec, RolloutSpec)
    assert {job.spec.skill, job.spec.prompt, job.spec.template} <= stored
    assert job.judge in job.blobs


def test_a_reply_is_judged_next_by_its_digest():
    bench = Bench()
    found = bench.answer_all("alpha")
    reply = ReplyBody(text="alpha")
    assert [job.label for job in found.wanted] == [
        "baseline / one / judge",
        "baseline / two / judge",
    ]
    for job in found.wanted:
        assert isinstance(job.spec, JudgeSpec)
        assert job.spec.reply == reply.digest
        assert {job.spec.reply, job.spec.judge} == {sha256_hex(blob) for blob in job.blobs}


def test_the_same_answer_is_judged_once_whatever_was_said_before_it():
    factory = Bench().run.factory
    first, second = (ReplyBody(text="alpha", trajectory=name * 64) for name in "ab")
    assert first.digest != second.digest
    assert first.as_judged.digest == second.as_judged.digest == ReplyBody(text="alpha").digest
    spec = factory.judge(ITEMS[0], first.as_judged.digest)
    for reply in (first, second):
        job = factory.wanted_judge(spec, reply, ITEMS[0], "baseline")
        assert spec.reply in {sha256_hex(blob) for blob in job.blobs}


def test_tasks_that_ask_the_same_share_an_attempt_but_not_its_name_and_judge():
    run = ScriptedRun(make_plan(splits=Splits(val=ITEMS)))
    twin = ITEMS[0].model_copy(update={"id": "twin", "judge": item("x", "gamma").judge})
    documents = run.state.texts[run.state.current]
    jobs = [
        run.factory.wanted_rollout(
            run.factory.rollout(run.state.current, documents, one, 0), documents, one, "baseline"
        )
        for one in (ITEMS[0], twin, ITEMS[0])
    ]
    assert len({job.id for job in jobs}) == 1
    assert [job.label for job in jobs[:2]] == ["baseline / one / 0", "baseline / twin / 0"]
    assert jobs[0].judge != jobs[1].judge
    assert jobs[0] is jobs[2]


def test_scores_are_means_over_the_samples():
    bench = Bench(samples=2)
    bench.facts.reply(bench.look().wanted[0].id, "first")
    for job in bench.look().wanted:
        if isinstance(job.spec, RolloutSpec):
            bench.facts.reply(job.id, f"reply to {job.label}")
    found = bench.judge_all((1.0, 0.8), (0.0, 0.4), (0.0, 0.0), (0.0, 0.2))
    measured = found.measurement()
    assert found.complete
    assert (measured.items["one"].hard, measured.items["one"].soft) == (0.5, pytest.approx(0.6))
    assert (measured.items["two"].hard, measured.items["two"].soft) == (0.0, pytest.approx(0.1))
    assert (measured.n, measured.coverage) == (2, 1.0)


def test_a_zero_is_a_score():
    bench = Bench()
    bench.answer_all("no")
    measured = bench.judge_all((0.0, 0.0), (0.0, 0.0)).measurement()
    assert [score.status for score in measured.items.values()] == ["scored", "scored"]
    assert measured.hard == 0.0


def test_a_given_up_rollout_is_missing_not_zero():
    bench = Bench()
    bench.give_up(bench.look().wanted[0].id)
    bench.answer_all("beta")
    measured = bench.judge_all((1.0, 1.0)).measurement()
    assert (measured.items["one"].status, measured.items["one"].hard) == ("missing", None)
    assert (measured.hard, measured.coverage) == (1.0, 0.5)


def test_a_given_up_judgement_is_missing_too():
    bench = Bench()
    bench.answer_all("alpha")
    bench.give_up(bench.look().wanted[0].id)
    found = bench.judge_all((1.0, 1.0))
    assert found.complete
    assert found.measurement().items["one"].status == "missing"


def test_one_missing_sample_makes_the_item_missing():
    bench = Bench(samples=2)
    bench.give_up(bench.look().wanted[0].id)
    bench.answer_all("x")
    found = bench.judge_all(*[(1.0, 1.0)] * len(bench.look().wanted))
    assert found.measurement().items["one"].status == "missing"


def test_a_result_that_came_after_all_counts_although_the_job_was_given_up():
    bench = Bench()
    job = bench.look().wanted[0]
    bench.give_up(job.id)
    bench.facts.reply(job.id, "late")
    assert [one.label for one in bench.look().wanted] == [
        "baseline / one / judge",
        "baseline / two / 0",
    ]


@pytest.mark.parametrize("stage", ["rollout", "judge"])
def test_an_invalid_attempt_has_no_score_and_wants_nothing_more(stage):
    bench = Bench()
    if stage == "judge":
        bench.answer_all("x")
    bench.facts.bodies[bench.look().wanted[0].id] = InvalidBody(reason="filtered")
    found = bench.look()
    assert found.attempts[0].settled
    assert found.measurement().items["one"].status == "invalid"


def test_one_invalid_sample_makes_the_item_invalid_whatever_the_others_score():
    bench = Bench(samples=2)
    bench.facts.bodies[bench.look().wanted[0].id] = InvalidBody(reason="filtered")
    bench.answer_all("x")
    found = bench.judge_all(*[(1.0, 1.0)] * len(bench.look().wanted))
    assert found.measurement().items["one"].status == "invalid"


def test_an_invalid_item_lowers_no_coverage():
    bench = Bench()
    bench.facts.bodies[bench.look().wanted[0].id] = InvalidBody(reason="filtered")
    bench.answer_all("x")
    measured = bench.judge_all((1.0, 1.0)).measurement()
    assert (measured.n, measured.coverage, measured.hard) == (1, 1.0, 1.0)


def test_samples_may_begin_anywhere_and_are_jobs_of_their_own():
    first, later = Bench(samples=2).look(), Bench(samples=2, first=2).look()
    assert [job.label for job in later.wanted][:2] == ["baseline / one / 2", "baseline / one / 3"]
    assert not {job.id for job in first.wanted} & {job.id for job in later.wanted}


def test_an_item_that_a_person_left_out_wants_nothing_and_lowers_coverage_only():
    bench = Bench()
    bench.leave_out("one")
    found = bench.look()
    assert [job.label for job in found.wanted] == ["baseline / two / 0"]
    bench.answer_all("x")
    found = bench.judge_all((1.0, 1.0))
    measured = found.measurement()
    assert found.complete
    assert not found.has_missing
    assert measured.items["one"].status == "left_out"
    assert (measured.n, measured.completeness, measured.coverage) == (1, 1.0, 0.5)


def test_an_item_left_out_stays_so_whatever_results_it_has():
    bench = Bench()
    bench.answer_all("x")
    bench.judge_all((1.0, 1.0), (1.0, 1.0))
    bench.leave_out("one")
    assert bench.look().measurement().items["one"].status == "left_out"


def test_the_complete_prefix_ends_at_the_first_item_without_a_result():
    bench = Bench(samples=2)
    jobs = [job.id for job in bench.look().wanted]
    for job in (jobs[0], *jobs[2:]):
        bench.facts.reply(job, job)
    for job in bench.look().wanted:
        if isinstance(job.spec, JudgeSpec):
            bench.facts.bodies[job.id] = JudgementBody(hard=1.0, soft=1.0)
    assert bench.look().complete_prefix().items == {}, "one sample of the first item is open"
    bench.give_up(jobs[1])
    assert bench.look().complete
    assert bench.look().complete_prefix().items == {}, "a missing item is not complete"
    bench.leave_out("one")
    assert list(bench.look().complete_prefix().items) == ["one", "two"]


def test_a_stored_result_of_the_wrong_sort_is_corruption():
    bench = Bench()
    bench.facts.bodies[bench.look().wanted[0].id] = JudgementBody(hard=1.0, soft=1.0)
    with pytest.raises(StateCorrupt, match="should hold a reply, not a 'judgement'"):
        bench.look()
