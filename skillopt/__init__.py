"""What the work means: documents, tasks, the learning loop, model calls, shared state."""

__version__ = "0.1.0"
