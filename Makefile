# make demo, make test: set up what they need in .venv on first use, from Python >= 3.11 and make alone.
# PYTHON=/path/to/python chooses another interpreter for .venv.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet

unexport PYTHONDONTWRITEBYTECODE  # each process would compile all of the source again

.PHONY: demo test test-all interop test-interop lint notebooks bench docs site dist clean

demo: $(VENV)/installed
	@$(BIN)/python demo/old_faithful.py

test: $(VENV)/installed-test
	@$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal

test-all: $(VENV)/installed-test
	@$(BIN)/python -m pytest --all --numprocesses=auto --dist=worksteal

# The adapters' tests and the programs of their pages, with all packages that they are for. It makes an environment of
# its own, of some 2 GB: PyMC holds Numba at an older version.
interop:
	@$(MAKE) --no-print-directory test-interop VENV=build/interop

test-interop: $(VENV)/installed-interop
	@$(BIN)/python -m pytest tests/interop tests/test_docs.py -k interop --numprocesses=auto --dist=worksteal

lint: $(VENV)/installed-test
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --no-error-summary

# Fails where a cell fails; the committed outputs are left as they are.
notebooks: $(VENV)/installed-test
	@$(BIN)/jupyter execute --NbClientApp.log_level=40 notebooks/*.ipynb

bench: $(VENV)/installed-bench
	@cd asv_bench && ../$(BIN)/asv machine --yes >/dev/null && ../$(BIN)/asv run --python=same --quick --show-stderr

# Writes the generated pages and the picture, then the site: build/site/index.html.
docs: $(VENV)/installed-docs
	@$(BIN)/python docs/generate_supported.py
	@$(BIN)/python docs/generate_coverage.py
	@$(BIN)/python docs/generate_figure.py
	@$(MAKE) --no-print-directory site

# A warning, a link that leads nowhere or a page that is not in mkdocs.yml fails.
site: $(VENV)/installed-docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The wheel, by way of the source distribution, in build/dist; the demo runs with it in an environment of its own.
dist: $(VENV)/installed-test
	@rm -rf build/dist build/clean
	@$(BIN)/python -m build --outdir build/dist >/dev/null
	@$(BIN)/python -m venv build/clean
	@build/clean/bin/python -m pip --disable-pip-version-check --no-input install --quiet build/dist/*.whl
	@build/clean/bin/python demo/old_faithful.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis

# The environment. A stamp file says what is installed; a change of pyproject.toml installs again.

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 found: install one, or say make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/installed: pyproject.toml | $(BIN)/python
	@$(PIP) --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml $(VENV)/installed
	@$(PIP) --editable '.[test]'
	@touch $@

$(VENV)/installed-docs: pyproject.toml $(VENV)/installed
	@$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/installed-interop: pyproject.toml $(VENV)/installed
	@$(PIP) --editable '.[test,interop]'
	@touch $@

$(VENV)/installed-bench: pyproject.toml $(VENV)/installed
	@$(PIP) --editable '.[bench]'
	@touch $@
