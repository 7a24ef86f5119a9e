from __future__ import annotations

from collections.abc import Iterator

import pytest
from worker_parts import Workshop


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    monkeypatch.setattr("workers.patience.STATE_RETRY_S", 0.001)
    workshop = Workshop()
    yield workshop
    workshop.close()
