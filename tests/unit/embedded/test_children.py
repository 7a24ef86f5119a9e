from __future__ import annotations

from producer.embedded import children
from skillopt.domain.backend import Backend

ENV = {"PATH": "/bin", "A_KEY": "a", "B_KEY": "b"}
A = Backend(name="a", kind="openai_chat", model="m", api_key_env="A_KEY")
B = Backend(name="b", kind="openai_chat", model="m", api_key_env="B_KEY")
FREE = Backend(name="free", kind="simulated", model="sim")


def test_a_worker_gets_the_key_of_its_own_backend_and_no_other():
    assert children.without_keys(ENV, [A, B, FREE], but=A) == {"PATH": "/bin", "A_KEY": "a"}


def test_who_makes_no_call_gets_no_key():
    assert children.without_keys(ENV, [A, B, FREE]) == {"PATH": "/bin"}
    assert children.without_keys(ENV, [A, B, FREE], but=FREE) == {"PATH": "/bin"}


def test_backends_that_share_a_variable_each_have_it():
    other = B.model_copy(update={"api_key_env": "A_KEY"})
    assert "A_KEY" in children.without_keys(ENV, [A, other], but=other)
