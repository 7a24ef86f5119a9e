"""What a run says of itself survives its folder."""

from __future__ import annotations

from scripted_run import make_plan

from producer.run_meta import labels_of, meta_from_folder, meta_of, told_in_folder


def test_a_folder_brings_origin_and_labels_back():
    plan = make_plan()
    meta = {**meta_of(plan, {"phase": "pilot"}), "skill": "SKILL.md", "plan": "0" * 64}
    told = told_in_folder(meta)
    assert told == {"skill": "SKILL.md", "phase": "pilot"}
    again = meta_from_folder(told, plan)
    assert labels_of(again) == {"phase": "pilot"}
    assert again == {name: value for name, value in meta.items() if name != "plan"}
