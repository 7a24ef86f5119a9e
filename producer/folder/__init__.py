"""The pieces of a run folder: durable files, the mirror of the log, rows derived from it."""
