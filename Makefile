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

# Empty settings and no configuration file: what this machine's pip is told must not reach the locks.
LOCK := PIP_CONFIG_FILE=/dev/null PIP_EXTRA_INDEX_URL= PIP_FIND_LINKS= CUSTOM_COMPILE_COMMAND="make lock" \
	$(BIN)/pip-compile pyproject.toml --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(LOCK_OPTIONS)

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

# $(call have,programs that are Debian's packages of that name,what for,what to do if they cannot be had)
# No service may be started by its package: tests and benchmarks start their own.
define have
	@missing=; for package in $(1); do command -v $$package >/dev/null || missing="$$missing $$package"; done; \
	if [ -n "$$missing" ]; then echo "Installing$$missing, $(2)."; \
		apt-get update -qq && RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $$missing >/dev/null || $(3); fi
endef

.PHONY: help setup run demo check audit test coverage e2e fuzz bench bench-kernels bench-quality bench-peers bench-service bench-scale load soak bench-cluster reproduce lock clean

help: ## list the targets
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r name text; do \
		printf '%-14s %s\n' "$$name" "$$text"; done

setup: $(WARM) ## make .venv, install what the locks name, compile the kernels

run: setup ## serve on http://127.0.0.1:8000, with an embedded Valkey and its data in ./data
	@$(BIN)/sluice serve

demo: setup ## watch a service learn in the terminal, within a minute
	@$(BIN)/sluice demo

check: audit $(INSTALLED) ## lint, format, types, layers and known vulnerabilities
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# A mirror of PyPI may know no vulnerabilities, and pip-audit is then content with everything. So it is first asked about
# an old version that has some.
audit: $(INSTALLED) ## known vulnerabilities of the versions that are locked, where they can be asked for
	@if { $(AUDIT) --no-deps --requirement .ci/audit-canary.txt || true; } 2>&1 | grep -q PYSEC-; then \
		$(AUDIT) --strict --require-hashes --requirement .ci/requirements.txt; else \
		echo "Audit skipped: PyPI's advisories cannot be had here (no network, or a mirror that has none)."; fi

test: setup ## every test that needs no system package
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal -m "not e2e and not redis"

coverage: setup ## the tests of `make test` with a coverage report of app, also as HTML in build/coverage
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist worksteal -m "not e2e and not redis" --cov --cov-report=term:skip-covered \
		--cov-report=html:build/coverage

e2e: setup $(BENCH_INSTALLED) ## tests that take long or need system packages, which are installed: redis-server, prometheus, wrk, haproxy
	$(call have,redis-server prometheus wrk haproxy,for the tests against it,exit 1)
	$(BIN)/pytest -n $(TEST_PROCESSES) -m "not e2e" -k "redis and not valkey" \
		tests/auth tests/security tests/storage tests/tenants tests/reliability
	$(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile -m e2e --ignore tests/experiments \
		--ignore tests/load_tests/test_peers_contenders.py
	.venv-bench/bin/pytest -n $(TEST_PROCESSES) --dist loadfile tests/experiments tests/load_tests/test_peers_contenders.py

fuzz: setup ## every parser with random inputs, SECONDS=600 each
	FUZZ_SECONDS=$(or $(SECONDS),600) $(BIN)/pytest -n $(TEST_PROCESSES) -m e2e tests/security/fuzz

# Each is run, also after one that has missed a target.
bench: ## the kernels, the service and the verdicts beside others, one after the other (QUICK=1: a trial)
	@missed=; for each in bench-kernels bench-service bench-quality; do printf '== make %s\n' "$$each"; \
		$(MAKE) --no-print-directory $$each QUICK=$(QUICK) || missed="$$missed $$each"; done; \
	if [ -n "$$missed" ]; then echo "Targets were missed, or something failed, in:$$missed"; exit 1; fi

bench-kernels: $(BENCH_INSTALLED) ## the kernels beside other libraries (QUICK=1: a trial)
	.venv-bench/bin/python -m experiments.kernels $(if $(QUICK),--quick)

bench-quality: $(BENCH_INSTALLED) ## verdicts on real inputs beside other learners (QUICK=1: a trial)
	$(call have,bogofilter,to compare with,echo "It cannot be had: its rows will be missing.")
	.venv-bench/bin/python -m experiments.quality $(if $(QUICK),--quick)

bench-peers: $(BENCH_INSTALLED) ## Sluice beside river, scikit-learn, Vowpal Wabbit, rspamd and bogofilter (QUICK=1: a trial)
	$(call have,rspamd bogofilter,to compare with,echo "They cannot be had: their rows will say so.")
	.venv-bench/bin/sluice warm
	.venv-bench/bin/python -m load_tests.peers $(if $(QUICK),--quick)

# In the environment that Sluice runs in: its kernels are warm, and no scipy lengthens a start.
bench-service: setup ## the service beside a bare FastAPI route (QUICK=1: a trial)
	$(BIN)/python -m load_tests.service $(if $(QUICK),--quick)

# Measured where Sluice runs, with warm kernels; drawn where matplotlib is.
bench-scale: setup $(BENCH_INSTALLED) ## cost against workers, features, tenants and log length, and a plan from it (QUICK=1: a trial)
	$(call have,wrk,the client,exit 1)
	$(BIN)/python -m load_tests.scale --plot-python .venv-bench/bin/python $(if $(QUICK),--quick)

# Locust has an environment of its own; the services run in theirs. SCENARIOS=mixed,hot plays only these.
load: setup $(BENCH_INSTALLED) ## traffic as tenants make it, by Locust, for SECONDS=20 each; thresholds decide the exit code
	$(call have,wrk,for peak rates,echo "It cannot be had: there will be no peak rates.")
	@$(BIN)/python -m load_tests.scenarios --locust-python .venv-bench/bin/python \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(SCENARIOS),--scenarios $(SCENARIOS))

soak: setup ## 20 minutes of load with rolling restarts and a failover of the store (SECONDS=60: a trial); nothing may be lost
	@$(BIN)/python -m load_tests.soak $(if $(SECONDS),--seconds $(SECONDS))

bench-cluster: setup ## several services on one real cluster: they come and go, and nothing is lost (QUICK=1: a trial)
	$(BIN)/python -m load_tests.cluster $(if $(QUICK),--quick)

# GIVEN="webspam=webspam.svm.xz rcv1=train.svm,test.svm": sets of your own in LIBSVM form, studied like the others.
reproduce: setup $(BENCH_INSTALLED) ## the paper's experiments, on the kernels that serve (QUICK=1: a trial, in minutes)
	.venv-bench/bin/python -m experiments $(if $(QUICK),--quick) $(addprefix --given ,$(GIVEN)) $(OPTIONS)

lock: $(INSTALLED) ## write the lock files anew (LOCK_OPTIONS=--upgrade takes newer versions)
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

# Compiled once here, so that the first command or test does not wait for it.
$(WARM): $(INSTALLED) $(shell find kernels -name "*.py")
	$(BIN)/sluice warm
	@touch $@
