"""Every duration of the queue in one value: tests scale time, scripts hold no literal."""

from __future__ import annotations

from dataclasses import dataclass

DAY_S = 86_400.0


@dataclass(frozen=True)
class Timing:
    """Durations in seconds, and the counts that bound repetition."""

    #: A worker's hold on a job; a worker that dies gives its jobs back after this long.
    lease_s: float = 30.0
    #: How often a worker renews its leases.
    heartbeat_s: float = 10.0
    #: A coordinator's hold on a run.
    lead_s: float = 15.0
    #: How often a coordinator renews its hold.
    lead_renew_s: float = 5.0
    #: The reconciler's period: a lost claim is sent again within this time.
    tick_s: float = 5.0
    #: A message that nobody claimed is sent again after this long, doubling each time.
    resend_s: float = 60.0
    #: How long a worker waits in place for a throttle before it gives the job back.
    throttle_wait_s: float = 20.0
    #: How often a call that waits for another one to end looks again.
    throttle_poll_s: float = 0.25
    #: How long people are told of a throttle that nobody has met again.
    throttle_shown_s: float = 5.0
    #: What is known of the traffic to a backend is forgotten when nobody has called for so long.
    throttle_ttl_s: float = 600.0
    #: The time that `rpm` and `tpm` of a backend are about.
    limit_window_s: float = 60.0
    #: How much later than others a call may reach the provider after it was let through.
    limit_slack_s: float = 1.0
    #: The share of `rpm` and `tpm` that is used, and the share of that which may start at once.
    limit_share: float = 0.97
    limit_burst: float = 0.1
    #: Fewer calls at a time after a 429: by this factor, and not again before this time.
    concurrency_factor: float = 0.7
    concurrency_cooldown_s: float = 5.0
    #: One more call at a time after this long without a 429.
    concurrency_growth_s: float = 10.0
    #: Failures in a row after which an endpoint is left alone, and for how long.
    breaker_failures: int = 10
    breaker_open_s: float = 15.0
    #: Claims lost in the normal lane before a job is quarantined.
    max_lost_claims: int = 2
    #: Claims lost in quarantine before a job is dead.
    max_quarantine_claims: int = 3
    #: How long a job that was given back for infrastructure reasons rests.
    infra_delay_s: float = 5.0
    #: How often that may happen to a job before its run pauses.
    max_infra_rounds: int = 12
    #: How long calls in flight may go on after a worker was told to stop.
    drain_s: float = 300.0
    #: A worker that makes no progress for this long while work waits leaves, to be started again.
    watchdog_s: float = 60.0
    #: How often a process says that it is well, and when silence means that it hangs.
    health_s: float = 1.0
    health_stale_s: float = 20.0
    #: A budget reservation that is not renewed is settled at its estimate after this long.
    reservation_s: float = 90.0
    spec_ttl_s: float = 7 * DAY_S
    result_ttl_s: float = 14 * DAY_S
    blob_ttl_s: float = 30 * DAY_S
    doorbell_ttl_s: float = DAY_S
    worker_ttl_s: float = 30.0
    view_ttl_s: float = 60.0
    #: What was spent on a day is known for so long.
    spending_ttl_s: float = 400 * DAY_S
    #: How soon a worker follows a limit of its backend that a person set.
    limits_s: float = 2.0
    #: What a run wants of a backend counts in the fair shares for this long, unless said again.
    demand_s: float = 20.0


#: All processes on one machine under one supervisor: faults are noticed fast.
EMBEDDED = Timing(
    lease_s=10.0,
    heartbeat_s=3.0,
    lead_s=5.0,
    lead_renew_s=1.5,
    tick_s=2.0,
    resend_s=20.0,
    drain_s=2.0,
    watchdog_s=30.0,
    breaker_open_s=3.0,
)
