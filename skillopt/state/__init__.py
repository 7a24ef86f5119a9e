"""Shared memory behind ports; `memory` and `redis` implement them."""
