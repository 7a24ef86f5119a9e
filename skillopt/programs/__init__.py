"""What producer and workers both need to know of agent programs on this machine."""
