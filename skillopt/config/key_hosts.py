"""To which hosts an entry of the catalogue sends its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from skillopt.config.entry_checks import Fault
from skillopt.config.entry_models import AnthropicEntry, OpenAIEntry

_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z")


def check_key_hosts(
    entry: AnthropicEntry | OpenAIEntry,
    base_url: str | None,
    may_have: Callable[[str, Collection[str]], bool],
    fault: Fault,
    *,
    otherwise: str,
) -> None:
    """Refuse a key for a host that is neither its provider's nor named under allowed_hosts."""
    for place, named in enumerate(entry.allowed_hosts):
        if not _HOST_NAME.match(named):
            fault(
                ("allowed_hosts", place),
                f"{named!r} is not the name of a host; give it without scheme, port and path",
            )
    variable = entry.api_key_env
    if entry.allowed_hosts and (base_url is None or variable is None):
        fault(("allowed_hosts",), "would change nothing without base_url and a key; remove it")
    if base_url is None or variable is None or urlsplit(base_url).scheme != "https":
        return
    if not may_have(base_url, entry.allowed_hosts):
        host = urlsplit(base_url).hostname
        fault(
            ("base_url",),
            f"would send the key of {variable!r} to {host!r}; write allowed_hosts: [{host}] if "
            f"it may have it, {otherwise}",
        )
