# Each target sets itself up in .venv: only Python 3.11 or newer has to be there.
PYTHON ?= $(shell for v in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$v >/dev/null && $$v -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$v && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NODES := tests/e2e/clients/node tests/e2e/mcp/node
NODE_READY := $(NODES:%=%/node_modules/.ready)

.PHONY: demo test lint format bench clean

# The agents run as `python …`, as a developer types it, so the PATH has to lead into the venv.
demo: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/flowproof suite run examples

# Reports are opened in the machine's Chromium: where there is none, those tests are skipped and say
# so, or fail under CI.
test: $(READY) $(NODE_READY)
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) $(NODES:%=%/node_modules) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "flowproof needs Python 3.11 or newer"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[compression,clients,dask,test,lint]'
	@touch $@

# The npm clients are tested where npm is there and reaches its registry; elsewhere their tests are
# skipped and say why. They need Node 22: where none is, a Node is installed beside them.
$(NODE_READY): %/node_modules/.ready: %/package.json
	@if ! command -v npm >/dev/null; then echo "npm is not here: its clients are not tested"; \
	elif (cd $* && npm install \
		$$(node -p 'parseInt(process.versions.node) < 22 ? "" : "--omit=optional"')); \
	then touch $@; else echo "npm could not install: its clients are not tested"; fi
