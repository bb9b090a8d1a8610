//! `factsmith run`

use std::path::Path;

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::pipeline::progress::count;
use crate::pipeline::results::Results;
use crate::pipeline::run::{Outcome, Request, StageOutcome, TableOutcome, run};

/// Compute what is missing and write the tables of all stages
///
/// Cells that were computed before are taken from the store. A table whose content stays the same is left alone, with
/// its modification time. A cell that fails stops no other; the run then ends with exit code 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith run --profile smoke
  factsmith run --stage storage_cost --threads 2
  factsmith run --store /tmp/store --results /tmp/results --json")]
pub struct Arguments {
    /// Only this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
    /// Tell no progress; errors are told all the same
    #[arg(long, short)]
    quiet: bool,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let profile = context.profile()?;
    let outcome = run(&Request {
        manifest: &context.manifest()?,
        profile,
        experiments: context.experiments,
        only: &arguments.stage,
        store: &context.options.store,
        results: &context.options.results,
        threads: context.threads(),
        quiet: arguments.quiet,
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
    let cached = stage.cells - stage.computed - stage.failed;
    let all = cells(stage.cells);
    match stage.table {
        TableOutcome::NoCells => format!("{name}: no cells in profile {profile}\n"),
        TableOutcome::Written => {
            format!("{name}: {all} ({} computed, {cached} cached), wrote {table}\n", stage.computed)
        }
        TableOutcome::Unchanged => {
            format!("{name}: {all} ({} computed, {cached} cached), {table} is unchanged\n", stage.computed)
        }
        TableOutcome::NotWritten => format!(
            "{name}: {all} ({} computed, {cached} cached, {} failed), {table} is not written\n",
            stage.computed, stage.failed
        ),
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
            let params: serde_json::Value = serde_json::from_str(&failure.params).unwrap_or_default();
            json!({
                "stage": failure.stage,
                "params": params,
                "seed": failure.seed,
                "error": failure.error.to_string(),
            })
        })
        .collect();
    json!({ "profile": profile, "stages": stages, "failures": failures, "seconds": outcome.seconds })
}
