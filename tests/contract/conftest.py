from __future__ import annotations

from collections.abc import Iterator

import pytest
from state_adapters import Adapter, memory_adapter, redis_adapter

from skillopt.state.ports import State


@pytest.fixture(params=["memory", "redis"])
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    """Give each adapter in turn."""
    if request.param == "memory":
        yield memory_adapter()
        return
    with redis_adapter(request.getfixturevalue("redis_url")) as adapter:
        yield adapter


@pytest.fixture
def state(adapter: Adapter) -> State:
    return adapter.state
