"""The embedded mode: a private Redis and supervised children, gone when their owner is gone."""
