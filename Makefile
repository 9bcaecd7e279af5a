# Needs python3 >= 3.11 and make; `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
WARM := .venv/.warm
BENCH_INSTALLED := .venv-bench/.installed
TEST_PROCESSES ?= auto
AUDIT := $(BIN)/pip-audit --disable-pip --progress-spinner off

# Empty settings: like its configuration, the machine's extra indexes must not affect the locks.
LOCK := UV_INDEX= UV_EXTRA_INDEX_URL= UV_FIND_LINKS= $(BIN)/uv --quiet --config-file .ci/uv.toml \
	pip compile pyproject.toml $(LOCK_OPTIONS)

# $(call install,the virtual environment,the lock file)
define install
	@command -v $(PYTHON) >/dev/null || { echo "Sluice needs python3 >= 3.11, and '$(PYTHON)' was not found."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Sluice needs python3 >= 3.11, and '$(PYTHON)' is $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Sluice needs Python's venv module. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(1)
	$(1)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $(2)
	$(1)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endef

# $(call have,Debian packages named after their program,purpose,command to run if they cannot be installed)
# Packages must not start their services: tests and benchmarks start their own.
define have
	@missing=; for package in $(1); do command -v $$package >/dev/null || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ]; then echo "Installing$$missing, $(2)."; \
		apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing >/dev/null || $(3); fi
endef

.PHONY: help setup run demo check audit test coverage e2e console fuzz bench bench-kernels bench-quality bench-peers bench-service bench-scale load soak torture bench-cluster reproduce lock clean

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r name text; do \
		printf '%-14s %s\n' "$$name" "$$text"; done

setup: $(WARM) ## create .venv, install the locked dependencies, compile the kernels

run: setup ## serve on http://127.0.0.1:8000 with an embedded Valkey; data in ./data
	@$(BIN)/sluice serve

demo: setup ## watch a service learn in the terminal, within a minute (CONSOLE=1: try the console in a browser)
	@$(BIN)/sluice demo $(if $(CONSOLE),--console)

check: audit $(INSTALLED) ## check lint, format, types, layers and known vulnerabilities
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# A mirror of PyPI may have no advisories, and pip-audit then reports success. So first check that it reports an old
# version with known vulnerabilities.
audit: $(INSTALLED) ## check the locked versions for known vulnerabilities, where advisories are available
	@if { $(AUDIT) --no-deps --requirement .ci/audit-canary.txt || true; } 2>&1 | grep -q PYSEC-; then \
		$(AUDIT) --strict --require-hashes --requirement .ci/requirements.txt; else \
		echo "Audit skipped: PyPI's advisories are not available (no network, or a mirror without them)."; fi

test: setup ## run every test that needs no system package
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal -m "not e2e and not redis"

coverage: setup ## run the tests of `make test` with a coverage report of app; HTML in build/coverage
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal -m "not e2e and not redis" --cov --cov-report=term:skip-covered \
		--cov-report=html:build/coverage

e2e: setup $(BENCH_INSTALLED) ## run long tests, and install the packages that some need: redis-server, prometheus, wrk, haproxy
	$(call have,redis-server prometheus wrk haproxy,for the tests,exit 1)
	$(BIN)/pytest -n $(TEST_PROCESSES) -m "not e2e" -k "redis and not valkey" \
		tests/auth tests/security tests/storage tests/tenants tests/reliability
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -m e2e --no-loadscope-reorder --ignore tests/experiments --ignore tests/console \
		--ignore tests/load_tests/test_peers_contenders.py
	.venv-bench/bin/pytest -n $(TEST_PROCESSES) --dist loadfile tests/experiments tests/load_tests/test_peers_contenders.py

console: setup ## run the tests of the console in Chromium, which it installs
	$(call have,chromium,for the tests,exit 1)
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -m e2e tests/console

fuzz: setup ## fuzz every parser, for SECONDS=600 each
	FUZZ_SECONDS=$(or $(SECONDS),600) $(BIN)/pytest -n $(TEST_PROCESSES) -m e2e tests/security/fuzz

# Runs all of them, even if one misses a target.
bench: ## run bench-kernels, bench-service and bench-quality (QUICK=1: a trial)
	@missed=; for each in bench-kernels bench-service bench-quality; do printf '== make %s\n' "$$each"; \
		$(MAKE) --no-print-directory $$each QUICK=$(QUICK) || missed="$$missed $$each"; done; \
	if [ -n "$$missed" ]; then echo "Targets were missed, or something failed, in:$$missed"; exit 1; fi

bench-kernels: $(BENCH_INSTALLED) ## compare the kernels with other libraries (QUICK=1: a trial)
	.venv-bench/bin/python -m experiments.kernels $(if $(QUICK),--quick)

# OPTIONS="--only w8a,sms --ratios natural,1:99 --processes 1" plays a part, and writes nothing into docs.
bench-quality: $(BENCH_INSTALLED) ## compare verdicts with other learners, for some two hours, resumable (QUICK=1: a trial of 3 minutes)
	$(call have,bogofilter,to compare with,echo "bogofilter cannot be installed: its rows will be missing.")
	.venv-bench/bin/python -m experiments.quality $(if $(QUICK),--quick) $(OPTIONS)

bench-peers: $(BENCH_INSTALLED) ## compare Sluice with river, scikit-learn, Vowpal Wabbit, rspamd and bogofilter (QUICK=1: a trial)
	$(call have,rspamd bogofilter,to compare with,echo "They cannot be installed: their rows will say so.")
	.venv-bench/bin/sluice warm
	.venv-bench/bin/python -m load_tests.peers $(if $(QUICK),--quick)

# Runs in the service's own environment: the kernels are compiled, and no scipy slows down the start.
bench-service: setup ## compare the service with a bare FastAPI route (QUICK=1: a trial)
	$(BIN)/python -m load_tests.service $(if $(QUICK),--quick)

# Measures in the service's own environment, with compiled kernels; plots in the one that has matplotlib.
bench-scale: setup $(BENCH_INSTALLED) ## measure cost by workers, features, tenants and log length, and compute a capacity plan (QUICK=1: a trial)
	$(call have,wrk,the client,exit 1)
	$(BIN)/python -m load_tests.scale --plot-python .venv-bench/bin/python $(if $(QUICK),--quick)

# Locust and the services have separate environments. SCENARIOS=mixed,hot runs only these.
load: setup $(BENCH_INSTALLED) ## run traffic scenarios with Locust, for SECONDS=20 each; exit with 1 if a target is missed
	$(call have,wrk,for peak rates,echo "wrk cannot be installed: there will be no peak rates.")
	@$(BIN)/python -m load_tests.scenarios --locust-python .venv-bench/bin/python \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SCENARIOS),--scenarios $(SCENARIOS))

soak: setup ## run 20 minutes of load with rolling restarts and a failover; no label may be lost (SECONDS=60: a trial)
	@$(BIN)/python -m load_tests.soak $(if $(SECONDS),--seconds $(SECONDS))

# The same SEED gives the same schedule of faults. DURABILITY=replicated also lets services and primary die together.
torture: setup ## run random faults for SECONDS=600 while clients work, and check every promise (SEED=n repeats a schedule)
	$(call have,faketime,to let clocks jump,echo "faketime cannot be installed: the store's clock will not jump.")
	@$(BIN)/python -m load_tests.torture $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) \
		$(if $(DURABILITY),--durability $(DURABILITY))

bench-cluster: setup ## simulate several services on a real cluster, with failures; no label may be lost (QUICK=1: a trial)
	$(BIN)/python -m load_tests.cluster $(if $(QUICK),--quick)

# GIVEN="webspam=webspam.svm.xz rcv1=train.svm,test.svm" adds your own sets in LIBSVM format.
reproduce: setup $(BENCH_INSTALLED) ## run the paper's experiments on the production kernels (QUICK=1: a trial of some minutes)
	.venv-bench/bin/python -m experiments $(if $(QUICK),--quick) $(addprefix --given ,$(GIVEN)) $(OPTIONS)

lock: $(INSTALLED) ## rewrite the lock files (LOCK_OPTIONS=--upgrade takes newer versions)
	$(LOCK) --output-file .ci/requirements.txt
	$(LOCK) --extra dev --extra tracing --constraint .ci/requirements.txt --output-file .ci/requirements-dev.txt
	$(LOCK) --extra dev --extra tracing --extra bench --constraint .ci/requirements-dev.txt --output-file .ci/requirements-bench.txt

clean: ## remove environments, caches and builds
	rm -rf .venv .venv-bench .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml .ci/requirements-dev.txt
	$(call install,.venv,.ci/requirements-dev.txt)
	@touch $@

$(BENCH_INSTALLED): pyproject.toml .ci/requirements-bench.txt
	$(call install,.venv-bench,.ci/requirements-bench.txt)
	@touch $@

# Compile once here, so that the first command or test does not wait.
$(WARM): $(INSTALLED) $(shell find kernels -name "*.py")
	$(BIN)/sluice warm
	@touch $@
