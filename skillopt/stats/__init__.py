"""Statistics of scores: pure functions of numbers."""
