# Every target sets itself up: it creates the virtual environment and installs into it when something changed.
#   make demo    see it work          make lint   style and types        make docs    build the documentation site
#   make test    the quick tests      make bench  the speed figures      make clean   forget what was built
#   make test-all  the slow ones too    make web    rebuild the explorer (Node)    make e2e  the explorer in a real Chromium
#   make fuzz    ten minutes of odd requests to the service    make pictures  redraw the pictures of the docs

PYTHON ?= python3
VENV   ?= .venv
WORKERS ?= 2

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := demo
.PHONY: demo test test-all lint bench docs pictures web e2e fuzz install clean

demo: $(STAMP)
	$(BIN)/fitcarl demo

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/fitcarl benchmark actions --data demo
	$(BIN)/fitcarl benchmark index --facts 15000000
	$(BIN)/fitcarl benchmark episode --data demo
	$(BIN)/fitcarl benchmark evaluate --data demo

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(STAMP)
	$(BIN)/python docs/pictures.py

# The built page is kept in src/fitcarl/serve/web, so that only those who change it need Node.
web:
	cd web && npm ci --no-audit --no-fund && npm test && npm run build

e2e: $(STAMP) web/node_modules
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/e2e/requirements.txt
	$(BIN)/python -m pytest tests/e2e -m "slow or not slow"

fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	FITCARL_FUZZ_SECONDS=600 $(BIN)/python -m pytest tests/serve/test_fuzz.py -m slow

web/node_modules: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "fitcarl needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1). Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (the first time this takes a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf build dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMP)
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
