"""A fleet of real processes that is disturbed by a seeded schedule, and must come out the same.

`python -m harness --seed 3` disturbs one fleet; `--help` names the rest.
"""
