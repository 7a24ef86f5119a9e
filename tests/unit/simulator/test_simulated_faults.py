from __future__ import annotations

import pytest

from skillopt.errors import ConfigError
from skillopt.simulator.faults import Outage, fault_of
from skillopt.simulator.limits import SlidingWindow
from skillopt.simulator.options import Control, SimulatorOptions, read_options


def test_faults_are_drawn_by_content_and_by_how_often_it_was_asked():
    options = SimulatorOptions(error_rate=0.2, stall_rate=0.2, drop_rate=0.2)
    kinds = [fault_of(options, f"key-{n}", 0).kind for n in range(400)]

    assert kinds == [fault_of(options, f"key-{n}", 0).kind for n in range(400)]
    for kind in ("500", "stall", "refuse"):
        assert 50 <= kinds.count(kind) <= 110
    failed = [n for n, kind in enumerate(kinds) if kind != "none"]
    again = [fault_of(options, f"key-{n}", 1).kind for n in failed]
    assert 0 < again.count("none") < len(failed)


def test_latency_is_fixed_or_spread_around_its_median():
    fixed = SimulatorOptions(latency_s=2.0)
    spread = SimulatorOptions(latency_s=2.0, latency_sigma=0.5)
    drawn = sorted(fault_of(spread, f"key-{n}", 0).latency_s for n in range(401))

    assert fault_of(fixed, "key", 0).latency_s == 2.0
    assert 1.7 < drawn[200] < 2.3
    assert drawn[0] < 1.0
    assert drawn[-1] > 4.0


def test_an_outage_lasts_for_its_time_or_its_number_of_calls():
    outage = Outage()
    assert outage.strikes(0.0) is None

    outage.change(Control(outage_s=10, outage_kind="stall"), 100.0)
    assert [outage.strikes(t) for t in (100.0, 109.9, 110.0)] == ["stall", "stall", None]

    outage.change(Control(outage_calls=2), 200.0)
    assert [outage.strikes(200.0) for _ in range(3)] == ["500", "500", None]

    outage.change(Control(outage_s=10), 300.0)
    outage.change(Control(outage_s=0), 301.0)
    assert outage.strikes(301.0) is None


def test_calls_over_the_limit_are_refused_until_the_window_moves_on():
    window = SlidingWindow(60.0)

    def admit(now, tokens=1, rpm=2, tpm=None):
        return window.admit(now, tokens, rpm=rpm, tpm=tpm)

    assert admit(0.0) is None
    assert admit(10.0) is None
    refusal = admit(20.0)
    assert refusal is not None
    assert (refusal.limit, refusal.retry_after_s) == ("rpm", 40.0)
    assert admit(59.9) is not None
    assert admit(60.0) is None
    assert admit(60.1) is not None


def test_tokens_over_the_limit_are_refused_until_enough_have_left_the_window():
    window = SlidingWindow(60.0)

    def admit(now, tokens):
        return window.admit(now, tokens, rpm=None, tpm=100)

    assert admit(0.0, 40) is None
    assert admit(10.0, 60) is None
    assert admit(20.0, 40).retry_after_s == 40.0
    refusal = admit(20.0, 41)
    assert (refusal.limit, refusal.retry_after_s) == ("tpm", 50.0)
    assert admit(20.0, 101).retry_after_s == 60.0
    assert admit(60.0, 40) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "example.org", "::", ""])
def test_only_loopback_is_listened_on(host):
    with pytest.raises(ConfigError, match="loopback only"):
        read_options({"host": host})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", "::1"])
def test_loopback_addresses_are_accepted(host):
    assert read_options({"host": host}).host == host


def test_wrong_options_are_named_with_their_value():
    with pytest.raises(ConfigError, match=r"competence is '2'.*error_rte is not known; did"):
        read_options({"competence": "2", "error_rte": 1})


def test_options_are_read_from_strings_of_a_command_line():
    options = read_options({"seed": "7", "competence": "0.5", "models": "a, b", "rpm": "30"})

    assert (options.seed, options.competence, options.models, options.rpm) == (
        7,
        0.5,
        ("a", "b"),
        30,
    )


def test_a_control_changes_what_it_names_and_may_lift_a_limit():
    options = SimulatorOptions(rpm=5, tpm=100, latency_s=1.0)
    changed = Control.model_validate({"latency_s": 0.5, "rpm": None}).applied_to(options)

    assert (changed.latency_s, changed.rpm, changed.tpm) == (0.5, None, 100)
