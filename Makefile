# Two commands do everything on a fresh machine: `make serve` and `make test`.
VENV  := .venv
BIN   := $(VENV)/bin
SERVE := $(VENV)/.serve
DONE  := $(VENV)/.installed
DOCS  := build/docs-env

# Else every process of the tests would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test suite check ui docs docs-lock prove prove-llm bench bench-peers eval lock clean

serve: $(SERVE)
	$(BIN)/holdfast serve

# Types and style are checked beside the tests, which wait for processes now and then.
test: $(DONE)
	@$(MAKE) --no-print-directory -j 2 check suite

suite: $(DONE)
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# The web UI from ui/ into the package; what it writes is committed, so that nobody else needs Node.
ui:
	cd ui && npm ci --no-audit --no-fund && npm run build

# The documentation as a site in build/site, and packed: a server shows it at /help, and a wheel built later carries it.
docs: $(DOCS)/.installed
	rm -rf build/site
	$(DOCS)/bin/sphinx-build -q -E -W --keep-going -d build/doctrees docs build/site
	cd build/site && ../../$(DOCS)/bin/python -m zipfile -c ../../src/holdfast/api/web/help.zip *

$(DOCS)/.installed: docs/requirements.lock
	python3 -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r docs/requirements.lock
	@touch $@

docs-lock: $(DONE)
	$(BIN)/python -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
	  --output-file docs/requirements.lock docs/requirements.in

check: $(DONE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

prove: $(DONE)
	$(BIN)/python -m pytest -m slow
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest tests/property
	HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest tests/unit tests/scenarios tests/adapters -m hypothesis

# A real small model end to end, within a quarter of an hour on one core; fetches about 600 MB the first time.
prove-llm: $(DONE)
	$(BIN)/python -m pip install --quiet 'xllamacpp>=2026.10'
	$(BIN)/python scripts/fetch_test_model.py
	$(BIN)/python -m pytest -m llm
	$(BIN)/python -m evals.measure.llm --cases 12 --seconds 45 --out docs/results/llm.md

bench: $(DONE)
	$(BIN)/python -m benchmarks.embedded
	$(BIN)/python -m benchmarks.start --out docs/results/start.md
	$(BIN)/python -m benchmarks.search --out docs/results/search.md
	$(BIN)/python -m benchmarks.service --out docs/results/service.md
	$(BIN)/python -m benchmarks.streams --out docs/results/streams.md
	$(BIN)/python -m benchmarks.across --out docs/results/across.md
	$(BIN)/python -m benchmarks.growth --out docs/results/scale.md

# Holdfast beside other memories, each installed under .cache/peers; `make bench-peers SIZES=400` takes minutes.
SIZES ?= 400,10000
bench-peers: $(DONE)
	$(BIN)/python -m benchmarks.peers --sizes $(SIZES)

eval: $(DONE)
	$(BIN)/python -m evals
	$(BIN)/python -m evals.measure.extraction --unread
	$(BIN)/python -m evals.measure.answers
	$(BIN)/python -m evals.measure.everyday
	$(BIN)/python -m evals.measure.lives --out
	$(BIN)/python -m evals.measure.graph

# pip compiles no bytecode: Python does so for what it loads, which is a small part.
ifneq ($(shell command -v uv),)
MAKE_VENV := uv venv --quiet --allow-existing $(VENV)
INSTALL := uv pip install --quiet --python $(BIN)/python --no-deps
else
MAKE_VENV := python3 -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps
endif

# What serving needs.
$(SERVE): pyproject.toml requirements-serve.lock hatch_build.py scripts/fetch_models.py
	@echo "Installing into $(VENV); this takes a minute or two the first time."
	@$(MAKE_VENV)
	@$(INSTALL) --require-hashes -r requirements-serve.lock
	@$(INSTALL) --no-build-isolation -e .
	@touch $@
	@echo "Installed."

# What tests and tools need beside it.
$(DONE): $(SERVE) requirements.lock
	@$(INSTALL) --require-hashes -r requirements.lock
	@touch $@

# With the build backend, so that an installation fetches nothing without a hash. Serving has the versions that are tested.
COMPILE := $(BIN)/python -m piptools compile --quiet --build-deps-for editable --generate-hashes --strip-extras \
  --allow-unsafe --no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
lock: $(DONE)
	$(COMPILE) --extra dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock --output-file requirements-serve.lock pyproject.toml

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
