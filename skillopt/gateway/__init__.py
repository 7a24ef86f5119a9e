"""Every model call, in order: budget, throttle, call, classify, retry, settle."""
