"""Where something live is shown: a screen that is drawn anew on a terminal, lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

from producer.view.printable import printable, safe


class Screen:
    """Use it as a context manager: what was drawn last is left behind."""

    def __init__(self, console: Console, *, enabled: bool) -> None:
        """Draw if `enabled` and the console is a terminal that can; write lines otherwise."""
        self.console = console
        self._live = (
            Live(console=console, auto_refresh=False, redirect_stdout=False)
            if enabled and console.is_terminal and not console.is_dumb_terminal
            else None
        )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()

    @property
    def drawn(self) -> bool:
        """Whether there is a screen; without one, only lines make sense."""
        return self._live is not None

    def draw(self, content: RenderableType) -> None:
        """Show this instead of what was there."""
        if self._live:
            self._live.update(content, refresh=True)

    def note(self, words: str) -> None:
        """Tell something above the screen, where it stays."""
        self.console.print(safe(words))

    def line(self, elapsed_s: float, words: str) -> None:
        """Write one line as it is: no colour, no wrapping."""
        self.console.file.write(f"[{elapsed_s:7.1f} s] {printable(words)}\n")
        self.console.file.flush()
