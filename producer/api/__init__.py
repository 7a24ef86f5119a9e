"""The HTTP API of the team queue, and the dashboard on top of it."""
