# Everything a person or CI runs. Needs git, make and Python 3.11 or newer with venv; the rest comes hashed from requirements/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup run test check docs fmt lock resolves wheel chaos bench test-clis clean

VENV := .venv
BENCH := .venv-bench
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCKS := $(wildcard requirements/*.txt)

# uv gets the machine's certificates, as pip does, and never fetches a Python of its own.
export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := 1
export UV_NO_PROGRESS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

setup: $(READY) ## build .venv from the hashed locks (every other target does it by itself)

$(READY): pyproject.toml $(LOCKS) scripts/setup.sh
	@bash scripts/setup.sh $(VENV) requirements/dev.txt
	@touch $@

$(BENCH)/.ready: pyproject.toml $(LOCKS) scripts/setup.sh
	@bash scripts/setup.sh $(BENCH) requirements/bench.txt
	@touch $@

# value: the text reaches the shell as it was typed, a dollar in it included.
run: $(READY) ## start vancetope: a chat, or make run ARGS='ask "What time is it?"'
	@$(BIN)/vancetope $(if $(value ARGS),$(value ARGS),chat)

test: $(READY) ## every test, offline; make test ARGS='tests/test_shape.py -x' for some
	@PYTHONPATH=tests/guard $(BIN)/python -m pytest $(if $(value ARGS),$(value ARGS),-n 2 --dist worksteal)

check: $(READY) ## lint, format, types, generated documents
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python tests/docs.py --check

docs: $(READY) ## write the generated parts of docs/contract.md anew
	@$(BIN)/python tests/docs.py

fmt: $(READY) ## format, and fix what the linter can fix
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

lock: $(READY) ## write requirements/*.txt anew (make lock ARGS=--upgrade for newer versions)
	@bash scripts/lock.sh $(BIN)/uv $(value ARGS)

resolves: $(READY) ## whether the extras can be installed beside instructor and crewai; asks the network
	@bash scripts/resolves.sh $(VENV)

wheel: $(READY) ## build dist/vancetope-*.whl, offline
	@$(BIN)/python -m hatchling build -t wheel

chaos: $(READY) ## long random runs of the property tests
	@PYTHONPATH=tests/guard HYPOTHESIS_PROFILE=chaos $(BIN)/python -m pytest -m 'hypothesis or chaos' --timeout=1800 $(value ARGS)

bench: $(READY) $(BENCH)/.ready ## measure overhead beside other frameworks, and the contract-hold rate
	@if [ -f bench/__main__.py ]; then $(BENCH)/bin/python -m bench $(value ARGS); else echo 'make bench: there is no bench/__main__.py yet' >&2; exit 1; fi

test-clis: ## run the command-line backends against the real tools
	@echo 'make test-clis comes with the command-line backends.'

clean: ## remove both environments, caches and builds
	rm -rf $(VENV) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +
