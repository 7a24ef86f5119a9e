from __future__ import annotations

from pathlib import Path

from producer.embedded import children
from producer.embedded.store import Store
from skillopt.domain.backend import AzureAccess, AzureAuth, AzureEndpoint, Backend

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


def on_azure(auth: AzureAuth) -> Backend:
    endpoint = AzureEndpoint(url="https://one.openai.azure.com", api_key_env="A_KEY")
    access = AzureAccess(endpoints=(endpoint,), auth=auth, api_version="v1", scope="s")
    return Backend(name="azure", kind="azure_chat", model="m", azure=access)


def test_keys_that_no_backend_of_the_run_names_stay_outside():
    usual = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "COPILOT_GITHUB_TOKEN": "c"}
    assert children.without_keys({**ENV, **usual}, [A, B], but=A) == {"PATH": "/bin", "A_KEY": "a"}
    given = children.without_keys({**ENV, **usual}, [A], but=A, besides=["B_KEY", "A_KEY"])
    assert given == {"PATH": "/bin", "A_KEY": "a"}
    named = A.model_copy(update={"api_key_env": "OPENAI_API_KEY"})
    kept = children.without_keys({**ENV, **usual}, [named, A, B], but=named)
    assert kept == {"PATH": "/bin", "OPENAI_API_KEY": "o"}


def test_the_machines_own_identity_is_for_those_who_sign_in_with_it():
    env = {"PATH": "/bin", "AZURE_CLIENT_ID": "id", "AZURE_CLIENT_SECRET": "s", "MSI_SECRET": "m"}
    signing_in, keyed = on_azure("default"), on_azure("api_key")
    every = [signing_in, keyed, A]
    assert children.without_keys(env, every, but=signing_in) == env
    for other in (keyed, A, None):
        kept = children.without_keys(env, every, but=other)
        assert kept == {"PATH": "/bin", "AZURE_CLIENT_ID": "id"}


def test_who_has_nothing_to_do_with_redis_is_not_told_its_password():
    env = children.environment({"PATH": "/bin"}, "redis://:password@host/0")
    assert "password" not in repr(children.without_redis(env))


def announced(root: str, number: int = 1, *, quarantine: bool = False) -> str:
    spec = children.worker(
        Store(Path(root)), FREE, Path("c"), ENV, number=number, concurrency=1, quarantine=quarantine
    )
    return spec.argv[spec.argv.index("--name") + 1]


def test_workers_of_two_stores_have_names_of_their_own_and_keep_them():
    assert announced("/one") == announced("/one") != announced("/two")
    assert announced("/one", 2) not in (announced("/one"), announced("/two", 2))
    assert announced("/one").startswith("1-")
