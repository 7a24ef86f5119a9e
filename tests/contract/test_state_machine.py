"""Any order of calls, crashes and losses keeps the invariants, on both adapters."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from queue_machine import QueueMachine
from state_adapters import FRAGILE, memory_adapter, redis_adapter
from twins import twin_adapter

# The same examples every time, so that a failure is a change of the code.
SETTINGS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_invariants_hold_in_memory():
    run_state_machine_as_test(
        lambda: QueueMachine(memory_adapter(FRAGILE)),
        settings=settings(SETTINGS, max_examples=200, stateful_step_count=60),
    )


def test_invariants_hold_in_redis(redis_url: str):
    with redis_adapter(redis_url, FRAGILE) as adapter:
        client = adapter.client
        assert client is not None

        def machine() -> QueueMachine:
            client.flushdb()
            return QueueMachine(adapter)

        run_state_machine_as_test(
            machine, settings=settings(SETTINGS, max_examples=100, stateful_step_count=60)
        )


def test_both_adapters_answer_alike(redis_url: str):
    with redis_adapter(redis_url, FRAGILE) as adapter:
        client = adapter.client
        assert client is not None

        def machine() -> QueueMachine:
            client.flushdb()
            return QueueMachine(twin_adapter(memory_adapter(FRAGILE), adapter))

        run_state_machine_as_test(
            machine, settings=settings(SETTINGS, max_examples=100, stateful_step_count=60)
        )
