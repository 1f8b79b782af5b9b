# Every target creates the virtual environment and installs what it needs; the installation is repeated after changes.
#   make demo      run the demo                     make lint      check style and types
#   make test      run the fast tests               make test-all  run the slow tests as well
#   make docs      build the documentation site     make pictures  draw the figures of the documentation
#   make bench     measure speed                    make mutants   plant one-line faults and report survivors
#   make web       build the explorer (Node)        make e2e       test the explorer in Chromium
#   make fuzz      send random requests to the service for ten minutes
#   make fuzz-files  damage files and run folders (FUZZ_INPUTS, FUZZ_SECONDS)
#   make chaos     kill parts of the service under load (CHAOS_SECONDS, CHAOS_SEED)
#   make wheel     build the wheel                  make test-wheel  install it in a new environment and run it
#   make lock      pin all dependencies with hashes make audit     look for known vulnerabilities
#   make sbom      write the bill of materials      make image     build the container image and test it
#   make clean     remove build products
#
# LOCKED=1 installs exactly the files of requirements/ci.lock, with the CPU build of PyTorch (Linux, x86-64), as CI does.

PYTHON ?= python3
VENV   ?= .venv
WORKERS ?= 2

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ifdef LOCKED
PIP   := $(INSTALL) --no-deps --no-build-isolation
else
PIP   := $(INSTALL) -c constraints.txt
endif
TORCH ?= https://download.pytorch.org/whl/cpu
TORCH_FILES ?= $(TORCH)/torch/

.DEFAULT_GOAL := demo
.PHONY: demo test test-all lint mutants bench docs pictures web e2e fuzz fuzz-files chaos install clean
.PHONY: wheel test-wheel lock audit sbom image

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

fuzz-files: $(STAMP)
	$(PIP) -e '.[fuzz]'
	$(BIN)/python -m tests.fuzz.run

chaos: $(STAMP)
	$(BIN)/python -m tests.chaos.run

# The build backend is the one of requirements/build.lock.
$(VENV)/build/.installed: requirements/build.lock | $(BIN)/python
	@$(BIN)/python -m venv $(VENV)/build
	@$(VENV)/build/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

wheel: $(VENV)/build/.installed
	$(VENV)/build/bin/python -m build --no-isolation --outdir dist .

test-wheel: $(STAMP)
	$(BIN)/python -m pytest tests/test_wheel.py -m slow

# TORCH_FILES: a page or a folder with the CPU builds of PyTorch. For other versions edit constraints.txt first.
COMPILE = $(VENV)/build/bin/uv pip compile --quiet --constraint constraints.txt --generate-hashes --no-annotate \
  --python-version 3.11.5 --python-platform x86_64-manylinux_2_28 --custom-compile-command "make lock"
lock: $(VENV)/build/.installed
	$(COMPILE) requirements/build.in -o requirements/build.lock
	$(COMPILE) pyproject.toml --extra serve --extra postgres --find-links $(TORCH_FILES) -o requirements/service.lock
	$(COMPILE) pyproject.toml requirements/build.in --extra dev --extra docs --extra fuzz --find-links $(TORCH_FILES) \
	  -o requirements/ci.lock

audit: | $(BIN)/python
	@$(BIN)/python -m venv $(VENV)/audit
	@$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	$(BIN)/python tools/audit.py $(VENV)/audit/bin/pip-audit

sbom: | $(BIN)/python
	$(BIN)/python tools/sbom.py dist/sbom.json

image: $(STAMP)
	$(BIN)/python -m pytest tests/supply/test_image.py -m slow

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
	$(if $(LOCKED),@$(INSTALL) --require-hashes --extra-index-url $(TORCH) -r requirements/ci.lock)
	@$(PIP) -e '.[dev]'
	@touch $@ $(DEMO_STAMP)

clean:
	rm -rf build dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis $(STAMP) $(DEMO_STAMP)
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
