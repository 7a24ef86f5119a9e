from __future__ import annotations

import socket

import pytest
from pytest_socket import SocketConnectBlockedError


def test_a_test_cannot_leave_this_machine():
    # The block also warns, and warnings are errors here: whichever comes first.
    with (
        socket.socket() as outward,
        pytest.raises((SocketConnectBlockedError, UserWarning), match=r"192\.0\.2\.1"),
    ):
        outward.connect(("192.0.2.1", 80))


def test_a_test_can_talk_to_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()
