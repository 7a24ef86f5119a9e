"""A real Chromium, and a team's whole queue for it to look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import Eyes
from playwright.sync_api import sync_playwright
from team_here import TeamHere

#: Set to 1 where a missing browser is a failure.
REQUIRED = "SKILLOPT_REQUIRE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Nothing that reaches for another machine.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def _without_browser(why: str) -> None:
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{why}; {REQUIRED}=1 asks for it")
    pytest.skip(why)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the system's Chromium without a window, and end it with the file: while Playwright is
    open it keeps an event loop running in this thread, where other tests start their own.
    """
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _without_browser(f"no browser on the PATH ({', '.join(NAMES)}); install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        yield started
        started.close()


@pytest.fixture
def eyes(browser: Any) -> Iterator[Eyes]:
    """Open pages; whatever a page complains of to its console fails the test."""
    opened = Eyes(browser)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture(scope="module")
def team(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamHere]:
    """Run `skillopt up` with a simulated model, for all tests of a file."""
    folder: Path = tmp_path_factory.mktemp("team")
    here = TeamHere(folder)
    try:
        here.start()
        yield here
    finally:
        here.stop()
    assert here.left_running() == []
