"""The bytes of a picture in the words of an API."""

from __future__ import annotations

import base64

from skillopt.domain.messages import Image
from skillopt.errors import BadRequest


def encoded(image: Image) -> str:
    """Give the bytes as base64; a picture without its bytes must not be sent as an empty one."""
    if not image.data:
        raise BadRequest(
            f"the picture {image.sha256[:16]!r} ({image.media_type}) is here by name only, so "
            "nothing was sent; its blob must be read before the call"
        )
    return base64.b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    return f"data:{image.media_type};base64,{encoded(image)}"
