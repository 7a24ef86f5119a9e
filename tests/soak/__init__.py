"""A fleet that works for minutes on end: nothing of it may grow."""
