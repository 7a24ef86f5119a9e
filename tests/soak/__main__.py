"""`python -m soak --minutes N`: run a fleet for minutes; exit with 1 if something of it grows."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from producer.embedded.logs import indented, last_lines
from soak import gauges
from soak.fleet import Fleet, running
from soak.trend import Trend, series_of, trend, verdict
from soak.work import Work

SAMPLE_S = 2.0
TEND_S = 0.1

Samples = list[tuple[float, dict[str, float]]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--report", type=Path, help="file for all samples, as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        with running(folder) as fleet:
            work = Work(folder, fleet.state, fleet.store.runs_dir)
            samples, deaths = soak(fleet, work, options.minutes * 60)
    if options.report is not None:
        options.report.write_text(json.dumps(samples), encoding="utf-8")
    series = series_of(samples)
    trends = [trend(name, series[name], gauges.tolerance(name)) for name in series]
    show(trends)
    finished = ", ".join(f"{count} {kind}" for kind, count in sorted(work.finished.items()))
    say(f"\nruns finished: {finished}; executions: {work.executions}")
    for death in deaths:
        say(f"DIED: {death}")
    say(f"verdict: {verdict(trends)}")
    return 1 if deaths or any(one.grows for one in trends) else 0


def soak(fleet: Fleet, work: Work, seconds: float) -> tuple[Samples, list[str]]:
    """Keep the fleet busy and measure it; gives the samples, and who died meanwhile."""
    redis = gauges.OfRedis(fleet.url)
    samples: Samples = []
    deaths: list[str] = []
    began = sampled_at = time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        for death in fleet.supervisor.poll():
            log = fleet.store.logs_dir / f"{death.name}.log"
            deaths.append(f"{death.in_words()}\n{indented(last_lines(log, 20))}")
        work.tend()
        if now - sampled_at >= SAMPLE_S:
            sampled_at = now
            values = redis.read()
            for name, pid in fleet.pids().items():
                with suppress(FileNotFoundError):  # it died: that is told of anyway
                    values |= gauges.of_process(name, pid)
            samples.append((now - began, values))
        time.sleep(TEND_S)
    redis.close()
    return samples, deaths


def show(trends: Sequence[Trend]) -> None:
    say(f"{'':36}{'start':>10}{'half':>10}{'end':>10}{'gain':>10}{'allowed':>10}")
    for one in trends:
        numbers = (one.first, one.middle, one.last, one.gain, one.allowed)
        cells = "".join(f"{number:>10,.1f}" for number in numbers)
        say(f"{one.name:36}{cells}{'   GROWS' if one.grows else ''}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
