"""What a skill is trained on: how a task is put to the target."""
