VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help install demo test site soak fuzz browser lint bench recbole clean
help:  ## what each target does
	@grep -hE '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml research/pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]' --editable research
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps torchrec  # or it would ask for a GPU's packages
	touch $(STAMP)

install: $(STAMP)  ## make .venv and install recsieve and research/ into it

demo: install  ## GMF with CE, T-CE and R-CE, EASE and auto on built-in data, compared on a page
	$(BIN)/recsieve demo

lint: install  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

browser:  # pages are tested in Debian's chromium; where it cannot be installed, those tests say so and are skipped
	@command -v chromium >/dev/null || { apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || true

test: lint browser  ## every check and every test
	$(BIN)/pytest -n 2

site: install  ## the site, in build/site: python -m http.server --directory build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

soak: install browser  ## what is too long for `make test`: many kills, real trainings, laws by simulation
	$(BIN)/pytest -n 2 -m soak
	$(BIN)/python -m trust.faults
	$(BIN)/python -m trust.kills 20
	$(BIN)/python -m research.docs.trust trust/results docs/trust.md

fuzz: install  ## 100,000 strange inputs, metrics beside ir-measures, mutants; results in trust/results
	$(BIN)/python -m trust.fuzz 100000
	$(BIN)/python -m trust.metrics 100000
	$(BIN)/python -m trust.mutants
	$(BIN)/python -m research.docs.trust trust/results docs/trust.md

bench: install  ## speed and memory beside the plain way, and beside RecBole after `make recbole`
	$(BIN)/python -m benchmarks.run

build/recbole/.installed: constraints.txt
	python3 -m venv build/recbole
	build/recbole/bin/pip install --quiet recbole==1.2.1 'setuptools<81' 'numpy<2' 'pandas<3' 'scipy<1.13' \
		$(shell grep '^torch==' constraints.txt)
	touch build/recbole/.installed

recbole: build/recbole/.installed  ## an environment with RecBole 1.2.1, for the benchmarks to compare with

clean:  ## remove the environment and every cache
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache src/*.egg-info research/*.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
