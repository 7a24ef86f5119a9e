"""Every Celery setting of the workers, each with its reason on the line above."""

from __future__ import annotations

from typing import Any

from skillopt.wire.broker import PUBLISH_RETRY_POLICY, TRANSPORT_OPTIONS
from skillopt.wire.tasks import DEFAULT_QUEUE


def settings(broker_url: str) -> dict[str, Any]:
    return {
        "broker_url": broker_url,
        # The truth is in our state, not in Celery: no result can leak or pile up.
        "result_backend": None,
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        # JSON only, in every direction.
        "task_serializer": "json",
        "result_serializer": "json",
        "accept_content": ["json"],
        "result_accept_content": ["json"],
        # Requeue at a graceful stop; a second line behind the reconciler after a kill.
        "task_acks_late": True,
        # Trying again is our decision, never the broker's.
        "task_acks_on_failure": True,
        "task_acks_on_timeout": True,
        # Would repeat a poison job for ever: claims are counted in CLAIM instead.
        "task_reject_on_worker_lost": False,
        "task_retry_on_worker_lost": False,
        # Reserve exactly what runs, so that a queue's length means something.
        "worker_prefetch_multiplier": 1,
        # Only useful for tasks that are acknowledged early.
        "worker_disable_prefetch": False,
        # Model calls wait on the network; threads share one HTTP loop and one set of connections.
        "worker_pool": "threads",
        # Threads ignore Celery's time limits: every job has its own deadline.
        "task_time_limit": None,
        "task_soft_time_limit": None,
        # Without effect on threads; the supervisor sends TERM, then QUIT.
        "worker_soft_shutdown_timeout": 0,
        # A paid call must finish although the broker is away.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # Per worker, so useless for a fleet: limits are shared through Redis.
        "worker_disable_rate_limits": True,
        # Flower watches these; no decision depends on them.
        "worker_enable_remote_control": True,
        "worker_send_task_events": True,
        "task_send_sent_event": True,
        # The default gives up after 100 tries.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_connection_timeout": 5,
        "broker_transport_options": TRANSPORT_OPTIONS,
        # Must agree with the broker's, or the shorter visibility timeout wins.
        "result_backend_transport_options": TRANSPORT_OPTIONS,
        "task_publish_retry_policy": PUBLISH_RETRY_POLICY,
        # Nobody listens there: a message without a route shows up instead of running anywhere.
        "task_default_queue": DEFAULT_QUEUE,
        "task_create_missing_queues": True,
        # Our logs, our format.
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "enable_utc": True,
    }
