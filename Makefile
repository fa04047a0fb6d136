# Everything a fresh clone needs: Python >= 3.10 and make. The first command creates .venv and installs Weft into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DRAWS := $(VENV)/.draws
# Without setuptools' banner about editable installations: no folder of the repository is named weft.
INSTALL := PYTHONWARNINGS="ignore:Editable installation" $(BIN)/python -m pip install --quiet

.PHONY: demo test test-all verify mutate check bench docs links walk clean

demo: $(DRAWS)
	$(BIN)/weft demo mpm88

test: $(STAMP)
	$(BIN)/python -m pytest -n auto -q -m "not exhaustive"

# Everything: all cases of what `make test` takes samples of, more random programs, and the launches checked.
test-all: $(STAMP)
	$(BIN)/python -m pytest -n auto -q
	$(MAKE) verify

# Every launch that is small enough is compared with the evaluator.
VERIFIED := tests/lang/behaviour tests/programs tests/docs tests/demos
verify: $(STAMP)
	WEFT_VERIFY=results WEFT_VERIFY_LIMIT=20000 $(BIN)/python -m pytest -n auto -q $(VERIFIED)

# Break one condition of a pass at a time, and see whether a test notices.
mutate: $(STAMP)
	$(BIN)/python -m tests.mutate

check: $(STAMP) links
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_structure.py tests/test_imports.py tests/checkers

# What a new user does, from a clone to a page found by search: docs/first-hour.md.
walk: $(VENV)/.walk
	$(BIN)/python -m pytest -v -rPs -p no:cacheprovider tests/walk

# Peers that cannot be installed here are left out, and the table says so.
bench: $(STAMP) $(VENV)/peers/.installed
	$(BIN)/python -m tests.bench --peer-python $(VENV)/peers/bin/python
	$(BIN)/python -m tests.bench.compile_time

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "the site is build/docs/index.html"

$(VENV)/.docs: $(STAMP)
	$(INSTALL) --editable ".[docs]"
	@touch $@

# `usd-core` and `vtk`, which ParaView reads with, take 900 MB.
$(VENV)/.walk: $(STAMP)
	$(INSTALL) --editable ".[dev,docs,usd]" vtk
	@touch $@

$(VENV)/peers/.installed:
	$(PYTHON) -m venv $(VENV)/peers
	for peer in taichi==1.7.4 numba warp-lang; do $(VENV)/peers/bin/python -m pip install --quiet $$peer || true; done
	@touch $@

# Checkers find the package through this link, since the repository root is the package.
links:
	@mkdir -p .links && ln -sfn .. .links/weft

# A demo needs only what draws, which is less to download.
$(DRAWS): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable ".[demo]"
	@touch $@

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	$(INSTALL) --editable ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) .links build dist out *.egg-info .pytest_cache .mypy_cache .ruff_cache
