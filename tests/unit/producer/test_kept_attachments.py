"""A run's attachments: copied into its folder, stored for workers, and stored anew when lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from fleet_double import Bench, Trouble
from scripted_run import item, make_plan

from producer import attachments as attachments_module
from producer.attachments import KeptAttachments
from producer.driver import Driver
from producer.submit import submit
from producer.wants import BLOB_RENEWAL_S
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import Attachment, Item, Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.timing import Timing
from skillopt.errors import InputError
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build

CONTENTS = [b"one", b"two", b"three"]
HASHES = [sha256_hex(content) for content in CONTENTS]


def sources(folder: Path) -> dict[str, Path]:
    paths = {}
    for number, content in enumerate(CONTENTS):
        path = folder / f"{number}.txt"
        path.write_bytes(content)
        paths[sha256_hex(content)] = path
    return paths


def kept(tmp_path: Path, bench: Bench) -> KeptAttachments:
    attachments = KeptAttachments(tmp_path / "run", bench.state.blobs)
    attachments.keep(sources(tmp_path))
    return attachments


def test_files_are_copied_not_linked(tmp_path):
    kept(tmp_path, Bench())
    (tmp_path / "0.txt").write_bytes(b"changed in place")
    assert (tmp_path / "run" / "attachments" / HASHES[0]).read_bytes() == b"one"


def test_a_copy_that_is_there_needs_no_source_and_a_damaged_one_is_replaced(tmp_path):
    attachments = kept(tmp_path, Bench())
    copy = tmp_path / "run" / "attachments" / HASHES[1]
    copy.write_bytes(b"owt")
    paths = sources(tmp_path)
    paths[HASHES[0]].unlink()
    attachments.keep(paths)
    assert copy.read_bytes() == b"two"


def test_a_file_that_changed_meanwhile_is_refused(tmp_path):
    paths = sources(tmp_path)
    paths[HASHES[0]].write_bytes(b"other")
    attachments = KeptAttachments(tmp_path / "run", Bench().state.blobs)
    with pytest.raises(InputError, match=r"0\.txt' was changed a moment ago; give the command"):
        attachments.keep(paths)
    paths[HASHES[0]].unlink()
    with pytest.raises(InputError, match=r"0\.txt' cannot be read any more: No such file"):
        attachments.keep(paths)


def test_what_is_lost_is_stored_anew_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(attachments_module, "_BATCH_BYTES", 6)
    bench = Bench()
    attachments = kept(tmp_path, bench)
    batches, put = [], bench.state.blobs.put
    monkeypatch.setattr(bench.state.blobs, "put", lambda c: (batches.append(list(c)), put(c)))
    attachments.ensure(HASHES)
    attachments.ensure(HASHES)
    attachments.ensure(HASHES, verify=True)
    assert batches == [[b"one", b"two"], [b"three"]]
    assert set(bench.state.blobs.get(HASHES).values()) == set(CONTENTS)


def test_ensuring_renews_what_is_there(tmp_path):
    bench = Bench()
    attachments = kept(tmp_path, bench)
    attachments.ensure(HASHES)
    bench.clock.now += bench.timing.blob_ttl_s - 10
    attachments.ensure(HASHES[:1])
    bench.clock.now += 20
    assert bench.state.blobs.get(HASHES) == {HASHES[0]: b"one"}


def test_a_damaged_blob_counts_as_lost_for_who_looks_at_it(tmp_path, monkeypatch):
    bench = Bench()
    attachments = kept(tmp_path, bench)
    attachments.ensure(HASHES)
    monkeypatch.setattr(bench.state.blobs, "get", lambda hashes: {})
    stored = []
    monkeypatch.setattr(bench.state.blobs, "put", stored.extend)
    attachments.ensure(HASHES[:1])
    assert stored == []
    attachments.ensure(HASHES[:1], verify=True)
    assert stored == [b"one"]


def test_what_nobody_has_any_more_is_logged(tmp_path, caplog):
    attachments = KeptAttachments(tmp_path, build(Timing(), lambda: 0.0).blobs)
    attachments.ensure(HASHES[:1])
    assert f"{HASHES[0]} is neither stored nor in" in caplog.text


# --- in a run -----------------------------------------------------------------------------------


def attached(task: Item, content: bytes) -> Item:
    file = Attachment(
        path="a.txt", sha256=sha256_hex(content), media_type="text/plain", size=len(content)
    )
    prompt = task.prompt.model_copy(update={"attachments": (file,)})
    return task.model_copy(update={"prompt": prompt})


def plan_with_files() -> RunPlan:
    words = ("alpha", "beta", "gamma", "delta")
    return make_plan(
        splits=Splits(
            train=tuple(attached(item(f"train-{w}", w), CONTENTS[0]) for w in words),
            val=tuple(attached(item(f"val-{w}", w), CONTENTS[1]) for w in words),
            test=tuple(item(f"test-{w}", w) for w in words),
        )
    )


def test_what_a_new_folder_lacks_is_copied_out_of_the_blobs(tmp_path):
    bench = Bench()
    kept(tmp_path, bench).ensure(HASHES[:1])
    other = KeptAttachments(tmp_path / "other", bench.state.blobs)
    other.fetch(HASHES)
    copied = tmp_path / "other" / "attachments"
    assert [path.name for path in copied.iterdir()] == HASHES[:1], "the others are not stored"
    assert (copied / HASHES[0]).read_bytes() == b"one"


def drive(bench: Bench, plan: RunPlan, attachments: KeptAttachments) -> None:
    run = submit(bench.state, plan, meta={}, wait=bench._wait, attachments=attachments).run
    lead = bench.state.runs.lead(run, "c1")
    assert lead is not None
    Driver(lead, bench.state, bench.fleet, bench.mirror, bench.timing, attachments).drive(
        bench.stop
    )
    assert bench.known(plan).finished


def test_submission_stores_the_files_of_the_plan_before_the_run_can_be_seen(tmp_path, monkeypatch):
    bench = Bench()
    attachments, plan = kept(tmp_path, bench), plan_with_files()
    there: list[set[str]] = []
    create = bench.state.runs.create

    def creating(*args, **kwargs):
        there.append(bench.state.blobs.renew(HASHES))
        return create(*args, **kwargs)

    monkeypatch.setattr(bench.state.runs, "create", creating)
    submit(bench.state, plan, meta={}, wait=bench._wait, attachments=attachments)
    assert there == [set(HASHES[:2])]


def lose(bench: Bench, sha: str) -> None:
    tables = bench.state.blobs._tables
    tables.blobs.put(sha, b"", -1.0)
    assert bench.state.blobs.get([sha]) == {}


def test_a_file_lost_in_mid_run_is_there_again_when_its_job_is_sent_again(tmp_path):
    bench = Bench()
    attachments, plan = kept(tmp_path, bench), plan_with_files()
    trouble, missed = Trouble("the text is not stored", times=1), []

    def lost(job: WantedJob, lane) -> str | None:
        """Act as a worker that misses a file: the first time, all of them are lost."""
        what = trouble(job, lane) if job.attachments else None
        if what:
            for sha in job.attachments:
                lose(bench, sha)
        elif not set(job.attachments) <= bench.state.blobs.renew(job.attachments):
            missed.append(job.label)
        return what

    bench.fleet.mishap = lost
    drive(bench, plan, attachments)
    assert trouble.seen
    assert missed == []


def test_files_are_looked_at_once_in_a_while_and_not_with_every_job(tmp_path, monkeypatch):
    bench = Bench()
    attachments, plan = kept(tmp_path, bench), plan_with_files()
    ensured: list[tuple[str, ...]] = []
    ensure = attachments.ensure

    def counting(hashes, *, verify=False):
        ensured.append(tuple(hashes))
        ensure(hashes, verify=verify)

    monkeypatch.setattr(attachments, "ensure", counting)
    drive(bench, plan, attachments)
    assert sorted(ensured[1:]) == sorted([(HASHES[0],), (HASHES[1],)])
    assert bench.timing.blob_ttl_s > 2 * BLOB_RENEWAL_S
