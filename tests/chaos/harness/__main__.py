"""`python -m harness`: disturb fleets of real processes and say what came of it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from harness.defaults import run_defaults
from harness.disturb import run_seed
from harness.poison import run_poison
from harness.report import Report, table

SEEDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--seed", type=int, default=1, help="the schedule of faults (default: 1)")
    what.add_argument("--all", action="store_true", help=f"seeds 1 to {SEEDS}, and the poison")
    what.add_argument("--poison", action="store_true", help="a job that kills its workers")
    what.add_argument("--defaults", action="store_true", help="recovery at default durations")
    parser.add_argument("--report", type=Path, help="folder for the reports, as JSON")
    parser.add_argument("--keep", type=Path, help="folder for logs and data, which are kept")
    options = parser.parse_args()
    if options.poison:
        return _poison(options.keep)
    if options.defaults:
        return _defaults(options.keep, options.report)
    if options.all:
        return _all(options.keep, options.report)
    report = _seed(options.seed, options.keep, options.report)
    _say(report.text())
    return 0 if report.passed else 1


def _all(keep: Path | None, reports: Path | None) -> int:
    done = []
    for seed in range(1, SEEDS + 1):
        report = _seed(seed, keep, reports)
        if not report.passed:
            _say(report.text())
        done.append(report)
        _say(f"seed {seed}: {'passed' if report.passed else 'FAILED'} in {report.seconds:.0f} s")
    _say(table(done))
    poisoned = _poison(keep)
    return 0 if poisoned == 0 and all(report.passed for report in done) else 1


def _seed(seed: int, keep: Path | None, reports: Path | None) -> Report:
    with _folder(keep, f"seed-{seed}") as folder:
        report = run_seed(seed, folder)
    if reports is not None:
        reports.mkdir(parents=True, exist_ok=True)
        report.write(reports / f"chaos-{seed}.json")
    return report


def _poison(keep: Path | None) -> int:
    with _folder(keep, "poison") as folder:
        poisoned = run_poison(folder)
    _say(poisoned.text())
    return 1 if poisoned.problems else 0


def _defaults(keep: Path | None, reports: Path | None) -> int:
    with _folder(keep, "defaults") as folder:
        figures = run_defaults(folder)
    if reports is not None:
        reports.mkdir(parents=True, exist_ok=True)
        written = json.dumps([asdict(figure) for figure in figures], indent=1)
        (reports / "chaos-default.json").write_text(f"{written}\n")
    _say("recovery at default durations:")
    for figure in figures:
        _say(figure.text())
    return 0 if all(figure.passed for figure in figures) else 1


@contextmanager
def _folder(keep: Path | None, name: str) -> Iterator[Path]:
    if keep is not None:
        (keep / name).mkdir(parents=True)
        yield keep / name
        return
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        yield Path(folder)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
