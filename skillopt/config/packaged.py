"""Find the configuration files that come with the package."""

from __future__ import annotations

from pathlib import Path

import skillopt
from skillopt.errors import ConfigError


def configs_dir() -> Path:
    """The folder with base.yaml, backends.yaml, prices.yaml, example/ and demo/.

    In an installed package it lies inside it, in a checkout beside it.
    """
    package = Path(skillopt.__file__).parent
    for folder in (package / "_configs", package.parent / "configs"):
        if (folder / "backends.yaml").is_file():
            return folder
    raise ConfigError(
        f"the packaged configuration is missing (expected {str(package / '_configs')!r}); "
        "install the package again"
    )
