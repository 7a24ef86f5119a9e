"""Does the work: Celery workers, each pinned to one backend."""
