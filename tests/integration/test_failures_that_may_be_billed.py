"""What a failed call may have cost, for every kind over HTTP: a budget must not forget it."""

from __future__ import annotations

import pytest
from canned_provider import answering, canned, failing
from wire_kinds import HTTP_WIRES, ask, named

from skillopt.errors import CallError, CallTimeout, ConnectionFailed, ServerFailed
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))


def failure(wire, root_url: str, **changes: object) -> CallError:
    with pytest.raises(CallError) as raised:
        ask(wire.backend(root_url, **changes))
    return raised.value


@every_kind
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_answer_that_is_an_error_costs_nothing(wire, status) -> None:
    with answering(failing(status)) as provider:
        assert not failure(wire, provider.root_url).may_be_billed


@every_kind
def test_who_cannot_be_reached_bills_nothing(wire) -> None:
    with answering(canned({})) as provider:
        gone = provider.root_url
    error = failure(wire, gone)
    assert type(error) is ConnectionFailed
    assert not error.may_be_billed


@every_kind
@pytest.mark.parametrize(
    ("fault", "expected"),
    [({"drop_rate": 1.0}, ConnectionFailed), ({"stall_rate": 1.0, "stall_s": 30}, CallTimeout)],
    ids=["cut", "silent"],
)
def test_an_answer_that_never_comes_may_be_billed(wire, fault, expected) -> None:
    with running(SimulatorOptions(**fault)) as provider:
        error = failure(wire, provider.root_url, timeout_s=0.3)
    assert type(error) is expected
    assert error.may_be_billed


@every_kind
@pytest.mark.parametrize("answer", [canned(text="half of"), canned({"nothing": 1})])
def test_an_answer_that_cannot_be_read_may_be_billed(wire, answer) -> None:
    with answering(answer) as provider:
        error = failure(wire, provider.root_url)
    assert isinstance(error, ServerFailed)
    assert error.may_be_billed


@every_kind
@pytest.mark.parametrize("status", [408, 504])
def test_a_timeout_of_a_server_in_between_may_be_billed(wire, status) -> None:
    with answering(failing(status)) as provider:
        assert failure(wire, provider.root_url).may_be_billed
