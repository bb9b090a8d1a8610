//! `factsmith status`

use serde_json::json;

use super::{Context, aligned};
use crate::error::Result;
use crate::pipeline::plan::Plan;
use crate::pipeline::receipt::Receipt;
use crate::pipeline::results::Results;

/// Show which results are there; takes no lock, so it works during a run and on a read-only folder
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith status
  factsmith status --profile smoke --json

Tables:
  current   made from exactly the cells of the profile
  partial   made from the seeds that are complete, as a run with --budget does
  stale     made from other cells, or changed since
  absent    not made yet")]
pub struct Arguments {
    /// Only this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let plan = context.plan(&store, &arguments.stage)?;
    let rows = rows(&plan, &context.results()?);
    if context.options.json {
        let stages: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| json!({ "stage": row.stage, "cells": row.cells, "cached": row.cached, "table": row.table }))
            .collect();
        context.print_json(&json!({ "profile": plan.profile.name(), "stages": stages }))?;
    } else {
        let mut lines = vec![["stage", "cells", "cached", "table"].map(str::to_owned).to_vec()];
        lines.extend(
            rows.into_iter()
                .map(|row| vec![row.stage, row.cells.to_string(), row.cached.to_string(), row.table.to_owned()]),
        );
        context.print(&format!("profile {}\n{}", plan.profile, aligned(&lines)))?;
    }
    Ok(0)
}

struct StatusRow {
    stage: String,
    cells: usize,
    cached: usize,
    table: &'static str,
}

fn rows(plan: &Plan, results: &Results) -> Vec<StatusRow> {
    let receipt = Receipt::read(&results.receipt_path());
    plan.stages
        .iter()
        .map(|stage| StatusRow {
            stage: stage.name.clone(),
            cells: stage.cells.len(),
            cached: stage.cached(),
            table: if stage.cells.is_empty() { "no cells" } else { results.state(stage, &receipt).name() },
        })
        .collect()
}
