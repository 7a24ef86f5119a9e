"""A backend in one line, and as a program reads it."""

from __future__ import annotations

from typing import Any

from producer.view import numbers
from skillopt.domain.backend import Backend


def backend_words(backend: Backend) -> str:
    """Say what a backend is, where it is and what it costs."""
    where = f" at {backend.base_url}" if backend.base_url else ""
    if backend.azure:
        where = f" at {', '.join(one.url for one in backend.azure.endpoints)}"
    model = f"model {backend.model}" if backend.model else "the program's own model"
    if backend.agent:
        model = f"version {backend.agent.version}, {model}"
    return f"{backend.name}: {backend.kind}, {model}{where}, {price_words(backend)}"


def price_words(backend: Backend) -> str:
    """Say what a backend costs; one without a price is not free."""
    if backend.price is None:
        return "subscription, not priced" if backend.subscription else numbers.NOT_PRICED
    if not (backend.price.input or backend.price.output):
        return "free"
    source = f"list price, {backend.price_from}" if backend.price_from else "by its entry"
    rates = f"${backend.price.input:g} in, ${backend.price.output:g} out per million tokens"
    return f"{rates} ({source})"


def backend_object(backend: Backend) -> dict[str, Any]:
    """Give what tells it from others, and its price."""
    return {
        "name": backend.name,
        "kind": backend.kind,
        "model": backend.model,
        "version": backend.agent.version if backend.agent else None,
        "fingerprint": backend.fingerprint,
        "price": backend.price.model_dump(mode="json") if backend.price else None,
        "price_from": backend.price_from or ("entry" if backend.price else None),
        "subscription": backend.subscription,
    }
