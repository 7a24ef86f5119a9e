from __future__ import annotations

import pytest

from skillopt.errors import ConfigError

ENVIRON = {"SKILLOPT_OWNER": "bob", "SKILLOPT_TEAM": "red"}


def payers(loaded):
    return loaded.plan.owner, loaded.plan.team


def test_nobody_pays_beside_the_run_unless_named(workspace):
    assert payers(workspace.load()) == ("", "")


def test_the_environment_names_who_pays_and_a_spec_comes_first(workspace):
    assert payers(workspace.load(environ=ENVIRON)) == ("bob", "red")
    workspace.spec("owner: alice\n")
    assert payers(workspace.load(environ=ENVIRON)) == ("alice", "red")
    assert payers(workspace.load(overrides=["owner=carol", "team=t-1"])) == ("carol", "t-1")


def test_whoever_pays_it_is_the_same_run(workspace):
    assert workspace.load(environ=ENVIRON).plan.run_id == workspace.load().plan.run_id


def test_check_explains_who_pays(workspace):
    explained = workspace.load(environ=ENVIRON).explained
    assert (explained["owner"].value, explained["owner"].origin) == (
        "bob",
        "environment (SKILLOPT_OWNER)",
    )
    workspace.spec("owner: alice\n")
    explained = workspace.load(environ=ENVIRON).explained
    assert explained["owner"].value == "alice"
    assert explained["owner"].origin.endswith("spec.yaml:4")


def test_a_name_that_is_none_is_refused(workspace, faults):
    workspace.spec("owner: 'a:b'\nteam: ''\n")
    assert [fault.partition(";")[0] for fault in faults()] == [
        "spec.yaml:4: owner: 'a:b' is not allowed",
        "spec.yaml:5: team: '' is not allowed",
    ]
    workspace.spec("")
    with pytest.raises(ConfigError, match="SKILLOPT_TEAM is 'my team', which is no name; give le"):
        workspace.load(environ={"SKILLOPT_TEAM": "my team"})
