# Everything a newcomer needs, on a machine with Python 3.11 (or newer), gcc and make.
.DEFAULT_GOAL := help
SHELL := /bin/bash

VENV := .venv
BIN := $(VENV)/bin
AGENTS := .agent-programs
PYTHON := $(shell for p in python3 python3.12 python3.11; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)

.PHONY: help demo install dev test test-slow test-cli e2e chaos chaos-all chaos-default soak up-local lint check clean constraints

help:  ## show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

demo: install  ## install and watch a skill being trained (no key, no Redis, no Docker needed)
	$(BIN)/skillopt demo

install: $(VENV)/.installed  ## make the environment with what the product needs

dev: $(VENV)/.dev  ## add what tests and linters need

test: dev  ## run the test suite (2 processes; slow tests are left out)
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

test-slow: dev  ## run the tests that take long
	$(BIN)/pytest -n 2 --dist loadfile -m slow

test-cli: dev $(AGENTS)/.installed  ## test with the real agent programs, installed by npm into .agent-programs
	SKILLOPT_TEST_AGENTS=$(CURDIR)/$(AGENTS)/node_modules/.bin $(BIN)/pytest \
		tests/integration/test_agent_programs.py tests/integration/test_agent_workers.py tests/e2e/test_agent_run.py

e2e: dev  ## run every end-to-end test: each mode of the loop, and each under disturbance
	$(BIN)/pytest -n 2 --dist loadfile tests/e2e

# Reports, one JSON file for each seed, are written to .chaos.
CHAOS := PYTHONPATH=$(CURDIR)/tests:$(CURDIR)/tests/chaos:$(CURDIR) $(BIN)/python -m harness --report .chaos

chaos: dev  ## disturb a fleet of real processes by one seed of faults: make chaos SEED=3
	$(CHAOS) --seed $(or $(SEED),1)

chaos-all: dev  ## the same for 20 seeds, then a poison job (20 minutes)
	$(CHAOS) --all

chaos-default: dev  ## measure how long a fleet takes to recover at default settings (1 minute)
	$(CHAOS) --defaults

soak: dev  ## keep a fleet busy and see that nothing of it grows: make soak MINUTES=10
	PYTHONPATH=$(CURDIR)/tests:$(CURDIR) $(BIN)/python -m soak --minutes $(or $(MINUTES),10)

up-local: install  ## start the services of deploy/compose.yaml on this machine, without Docker
	$(BIN)/python deploy/local.py

lint: dev  ## format check, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test  ## all that CI runs

constraints: dev  ## write the pinned versions of what is installed now
	$(BIN)/pip freeze --exclude-editable --exclude skillopt-fleet | grep -E '^[A-Za-z0-9._-]+==' > constraints.txt

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(AGENTS) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .chaos .browser

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer with venv is needed and was not found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(AGENTS)/.installed: tests/agents/package.json
	@command -v npm > /dev/null || { echo "make: npm is needed to install the agent programs and was not found; install Node.js" >&2; exit 1; }
	@mkdir -p $(AGENTS) && cp $< $(AGENTS)/package.json
	@npm install --prefix $(AGENTS) --no-package-lock --no-audit --no-fund --loglevel error \
		|| { echo "make: the agent programs could not be installed; npm must be able to reach its registry" >&2; exit 1; }
	@mkdir -p $(AGENTS)/home && export HOME=$(CURDIR)/$(AGENTS)/home && unset XDG_CACHE_HOME && \
		for p in claude codex copilot; do $(AGENTS)/node_modules/.bin/$$p --version > /dev/null \
		|| { echo "make: $$p was installed but does not run here" >&2; exit 1; }; done
	@touch $@
