//! `factsmith plan`

use serde_json::json;

use super::{Context, aligned};
use crate::error::Result;
use crate::pipeline::plan::Plan;
use crate::pipeline::progress::about;

/// Show what a run would compute and how long it would take; changes nothing
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith plan
  factsmith plan --profile paper --threads 32
  factsmith plan --stage storage_cost --json")]
pub struct Arguments {
    /// Only this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let plan = context.plan(&store, &arguments.stage)?;
    let seconds = wall_seconds(&plan, context.threads());
    if context.options.json {
        context.print_json(&as_json(&plan, seconds))?;
    } else {
        let text = as_text(&plan, context.threads(), seconds);
        context.print(&text)?;
    }
    Ok(0)
}

/// Predicted seconds of the whole run: all work shared evenly, but no less than the longest cell.
fn wall_seconds(plan: &Plan, threads: usize) -> f64 {
    let longest = plan.missing().iter().map(|(_, cell)| cell.seconds).fold(0.0, f64::max);
    (plan.missing_seconds() / threads as f64).max(longest)
}

fn as_text(plan: &Plan, threads: usize, seconds: f64) -> String {
    let mut rows = vec![["stage", "cells", "cached", "missing", "core time"].map(str::to_owned).to_vec()];
    for stage in &plan.stages {
        let core_time = if stage.missing() == 0 { "-".to_owned() } else { about(stage.missing_seconds()) };
        let counts = [stage.cells.len(), stage.cached(), stage.missing()].map(|number| number.to_string());
        rows.push([vec![stage.name.clone()], counts.to_vec(), vec![core_time]].concat());
    }
    let missing = plan.missing().len();
    let last = if missing == 0 {
        "nothing to compute".to_owned()
    } else {
        let (cells, threads) = (super::run::cells(missing), crate::pipeline::progress::count(threads, "thread"));
        format!("{cells} to compute, {} on {threads}", about(seconds))
    };
    format!("profile {}\n{}{last}\n", plan.profile, aligned(&rows))
}

fn as_json(plan: &Plan, seconds: f64) -> serde_json::Value {
    let stages: Vec<serde_json::Value> = plan
        .stages
        .iter()
        .map(|stage| {
            json!({
                "stage": stage.name,
                "title": stage.title,
                "experiment": stage.experiment.name(),
                "cells": stage.cells.len(),
                "cached": stage.cached(),
                "missing": stage.missing(),
                "core_seconds": stage.missing_seconds(),
            })
        })
        .collect();
    json!({
        "profile": plan.profile.name(),
        "stages": stages,
        "missing": plan.missing().len(),
        "core_seconds": plan.missing_seconds(),
        "wall_seconds": seconds,
    })
}
