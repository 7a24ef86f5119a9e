"""Turns a run into work: submission, coordination, the command line, what people see."""
