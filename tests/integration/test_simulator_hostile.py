"""Requests and options that are meant to break the simulator."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from skillopt.errors import ConfigError
from skillopt.simulator.options import SimulatorOptions, read_options
from skillopt.simulator.server import running, serve


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        json.dumps({"model": "m", "messages": [{"role": "user", "content": "\ud800"}]}).encode(),
        b"\xff\xfe",
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(body):
    with running() as address:
        request = urllib.request.Request(f"{address.base_url}/chat/completions", body)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=20)
    assert caught.value.code == 400
    assert "could not parse" in json.load(caught.value)["error"]["message"]


@pytest.mark.parametrize(
    "option",
    [{"latency_s": "inf"}, {"stall_s": "nan"}, {"content_filter": ""}, {"api_key": ""}],
)
def test_an_option_without_sense_is_refused(option):
    with pytest.raises(ConfigError, match=next(iter(option))):
        read_options(option)


def test_a_port_file_in_no_folder_is_named(tmp_path):
    path = tmp_path / "missing" / "port"
    with pytest.raises(ConfigError, match="cannot be written"):
        serve(SimulatorOptions(), port_file=path)
