"""One entry of the catalogue: from what is written to a backend, or to what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from skillopt.config.anthropic_entry import check_messages, messages_params, messages_revision
from skillopt.config.azure_entry import read_access
from skillopt.config.cli_entry import read_agent
from skillopt.config.entry_checks import check_key_variable, check_params, check_url
from skillopt.config.entry_models import (
    KINDS,
    AgentEntry,
    AnthropicEntry,
    AnyEntry,
    AzureEntry,
    OpenAICompatibleEntry,
    OpenAIEntry,
    SimulatedEntry,
)
from skillopt.config.interpolate import Interpolation
from skillopt.config.key_hosts import check_key_hosts
from skillopt.config.origins import KeyPath, Problems, dotted
from skillopt.config.published import PUBLISHED_REVISION
from skillopt.config.suggest import did_you_mean
from skillopt.config.translate import report
from skillopt.config.yaml_source import Document
from skillopt.domain.backend import Backend, BackendKind
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.hosts import may_have_openai_key
from skillopt.domain.usage import Price

SIMULATOR_URL_VARIABLE = "SIM_URL"

#: Options of a simulator that the run itself chooses.
_OUR_SIMULATOR_OPTIONS = ("host", "port")
_FREE = Price(input=0, output=0)


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
        else:
            self._fault(
                ("kind",),
                f"{kind!r} is not known; {did_you_mean(str(kind), KINDS, 'kinds')}",
            )
        return None

    def _agent(self, name: str, kind: BackendKind, entry: AgentEntry) -> Backend | None:
        parts = read_agent(kind, entry, self._document.origin(self._path), self._fault)
        price, subscription = self._price(entry)
        if parts is None:
            return None
        return Backend(
            name=name,
            kind=kind,
            model=entry.model or "",
            base_url=parts.base_url,
            api_key_env=parts.key_variable,
            revision=entry.revision or parts.revision,
            limits=parts.limits,
            price=price,
            subscription=subscription or (entry.price is None and parts.subscription),
            timeout_s=entry.timeout_s,
            agent=parts.agent,
        )

    def _backend(self, name: str, kind: BackendKind, entry: AnyEntry) -> Backend | None:
        if isinstance(entry, AgentEntry):
            return self._agent(name, kind, entry)
        azure = read_access(kind, entry, self._fault) if isinstance(entry, AzureEntry) else None
        key_variable = None
        if isinstance(entry, AnthropicEntry | OpenAIEntry | OpenAICompatibleEntry):
            key_variable = entry.api_key_env
            check_key_variable(key_variable, self._fault)
        base_url = None if isinstance(entry, AzureEntry) else self._base_url(entry, key_variable)
        check_params(kind, entry.params, self._fault)
        params = entry.params
        if isinstance(entry, AnthropicEntry):
            check_messages(entry, base_url, self._fault)
            params = messages_params(params)
        if isinstance(entry, OpenAIEntry):
            otherwise = "or use the kind openai_compatible for a server that is not OpenAI's"
            check_key_hosts(entry, base_url, may_have_openai_key, self._fault, otherwise=otherwise)
        if isinstance(entry, SimulatedEntry):
            self._check_simulator(entry)
        price, subscription = self._price(entry)
        revision = entry.revision
        if revision is None:
            revision = {
                "anthropic_messages": messages_revision(base_url),
                "openai_compatible": short(text_hash(base_url or "")),
                "simulated": PUBLISHED_REVISION,
            }.get(kind, "")
        return Backend(
            name=name,
            kind=kind,
            model=entry.deployment if isinstance(entry, AzureEntry) else entry.model,
            base_url=base_url,
            api_key_env=key_variable,
            revision=revision,
            params=params,
            limits=entry.limits,
            price=price,
            subscription=subscription,
            timeout_s=entry.timeout_s,
            simulator=entry.simulator if isinstance(entry, SimulatedEntry) else {},
            allowed_hosts=tuple(getattr(entry, "allowed_hosts", ())),
            azure=azure,
            structured_output=entry.structured_output,
        )

    def _base_url(
        self,
        entry: AnthropicEntry | OpenAIEntry | OpenAICompatibleEntry | SimulatedEntry,
        variable: str | None,
    ) -> str | None:
        url = entry.base_url
        if isinstance(entry, SimulatedEntry) and url is None:
            url = self._environ.get(SIMULATOR_URL_VARIABLE) or None
        if url is None:
            return None
        url = url.rstrip("/")
        sends = f"the key of {variable!r}" if variable else None
        check_url(url, self._fault, sends=sends)
        return url

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

    def _price(self, entry: AnyEntry) -> tuple[Price | None, bool]:
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
