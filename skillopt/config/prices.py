"""List prices by model, in dated files: what a backend costs whose entry does not say.

Three files are looked at in turn: the one that SKILLOPT_PRICES names, `prices.yaml` in the user's
configuration folder, the packaged one. For each model the first that has it wins. A list price
is a vendor's own, so it counts only for backends that call that vendor: not through another
address, and not on Azure, where deployments have names of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Problems
from skillopt.config.packaged import configs_dir
from skillopt.config.translate import report
from skillopt.config.user_folder import user_file
from skillopt.config.yaml_source import read_document
from skillopt.domain.backend import Backend, BackendKind
from skillopt.domain.usage import Price
from skillopt.errors import ConfigError

FILE_NAME: Final = "prices.yaml"
FILE_VARIABLE: Final = "SKILLOPT_PRICES"
_VENDOR_KINDS: Final[frozenset[BackendKind]] = frozenset(
    {"anthropic_messages", "openai_chat", "openai_responses"}
)
_HINTS: Final = {
    "as_of": "write the day on which the prices were looked up, like 2026-10-07",
    "currency": "write `currency: USD per million tokens`",
    "models": "write `models:` and below it lines like `gpt-x: {input: 1.25, output: 10}`",
}


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str
    currency: Literal["USD per million tokens"]
    models: dict[str, Price] = Field(default_factory=dict)

    @field_validator("as_of")
    @classmethod
    def _is_a_day(cls, written: str) -> str:
        try:
            return date.fromisoformat(written).isoformat()
        except ValueError:
            raise ValueError(f"{written!r} is not a day; write it like 2026-10-07") from None


@dataclass(frozen=True)
class PriceFile:
    """The prices of one day."""

    path: Path
    as_of: str
    models: Mapping[str, Price]

    @property
    def words(self) -> str:
        return f"{self.path.name} of {self.as_of}"


@dataclass(frozen=True)
class PriceBook:
    """Every price file, the one that counts most first."""

    files: tuple[PriceFile, ...] = ()

    def applied(self, backend: Backend) -> Backend:
        """Give a backend its model's list price, if it has no price of its own."""
        priced = backend.price is not None or backend.subscription
        if priced or backend.kind not in _VENDOR_KINDS or backend.base_url is not None:
            return backend
        for file in self.files:
            if backend.model in file.models:
                listed = {"price": file.models[backend.model], "price_from": file.words}
                return backend.model_copy(update=listed)
        return backend

    def require(self, backends: Iterable[Backend], *, because: str, otherwise: str) -> None:
        """Raise ConfigError, with `because` before and `otherwise` as a last way out, if the price
        of a backend is unknown.
        """
        problems = Problems()
        for backend in backends:
            if backend.price is None and not backend.subscription:
                problems.add(
                    None,
                    f"{because}, but backend {backend.name!r} has no price{self._looked(backend)}; "
                    "give it `price: {input: …, output: …}` in USD per million tokens, `price: 0` "
                    f"or `price: subscription`{self._way(backend)}, or {otherwise}",
                )
        problems.raise_any(ConfigError)

    def _looked(self, backend: Backend) -> str:
        if backend.kind not in _VENDOR_KINDS or not self.files:
            return ""
        if backend.base_url is not None:
            return " (list prices do not count for an address of your own)"
        looked = ", ".join(file.words for file in self.files)
        return f" and {backend.model!r} is not in {looked}"

    def _way(self, backend: Backend) -> str:
        if backend.kind not in _VENDOR_KINDS or backend.base_url is not None:
            return ""
        return f", or add the model to a {FILE_NAME} that {FILE_VARIABLE} names"


def open_prices(environ: Mapping[str, str]) -> PriceBook:
    """Read every price file; one that a person names must exist. Raises ConfigError."""
    paths = []
    if environ.get(FILE_VARIABLE):
        named = Path(environ[FILE_VARIABLE])
        if not named.is_file():
            raise ConfigError(f"{FILE_VARIABLE}: {str(named)!r} is not a file; name a price file")
        paths.append(named)
    optional = (user_file(environ, FILE_NAME), configs_dir() / FILE_NAME)
    paths += [path for path in optional if path is not None and path.is_file()]
    return PriceBook(tuple(_read(path) for path in paths))


def _read(path: Path) -> PriceFile:
    document = read_document(path, what="a price file")
    problems = Problems()
    try:
        written = _Written.model_validate(document.data, strict=True)
    except ValidationError as error:
        report(error, _Written, document=document, problems=problems, hints=_HINTS)
        problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
        raise
    return PriceFile(path, written.as_of, written.models)
