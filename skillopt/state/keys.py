"""Every Redis key, in one place: how it is built, what it holds and how long it lives.

A key either has a TTL, renewed by whoever still needs it, or is listed here as living as long as
its run (`RUN_LIFETIME`) or as long as the budgets that several runs share (`SHARED_LIFETIME`).
Nothing else may stay.
"""

from __future__ import annotations

from typing import Final

from skillopt.state.key_schema import Key

PREFIX: Final = "so:"

#: Scripts build these keys themselves, from names that only the stored data knows.
DOORBELL_PREFIX: Final = f"{PREFIX}done:"
SKILL_PREFIX: Final = f"{PREFIX}skill:"
WORKER_PREFIX: Final = f"{PREFIX}bk:"
BUDGET_PREFIX: Final = f"{PREFIX}budget:"
RUN_PREFIX: Final = f"{PREFIX}run:"
QUOTA_PREFIX: Final = f"{PREFIX}quota:"
TOKEN_PREFIX: Final = f"{PREFIX}token:"

RUNS: Final = f"{PREFIX}runs"
OPEN_RUNS: Final = f"{PREFIX}runs:open"
FLEET: Final = f"{PREFIX}fleet"
SPENDING_PREFIX: Final = f"{PREFIX}spend:"
SET_LIMITS: Final = f"{PREFIX}limits"
NOTICES: Final = f"{PREFIX}notices"
COORDINATORS: Final = f"{PREFIX}coordinators"
BUDGETS: Final = f"{PREFIX}budgets"
QUOTAS: Final = f"{PREFIX}quotas"
TOKENS: Final = f"{PREFIX}tokens"

#: As `Key.ttl`: no TTL, the key lives as long as its run: `skillopt gc` removes it, once the run
#: is finished, old enough and whole in its folder.
RUN: Final = "run"
#: As `Key.ttl`: no TTL, the key belongs to an owner or a team: what they have spent must outlive
#: any run, or their caps would mean nothing. Few and small; nobody deletes them.
SHARED: Final = "shared"
#: As `Key.ttl`: the caller names the duration.
GIVEN: Final = "given"


def blob(sha: str) -> str:
    return f"{PREFIX}blob:{sha}"


def spec(job: str) -> str:
    return f"{PREFIX}spec:{job}"


def result(job: str) -> str:
    return f"{PREFIX}res:{job}"


def lease(job: str) -> str:
    return f"{PREFIX}lease:{job}"


def job(job: str) -> str:
    return f"{PREFIX}job:{job}"


def waiters(job: str) -> str:
    return f"{PREFIX}wait:{job}"


def dead(job: str) -> str:
    return f"{PREFIX}dead:{job}"


def skill(skill_hash: str) -> str:
    return f"{SKILL_PREFIX}{skill_hash}"


def doorbell(run: str) -> str:
    return f"{DOORBELL_PREFIX}{run}"


def run(run: str) -> str:
    return f"{PREFIX}run:{run}"


def log(run: str) -> str:
    return f"{PREFIX}run:{run}:log"


def ledger(run: str) -> str:
    return f"{PREFIX}run:{run}:ledger"


def meter(run: str) -> str:
    return f"{PREFIX}run:{run}:meter"


def reservations(run: str) -> str:
    return f"{PREFIX}run:{run}:rsv"


def estimates(run: str) -> str:
    return f"{PREFIX}run:{run}:estimates"


def shared_account(kind: str, name: str) -> tuple[str, str, str]:
    """Give meter, reservations and estimates of an owner or a team."""
    account = f"{BUDGET_PREFIX}{kind}:{name}"
    return (f"{account}:meter", f"{account}:rsv", f"{account}:estimates")


def settled(run: str, reservation: str) -> str:
    return f"{PREFIX}settled:{run}:{reservation}"


def view(run: str) -> str:
    return f"{PREFIX}run:{run}:view"


def requests(run: str) -> str:
    return f"{PREFIX}run:{run}:asks"


def run_lease(run: str) -> str:
    return f"{PREFIX}runlease:{run}"


def hold(credential: str) -> str:
    return f"{PREFIX}hold:{credential}"


def rate(credential: str) -> str:
    return f"{PREFIX}rate:{credential}"


def slots(backend: str, credential: str) -> str:
    return f"{PREFIX}slots:{backend}:{credential}"


def concurrency(backend: str, credential: str) -> str:
    return f"{PREFIX}aimd:{backend}:{credential}"


def breaker(endpoint: str) -> str:
    return f"{PREFIX}breaker:{endpoint}"


def throttled(backend: str) -> str:
    return f"{PREFIX}throttled:{backend}"


def token(digest: str) -> str:
    return f"{TOKEN_PREFIX}{digest}"


def share(backend: str) -> str:
    return f"{PREFIX}share:{backend}"


def notices(run: str) -> str:
    return f"{PREFIX}run:{run}:notices"


def telling(run: str) -> str:
    return f"{PREFIX}telling:{run}"


def spending(day: int) -> str:
    return f"{SPENDING_PREFIX}{day}"


def quota(owner: str) -> str:
    return f"{QUOTA_PREFIX}{owner}"


def worker(backend: str, worker: str) -> str:
    return f"{WORKER_PREFIX}{backend}:{worker}"


TABLE: Final[tuple[Key, ...]] = (
    Key("so:blob:<sha>", "string", "blob_ttl_s", "anyone", "anyone",
        "zstd-compressed bytes; the sha256 is of the bytes before compression"),
    Key("so:spec:<job>", "string", "spec_ttl_s", "want", "claim, commit",
        "the job's canonical JSON, until it has a result; its sha256 is the job id"),
    Key("so:res:<job>", "hash", "result_ttl_s", "commit", "want, results",
        "line, body, receipt, owner (who committed), at (ms), skill (the index it is in), spec"),
    Key("so:lease:<job>", "string", "lease_s", "claim, renew", "want, claim",
        "owner of the one claim that may run the job now"),
    Key("so:job:<job>", "hash", "spec_ttl_s", "want, claim, release, reserve", "want, claim",
        "sent, sends: the last message; claimed: it arrived; claim_lane, claims, qclaims: "
        "claims not yet committed; by: who claimed last; until, reason, rounds: given back; "
        "died (ms); calls, repaid: paid so far"),
    Key("so:wait:<job>", "set", "spec_ttl_s", "want", "claim, renew, commit",
        "runs to tell when the job is over"),
    Key("so:dead:<job>", "string", "spec_ttl_s", "want, claim", "want, claim, dead list",
        "why the job is given up; deleting it gives the job another chance"),
    Key("so:skill:<hash>", "set", "result_ttl_s", "commit", "results",
        "ids of the jobs whose results were obtained with this document"),
    Key("so:done:<run>", "stream", "doorbell_ttl_s", "commit, release, step", "coordinator",
        "the run's doorbell: an entry means only that there is news"),
    Key("so:runs", "zset", RUN, "create, restore, gc", "anyone",
        "every run by its time of creation (us)"),
    Key("so:runs:open", "zset", RUN, "create, step, restore, gc", "coordinators",
        "runs that need a coordinator, by their time of creation (us)"),
    Key("so:run:<run>", "hash", RUN, "create, step, restore, pin, gc", "anyone",
        "meta (JSON), status, version (= entries of the log), created (us)"),
    Key("so:run:<run>:log", "stream", RUN, "create, step, restore, gc", "anyone",
        "the run's events; entry n has the id n-0 and holds at (ms) and event (JSON)"),
    Key("so:run:<run>:ledger", "hash", RUN, "want, restore, gc", "coordinator",
        "job -> result line, as the run saw it first"),
    Key("so:run:<run>:meter", "hash", RUN, "claim, reserve, settle, restore, gc", "anyone",
        "caps, spent, reserved and unconfirmed amounts, executions; owner, team: who pays too; "
        "refused: by whom and by which cap"),
    Key("so:run:<run>:rsv", "zset", RUN, "reserve, settle, gc", "reserve",
        "reservations in force by the time they lapse (ms)"),
    Key("so:run:<run>:estimates", "hash", RUN, "reserve, settle, gc", "settle",
        "reservation -> role:calls:tokens:micro_usd:owner:team, in force or lapsed, until settled"),
    Key("so:budgets", "set", SHARED, "join, budget set", "budget show",
        "<kind>:<name> of every owner and team that has a cap or a run"),
    Key("so:budget:<kind>:<name>:meter", "hash", SHARED, "reserve, settle, budget set", "anyone",
        "of an owner or a team over all runs: caps, spent, reserved and unconfirmed amounts"),
    Key("so:budget:<kind>:<name>:rsv", "zset", SHARED, "reserve, settle", "reserve",
        "<run>/<reservation> in force by the time it lapses (ms)"),
    Key("so:budget:<kind>:<name>:estimates", "hash", SHARED, "reserve, settle", "reserve",
        "<run>/<reservation> -> its estimate, as in the run's, while it is in force"),
    Key("so:tokens", "hash", SHARED, "grant, revoke", "token list",
        "name -> sha256 of every token of the HTTP API"),
    Key("so:token:<sha256>", "hash", SHARED, "grant, revoke", "the HTTP API",
        "name, role, owner, team, created (ms) of a token; expires (ms), if it has a TTL"),
    Key("so:quotas", "set", SHARED, "quota set", "quota show", "every owner that has a quota"),
    Key("so:quota:<owner>", "hash", SHARED, "quota set", "create, step, demand",
        "max_runs: open runs at once; max_window: jobs in flight on a backend, of all runs"),
    Key("so:share:<backend>", "hash", "demand_s", "demand", "coordinators",
        "run -> until (ms):since (ms):what it wants of the backend now (JSON)"),
    Key("so:settled:<run>:<reservation…>", "string", "reservation_s", "settle", "reserve",
        "this reservation is over: a repeated reserve must not open it again"),
    Key("so:run:<run>:view", "string", "view_ttl_s", "coordinator", "anyone",
        "what the run is doing right now, for people"),
    Key("so:run:<run>:asks", "stream", "doorbell_ttl_s", "dead retry, dead exclude",
        "the run's lead", "what people ask of the run (JSON), until its lead has done it"),
    Key("so:runlease:<run>", "hash", RUN, "lead, resign, gc", "want, step",
        "owner and until (ms) of the present lead; fence, which only grows"),
    Key("so:hold:<credential…>", "string", GIVEN, "leave", "admit",
        "no call on this credential while the key exists"),
    Key("so:rate:<credential…>", "hash", "throttle_ttl_s", "admit, leave", "admit",
        "calls, tokens: shares of a window that are left at calls_at, tokens_at (ms); largest: "
        "the share that one call was estimated at"),
    Key("so:slots:<backend>:<credential…>", "zset", "throttle_ttl_s", "admit, keep, leave",
        "admit", "calls in flight by the time their slots lapse (ms)"),
    Key("so:aimd:<backend>:<credential…>", "hash", "throttle_ttl_s", "leave", "admit",
        "allowed: calls at a time; cooldown: not fewer before (ms); clean: since the last 429 or "
        "growth (ms)"),
    Key("so:breaker:<endpoint…>", "hash", "throttle_ttl_s", "admit, leave", "admit",
        "failures in a row, the last one's said; open_until (ms), then probe and probe_until"),
    Key("so:throttled:<backend>", "string", GIVEN, "admit", "anyone",
        "until (ms):why:detail of the last call that had to wait"),
    Key("so:bk:<backend>:<worker…>", "string", "worker_ttl_s", "workers", "anyone",
        "a live worker, as JSON"),
    Key("so:fleet", "set", "worker_ttl_s", "workers", "anyone",
        "<backend>:<worker> of every worker that announced itself lately"),
    Key("so:spend:<day>", "hash", "spending_ttl_s", "settle, reserve, spend", "spend",
        "<run>|<owner>|<team>|<backend>|<role>|<counter>: calls, tokens and money that were "
        "settled on a day (since 1970-01-01 UTC)"),
    Key("so:limits", "hash", SHARED, "backends set", "workers",
        "<backend>:<rpm, tpm, concurrency or min_concurrency>, over the workers' catalogue"),
    Key("so:notices", "set", RUN, "submit, coordinators", "coordinators",
        "runs whose news are told to a webhook; those that are gone leave at the next look"),
    Key("so:run:<run>:notices", "hash", RUN, "submit, coordinators, gc", "coordinators",
        "target (JSON): who is told of what; cursor: entries of the log that are done with; "
        "told:<news>: news that are no entry"),
    Key("so:telling:<run>", "string", "lead_s", "coordinators", "coordinators",
        "which coordinator tells a run's news now"),
    Key("so:coordinators", "zset", "worker_ttl_s", "coordinators", "anyone",
        "every coordinator that announced itself lately, by the time it is forgotten (ms)"),
)  # fmt: skip

RUN_LIFETIME: Final[tuple[Key, ...]] = tuple(row for row in TABLE if row.ttl == RUN)
SHARED_LIFETIME: Final[tuple[Key, ...]] = tuple(row for row in TABLE if row.ttl == SHARED)


def lives_with_its_run(key: str) -> bool:
    return any(row.matches(key) for row in RUN_LIFETIME)


def may_stay(key: str) -> bool:
    """Whether a key may be without a TTL."""
    return lives_with_its_run(key) or any(row.matches(key) for row in SHARED_LIFETIME)
