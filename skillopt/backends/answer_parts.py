"""What the answers of all APIs have in common, read from whatever a server sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, NonNegativeInt, ValidationError

from skillopt.domain.messages import ToolCall
from skillopt.errors import ServerFailed

#: Kinds of content parts that hold what the model says; a part without a kind does too.
_SPOKEN = frozenset({"", "text", "output_text"})


class Part(BaseModel):
    """A piece of an answer; what it has besides is not looked at."""

    model_config = ConfigDict(extra="ignore", frozen=True)


P = TypeVar("P", bound=Part)


def as_text(value: Any) -> Any:  # noqa: ANN401 - servers answer with anything
    """Join parts to one text, and mend characters that were cut in half."""
    if value is None:
        return ""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict)]
        texts = [part.get("text") for part in parts if str(part.get("type") or "") in _SPOKEN]
        value = "".join(text for text in texts if isinstance(text, str))
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _as_arguments(value: Any) -> Any:  # noqa: ANN401
    """Arguments are a text to us, though some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict | list) else as_text(value) or "{}"


Text = Annotated[str, BeforeValidator(as_text)]
Arguments = Annotated[str, BeforeValidator(_as_arguments)]


class _CachedTokens(Part):
    cached_tokens: NonNegativeInt = 0


def decoded(body: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Decode an answer; raises ServerFailed if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ServerFailed("the provider's answer is not JSON", may_be_billed=True) from error


def understood(raw: object, form: type[P]) -> P:
    """Read an answer of a form; raises ServerFailed, with where it is not, if it is another."""
    try:
        return form.model_validate(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "its top level"
        raise no_message(where) from None


def no_message(where: str) -> ServerFailed:
    return ServerFailed(
        f"the provider's answer has no usable message (see {where})", may_be_billed=True
    )


def cached_tokens(details: object) -> int:
    """Count what a provider's cache gave; 0 if the provider does not say."""
    try:
        return _CachedTokens.model_validate(details).cached_tokens
    except ValidationError:
        return 0


def named_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Give every call an id of its own: a result must name its call, whatever the server sent."""
    taken: set[str] = set()
    named = []
    for number, call in enumerate(calls):
        own = call.id if call.id and call.id not in taken else f"call_{number}"
        while own in taken:
            own += "_"
        taken.add(own)
        named.append(call.model_copy(update={"id": own}))
    return tuple(named)
