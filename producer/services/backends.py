"""The backends that this machine can serve."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from producer.inventory import InventoryReader
from producer.published import published_revision
from skillopt.config.catalogue import require_credentials
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError


@dataclass(frozen=True)
class Served:
    """Backends by name, those that cannot be served from here and why, and the variables that
    the catalogue names for keys.
    """

    backends: dict[str, Backend]
    left_out: dict[str, str]
    key_variables: frozenset[str]


def served_here(
    environ: Mapping[str, str], backends_file: Path | None, names: Collection[str] = ()
) -> Served:
    """Give the backends of these names; without names, all of the catalogue that can be served.

    A named one must be usable: its entry right, its credential there. Raises ConfigError if one
    is not, or if none is left.
    """
    reader = InventoryReader(environ, published_revision)
    inventory = reader.read(None, backends_file, only=names, everything=True)
    usable: dict[str, Backend] = {}
    left_out: dict[str, str] = {}
    for listed in inventory.backends:
        try:
            if listed.backend is None:
                raise ConfigError(listed.error)
            require_credentials([listed.backend], environ)
        except ConfigError as error:
            if names:
                raise
            left_out[listed.name] = str(error)
        else:
            usable[listed.name] = listed.backend
    if not usable:
        reasons = "; ".join(left_out.values()) or "the catalogue is empty"
        raise ConfigError(f"no backend can be served from here: {reasons}")
    return Served(usable, left_out, inventory.key_variables)
