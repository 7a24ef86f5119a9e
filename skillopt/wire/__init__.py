"""The contract between producer and workers: names, queues, payloads."""
