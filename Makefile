# Every target creates the virtual environment and installs what it needs; the installation is repeated after changes.
#   make demo      run the demo                     make lint      check style and types
#   make test      run the fast tests               make test-all  run the slow tests as well
#   make docs      build the documentation site     make pictures  draw the figures of the documentation
#   make bench     measure speed                    make mutants   plant one-line faults and report survivors
#   make web       build the explorer (Node)        make e2e       test the explorer in Chromium
#   make fuzz      send random requests to the service for ten minutes
#   make clean     remove build products

PYTHON ?= python3
VENV   ?= .venv
WORKERS ?= 2

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
PIP   := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := demo
.PHONY: demo test test-all lint mutants bench docs pictures web e2e fuzz install clean

demo: $(DEMO_STAMP)
	$(BIN)/fitcarl demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

mutants: $(STAMP)
	$(BIN)/python tests/mutants/run.py

bench: $(STAMP)
	$(BIN)/fitcarl benchmark actions --data demo
	$(BIN)/fitcarl benchmark index --facts 15000000
	$(BIN)/fitcarl benchmark episode --data demo
	$(BIN)/fitcarl benchmark evaluate --data demo

docs: $(STAMP)
	$(PIP) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(STAMP)
	$(BIN)/python docs/pictures.py

# The built explorer is committed in src/fitcarl/serve/web: Node is needed only to change it.
web: $(STAMP)
	$(BIN)/python -m fitcarl.serve.openapi web/openapi.json
	cd web && npm ci --no-audit --no-fund && npm run generate && npm test && npm run build

e2e: $(STAMP) web/node_modules
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/e2e/requirements.txt
	$(BIN)/python -m pytest tests/e2e -m "slow or not slow"

fuzz: $(STAMP)
	$(PIP) -e '.[fuzz]'
	FITCARL_FUZZ_SECONDS=600 $(BIN)/python -m pytest tests/serve/test_fuzz.py -m slow

web/node_modules: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

install: $(STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "fitcarl needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1). Choose another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)

# What `fitcarl demo` needs: the package, its figures and the explorer it points to; no development tools.
$(DEMO_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV) (the first installation takes a few minutes)"
	@$(PIP) -e '.[plot,serve]'
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV) (the first installation takes a few minutes)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(DEMO_STAMP)

clean:
	rm -rf build dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMP) $(DEMO_STAMP)
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
