# Two commands matter: `make reproduce` and `make test`. `make help` lists the others.
#
# Stages, figures and executed notebooks are file targets whose rules the program itself writes from pipeline.toml,
# so that make and the program can't disagree about them.

PROFILE ?= laptop

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/sh

empty :=
space := $(empty) $(empty)
# A build folder of the user's own may have spaces in its path; make and the shell both read '\ ' as a space.
BUILD := $(subst $(space),\ ,$(or $(CARGO_TARGET_DIR),target))
FACTSMITH := $(BUILD)/release/factsmith
FIGURES := $(if $(filter laptop,$(PROFILE)),figures,figures/$(PROFILE))
RULES := .factsmith/rules-$(PROFILE).mk

SOURCES := Cargo.toml Cargo.lock $(shell find src -type f -not -name '.*')
LAB := notebooks/lab/Cargo.toml $(shell find notebooks/lab/src -type f -name '*.rs')

PYTHON_READY := .tools/venv/ready
KERNEL := .tools/bin/evcxr_jupyter
REGISTERED := .tools/venv/share/jupyter/kernels/rust/kernel.json
PREBUILT := .tools/prebuilt

.PHONY: help setup reproduce plan test test-notebooks figures notebooks claims bench lint clean

help:
	@echo 'make reproduce       compute the results, draw the figures, execute the notebooks, judge the claims'
	@echo 'make test            pass all tests'
	@echo
	@echo 'make setup           only install what the others need: OpenBLAS, the notebook tools (once, 15 minutes on 2 cores)'
	@echo 'make figures         draw the figures from the results that are there'
	@echo 'make notebooks       execute the notebooks on the results that are there'
	@echo 'make claims          say which claims the results that are there reproduce'
	@echo 'make bench           measure the speed of the parts that are promised to be fast'
	@echo 'make lint            check the formatting and the lints'
	@echo 'make test-notebooks  pass the tests that need the notebook kernel (3 minutes)'
	@echo 'make clean           delete builds; results, figures and the notebook tools stay'
	@echo
	@echo 'PROFILE=smoke (seconds), laptop (the default) or paper (days) chooses the size:  make reproduce PROFILE=smoke'

# Set-up: each step is done once and leaves a file.

setup: .tools/system $(FACTSMITH) $(PYTHON_READY) $(REGISTERED) $(PREBUILT)

.tools/system: setup/system.sh
	@sh setup/system.sh
	@mkdir -p .tools && touch $@

$(FACTSMITH): $(SOURCES) | .tools/system
	@echo '[setup] the program itself: about 5 minutes on 2 cores the first time, then seconds'
	@cargo build --release --locked
	@touch $@

$(PYTHON_READY): notebooks/requirements.txt | .tools/system
	@sh setup/python.sh
	@touch $@

$(KERNEL): | .tools/system
	@sh setup/kernel.sh

$(REGISTERED): setup/register.sh setup/start-kernel.sh setup/mold $(KERNEL) $(PYTHON_READY)
	@sh setup/register.sh

# The program first: the two builds would only share the same cores.
$(PREBUILT): setup/notebooks.sh $(SOURCES) $(LAB) | .tools/system $(FACTSMITH)
	@sh setup/notebooks.sh
	@touch $@

# Everything that is computed.

ifneq ($(filter-out help setup test test-notebooks figures notebooks claims bench lint clean,$(MAKECMDGOALS)),)
include $(RULES)
endif

$(RULES): pipeline.toml $(FACTSMITH)
	@mkdir -p $(@D)
	@$(FACTSMITH) rules --profile $(PROFILE) --output $@
	@touch $@

plan: $(FACTSMITH)
	@$(FACTSMITH) plan --profile $(PROFILE)

$(STAGE_TABLES): | plan
# Notebooks show what the code makes of the tables, so new code executes them again.
$(NOTEBOOK_STAMPS): $(PREBUILT) | $(REGISTERED)

reproduce: setup plan $(STAGE_TABLES) $(FIGURE_FILES) $(NOTEBOOK_STAMPS)
	@$(FACTSMITH) claims --profile $(PROFILE)
	@echo
	@echo 'Results:   results/$(PROFILE)'
	@echo 'Figures:   $(FIGURES)'
	@echo 'Notebooks: notebooks$(if $(filter laptop,$(PROFILE)),,/$(PROFILE))'

figures: $(FACTSMITH)
	@$(FACTSMITH) figures --profile $(PROFILE) --out $(FIGURES)

notebooks: setup
	@$(FACTSMITH) notebook --all --profile $(PROFILE)

claims: $(FACTSMITH)
	@$(FACTSMITH) claims --profile $(PROFILE)

# Checks.

test: .tools/system
	cargo test --release --locked

# The real kernel: that a panic, an error, a dead process or kernel and an endless cell each fail the notebook.
test-notebooks: setup
	FACTSMITH_NOTEBOOK_TESTS=1 cargo test --release --locked --test notebooks

bench: .tools/system
	cargo bench --locked

lint: .tools/system
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings

clean:
	cargo clean
	rm -rf .factsmith/rules-*.mk
