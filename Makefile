# `make demo` and `make test` are all a new machine needs. Both install into .venv; `make test` also installs Debian
# packages where it may, and says at its end what could not be tested.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-oldest fuzz fuzz-c fuzz-emitted lint lint-types lint-style lint-c mutants docs benchmark release toolchains clean .venv/.tried-packages
.DELETE_ON_ERROR:

demo: .venv/.installed
	@mkdir -p build
	$(BIN)/billhook fit --demo --budget 4KB --time-limit 40 --out build/demo --force
	$(MAKE) --no-print-directory -C build/demo/c test

test:
	@$(MAKE) --no-print-directory --jobs 2 .venv/.installed-dev .venv/.tried-packages
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint
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

# The C reader of blobs on made-up ones, with sanitizers, in each of four builds: SECONDS says for how long each.
SECONDS ?= 600
fuzz-c: .venv/.installed-dev
	BILLHOOK_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q -s tests/codegen/runtimes/test_c.py -k whatever_bytes

# Emitted C against Python on a million rows for each layout and family of processors; minutes, most of them for AVR.
fuzz-emitted: .venv/.installed-dev
	$(BIN)/python tests/fuzz_emitted_c.py --seed $(SEED)

lint: lint-types lint-style
lint-types: .venv/.installed-dev
	$(BIN)/mypy
lint-style: .venv/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

# Static analysis of the C that is emitted and shipped; minutes.
lint-c: .venv/.installed-dev
	$(BIN)/python tools/check-c --shipped --tidy

# Small changes to the source, each against the tests that reach it: SECONDS says for how long, SEED=N which, MUTANTS of
# which folders, and how many, such as MUTANTS='packing:20 kernels:5'.
mutants: .venv/.installed-dev
	$(BIN)/python tools/mutants --seconds $(SECONDS) --seed $(SEED) $(MUTANTS)

# The site, in build/docs: every example is executed, warnings are errors, and nothing is loaded from elsewhere.
docs: .venv/.installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q docs build/docs
	$(BIN)/python docs/check_site.py build/docs

# The core with the oldest versions that pyproject.toml allows, in an environment of its own; the tools of the tests are
# new. Left out is what asks more of a library than Billhook does: XGBoost takes a base_score for each class from 3.1
# on, and how much noise a forest has depends on the version that grew it.
OLDEST := build/oldest
OLDEST_EXTRAS := xgboost study parquet dask onnx treelite lightgbm catboost ydf scip
OLDEST_TOOLS := pytest pytest-xdist hypothesis polars==1.20 statsmodels==0.14.2
OLDEST_TESTS ?= $(addprefix tests/,forest tables growing pruning refinement packing analysis datasets interop)
OLDEST_WITHOUT := not (it_grows_the_trees_of_xgboost and softmax) and not rows_without_labels_do_not_teach_noise and not shap
test-oldest: .venv/.installed-dev
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet $(OLDEST_TOOLS) $$($(BIN)/python tools/oldest-versions $(OLDEST_EXTRAS))
	$(OLDEST)/bin/python -m pip install --quiet --no-deps .
	$(OLDEST)/bin/python -m pytest -q -W default -p no:cacheprovider --numprocesses auto --maxprocesses 4 \
	    -k '$(OLDEST_WITHOUT)' $(OLDEST_TESTS)

# What a release takes, without doing it; `make release PUBLISH=yes` makes the tag.
release: .venv/.installed-release
	$(BIN)/python tools/release $(if $(filter yes,$(PUBLISH)),--tag)

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
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[xgboost,dev,docs]'
	@# As pip would, on all cores. Some packages have files that are for other versions of Python.
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib || true
	@touch $@ .venv/.installed

.venv/.installed-release: .venv/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	@touch $@

clean:
	rm -rf docs/api docs/gallery docs/how docs/ways
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
