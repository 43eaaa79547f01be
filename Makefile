# `make demo` and `make test` are all a new machine needs. Both install into .venv; `make test` also installs Debian
# packages where it may, and says at its end what could not be tested.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fuzz fuzz-c lint lint-c benchmark toolchains clean .venv/.tried-packages
.DELETE_ON_ERROR:

demo: .venv/.installed
	@mkdir -p build
	$(BIN)/billhook fit --demo --budget 4KB --time-limit 40 --out build/demo --force
	$(MAKE) --no-print-directory -C build/demo/c test

test:
	@$(MAKE) --no-print-directory --jobs 2 .venv/.installed-dev .venv/.tried-packages
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# More examples of every property than `make test` has time for, in another order each time: FUZZ names tests, such as
# FUZZ=tests/interop, and SECONDS how long none is begun anew. SEED=N does the same again. Failing examples are kept in
# .hypothesis, model files in build/fuzz.
FUZZ ?= tests
SEED := $(or $(SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))
fuzz: .venv/.installed-dev
	@echo "make fuzz SECONDS=$(SECONDS) SEED=$(SEED) FUZZ='$(FUZZ)'"
	BILLHOOK_FUZZ_UNTIL=$$(($$(date +%s) + $(SECONDS))) BILLHOOK_FUZZ_SECONDS=$$(($(SECONDS) / 4)) BILLHOOK_FUZZ_SEED=$(SEED) \
	    $(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 4 --hypothesis-profile=thorough --hypothesis-seed=$(SEED) $(FUZZ)

# The C reader of blobs on made-up ones, with sanitizers: SECONDS says for how long.
SECONDS ?= 600
fuzz-c: .venv/.installed-dev
	BILLHOOK_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q -s tests/codegen/runtimes/test_c.py -k whatever_bytes

lint: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Static analysis of the C that is emitted and shipped; minutes.
lint-c: .venv/.installed-dev
	$(BIN)/python tools/check-c --shipped --tidy

benchmark: .venv/.installed-dev
	$(BIN)/python benchmarks/predict_speed.py

toolchains:
	tools/install-debian-packages

.venv/.tried-packages: .venv/bin/python
	tools/install-debian-packages --if-possible $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
	    "Billhook needs Python 3.11 or newer; %s is %s. Name another with make PYTHON=python3.12" % (sys.executable, sys.version.split()[0]))'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

# The kernels are compiled by the installation.
KERNELS := CMakeLists.txt $(wildcard src/billhook/kernels/*.[ch])

.venv/.installed: .venv/bin/python pyproject.toml $(KERNELS)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.installed-dev: .venv/bin/python pyproject.toml $(KERNELS)
	$(BIN)/python -m pip install --quiet --editable '.[xgboost,dev]'
	@touch $@ .venv/.installed

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
