//! `factsmith plan`

use serde_json::json;

use super::{Context, aligned, budget};
use crate::error::Result;
use crate::pipeline::cost::Prediction;
use crate::pipeline::plan::{Plan, PlannedStage};
use crate::pipeline::progress::{about, bytes, count, duration};
use crate::pipeline::store::Store;

/// Show what a run would compute and how long it would take; changes nothing
///
/// Times, memory and disk space are predicted: by what is known of each experiment, and by what its stored cells took.
/// The range behind a time is where it is expected to be in 19 of 20 cases.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith plan
  factsmith plan --profile paper --threads 32
  factsmith plan --budget 30m
  factsmith plan --stage storage_cost --json")]
pub struct Arguments {
    /// Only this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
    #[command(flatten)]
    budget: budget::Arguments,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let mut plan = context.plan(&store, &arguments.stage)?;
    if let Some(budget) = arguments.budget.budget(context)? {
        budget.apply(&mut plan);
    }
    let stages: Vec<(String, usize)> = plan.stages.iter().map(|stage| (stage.name.clone(), stage.left_out())).collect();
    let has_no_table =
        |name: &str| plan.stages.iter().any(|stage| stage.name == name && stage.table_cells().is_empty());
    let left_open = arguments.budget.left_open(context, &stages, |claim| Ok(has_no_table(&claim.stage)))?;
    let needs = Needs::of(&plan, &store, context.threads());
    if context.options.json {
        let mut json = as_json(&plan, &needs);
        json["left_out"] = json!(left_open);
        context.print_json(&json)?;
    } else {
        let text = as_text(&plan, &needs) + &budget::text(&left_open);
        context.print(&text)?;
    }
    Ok(0)
}

/// What a run needs, as predicted.
struct Needs {
    threads: usize,
    wall_seconds: f64,
    /// By which the time may be shorter or longer.
    factor: f64,
    memory: f64,
    /// At least and at most; `None` when no cells of an experiment are stored yet.
    disk: Option<(f64, f64)>,
}

impl Needs {
    fn of(plan: &Plan, store: &Store, threads: usize) -> Self {
        let time = plan.missing_time();
        Self {
            threads,
            wall_seconds: plan.wall_seconds(threads),
            factor: time.factor(),
            memory: plan.memory(threads),
            disk: disk(plan, store),
        }
    }
}

/// During a run a cell is in a journal, then in a segment as well, then in a table.
const COPIES: f64 = 3.0;

fn disk(plan: &Plan, store: &Store) -> Option<(f64, f64)> {
    plan.missing().iter().try_fold((0.0, 0.0), |(least, most), (stage, _)| {
        let (low, high) = store.bytes_per_cell(stage.experiment.name())?;
        Some((least + low, most + COPIES * high))
    })
}

/// A predicted time with its range: "about 3 min (2 min to 5 min)".
pub fn with_range(time: Prediction) -> String {
    format!("{}{}", about(time.seconds), range(time.seconds, time.factor()))
}

fn range(seconds: f64, factor: f64) -> String {
    let (low, high) = (duration(seconds / factor), duration(seconds * factor));
    if seconds < 1.0 || low == high { String::new() } else { format!(" ({low} to {high})") }
}

fn as_text(plan: &Plan, needs: &Needs) -> String {
    let mut rows = vec![["stage", "cells", "cached", "missing", "core time"].map(str::to_owned).to_vec()];
    for stage in &plan.stages {
        let core_time = if stage.missing() == 0 { "-".to_owned() } else { with_range(stage.missing_time()) };
        let counts = [stage.cells.len(), stage.cached(), stage.missing()].map(|number| number.to_string());
        rows.push([vec![stage.name.clone()], counts.to_vec(), vec![core_time]].concat());
    }
    let missing = plan.missing().len();
    let last = if missing == 0 { "nothing to compute".to_owned() } else { summary(missing, needs) };
    format!("profile {}\n{}{last}\n", plan.profile, aligned(&rows))
}

fn summary(missing: usize, needs: &Needs) -> String {
    let (cells, threads) = (super::run::cells(missing), count(needs.threads, "thread"));
    let time = format!("{}{}", about(needs.wall_seconds), range(needs.wall_seconds, needs.factor));
    let memory = [1.0, 0.5, 2.0].map(|factor| bytes(needs.memory * factor));
    let memory = format!("memory: about {} ({} to {})", memory[0], memory[1], memory[2]);
    let mut text = format!("{cells} to compute, {time} on {threads}\n{memory}");
    if let Some((least, most)) = needs.disk {
        text.push_str(&format!("\ndisk: {} to {}", bytes(least), bytes(most)));
    }
    text
}

fn as_json(plan: &Plan, needs: &Needs) -> serde_json::Value {
    json!({
        "profile": plan.profile.name(),
        "stages": plan.stages.iter().map(stage_json).collect::<Vec<_>>(),
        "missing": plan.missing().len(),
        "core_seconds": plan.missing_time().seconds,
        "wall_seconds": needs.wall_seconds,
        "uncertainty_factor": needs.factor,
        "memory_bytes": needs.memory,
        "disk_bytes": needs.disk,
    })
}

fn stage_json(stage: &PlannedStage) -> serde_json::Value {
    json!({
        "stage": stage.name,
        "title": stage.title,
        "experiment": stage.experiment.name(),
        "cells": stage.cells.len(),
        "cached": stage.cached(),
        "missing": stage.missing(),
        "left_out": stage.left_out(),
        "core_seconds": stage.missing_time().seconds,
        "uncertainty_factor": stage.missing_time().factor(),
    })
}
