"""A server that speaks the APIs of providers, and a model behind it that follows written rules."""
