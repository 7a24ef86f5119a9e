"""Who may do what over HTTP: every route without a token, with a wrong role, on others' runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_service import Service, serving

from producer.api.settings import ApiSettings

#: Every route of the API: method, path, and the least role that it takes.
ROUTES = [
    ("GET", "/me", "viewer"),
    ("GET", "/runs", "viewer"),
    ("POST", "/runs", "runner"),
    ("GET", "/runs/{run}", "viewer"),
    ("PATCH", "/runs/{run}", "runner"),
    ("POST", "/runs/{run}/pause", "runner"),
    ("POST", "/runs/{run}/resume", "runner"),
    ("POST", "/runs/{run}/cancel", "runner"),
    ("GET", "/runs/{run}/curve", "viewer"),
    ("GET", "/runs/{run}/gates", "viewer"),
    ("GET", "/runs/{run}/diff", "viewer"),
    ("GET", "/runs/{run}/blame", "viewer"),
    ("GET", "/runs/{run}/records", "viewer"),
    ("GET", "/runs/{run}/events", "viewer"),
    ("GET", "/runs/{run}/stream", "viewer"),
    ("GET", "/runs/{run}/export", "viewer"),
    ("GET", "/runs/{run}/report", "viewer"),
    ("GET", "/fleet", "viewer"),
    ("PATCH", "/backends/{name}/limits", "admin"),
    ("GET", "/cache", "viewer"),
    ("GET", "/dead", "viewer"),
    ("GET", "/quotas", "viewer"),
    ("PUT", "/quotas/{owner}", "admin"),
    ("GET", "/spend", "viewer"),
]
OF_RUNS = [route for route in ROUTES if "{run}" in route[1]]
STEERING = [route for route in OF_RUNS if route[2] == "runner"]
READING = [route for route in OF_RUNS if route[2] == "viewer"]
BODIES = {"PATCH": {"priority": "low"}, "PUT": {"max_runs": 3}}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    many = ApiSettings(request_burst=1e6, failure_burst=1e6, poll_s=0.02)
    with serving(tmp_path_factory.mktemp("api"), many) as running:
        yield running


def _named(routes: list[tuple[str, str, str]]) -> list[object]:
    return [pytest.param(method, path, id=f"{method} {path}") for method, path, _ in routes]


def _ask(service: Service, token: str | None, method: str, path: str, run: str = ""):
    path = path.format(run=run, name="sim", owner="alice")
    body = {"rpm": 5} if path.endswith("limits") else BODIES.get(method)
    return service.ask(token, method, path, json=body)


def _state_of(service: Service) -> list[tuple[object, ...]]:
    state = service.bench.state
    runs = [(one.run, one.status, one.version) for one in state.runs.all()]
    asks = [(one.run, state.requests.pending(one.run)) for one in state.runs.all()]
    return [*runs, *asks, tuple(state.quotas.all())]


def test_the_table_lists_every_route_of_the_schema(service: Service):
    schema = service.get("root", "/openapi.json").json()
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in schema["paths"].items()
        for method in methods
    }
    assert described - {("GET", "/healthz")} == {(method, path) for method, path, _ in ROUTES}


@pytest.mark.parametrize(("method", "path"), _named(ROUTES))
def test_no_route_answers_without_a_valid_token(service: Service, method: str, path: str):
    before = _state_of(service)
    for headers in (
        {},
        {"Authorization": "Bearer sofl_" + "A" * 43},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {service.secrets['root']}"},
        {"X-Token": service.secrets["root"]},
    ):
        with service.client() as client:
            reply = client.request(
                method, path.format(run=service.runs["alice"], name="sim", owner="alice"),
                headers=headers, json=BODIES.get(method),
            )  # fmt: skip
        assert reply.status_code == 401, (headers.keys(), reply.text)
        assert set(reply.json()) == {"error"}
        assert service.runs["alice"] not in reply.text
    assert _state_of(service) == before


@pytest.mark.parametrize(
    ("method", "path"), _named([route for route in ROUTES if route[2] != "viewer"])
)
def test_a_viewer_changes_nothing(service: Service, method: str, path: str):
    before = _state_of(service)
    reply = _ask(service, "alice-viewer", method, path, service.runs["alice"])
    assert reply.status_code == 403
    assert reply.json()["error"]["code"] == "not_allowed"
    assert reply.json()["error"]["fix"]
    assert _state_of(service) == before


@pytest.mark.parametrize(
    ("method", "path"), _named([route for route in ROUTES if route[2] == "admin"])
)
def test_a_runner_does_nothing_of_an_admin(service: Service, method: str, path: str):
    before = _state_of(service)
    assert _ask(service, "alice-runner", method, path).status_code == 403
    assert _state_of(service) == before


@pytest.mark.parametrize("token", ["carol-runner", "loner"])
@pytest.mark.parametrize(("method", "path"), _named(OF_RUNS))
def test_another_teams_run_is_as_if_it_did_not_exist(
    service: Service, method: str, path: str, token: str
):
    before = _state_of(service)
    real = _ask(service, token, method, path, service.runs["alice"])
    invented = _ask(service, token, method, path, service.runs["alice"][:-4] + "0000")
    assert real.status_code == invented.status_code == 404
    told = real.text.replace(service.runs["alice"], "RUN")
    assert told == invented.text.replace(service.runs["alice"][:-4] + "0000", "RUN")
    assert _state_of(service) == before


@pytest.mark.parametrize(("method", "path"), _named(STEERING))
def test_a_runner_cannot_steer_a_run_of_their_team_that_is_not_theirs(
    service: Service, method: str, path: str
):
    before = _state_of(service)
    assert _ask(service, "bob-runner", method, path, service.runs["alice"]).status_code == 403
    assert _state_of(service) == before


@pytest.mark.parametrize(("method", "path"), _named(READING))
@pytest.mark.parametrize("token", ["alice-viewer", "bob-runner", "root"])
def test_a_run_is_read_by_its_owner_its_team_and_admins(
    service: Service, method: str, path: str, token: str
):
    assert _ask(service, token, method, path, service.runs["alice"]).status_code == 200


def test_everybody_lists_the_runs_that_they_may_see(service: Service):
    def seen(token: str) -> set[str]:
        return {row["owner"] for row in service.get(token, "/runs").json()}

    assert seen("alice-viewer") == seen("bob-runner") == {"alice", "bob"}
    assert seen("carol-runner") == {"carol"}
    assert seen("loner") == set()
    assert seen("root") == {"alice", "bob", "carol"}
    assert service.get("carol-runner", "/runs", owner="alice").json() == []


def test_a_name_a_beginning_and_last_mean_only_runs_that_are_seen(service: Service):
    assert service.get("carol-runner", "/runs/last").json()["row"]["owner"] == "carol"
    assert service.get("bob-runner", "/runs/alices").json()["row"]["owner"] == "alice"
    assert service.get("carol-runner", "/runs/alices").status_code == 404
    assert service.get("loner", "/runs/last").status_code == 404
    assert service.get("root", "/runs/b").json()["row"]["owner"] == "bob"
    assert service.get("carol-runner", "/runs/b").status_code == 404


def test_quotas_are_shown_to_their_owner_and_set_by_admins(service: Service):
    reply = service.ask("root", "PUT", "/quotas/carol", json={"max_runs": 7})
    assert reply.status_code == 200
    assert (reply.json()["owner"], reply.json()["max_runs"]) == ("carol", 7)
    assert service.get("alice-runner", "/quotas").json() == [
        one for one in service.get("root", "/quotas").json() if one["owner"] == "alice"
    ]
    assert [one["max_runs"] for one in service.get("carol-viewer", "/quotas").json()] == [7]


def test_a_revoked_token_is_refused_at_once(service: Service):
    from producer.tokens import issue

    tokens = service.bench.state.tokens
    issued = issue(tokens, name="brief", role="viewer", owner="alice")
    service.secrets["brief"] = issued.secret
    assert service.get("brief", "/me").json()["owner"] == "alice"
    tokens.revoke("brief")
    assert service.get("brief", "/me").status_code == 401


def test_me_says_what_the_token_stands_for(service: Service):
    assert service.get("alice-runner", "/me").json() == {
        "name": "alice-runner", "role": "runner", "owner": "alice", "team": "blue"
    }  # fmt: skip


def test_an_unknown_route_is_closed_to_strangers_too(service: Service):
    assert service.get(None, "/nothing").status_code == 401
    assert service.get("root", "/nothing").status_code == 404
    assert service.get(None, "/openapi.json").status_code == 401


def test_health_is_open_and_says_nothing_else(service: Service):
    reply = service.get(None, "/healthz")
    assert (reply.status_code, reply.json()) == (200, {"ok": True})
