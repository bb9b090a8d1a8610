//! `factsmith run`

use std::path::Path;

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::num::linalg::blas;
use crate::pipeline::progress::count;
use crate::pipeline::results::Results;
use crate::pipeline::run::{Outcome, Request, StageOutcome, TableOutcome, run};
use crate::pipeline::stop::Stop;

/// Compute what is missing and write the tables of all stages
///
/// Cells that were computed before are taken from the store. A table whose content stays the same is left alone, with
/// its modification time. A cell that fails stops no other, unless --fail-fast is given; the run then ends with exit
/// code 1, and `factsmith replay` shows the failure again. Interrupted (Ctrl-C, SIGTERM), a run gives the cells in flight
/// 5 seconds to finish and ends with exit code 130; interrupted twice, it ends at once. What is finished is kept.
///
/// Several processes or machines can work on one store, each on a share of the cells: --shard 1/2 here, --shard 2/2
/// there. The last to end writes the tables.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith run --profile smoke
  factsmith run --stage storage_cost --threads 2
  factsmith run --profile paper --fail-fast
  factsmith run --profile paper --shard 2/8 --store /shared/store
  factsmith run --store /tmp/store --results /tmp/results --json")]
pub struct Arguments {
    /// Only this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
    /// Begin no new cell after the first failure
    #[arg(long, conflicts_with = "keep_going")]
    fail_fast: bool,
    /// Compute all other cells when one fails (the default)
    #[arg(long)]
    keep_going: bool,
    /// Compute only this share of the cells, as in 2/3
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    /// Tell no progress; errors are told all the same
    #[arg(long, short)]
    quiet: bool,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let profile = context.profile()?;
    let shard = arguments.shard.as_ref().map(|text| text.parse()).transpose()?;
    let outcome = run(&Request {
        manifest: &context.manifest()?,
        profile,
        experiments: context.experiments,
        only: &arguments.stage,
        store: &context.options.store,
        results: &context.options.results,
        threads: context.threads(),
        shard,
        fail_fast: arguments.fail_fast,
        stop: &Stop::on_signals()?,
        quiet: arguments.quiet,
        arithmetic: &blas(),
    })?;
    let results = context.results()?;
    if context.options.json {
        context.print_json(&as_json(&outcome, profile.name(), &results))?;
    } else {
        let lines = outcome.stages.iter().map(|stage| line(stage, profile.name(), &results.table_path(&stage.name)));
        let text: String = lines.collect();
        context.print(&text)?;
    }
    outcome.error().map_or(Ok(0), Err)
}

/// A number of cells for people.
pub fn cells(number: usize) -> String {
    count(number, "cell")
}

fn line(stage: &StageOutcome, profile: &str, table: &Path) -> String {
    let (name, table) = (&stage.name, table.display());
    let cached = stage.cells - stage.computed - stage.failed - stage.left;
    let all = cells(stage.cells);
    match stage.table {
        TableOutcome::NoCells => format!("{name}: no cells in profile {profile}\n"),
        TableOutcome::Written => {
            format!("{name}: {all} ({} computed, {cached} cached), wrote {table}\n", stage.computed)
        }
        TableOutcome::Unchanged => {
            format!("{name}: {all} ({} computed, {cached} cached), {table} is unchanged\n", stage.computed)
        }
        TableOutcome::NotWritten => {
            let rest = [(stage.failed, "failed"), (stage.left, "left")].into_iter().filter(|(cells, _)| *cells > 0);
            let rest: String = rest.map(|(cells, what)| format!(", {cells} {what}")).collect();
            format!("{name}: {all} ({} computed, {cached} cached{rest}), {table} is not written\n", stage.computed)
        }
    }
}

fn as_json(outcome: &Outcome, profile: &str, results: &Results) -> serde_json::Value {
    let stages: Vec<serde_json::Value> = outcome
        .stages
        .iter()
        .map(|stage| {
            json!({
                "stage": stage.name,
                "cells": stage.cells,
                "computed": stage.computed,
                "failed": stage.failed,
                "left": stage.left,
                "table": results.table_path(&stage.name).display().to_string(),
                "outcome": match stage.table {
                    TableOutcome::Written => "written",
                    TableOutcome::Unchanged => "unchanged",
                    TableOutcome::NotWritten => "not written",
                    TableOutcome::NoCells => "no cells",
                },
            })
        })
        .collect();
    let failures: Vec<serde_json::Value> = outcome
        .failures
        .iter()
        .map(|failure| {
            let params = failure.cell.as_ref().map(|cell| serde_json::from_str(&cell.params).unwrap_or_default());
            json!({
                "stage": failure.stage,
                "key": failure.cell.as_ref().map(|cell| cell.key.to_string()),
                "params": params.unwrap_or(serde_json::Value::Null),
                "seed": failure.cell.as_ref().map(|cell| cell.seed),
                "error": failure.error.to_string(),
            })
        })
        .collect();
    json!({
        "profile": profile,
        "stages": stages,
        "failures": failures,
        "interrupted": outcome.interrupted,
        "seconds": outcome.seconds,
    })
}
