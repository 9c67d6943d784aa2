# Nothing but Python 3.11+ and make is needed: every target builds .venv first.
PYTHON ?= python3
VENV := .venv
WORKERS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export MPLBACKEND := Agg
# Many tests start Python: modules compiled once are kept, whatever the machine's habit.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check slow docs test-cluster torture mutants machines format clean

demo: $(READY)  ## the main job: three figures of li2023 with verdicts, then a page
	@echo "limelight demo: figures 4, 6(c) and 1(a) of li2023 at small scale (a few minutes on 2 cores)"
	@$(BIN)/limelight run li2023 fig4 --scale small --store demo/fig4
	@echo
	@$(BIN)/limelight run li2023 fig6c --scale small --store demo/fig6c
	@echo
	@$(BIN)/limelight run li2023 fig1a --scale small --store demo/fig1a
	@$(BIN)/limelight report demo/fig1a demo/fig4 demo/fig6c -o demo/report.html
	@echo "Open $(CURDIR)/demo/report.html: move the criterion of figure 1(a), play figure 4"

test: check  ## everything that stands between a change and main
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

check: $(READY)  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

slow: $(READY)  ## the long tests
	$(BIN)/pytest -m slow

test-cluster: $(READY)  ## workers on a real SLURM (if sbatch finds one) and a real Ray: 15 minutes
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[slurm,ray]'
	$(BIN)/pytest -m cluster tests/cluster

docs: $(READY)  ## the site: notebooks executed, warnings are errors, nothing is fetched
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	$(BIN)/python docs/fill.py --check
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html
	$(BIN)/python docs/narrow.py docs/_build/html
	@echo "Open $(CURDIR)/docs/_build/html/index.html"

torture: $(READY)  ## kills, full disks, lost files, a hundred thousand hostile inputs: an hour or two
	$(BIN)/python -W ignore -m tests.torture --kills 500
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris && \
		$(BIN)/python -m tests.torture.guided
	LIMELIGHT_FUZZ=100000 LIMELIGHT_FUZZ_RECORD=results/benchmarks/torture.json \
		$(BIN)/pytest -q --timeout 0 tests/torture/test_fuzz.py

mutants: $(READY)  ## small faults put into the code: which of them does a test find? an hour
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	$(BIN)/python benchmarks/mutants.py map build/mutants.json
	$(BIN)/python benchmarks/mutants.py run build/mutants.json results/benchmarks/mutants.json --as now

machines: $(READY)  ## other Pythons, versions, users, locales, paths, 8 GB; root for some: an hour
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python -m tests.machines

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# One environment, rebuilt only when what it is made from changes.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "error: no $(PYTHON); install Python 3.11 or newer, or: make PYTHON=/path/to/python"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11; try: make PYTHON=python3.12"; exit 2; }
	@echo "setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . --group test --group dev
	@touch $(READY)

clean:
	rm -rf $(VENV) demo build dist docs/_build docs/api
