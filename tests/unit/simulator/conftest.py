from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skillopt.domain.templates import fill
from skillopt.loop.templates import packaged
from skillopt.simulator.behaviour import Reply, reply_to
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.request import ChatRequest, read_request

TASK = "Write a note on whether the village library should open on Sundays."


FORMS = {
    "patch": "form_edits",
    "rewrite_from_suggestions": "form_suggestions",
    "full_rewrite_minibatch": "form_rewrite",
}


@pytest.fixture
def prompts() -> Callable[..., str]:
    """Give a packaged system prompt with its slots filled."""

    def prompt(
        stage: str,
        mode: str = "patch",
        *,
        notes: bool = False,
        both: bool = False,
        skill: str = "",
        memory: str = "",
        error: str = "",
    ) -> str:
        texts = packaged()
        slots = {
            "form": texts[FORMS[mode]],
            "skill_aware": texts["skill_aware"] if notes else "",
            "documents": texts["two_documents"] if both else "",
            "skill": skill,
            "memory": f"## Memory\n\n{memory}\n" if memory else "",
            "error": error,
        }
        return fill(texts[stage], slots)

    return prompt


@pytest.fixture
def make_request() -> Callable[..., ChatRequest]:
    def make(
        user: str = TASK, system: str | None = None, *, sample: int = 0, **fields: Any
    ) -> ChatRequest:
        messages = [{"role": "user", "content": user}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        return read_request({"model": "sim", "messages": messages, "seed": sample} | fields, None)

    return make


@pytest.fixture
def ask(make_request: Callable[..., ChatRequest]) -> Callable[..., Reply]:
    """Ask the simulated model and give its whole reply."""

    def asked(
        user: str = TASK,
        system: str | None = None,
        options: SimulatorOptions | None = None,
        **fields: Any,
    ) -> Reply:
        return reply_to(make_request(user, system, **fields), options or SimulatorOptions())

    return asked
