"""Commands with every kind of credential, and all that can be seen of them.

Two trainings, evaluations that end well and badly, and commands that look at them: on a private
Redis and on a shared one with a password.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import redis
from echoing_provider import echoing
from fleet_command import FAST
from leak_watch import Monitor, ProcessWatch, dumped, files_below, redis_with_password
from planted_secrets import secret_of, unescaped
from telltale_agent import telltale

from producer.attached import attached
from producer.embedded.redis_binary import find_redis_binary

#: The credentials of each backend; a login file has a second one when it was renewed.
CREDENTIALS: dict[str, tuple[str, ...]] = {
    "chat": ("chat",),
    "compatible": ("compatible",),
    "responses": ("responses",),
    "messages": ("messages",),
    "azure": ("azure_a", "azure_b"),
    "azure_responses": ("azure_b",),
    "entra": ("entra",),
    "claude_key": ("claude_key",),
    "claude_token": ("claude_token",),
    "claude_login": ("claude_login", "claude_login_renewed"),
    "codex_key": ("codex_key",),
    "codex_login": ("codex_login", "codex_login_renewed"),
    "copilot_token": ("copilot_token",),
    "copilot_key": ("copilot_key",),
}
SERVED = ("chat", "compatible", "responses", "messages", "azure_a", "azure_b", "entra")
REDIS = "redis_password"
SECRETS = {
    name: secret_of(name) for name in {REDIS, *(n for names in CREDENTIALS.values() for n in names)}
}
#: Read from the environment by the worker.
BY_VARIABLE = {
    f"{name.upper()}_SECRET": secret
    for name, secret in SECRETS.items()
    if name not in (REDIS, "entra") and "login" not in name
}
#: Commands of the programs themselves: what they say there is theirs, and nobody keeps it.
BY_AGENTS = re.compile(r"tool_command\.py|/work/tools/")
NOT_PASSED_ON = ("AZURE_", "IDENTITY_", "MSI_", "SKILLOPT_", "IMDS_")

#: What ends well: the roles of each spec, and whether its Redis is the shared one.
RUNS = {
    "own": ("run", {"target": "claude_key", "optimizer": "chat", "judge": "messages"}, False),
    "shared": ("run", {"target": "entra", "optimizer": "responses", "judge": "compatible"}, True),
    "a": ("eval", {"target": "codex_login", "judge": "azure"}, True),
    "b": ("eval", {"target": "claude_login", "judge": "azure_responses"}, True),
    "c": ("eval", {"target": "copilot_token", "judge": "codex_key"}, True),
    "d": ("eval", {"target": "copilot_key", "judge": "claude_token"}, True),
}
FAILING = {
    "refused": {"target": "refused"},
    "quoted": {"target": "quoted"},
    "failing": {"target": "failing"},
}


def catalogue(servers: Mapping[str, str], bin_folder: Path, logins: Path) -> dict[str, Any]:
    def keyed(kind: str, name: str, path: str = "/v1") -> dict[str, Any]:
        address = f"{servers[name]}{path}"
        variable = f"{name.upper()}_SECRET"
        return {"kind": kind, "model": "sim", "base_url": address, "api_key_env": variable}

    def azure(kind: str, *names: str, **more: Any) -> dict[str, Any]:
        endpoints = [
            {"url": servers[name], "api_key_env": f"{name.upper()}_SECRET"} for name in names
        ]
        return {"kind": kind, "deployment": "sim", "auth": "api_key", "endpoints": endpoints}

    def agent(program: str, name: str, **more: Any) -> dict[str, Any]:
        kind, where = f"{program}_cli", str(bin_folder / program)
        variable = f"{name.upper()}_SECRET"
        return {"kind": kind, "executable": where, "api_key_env": variable, "price": 0, **more}

    def login(program: str, name: str) -> dict[str, Any]:
        entry = agent(program, name, auth="login_file", login_file=str(logins / f"{name}.json"))
        del entry["api_key_env"]
        return entry

    entries = {
        "chat": keyed("openai_chat", "chat"),
        "compatible": keyed("openai_compatible", "compatible"),
        "responses": keyed("openai_responses", "responses"),
        "messages": keyed("anthropic_messages", "messages"),
        "azure": azure("azure_chat", "azure_a", "azure_b"),
        "azure_responses": azure("azure_responses", "azure_b"),
        "entra": {
            "kind": "azure_chat",
            "deployment": "sim",
            "auth": "managed_identity",
            "endpoints": [servers["entra"]],
        },
        "refused": keyed("openai_chat", "chat", "/refuse/401/v1"),
        "quoted": keyed("anthropic_messages", "messages", "/refuse/400"),
        "claude_key": agent("claude", "claude_key"),
        "claude_token": agent("claude", "claude_token", auth="oauth_token"),
        "claude_login": login("claude", "claude_login"),
        "codex_key": agent("codex", "codex_key"),
        "codex_login": login("codex", "codex_login"),
        "copilot_token": agent("copilot", "copilot_token"),
        "copilot_key": agent("copilot", "copilot_key", model="m", base_url=servers["chat"]),
        "failing": agent("codex", "codex_key", executable=str(bin_folder / "bad" / "codex")),
    }
    return {"backends": {name: {"price": 0, **entry} for name, entry in entries.items()}}


def write_spec(folder: Path, roles: Mapping[str, str], *, trained: bool) -> None:
    folder.mkdir()
    tools = [{"name": "lookup", "result": "Berth 7 is free."}] if trained else []
    for split, count in (("train", 2), ("val", 2), ("test", 2)):
        rows = [
            {
                "task_id": f"{split}-{number}",
                "task": f"Summarise meeting number {number} of {split}.",
                "tools": tools,
                **(
                    {"rubric": 'It contains "Verdict:".'}
                    if "judge" in roles
                    else {"judge": {"kind": "rule", "checks": [{"op": "contains", "arg": "x"}]}}
                ),
            }
            for number in range(count)
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "SKILL.md").write_text(f"# Minutes {folder.name}\n\nSummarise the meeting.\n")
    spec: dict[str, Any] = {
        "name": f"minutes-{folder.name}",
        "skill": "SKILL.md",
        "tasks": ".",
        "model": dict(roles),
        "train": {"num_epochs": 1, "batch_size": 2},
        "optimizer": {"use_slow_update": False, "use_meta_skill": False},
        "owner": "someone",
    }
    if "judge" in roles:
        spec["judge"] = {"kind": "rubric"}
    (folder / "spec.yaml").write_text(json.dumps(spec))


@dataclass
class Scene:
    """Everything that the commands did, showed and left."""

    folder: Path
    env: dict[str, str]
    redis_url: str
    codes: dict[str, int] = field(default_factory=dict)
    #: By the kind of place, then by the place itself.
    evidence: dict[str, dict[str, bytes]] = field(default_factory=dict)
    environments: dict[str, bytes] = field(default_factory=dict)
    #: How each run of an agent program was started.
    reports: list[dict[str, Any]] = field(default_factory=list)
    #: The names of the secrets that were used with success.
    used: set[str] = field(default_factory=set)

    def command(self, *words: str, at: str, shared: bool = False) -> None:
        """Give a command in the folder of a spec; what it prints is evidence."""
        url = {"SKILLOPT_REDIS_URL": self.redis_url} if shared else {}
        done = subprocess.run(
            [sys.executable, "-m", "producer.cli", *words],
            cwd=self.folder / at,
            env={**self.env, **url},
            capture_output=True,
            timeout=100,
            check=False,
        )
        name = f"{at}: skillopt {' '.join(words)}"
        self.codes[name] = done.returncode
        self.evidence.setdefault("output", {})[name] = done.stdout + done.stderr

    def kept(self, kind: str) -> bytes:
        return b"\n".join(self.evidence[kind].values())


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def give_commands(scene: Scene) -> None:
    with ThreadPoolExecutor(3) as pool:
        ended = [
            pool.submit(scene.command, command, "spec.yaml", *how, at=name, shared=shared)
            for name, (command, _, shared) in RUNS.items()
            for how in [("--quiet",) if name == "own" else ("--json",)]
        ]
        ended += [
            pool.submit(scene.command, "eval", "spec.yaml", "--json", at=name, shared=True)
            for name in FAILING
        ]
        for one in ended:
            one.result()
        probed = ("chat", "entra", "claude_login", *FAILING)
        named = [word for name in probed for word in ("--backend", name)]
        looks: list[tuple[tuple[str, ...], str, bool]] = [
            (("doctor", "spec.yaml", *named, "--json"), "shared", True),
            (("backends", "spec.yaml", "--json"), "shared", True),
            (("check", "spec.yaml", "--explain"), "own", False),
            (("show", "last", "--json"), "own", False),
            (("show", "last", "--step", "1"), "own", False),
            (("show", "last", "--task", "val-0"), "own", False),
            (("explain", "last", "--step", "1"), "own", False),
            (("show", "last"), "failing", False),
            (("cache", "stats", "--json"), "shared", True),
            (("cache", "explain", "last", "--json"), "shared", True),
            (("budget", "show", "--json"), "shared", True),
            (("export", "last", "exported"), "own", False),
        ]
        for one in [
            pool.submit(scene.command, *words, at=at, shared=shared) for words, at, shared in looks
        ]:
            one.result()


def databases(scene: Scene, shared: Path) -> dict[str, bytes]:
    """Dump both servers, the store's own through the way that reading commands have."""
    of_shared = partial(redis.Redis, unix_socket_path=str(shared), password=SECRETS[REDIS])
    found = dumped(lambda number: of_shared(db=number))
    with attached(None, scene.folder / "own" / ".skillopt") as state:
        path = state.client.connection_pool.connection_kwargs["path"]  # type: ignore[attr-defined]
        own = dumped(lambda number: redis.Redis(unix_socket_path=path, db=number))
    return {**found, **{f"own {key}": value for key, value in own.items()}}


def sort_files(scene: Scene) -> None:
    """Take every file that is there as evidence, but the logins: there the secrets belong."""
    for place, content in files_below(scene.folder).items():
        if place.startswith(("logins/", "bin/", "reports/")):
            continue
        kind = "artifacts"
        if "/logs/" in place or place.endswith(".log"):
            kind = "logs"
        elif place.endswith("events.jsonl"):
            kind = "events"
        scene.evidence.setdefault(kind, {})[place] = content


def staged(folder: Path) -> Scene:
    """Give all the commands and collect what is to be seen of them; everything has ended then."""
    short = Path(tempfile.mkdtemp(prefix="so-"))  # the path of a socket must stay short
    (folder / "reports").mkdir()
    (folder / "logins").mkdir()
    renewed = {"claude": "claude_login_renewed", "codex": "codex_login_renewed", "copilot": REDIS}
    for program, name in renewed.items():
        telltale(folder / "bin", program, folder / "reports", renewed=SECRETS[name])
    telltale(folder / "bin" / "bad", "codex", folder / "reports", fails=True)
    for name in ("claude_login", "codex_login"):
        (folder / "logins" / f"{name}.json").write_text(json.dumps({"token": SECRETS[name]}))
    clean = {n: v for n, v in os.environ.items() if not n.startswith(NOT_PASSED_ON)}
    password, answered = SECRETS[REDIS], set[str]()
    with ExitStack() as stack:
        servers = stack.enter_context(
            echoing({name: SECRETS[name] for name in SERVED}, SECRETS["entra"], answered)
        )
        shared = stack.enter_context(redis_with_password(find_redis_binary().path, short, password))
        heard = stack.enter_context(Monitor(shared, password=password))
        own = folder / "own" / ".skillopt" / "redis" / "socket-path"
        heard_own = stack.enter_context(Monitor(named_in=own))
        (folder / "backends.yaml").write_text(
            json.dumps(catalogue(servers, folder / "bin", folder / "logins"))
        )
        made = Scene(
            folder,
            {
                **clean,
                **FAST,
                **BY_VARIABLE,
                "SKILLOPT_RETRY_BASE_S": "0.01",
                "SKILLOPT_BACKENDS": str(folder / "backends.yaml"),
                "AZURE_POD_IDENTITY_AUTHORITY_HOST": servers["identity"],
                "TMPDIR": str(short),
            },
            f"unix://:{quote(password, safe='')}@{shared}?db=0",
        )
        for name, (command, roles, _) in RUNS.items():
            write_spec(folder / name, roles, trained=command == "run")
        for name, roles in FAILING.items():
            write_spec(folder / name, roles, trained=False)
        with ProcessWatch() as watch:
            give_commands(made)
        made.evidence["arguments"] = {
            shown: line
            for shown, line in watch.command_lines.items()
            if not BY_AGENTS.search(shown)
        }
        made.environments = watch.environments
        made.evidence["redis"] = databases(made, shared)
        left = files_below(short)
    made.evidence["messages"] = {
        "shared": unescaped(heard.heard),
        "own": unescaped(heard_own.heard),
        "shared as written": heard.heard,
        "own as written": heard_own.heard,
    }
    sort_files(made)
    left.pop("redis.conf")
    made.evidence["artifacts"] |= {f"temporary {place}": part for place, part in left.items()}
    made.reports = [json.loads(p.read_text()) for p in (folder / "reports").iterdir()]
    made.used = answered | {
        name
        for name, secret in SECRETS.items()
        for report in made.reports
        if digest_of(secret) in report["used"]
    }
    shutil.rmtree(short)
    return made
