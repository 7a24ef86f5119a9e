"""`python -m skillopt.simulator`: serve until interrupted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.simulator.options import SimulatorOptions, read_options
from skillopt.simulator.server import Address, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server; exit code 2 if an option is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m skillopt.simulator",
        description="Serve a simulated model that follows the rules in its prompt.",
    )
    for name, field in SimulatorOptions.model_fields.items():
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, dest=name, default=argparse.SUPPRESS, help=field.description)
    parser.add_argument("--port-file", type=Path, help="file that receives the port in use")
    parser.add_argument(
        "--health-file",
        type=Path,
        help="file that says how it is; `python -m skillopt.health PATH` asks",
    )
    given = vars(parser.parse_args(arguments))
    port_file, health = given.pop("port_file"), given.pop("health_file")
    try:
        serve(read_options(given), port_file=port_file, health_path=health, on_start=_announce)
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


def _announce(address: Address) -> None:
    sys.stdout.write(f"simulator listening on {address.base_url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
