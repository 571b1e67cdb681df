# The same few commands for people and CI. Everything is installed into .venv.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-
HUB := $(VENV)/hub
TORCH ?= torch==2.13.0
HUB_WAIT_S ?= 300
# Bytecode is written even where the environment forbids it: Phoenix starts twice as fast with it.
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help

help: ## List the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(STAMP)demo ## Start a Phoenix, send sample traces, enrich them, show the diffs (ARGS="--once --json")
	@$(BIN)/enricher demo $(ARGS)

install: $(STAMP)dev ## Install what the other commands need

test: $(STAMP)dev ## Run the test suite, but for the longest tests
	@$(BIN)/python -m pytest $(ARGS)

test-long: $(STAMP)dev ## Run the longest tests: lost clusters, kills at many points, every fault, every page in both themes
	@$(BIN)/python -m pytest -m long $(ARGS)

test-hub: $(STAMP)dev ## Run the tests of the engine hub with real models; torch has an environment of its own
	@if timeout $(HUB_WAIT_S) $(MAKE) --no-print-directory $(HUB)/.installed; \
	then $(HUB)/bin/python -m pytest -n 0 -rs $(ARGS) tests/judges/test_hub.py; \
	else echo "SKIPPED the real models of tests/judges/test_hub.py: $(TORCH) could not be installed in $(HUB_WAIT_S) s"; fi

chaos: $(STAMP)dev ## Play randomised faults and check what must hold (ARGS="--seed 1 --scenarios 200 --json")
	@$(BIN)/python -m tests.chaos $(ARGS)

image-check: $(STAMP)dev ## Build the image without a daemon and check it as it runs; as root, with buildah (ARGS="--built")
	@$(BIN)/python -m tests.image $(ARGS)

check: $(STAMP)dev ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)dev ## Format the code and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)dev ## Run the benchmarks; each reports a ratio to a floor measured in the same run
	@for bench in benchmarks/*.py; do echo "== $$bench"; $(BIN)/python $$bench; done

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed; set PYTHON=..."; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(STAMP)%: pyproject.toml | $(VENV)/bin/python
	@echo "Installing trace-enricher[$*] into $(VENV) ..."
	@# uv resolves in seconds what takes pip minutes; where it can't be had, pip does.
	@$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable '.[$*]' \
		|| $(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

# pip takes a CPU build of torch where one is offered; without its bytecode, which few of its files need.
$(HUB)/.installed: pyproject.toml | $(STAMP)dev
	@echo "Installing torch into $(HUB) ..."
	@$(BIN)/python -m venv $(HUB)
	@$(HUB)/bin/python -m pip install --quiet --no-deps --no-compile '$(TORCH)'
	@for installer in "$(BIN)/uv pip install --python $(HUB)/bin/python" "$(HUB)/bin/python -m pip install"; do \
		$$installer --quiet --editable '.[hub]' pytest pytest-asyncio pytest-xdist && break; done
	@touch $@

.PHONY: help demo install test test-long test-hub chaos check format bench
