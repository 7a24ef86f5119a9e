from __future__ import annotations

import signal
import threading

import pytest

from producer.interruption import Interrupted, interruptible

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_block_and_the_handlers_come_back(number):
    before = [signal.getsignal(one) for one in SIGNALS]
    with pytest.raises(Interrupted), interruptible():
        signal.raise_signal(number)
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_second_signal_does_not_cut_the_clean_up_short():
    cleaned = []
    with pytest.raises(Interrupted), interruptible():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            cleaned.append(True)
    assert cleaned == [True]


def test_in_another_thread_no_handler_is_touched():
    before = [signal.getsignal(one) for one in SIGNALS]
    seen = []

    def work() -> None:
        with interruptible():
            seen.append([signal.getsignal(one) for one in SIGNALS])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
