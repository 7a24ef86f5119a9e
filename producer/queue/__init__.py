"""The team queue: one port, over a shared Redis or over the HTTP API."""
