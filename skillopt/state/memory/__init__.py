"""The state in one process: the same rules as in Redis, with a clock of the caller's choice."""
