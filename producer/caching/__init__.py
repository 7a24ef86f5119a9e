"""The cache as people look at it: what it holds, why a result was or was not reused, clearing."""
