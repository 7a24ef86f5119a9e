"""Runs that arrive over HTTP: what is taken, what is refused, and whose they become."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping

import httpx2
import pytest
from api_service import Service, serving

SPEC = "name: greeter\nskill: SKILL.md\ntasks: tasks.jsonl\nmodel: {target: sim}\n"
FILES = {"spec.yaml": SPEC, "SKILL.md": "# Greeter\n", "tasks.jsonl": "{}\n"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("api")) as running:
        yield running


def _zip(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return buffer.getvalue()


def _post(
    service: Service, content: bytes, token: str = "alice-runner", **query: object
) -> httpx2.Response:
    headers = {"Content-Type": "application/zip"}
    return service.ask(token, "POST", "/runs", content=content, headers=headers, params=query)


def _refused(service: Service, files: Mapping[str, str | bytes], **query: object) -> str:
    before = len(service.submissions.seen)
    reply = _post(service, _zip(files), **query)
    assert reply.status_code == 422, reply.text
    assert len(service.submissions.seen) == before
    assert list((service.folder / "api").iterdir()) == []
    assert str(service.folder) not in reply.text
    message: str = reply.json()["error"]["message"]
    return message


def test_a_spec_with_its_files_becomes_a_run_of_the_tokens_owner(service: Service):
    query = {"priority": "high", "label": ["area=docs", "n=1"], "set": ["train.seed=7"]}
    reply = _post(service, _zip(FILES), **query)
    assert reply.status_code == 201, reply.text
    assert (reply.json()["name"], reply.json()["owner"], reply.json()["team"]) == (
        "greeter", "alice", "blue"
    )  # fmt: skip
    submitted = service.submissions.seen[-1]
    assert submitted.files == sorted(FILES)
    assert submitted.overrides == ("train.seed=7",)
    assert submitted.tags.priority == "high"
    assert submitted.tags.labels == {"area": "docs", "n": "1"}
    assert (submitted.owner, submitted.team) == ("alice", "blue")
    assert not submitted.spec.exists(), "nothing of an upload stays"


def test_what_is_not_given_is_left_to_the_spec(service: Service):
    assert _post(service, _zip(FILES)).status_code == 201
    assert service.submissions.seen[-1].tags.model_fields_set == {"labels"}


def test_a_spec_may_lie_deeper_and_extend_what_the_archive_has(service: Service):
    files = {
        "lib/base.yaml": "model: {target: sim}\nskill: ../SKILL.md\n",
        "runs/mine/spec.yaml": "extends: ../../lib/base.yaml\ntasks: ../../tasks.jsonl\n",
        "SKILL.md": "# S\n",
        "tasks.jsonl": "{}\n",
    }
    assert _post(service, _zip(files), spec="runs/mine/spec.yaml").status_code == 201


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("skill: /etc/passwd", "leads out of the archive"),
        ("skill: ../SKILL.md", "leads out of the archive"),
        ("skill: ~/SKILL.md", "leads out of the archive"),
        ("tasks: /etc", "leads out of the archive"),
        ("memory: ../../m.md", "leads out of the archive"),
        ("prompts: /", "leads out of the archive"),
        ("extends: /etc/base.yaml", "leads out of the archive"),
        ("extends: ../base.yaml", "leads out of the archive"),
        ("backends: {x: {kind: openai_chat}}", "cannot define backends"),
        ("owner: bob", "not your token's"),
        ("team: red", "not your token's"),
        ("judge: {kind: python, file: j.py, function: f}", "runs code"),
        ("judge: {kind: function}", "runs code"),
        ("model: {target: {use: sim, params: {extra_body: {a: '${HOME}'}}}}", "variable"),
        ("model: {target: '${REDIS_PASSWORD:-x}'}", "variable"),
        ("notify: {webhook: 'http://127.0.0.1:6379/'}", "public https"),
        ("notify: {webhook: 'https://169.254.169.254/latest'}", "public https"),
        ("notify: {webhook: 'https://localhost/'}", "public https"),
        ("notify: {webhook: 'https://10.0.0.5/'}", "public https"),
        ("notify: {webhook: 'https://[::1]/'}", "public https"),
        ("notify: {webhook: 'https://redis/'}", "public https"),
        ("notify: {webhook: 'https://2130706433/'}", "public https"),
        ("notify: {webhook: 'https://0x7f.1/'}", "public https"),
        ("notify: {webhook: 'ftp://example.org/'}", "public https"),
    ],
)
def test_a_spec_that_reaches_out_of_its_archive_is_refused(service: Service, line: str, words: str):
    assert words in _refused(service, {**FILES, "spec.yaml": f"name: n\n{line}\n"})


def test_what_an_extended_file_says_is_checked_as_well(service: Service):
    spec = "name: n\nextends: base.yaml\n"
    base = "backends: {sim: {kind: openai_chat}}\nskill: ../x\n"
    message = _refused(service, {**FILES, "spec.yaml": spec, "base.yaml": base})
    assert "cannot define backends" in message
    assert "base.yaml:2: skill: '../x' leads out" in message


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("skill=/etc/passwd", "a path cannot be set"),
        ("tasks=..", "a path cannot be set"),
        ("memory=x", "a path cannot be set"),
        ("prompts=x", "a path cannot be set"),
        ("extends=x", "a path cannot be set"),
        (" skill =x", "a path cannot be set"),
        ("backends.sim.kind=openai_chat", "cannot define backends"),
        ("owner=bob", "not your token's"),
        ("judge.kind=python", "runs code"),
        ("model.target=${HOME}", "variable"),
        ("notify.webhook=http://127.0.0.1/", "public https"),
    ],
)
def test_what_is_set_over_the_spec_is_checked_as_well(service: Service, override: str, words: str):
    assert words in _refused(service, FILES, set=[override])


def test_a_catalogue_beside_the_spec_is_refused(service: Service):
    catalogue = "backends: {sim: {kind: openai_compatible, base_url: 'http://127.0.0.1:1'}}"
    assert "backends.yaml" in _refused(service, {**FILES, "backends.yaml": catalogue})
    deeper = {f"a/{name}": content for name, content in FILES.items()}
    deeper["a/backends.yaml"] = catalogue
    assert "backends.yaml" in _refused(service, deeper, spec="a/spec.yaml")


def test_a_dollar_in_a_text_is_no_variable(service: Service):
    spec = f"{SPEC}preferences: 'write ${{amount}} so'\nlabels: {{a: '${{b}}'}}\n"
    assert _post(service, _zip({**FILES, "spec.yaml": spec})).status_code == 201


def test_ones_own_owner_may_be_written_down(service: Service):
    spec = f"{SPEC}owner: alice\nteam: blue\n"
    assert _post(service, _zip({**FILES, "spec.yaml": spec})).status_code == 201


def test_a_run_needs_a_name_that_follows_from_what_was_sent(service: Service):
    unnamed = {**FILES, "spec.yaml": SPEC.replace("name: greeter\n", "")}
    assert "has no `name:`" in _refused(service, unnamed)
    assert _post(service, _zip(unnamed), set=["name=x"]).status_code == 201
    unnamed["greeter.yaml"] = unnamed.pop("spec.yaml")
    assert _post(service, _zip(unnamed), spec="greeter.yaml").status_code == 201


@pytest.mark.parametrize("name", ["../spec.yaml", "/etc/passwd", "nothing.yaml", "."])
def test_the_spec_must_be_in_the_archive(service: Service, name: str):
    assert "the archive has no file" in _refused(service, FILES, spec=name)


def test_an_archive_that_is_none_is_refused(service: Service):
    assert "zip archive" in _post(service, b"hello").json()["error"]["message"]
    assert "zip archive" in _post(service, b"").json()["error"]["message"]
    reply = service.ask("alice-runner", "POST", "/runs", json={"spec": "x"})
    assert reply.status_code == 422
    assert "application/json" in reply.json()["error"]["message"]


def test_a_spec_that_is_no_spec_is_told_with_its_line(service: Service):
    message = _refused(service, {**FILES, "spec.yaml": "name: n\n  bad: [\n"})
    assert message.startswith("spec.yaml:")
    assert "spec.yaml" in _refused(service, {**FILES, "spec.yaml": b"\xff\xfe\x00"})


def test_a_quota_that_is_used_up_is_a_conflict(service: Service, monkeypatch: pytest.MonkeyPatch):
    from skillopt.errors import QuotaExceeded

    def full(*_: object, **__: object) -> str:
        raise QuotaExceeded("alice", 3, 3)

    monkeypatch.setattr(service.submissions, "submit", full)
    reply = _post(service, _zip(FILES))
    assert reply.status_code == 409
    assert reply.json()["error"]["code"] == "quota"
