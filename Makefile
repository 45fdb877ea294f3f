# Everything a checkout needs. A first call makes .venv and builds the front end; later calls reuse both.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
EXTENSION := .venv/share/jupyter/labextensions/jupyterlab-tinyton
comma := ,

# Stamps hold the checksum of what they were made from, so that a checkout or a pull rebuilds only what changed.
checksum = $(shell cat $(1) 2>/dev/null | cksum | tr ' ' -)
INSTALLED = .venv/installed-$(call checksum,pyproject.toml constraints.txt)
FRONTEND_SOURCES := $(shell find extensions -type f -not -path '*/node_modules/*' -not -path '*/lib/*' \
    -not -name '*.tsbuildinfo' | LC_ALL=C sort)
FRONTEND = .venv/frontend-$(call checksum,$(FRONTEND_SOURCES))

.PHONY: lab demo test lint notebooks pictures regen install frontend browser clean

lab: $(INSTALLED)-lab $(FRONTEND)  ## open JupyterLab on the first notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/01_first_kernel.ipynb

demo: $(INSTALLED)-lab  ## the same pipeline in the terminal
	$(BIN)/tinyton demo

test: lint $(FRONTEND) browser  ## every check: lint, unit tests, kernels on every engine, notebooks, front end, browser
	$(BIN)/python -m pytest -n 2 --dist=loadfile --nbval --nbval-current-env --nbval-cell-timeout=120 tests notebooks

lint: $(INSTALLED)-dev
	$(BIN)/ruff check --no-cache .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m tinyton_lab.lab.notebooks --check

notebooks: $(INSTALLED)-dev  ## execute the notebooks and store their outputs in the normal form
	$(BIN)/python -m tinyton_lab.lab.notebooks --execute

regen: $(INSTALLED)-dev  ## write again what is generated from the tables
	$(BIN)/python -m tinyton_lab.reference

pictures: $(INSTALLED)-dev $(FRONTEND) browser  ## take the pictures of the README anew
	$(BIN)/python -m tests.browser.pictures

install: $(INSTALLED)-dev
frontend: $(FRONTEND)

.venv/bin/uv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

# jsonschema's optional rfc3987-syntax costs 2.5 s at each start of Jupyter and nothing here uses it.
install = SKIP_JUPYTER_BUILDER=1 $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt \
    --editable '$(1)' && $(BIN)/uv pip uninstall --quiet --python $(BIN)/python rfc3987-syntax

$(INSTALLED)-lab: | .venv/bin/uv
	rm -f .venv/installed-*
	$(call install,.[lab$(comma)cuda])
	touch $@

$(INSTALLED)-dev: $(INSTALLED)-lab
	$(call install,.[lab$(comma)cuda$(comma)dev])
	touch $@

# Without Node the lab still runs: the static views stand in for the front end.
NODE := $(shell command -v npm)
NODE_MODULES = extensions/node_modules/installed-$(call checksum,extensions/package-lock.json)

$(NODE_MODULES):
	cd extensions && npm ci --no-audit --no-fund
	touch $@

ifdef NODE
$(FRONTEND): $(NODE_MODULES) | $(INSTALLED)-lab
	rm -f .venv/frontend-*
	cd extensions && PATH="$(CURDIR)/$(BIN):$$PATH" npm run build
	rm -rf $(EXTENSION) && cp -R tinyton_lab/labextension $(EXTENSION) && cp extensions/labextension/install.json $(EXTENSION)
	touch $@
else
$(FRONTEND): | $(INSTALLED)-lab
	@echo 'No Node.js: the front end is not built.'
endif

# The browser tests drive Debian's Chromium; where it cannot be had they skip and say so.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	    && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || echo 'No Chromium.'

clean:
	rm -rf .venv build dist extensions/node_modules extensions/*/lib tinyton_lab/labextension tinyton_lab/lab/static
