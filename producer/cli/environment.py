"""Is this environment ours alone? Uses the standard library only.

The distribution named `skillopt` installs a top-level package of the same name over ours. With
both in one environment either may be half of the other, so nothing is imported before this
question is answered.
"""

from __future__ import annotations

from importlib import metadata

OURS = "skillopt-fleet"
OTHER = "skillopt"


def conflict() -> str | None:
    """Say what is wrong with the environment; None if nothing is."""
    try:
        other = metadata.version(OTHER)
    except metadata.PackageNotFoundError:
        return None
    return (
        f"the distributions {OURS!r} and {OTHER!r} ({other}) are both installed in this "
        f"environment, and both bring a package named 'skillopt'. Install {OURS!r} into an "
        f"environment of its own: python -m venv fleet && fleet/bin/pip install {OURS}"
    )


def own_version() -> str:
    try:
        return metadata.version(OURS)
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"
