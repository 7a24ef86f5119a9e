"""What an outage or another version left behind is neither a score nor the end of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fleet_double import Bench
from scripted_run import SKILL, make_plan

from skillopt.state.ports import Results, StoredResult


@dataclass
class FromTheFuture:
    """Results of which the first reply was written by a worker that knows one field more."""

    inner: Results
    left: int = 1

    def get(self, jobs):
        found = self.inner.get(jobs)
        for job, one in list(found.items()):
            if self.left and '"kind":"reply"' in one.body:
                self.left -= 1
                found[job] = StoredResult(one.line, f'{one.body[:-1]},"new":1}}', one.receipt)
        return found

    def forget(self, lead, jobs):
        self.inner.forget(lead, jobs)

    def of_skill(self, skill):
        return self.inner.of_skill(skill)


def test_w19_a_stored_reply_that_is_not_understood_is_got_again():
    """The defect: one stored body that cannot be read ends the run, at every start."""
    bench = Bench()
    bench.state = replace(bench.state, results=FromTheFuture(bench.state.results))
    bench.fleet.state = bench.state
    assert bench.run().finished


def test_w08_a_run_is_not_saturated_while_results_are_missing():
    """The defect: three of four tasks time out at the baseline, and the run ends as perfect."""
    bench = Bench()
    plan = make_plan(
        skill=f"{SKILL}Always say alpha.\n", settings={"evaluation": {"min_coverage": 0.25}}
    )
    lost = ("val-beta", "val-gamma", "val-unknown")
    bench.fleet.mishap = lambda job, lane: (
        "server_error: 503"
        if job.label.startswith("baseline") and any(x in job.label for x in lost)
        else None
    )
    state = bench.run(plan)
    assert state.steps, "there was something left to learn"
