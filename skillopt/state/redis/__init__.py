"""The state in Redis: one adapter per port, every decision in a Lua script."""
