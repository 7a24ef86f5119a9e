"""From what a person wrote (spec, catalogue, task files) to a run plan."""
