"""`python -m producer.cli`: the command without its console script."""

from producer.cli.main import entry

entry()
