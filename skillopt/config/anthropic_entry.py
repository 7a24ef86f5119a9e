"""The part of an entry that only Anthropic's Messages API knows."""

from __future__ import annotations

from urllib.parse import urlsplit

from skillopt.config.entry_checks import Fault
from skillopt.config.entry_models import AnthropicEntry
from skillopt.config.key_hosts import check_key_hosts
from skillopt.domain.backend import Params
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.hosts import ANTHROPIC_HOST, may_have_anthropic_key

#: The API has no limit of its own for a reply that sets none: every request must name one.
MAX_OUTPUT_TOKENS = 4_096
MAX_TEMPERATURE = 1.0

_OUR_BODY_KEYS = ("max_tokens", "system", "tool_choice")


def messages_params(params: Params) -> Params:
    """Fill in what every request must say, so that the fingerprint says it too."""
    if params.max_output_tokens is not None:
        return params
    return params.model_copy(update={"max_output_tokens": MAX_OUTPUT_TOKENS})


def messages_revision(base_url: str | None) -> str:
    """Tell other servers apart by their address: a model's name means the same only at home."""
    if base_url is None or urlsplit(base_url).hostname == ANTHROPIC_HOST:
        return ""
    return short(text_hash(base_url))


def check_messages(entry: AnthropicEntry, base_url: str | None, fault: Fault) -> None:
    """Refuse what the API would, what it would ignore, and keys for hosts that nobody named."""
    check_key_hosts(
        entry,
        base_url,
        may_have_anthropic_key,
        fault,
        otherwise="or api_key_env: null if it needs none",
    )
    if entry.structured_output == "json_object":
        fault(
            ("structured_output",),
            "'json_object' cannot be asked for, the Messages API knows schemas only; write "
            "json_schema or none",
        )
    check_messages_params(entry.params, fault)


def check_messages_params(params: Params, fault: Fault) -> None:
    """Refuse parameters that the API would refuse or ignore."""
    if params.temperature is not None and params.temperature > MAX_TEMPERATURE:
        fault(
            ("params", "temperature"),
            f"{params.temperature!r} is too large; the Messages API takes 0 to 1",
        )
    if params.seed is not None:
        fault(
            ("params", "seed"),
            f"{params.seed!r} cannot be sent, the Messages API has no seed; remove it",
        )
    if params.reasoning_effort is not None:
        fault(
            ("params", "reasoning_effort"),
            f"{params.reasoning_effort!r} cannot be sent under this name; write params.extra_body: "
            f"{{output_config: {{effort: {params.reasoning_effort}}}}}",
        )
    for key in _OUR_BODY_KEYS:
        if key in params.extra_body:
            fault(("params", "extra_body", key), "is set by skillopt for each call; remove it")
    thinking = params.extra_body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        fault(
            ("params", "extra_body", "thinking"),
            "would end every attempt at its first tool call, whose thoughts are not kept; write "
            "{type: adaptive}",
        )
