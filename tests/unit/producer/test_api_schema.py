"""Whatever is sent to the API, sensible or not, it answers as its schema says, and never fails."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import schemathesis
from api_service import Service, bench_with_runs, redis_bench, serving
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from producer.api.settings import ApiSettings

EXAMPLES = 12
NEGATIVE = schemathesis.GenerationMode.NEGATIVE
MANY = ApiSettings(request_burst=1e6, failure_burst=1e6, poll_s=0.02)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module", params=["memory", "redis"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    with ExitStack() as opened:
        if request.param == "memory":
            bench = bench_with_runs()
        else:
            url = f"unix://{request.getfixturevalue('redis_server')}?db=0"
            bench = opened.enter_context(redis_bench(url))
        yield opened.enter_context(serving(tmp_path_factory.mktemp("api"), MANY, bench))


@schemathesis.serializer("application/zip")
def zipped(context: schemathesis.SerializationContext, value: object) -> bytes:
    """Put anything into an archive: as its spec, and as what it is."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("spec.yaml", f"name: n\nskill: {value!r}\n")
        archive.writestr("a/any.bin", repr(value))
    return buffer.getvalue()


def test_no_request_brings_the_server_down(service: Service, subtests: pytest.Subtests):
    described = service.get("root", "/openapi.json").json()
    schema = schemathesis.openapi.from_dict(described)
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        tried.append(operation.label)
        with subtests.test(operation.label):
            _try(operation, service)
    assert len(tried) == sum(map(len, described["paths"].values()))


def _try(operation: schemathesis.APIOperation, service: Service) -> None:
    """Send what fits the schema, and what does not."""
    answers: Counter[int] = Counter()

    @given(case=operation.as_strategy() | operation.as_strategy(generation_mode=NEGATIVE))
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def send(case: schemathesis.Case) -> None:
        named = case.path_parameters
        if named and len(str(named.get("run", "xx"))) % 2:  # what is no run, and what is one
            named["run"] = service.runs["alice"]
        reply = case.call(
            base_url=service.url,
            headers={"Authorization": f"Bearer {service.secrets['root']}"},
            timeout=20,
        )
        answers[reply.status_code] += 1
        case.validate_response(reply, checks=CHECKS)

    send()
    assert set(answers) - {401}
