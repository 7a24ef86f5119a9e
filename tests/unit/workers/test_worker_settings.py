"""Celery as a worker configures it, and the tasks it registers."""

from __future__ import annotations

import pytest
from worker_parts import Workshop, message, rollout

import workers.app
from producer.dispatch import Dispatcher
from skillopt.wire.tasks import OUTCOME_WORDS
from workers.app import create_app
from workers.celeryconfig import settings

URL = "redis://127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("broker_url", URL),
        ("result_backend", None),
        ("task_ignore_result", True),
        ("task_store_errors_even_if_ignored", False),
        ("task_serializer", "json"),
        ("result_serializer", "json"),
        ("accept_content", ["json"]),
        ("result_accept_content", ["json"]),
        ("task_acks_late", True),
        ("task_acks_on_failure", True),
        ("task_acks_on_timeout", True),
        ("task_reject_on_worker_lost", False),
        ("task_retry_on_worker_lost", False),
        ("worker_prefetch_multiplier", 1),
        ("worker_disable_prefetch", False),
        ("worker_pool", "threads"),
        ("task_time_limit", None),
        ("task_soft_time_limit", None),
        ("worker_soft_shutdown_timeout", 0),
        ("worker_cancel_long_running_tasks_on_connection_loss", False),
        ("worker_disable_rate_limits", True),
        ("worker_enable_remote_control", True),
        ("worker_send_task_events", True),
        ("task_send_sent_event", True),
        ("broker_connection_retry_on_startup", True),
        ("broker_connection_max_retries", None),
        ("broker_connection_timeout", 5),
        ("task_default_queue", "b.none"),
        ("task_create_missing_queues", True),
        ("worker_hijack_root_logger", False),
        ("worker_redirect_stdouts", False),
        ("enable_utc", True),
    ],
)
def test_settings(setting: str, value: object) -> None:
    assert settings(URL)[setting] == value


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("visibility_timeout", 900),
        ("unacked_restore_interval", 10),
        ("unacked_restore_throttle", 1),
        ("socket_timeout", 15),
        ("socket_connect_timeout", 5),
        ("socket_keepalive", True),
        ("health_check_interval", 10),
        ("global_keyprefix", "cel:"),
        ("queue_order_strategy", "round_robin"),
    ],
)
def test_transport_options(option: str, value: object) -> None:
    assert settings(URL)["broker_transport_options"][option] == value


def test_the_publish_policy_survives_a_failover() -> None:
    policy = settings(URL)["task_publish_retry_policy"]
    assert (policy["max_retries"], policy["interval_max"]) == (30, 2)


@pytest.mark.parametrize(
    "setting",
    [
        *("result_backend", "task_ignore_result", "task_serializer", "accept_content"),
        *("broker_transport_options", "task_publish_retry_policy", "task_default_queue"),
    ],
)
def test_both_ends_of_the_queue_agree(setting: str) -> None:
    dispatcher = Dispatcher(URL)
    assert dispatcher._app.conf[setting] == settings(URL)[setting]
    dispatcher.close()


def test_the_app_registers_one_task_for_each_kind_of_job(shop: Workshop) -> None:
    app = create_app(shop.container(), URL)
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    assert ours == {"so.rollout", "so.judge", "so.optimize"}
    for name in ours:
        task = app.tasks[name]
        assert task.ignore_result
        assert task.acks_late
        assert task.acks_on_failure
        assert task.acks_on_timeout
        assert task.time_limit is None
    assert app.conf.result_backend is None
    app.close()


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((message(rollout()), "more"), {}),
        ((), {"payload": message(rollout())}),
        ((message(rollout()),), {"more": 1}),
        ((None,), {}),
    ],
)
def test_a_message_of_another_shape_is_refused_and_no_exception(
    shop: Workshop, args, kwargs
) -> None:
    app = create_app(shop.container(), URL)
    assert app.tasks["so.rollout"](*args, **kwargs) == "refused"
    app.close()


def test_a_task_does_its_kind_of_job(shop: Workshop) -> None:
    job = rollout()
    shop.want(job)
    app = create_app(shop.container(), URL)
    assert app.tasks["so.judge"](message(job)) == "refused"
    shop.clock.now += 6
    shop.want(job)
    assert app.tasks["so.rollout"](message(job)) == "scored"
    app.close()


def test_celery_sees_no_word_but_those_of_the_vocabulary(shop: Workshop, monkeypatch) -> None:
    monkeypatch.setattr(workers.app, "handle", lambda *_: "a reply of a model")
    app = create_app(shop.container(), URL)
    assert app.tasks["so.rollout"]({}) == "error"
    assert "error" in OUTCOME_WORDS
    app.close()
