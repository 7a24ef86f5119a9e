"""Who pays for a run beside the run itself: its owner and its team, by name.

A spec may name them; otherwise the environment of whoever submits the run does. Neither changes
what comes out, so another owner may continue a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from skillopt.config.schema import NAME_HINT, NAME_PATTERN, SpecFile
from skillopt.errors import ConfigError

#: The variable that names each payer where a spec does not.
VARIABLES: Final[Mapping[str, str]] = {"owner": "SKILLOPT_OWNER", "team": "SKILLOPT_TEAM"}


def payers(spec: SpecFile, environ: Mapping[str, str]) -> dict[str, str]:
    """Give owner and team, "" for none; raises ConfigError for a variable that is no name."""
    return {
        "owner": spec.owner or _named("owner", environ),
        "team": spec.team or _named("team", environ),
    }


def _named(payer: str, environ: Mapping[str, str]) -> str:
    name = environ.get(VARIABLES[payer], "")
    if name and not re.fullmatch(NAME_PATTERN, name):
        raise ConfigError(f"{VARIABLES[payer]} is {name!r}, which is no name; {NAME_HINT}")
    return name
