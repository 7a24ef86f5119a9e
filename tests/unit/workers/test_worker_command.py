"""`python -m workers`: what is wrong with its input, in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from worker_parts import BACKEND

from skillopt.config.catalogue import dump_catalogue
from workers.__main__ import main


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "backends.yaml"
    at = BACKEND.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    keyed = at.model_copy(update={"name": "keyed", "api_key_env": "MY_WORKER_KEY"})
    path.write_text(dump_catalogue({"sim": at, "keyed": keyed}))
    return path


@pytest.fixture(autouse=True)
def redis_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLOPT_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.delenv("MY_WORKER_KEY", raising=False)


def start(catalogue: Path, *arguments: str) -> int:
    return main(["--backends", str(catalogue), *arguments])


def test_an_unknown_backend_is_named_with_the_known_ones(catalogue: Path, caplog) -> None:
    assert start(catalogue, "--backend", "gpt") == 2
    assert "'gpt' is not in" in caplog.text
    assert "keyed, sim" in caplog.text


def test_a_missing_key_names_its_variable(catalogue: Path, caplog) -> None:
    assert start(catalogue, "--backend", "keyed") == 2
    assert "'MY_WORKER_KEY'" in caplog.text


def test_a_catalogue_that_is_not_there(tmp_path: Path, caplog) -> None:
    assert start(tmp_path / "none.yaml", "--backend", "sim") == 2
    assert "none.yaml" in caplog.text


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_concurrency_must_be_a_number_above_zero(catalogue: Path, value: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        start(catalogue, "--backend", "sim", "--concurrency", value)
    assert ended.value.code == 2
    assert value in capsys.readouterr().err


def test_a_wrong_duration_is_named(catalogue: Path, monkeypatch, caplog) -> None:
    monkeypatch.setenv("SKILLOPT_TIMING_LEASE_S", "soon")
    assert start(catalogue, "--backend", "sim") == 2
    assert "SKILLOPT_TIMING_LEASE_S is 'soon'" in caplog.text


def test_without_a_redis_it_says_what_to_set(catalogue: Path, monkeypatch, capsys) -> None:
    monkeypatch.delenv("SKILLOPT_REDIS_URL")
    with pytest.raises(SystemExit):
        start(catalogue, "--backend", "sim")
    assert "SKILLOPT_REDIS_URL" in capsys.readouterr().err
