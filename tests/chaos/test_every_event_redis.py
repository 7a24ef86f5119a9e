"""A process killed at a call of a real Redis: the same run comes out as in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from interrupted_runs import TIMING, Clock, Interruption, Moment, Outcome, Site, undisturbed

sys.path.append(str(Path(__file__).parents[1] / "contract"))

from state_adapters import Adapter, redis_adapter


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture(scope="module")
def whole() -> Iterator[tuple[Outcome, list[str]]]:
    with TemporaryDirectory() as folder:
        yield undisturbed(Path(folder))


@contextmanager
def emptied(redis_url: str) -> Iterator[Adapter]:
    with redis_adapter(redis_url, TIMING) as adapter:
        adapter.client.flushdb()
        yield adapter


def site_on(adapter: Adapter, folder: Path) -> Site:
    return Site(folder, state=adapter.state, clock=Clock(adapter.advance))


def assert_killed_and_continued(
    redis_url: str, tmp_path: Path, whole: Outcome, at: int, moment: Moment
) -> None:
    with emptied(redis_url) as adapter:
        site = site_on(adapter, tmp_path / f"{at}-{moment}")
        interruption = Interruption(at, moment)
        site.command(interruption)
        where = f"killed at call {at} ({interruption.calls[-1]}, {moment})"
        assert interruption.dead, where
        assert site.continue_by(site.command) == whole, where
        executed = site.fleet.executed
        assert len(executed) == len(set(executed)), f"{where}: something finished was done again"


@pytest.mark.parametrize("moment", ["before", "lost"])
def test_a_process_killed_at_a_call_of_redis_is_continued(redis_url, tmp_path, whole, moment):
    outcome, calls = whole
    steps = [at for at, name in enumerate(calls, start=1) if name == "runs.step"]
    for at in sorted({1, 2, 3, 4, 5, *steps[::3], *range(20, len(calls), 40)}):
        assert_killed_and_continued(redis_url, tmp_path, outcome, at, moment)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", ["before", "lost"])
def test_a_process_killed_at_any_call_of_redis_is_continued(redis_url, tmp_path, whole, moment):
    outcome, calls = whole
    for at in range(1, len(calls) + 1):
        assert_killed_and_continued(redis_url, tmp_path, outcome, at, moment)


def test_a_run_whose_every_key_with_a_ttl_is_gone_goes_on(redis_url, tmp_path, whole):
    outcome, calls = whole
    for at in [at for at, name in enumerate(calls, start=1) if name == "runs.step"][1::4]:
        with emptied(redis_url) as adapter:
            site = site_on(adapter, tmp_path / str(at))
            site.command(Interruption(at, "lost"))
            lapsed = [key for key in adapter.client.scan_iter() if adapter.client.pttl(key) >= 0]
            assert any(key.startswith(b"so:blob:") for key in lapsed)
            adapter.client.delete(*lapsed)
            assert site.continue_by(site.command) == outcome, f"killed at call {at}"
