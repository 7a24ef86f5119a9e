"""Pages of a browser as a test looks at them, with pictures to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Pictures are kept here; the folder is no part of the project.
PICTURES = Path(__file__).parents[2] / ".browser"
TIMEOUT_MS = 20_000
#: What Chromium says of any page that asks for a secret without a user's name, and of answers
#: that a test provokes.
NO_COMPLAINTS = ("Password forms should have", "Failed to load resource")


class Eyes:
    """Opens pages and notes what they complain of."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []

    def page(
        self,
        *,
        width: int = 1280,
        height: int = 900,
        scheme: str = "light",
        credentials: dict[str, str] | None = None,
    ) -> Any:
        """Open a page of its own, as another person's browser would."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            http_credentials=credentials,
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        return page

    def _note(self, message: Any) -> None:
        is_noise = any(words in message.text for words in NO_COMPLAINTS)
        if message.type in ("error", "warning") and not is_noise:
            self.complaints.append(message.text)

    def close(self) -> None:
        for context in self._contexts:
            context.close()


def picture(page: Any, name: str, *, whole: bool = True) -> None:
    """Keep what the page looks like, for people."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=whole)


def sign_in(page: Any, url: str, token: str, address: str = "#/runs") -> None:
    page.goto(f"{url}/{address}")
    page.get_by_label("Access token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation", name="Main").wait_for()


def is_too_wide(page: Any) -> bool:
    """Whether a person would have to scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
