"""A server that speaks Chat Completions and behaves like a model that follows written rules."""
