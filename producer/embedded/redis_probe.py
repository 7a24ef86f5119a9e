"""Asking a Redis on a Unix socket whether it is there, without a client library."""

from __future__ import annotations

import socket
from pathlib import Path

PONG = "+PONG"
LOADING = "-LOADING"


def ping(path: Path, *, timeout_s: float = 2.0) -> str | None:
    """The server's reply line to PING; None if nobody answers.

    `+PONG` is ready, `-LOADING ...` is reading its data, another `-` line is alive but unusable.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            reply = b""
            while not reply.endswith(b"\r\n"):
                part = connection.recv(512)
                if not part:
                    return None
                reply += part
    except OSError:
        return None
    return reply.decode("utf-8", errors="replace").strip()
