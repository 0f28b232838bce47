# On a fresh clone with only Python (3.11 or newer), pip and make:
#   make demo   searches the airline series for its structure and writes the report into demo/
#   make test   lint, types and the whole test suite
#   make check  lint, types and the fast tests
#   make torture  ten thousand odd files, commands, damaged models, kernel texts and fits; half an hour
PYTHON ?= python3
BIN := .venv/bin
# one BLAS thread for each test process: more only get in each other's way
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: setup demo test check torture lint format bench clean

setup: .venv/dev

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Fathom needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/ready
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: .venv/ready
	@mkdir -p demo
	$(BIN)/fathom report airline --out demo/airline.html

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# by file, so that what the tests of a file share is fitted and compiled once
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: lint
	$(PYTEST) $(ARGS)

check: lint
	$(PYTEST) -m 'not slow' $(ARGS)

torture: .venv/dev
	$(ONE_THREAD) $(BIN)/python -m tests.torture $(ARGS)

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench NAME=speed ARGS=--quick
bench: .venv/ready
	$(BIN)/fathom bench $(NAME) $(ARGS)

clean:
	rm -rf .venv build demo results .mypy_cache .ruff_cache .hypothesis
