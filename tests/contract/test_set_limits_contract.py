from __future__ import annotations

from skillopt.state.ports import State


class TestSetLimits:
    def test_nothing_is_set_at_first(self, state: State):
        assert state.limits.of("gpt") == {}
        assert state.limits.all() == {}

    def test_limits_are_set_one_by_one(self, state: State):
        state.limits.set("gpt", {"rpm": 300, "concurrency": 4})
        state.limits.set("gpt", {"rpm": 200})
        assert state.limits.of("gpt") == {"rpm": 200, "concurrency": 4}

    def test_none_takes_a_limit_back(self, state: State):
        state.limits.set("gpt", {"rpm": 300, "tpm": 1000})
        state.limits.set("gpt", {"rpm": None})
        assert state.limits.of("gpt") == {"tpm": 1000}
        state.limits.set("gpt", {"tpm": None, "concurrency": None})
        assert state.limits.of("gpt") == {}
        assert state.limits.all() == {}

    def test_backends_do_not_share_limits(self, state: State):
        state.limits.set("sim", {"rpm": 1})
        state.limits.set("gpt.mini-2", {"tpm": 2})
        assert state.limits.of("gpt") == {}
        assert state.limits.all() == {"gpt.mini-2": {"tpm": 2}, "sim": {"rpm": 1}}
