from __future__ import annotations

import pytest

from skillopt.simulator.request import RequestError, read_request

HELLO = [{"role": "user", "content": "Hello"}]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ([], None),
        ({"messages": HELLO}, "model"),
        ({"model": "sim"}, "messages"),
        ({"model": "sim", "messages": []}, "messages"),
        ({"model": "sim", "messages": "Hello"}, "messages"),
        ({"model": "sim", "messages": [{"role": "guest", "content": "x"}]}, "messages.0.role"),
        ({"model": "sim", "messages": [{"role": "user"}]}, "messages.0"),
        ({"model": "sim", "messages": HELLO, "temperature": 3}, "temperature"),
        ({"model": "sim", "messages": HELLO, "max_tokens": 0}, "max_tokens"),
        ({"model": "sim", "messages": HELLO, "n": 2}, "n"),
        ({"model": "sim", "messages": HELLO, "tools": [{"type": "function"}]},
         "tools.0.function"),
        ({"model": "sim", "messages": [*HELLO, {"role": "tool", "tool_call_id": "c1",
                                                "content": "x"}]}, "messages.1"),
        ({"model": "sim", "messages": [{"role": "assistant", "tool_calls": [CALL]}, *HELLO]},
         "messages.1"),
    ],
)  # fmt: skip
def test_a_malformed_request_names_the_wrong_parameter(body, param):
    with pytest.raises(RequestError) as refused:
        read_request(body, None)

    assert refused.value.param == param


def test_the_sample_comes_from_the_seed_else_from_the_header():
    body = {"model": "sim", "messages": HELLO}

    assert read_request(body, None).sample == 0
    assert read_request(body, "3").sample == 3
    assert read_request(body | {"seed": 5}, "3").sample == 5
    with pytest.raises(RequestError, match="'x'"):
        read_request(body, "x")


def test_the_key_is_that_of_content_and_sample():
    body = {"model": "sim", "messages": HELLO}
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]

    assert read_request(body, "1").key == read_request(body | {"temperature": 1}, "1").key
    assert read_request(body, "1").key != read_request(body, "2").key
    assert read_request(body, "1").content == read_request(body, "2").content
    assert read_request(body | {"messages": parts}, None).texts("user") == ["Hello"]
