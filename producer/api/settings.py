"""What the HTTP API allows to one caller and to all of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ApiSettings:
    """Rates hold for one server process; they are kept in its memory."""

    #: Requests of one token, over a minute and at once.
    requests_per_minute: float = 600
    request_burst: float = 200
    #: Requests without a valid token, from one address.
    failures_per_minute: float = 30
    failure_burst: float = 30

    max_json_bytes: int = 64 * 1024
    max_upload_bytes: int = 64 * 1024 * 1024
    #: The longest silence within a body.
    body_silence_s: float = 30.0

    #: Live streams of one token, and of all.
    streams_per_token: int = 16
    streams: int = 200
    #: Uploads of one token that are under way or wait their turn, and of all.
    uploads_per_token: int = 4
    uploads: int = 32
    #: How often a stream looks for news, and says that it is still there.
    poll_s: float = 0.5
    heartbeat_s: float = 15.0

    #: Exports, reports and counts that are worked on at a time; others wait.
    heavy_at_once: int = 2
