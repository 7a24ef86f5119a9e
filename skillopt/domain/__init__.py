"""Values without I/O: documents, tasks, jobs, outcomes, events."""
