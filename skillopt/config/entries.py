"""One entry of the catalogue: the keys each kind of backend takes, and what they must fulfil."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.config.interpolate import Interpolation
from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.spellings import SECRET_KEYS
from skillopt.config.suggest import did_you_mean
from skillopt.config.translate import report
from skillopt.config.yaml_source import Document
from skillopt.domain.backend import Backend, BackendKind, Limits, Params
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.usage import Price

#: Stands for the behaviour a simulator publishes, until somebody has asked it.
PUBLISHED_REVISION = "published"
SIMULATOR_URL_VARIABLE = "SIM_URL"

LATER_KINDS = frozenset(
    {
        "anthropic_messages",
        "azure_chat",
        "azure_responses",
        "claude_cli",
        "codex_cli",
        "copilot_cli",
        "openai_responses",
    }
)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Headers by which secrets travel: `Authorization`, `X-Api-Key`, `X-Auth-Token` …
_SECRET_HEADER = re.compile(
    r"(?:.*[-_])?(?:api_?key|key|auth|authorization|cookie|credentials?|password|secret|token)",
    re.IGNORECASE,
)
_WOULD_STORE = "would store a secret; remove it and name the key's variable as api_key_env"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
#: Parts of a request that are not the catalogue's to set: replies would not be understood.
_OUR_BODY_KEYS = frozenset({"messages", "model", "n", "stream", "tools"})
#: Options of a simulator that the run itself chooses.
_OUR_SIMULATOR_OPTIONS = ("host", "port")
_FREE = Price(input=0, output=0)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    revision: str | None = Field(default=None, min_length=1)
    params: Params = Params()
    limits: Limits = Limits()
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    #: Read by hand: a number, a word or a mapping.
    price: object = None


class OpenAIChatEntry(_Entry):
    model: str = Field(min_length=1)
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"


class OpenAICompatibleEntry(_Entry):
    model: str = Field(min_length=1)
    base_url: str
    api_key_env: str | None = None


class SimulatedEntry(_Entry):
    model: str = Field(default="sim", min_length=1)
    base_url: str | None = None
    #: Options of the simulator that is started if there is no base_url.
    simulator: dict[str, Any] = Field(default_factory=dict)


_Known = OpenAIChatEntry | OpenAICompatibleEntry | SimulatedEntry
KINDS: dict[BackendKind, type[_Known]] = {
    "openai_chat": OpenAIChatEntry,
    "openai_compatible": OpenAICompatibleEntry,
    "simulated": SimulatedEntry,
}


class EntryReader:
    """Reads one entry; everything wrong with it joins `problems`, without any secret."""

    def __init__(
        self, document: Document, path: KeyPath, environ: Mapping[str, str], problems: Problems
    ) -> None:
        self._document = document
        self._path = path
        self._environ = environ
        self._problems = problems

    def read(self, name: str, written: object) -> Backend | None:
        """Make a backend of an entry; None if it has problems."""
        before = len(self._problems)
        if not isinstance(written, dict):
            self._fault((), "is not a section; write `kind:` and `model:` below it")
            return None
        kind = self._kind(written.get("kind"))
        if kind is None:
            return None
        values = Interpolation(self._environ, self._document, self._problems).apply(
            written, self._path
        )
        if len(self._problems) > before:
            return None
        try:
            entry = KINDS[kind].model_validate(values, strict=True)
        except ValidationError as error:
            report(
                error,
                KINDS[kind],
                document=self._document,
                problems=self._problems,
                prefix=self._path,
            )
            return None
        backend = self._backend(name, kind, entry)
        return None if len(self._problems) > before else backend

    def _kind(self, kind: object) -> BackendKind | None:
        for known in KINDS:
            if kind == known:
                return known
        if kind is None:
            self._fault(("kind",), f"is missing; give one of {', '.join(sorted(KINDS))}")
        elif isinstance(kind, str) and kind in LATER_KINDS:
            self._fault(
                ("kind",),
                f"{kind!r} is not part of this version; known kinds: {', '.join(sorted(KINDS))}",
            )
        else:
            self._fault(
                ("kind",),
                f"{kind!r} is not known; {did_you_mean(str(kind), KINDS, 'kinds')}",
            )
        return None

    def _backend(self, name: str, kind: BackendKind, entry: _Known) -> Backend:
        key_variable = None if isinstance(entry, SimulatedEntry) else entry.api_key_env
        base_url = entry.base_url
        if isinstance(entry, SimulatedEntry) and base_url is None:
            base_url = self._environ.get(SIMULATOR_URL_VARIABLE) or None
        base_url = None if base_url is None else base_url.rstrip("/")
        self._check_key_variable(key_variable)
        self._check_url(base_url, key_variable)
        self._check_headers(entry.params)
        self._check_body(entry.params)
        if isinstance(entry, SimulatedEntry):
            self._check_simulator(entry)
        price, subscription = self._price(entry)
        revision = entry.revision
        if revision is None:
            revision = {
                "openai_chat": "",
                "openai_compatible": short(text_hash(base_url or "")),
                "simulated": PUBLISHED_REVISION,
            }[kind]
        return Backend(
            name=name,
            kind=kind,
            model=entry.model,
            base_url=base_url,
            api_key_env=key_variable,
            revision=revision,
            params=entry.params,
            limits=entry.limits,
            price=price,
            subscription=subscription,
            timeout_s=entry.timeout_s,
            simulator=entry.simulator if isinstance(entry, SimulatedEntry) else {},
        )

    def _check_key_variable(self, variable: str | None) -> None:
        # What does not look like a name may be the key itself: it is not shown.
        if variable is not None and not _VARIABLE_NAME.match(variable):
            self._fault(
                ("api_key_env",),
                "is not the name of an environment variable; give its name, never the key itself",
            )

    def _check_url(self, url: str | None, key_variable: str | None) -> None:
        if url is None:
            return
        try:
            parts = urlsplit(url)
            host = parts.hostname
            _ = parts.port
        except ValueError:
            host = None
        if host is None or parts.scheme not in ("http", "https"):
            self._fault(
                ("base_url",),
                "is not a URL; write it like https://host/v1 or http://127.0.0.1:8000/v1",
            )
        elif parts.username or parts.password or parts.query or parts.fragment:
            self._fault(
                ("base_url",),
                "holds a user name, password, query or fragment; give scheme, host, port and path "
                "only, and the key's variable as api_key_env",
            )
        elif parts.scheme == "http" and key_variable and not _is_loopback(host):
            self._fault(
                ("base_url",),
                f"would send the key of {key_variable!r} unencrypted to {host!r}; use https, or "
                "remove api_key_env",
            )

    def _check_headers(self, params: Params) -> None:
        for header, value in params.extra_headers.items():
            if _SECRET_HEADER.fullmatch(header):
                self._fault(("params", "extra_headers", header), _WOULD_STORE)
            elif not _HEADER_NAME.match(header):
                self._fault(
                    ("params", "extra_headers", header),
                    f"{header!r} is not the name of a header; give letters, digits and '-'",
                )
            elif not (value.isascii() and value.isprintable()):
                self._fault(
                    ("params", "extra_headers", header),
                    f"{value!r} cannot be sent in a header; give printable ASCII characters",
                )

    def _check_body(self, params: Params) -> None:
        for key in sorted(_OUR_BODY_KEYS & params.extra_body.keys()):
            self._fault(
                ("params", "extra_body", key), "is set by skillopt for each call; remove it"
            )
        for key in sorted(SECRET_KEYS & params.extra_body.keys()):
            self._fault(("params", "extra_body", key), _WOULD_STORE)

    def _check_simulator(self, entry: SimulatedEntry) -> None:
        if entry.simulator and entry.base_url is not None:
            self._fault(
                ("simulator",),
                "would change nothing beside base_url; give these options to that simulator",
            )
        for name, value in entry.simulator.items():
            if name in _OUR_SIMULATOR_OPTIONS:
                self._fault(("simulator", name), "is chosen by skillopt for each run; remove it")
            elif type(value) not in (str, int, float):
                self._fault(
                    ("simulator", name), f"{value!r} is neither a number nor a text; give one"
                )

    def _price(self, entry: _Known) -> tuple[Price | None, bool]:
        price = entry.price
        if price is None:
            return (_FREE if isinstance(entry, SimulatedEntry) else None), False
        if price == "subscription":
            return None, True
        if type(price) in (int, float) and price == 0:
            return _FREE, False
        if isinstance(price, dict):
            try:
                return Price.model_validate(price, strict=True), False
            except ValidationError as error:
                report(
                    error,
                    Price,
                    document=self._document,
                    problems=self._problems,
                    prefix=(*self._path, "price"),
                )
                return None, False
        self._fault(
            ("price",),
            f"{price!r} is not understood; give {{input: …, output: …}} in USD per million "
            "tokens, 0 for a free model, or subscription",
        )
        return None, False

    def _fault(self, below: KeyPath, text: str) -> None:
        path = self._path + below
        joint = " " if text.startswith(("is ", "holds ", "would ")) else ": "
        self._problems.add(self._document.origin(path), f"{dotted(path)}{joint}{text}")


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
