"""The options by which a process is told where its log and its figures go."""

from __future__ import annotations

import argparse
import os

from skillopt.telemetry.endpoint import LOOPBACK
from skillopt.telemetry.log_lines import FORMAT_VARIABLE


def add_telemetry_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-format",
        default=os.environ.get(FORMAT_VARIABLE) or "text",
        help=f"text or json; {FORMAT_VARIABLE} by default",
    )
    parser.add_argument(
        "--metrics-port", type=int, metavar="PORT", help="give figures for Prometheus here"
    )
    parser.add_argument("--metrics-host", default=LOOPBACK, help="the address for that")
