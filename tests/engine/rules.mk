# Rules of the profile 'smoke', made from pipeline.toml by 'factsmith rules'. Changes here are lost.
#
# The recipe of a table always runs; it returns at once, and leaves the file alone, when no cell is stale.

STAGE_TABLES := results/smoke/margins.parquet results/smoke/other.parquet
FIGURE_FILES := $(FIGURES)/fig1.svg $(FIGURES)/fig1.png
NOTEBOOK_STAMPS := .factsmith/stamps/smoke/01_margins.executed

results/smoke/margins.parquet: FORCE | $(FACTSMITH)
	$(FACTSMITH) run --stage margins --profile smoke

results/smoke/other.parquet: FORCE | $(FACTSMITH)
	$(FACTSMITH) run --stage other --profile smoke

$(FIGURES)/fig1.svg $(FIGURES)/fig1.png &: results/smoke/margins.parquet results/smoke/other.parquet $(FACTSMITH)
	$(FACTSMITH) figures fig1 --profile smoke --out $(FIGURES)

.factsmith/stamps/smoke/01_margins.executed: results/smoke/margins.parquet notebooks/01_margins.ipynb
	$(FACTSMITH) notebook 01_margins --profile smoke

.PHONY: FORCE
FORCE:
