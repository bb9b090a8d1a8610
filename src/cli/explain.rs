//! `factsmith explain`

use std::collections::BTreeMap;

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::pipeline::cost::Prediction;
use crate::pipeline::explain::{Explanation, Reason, explain};
use crate::pipeline::nearest::Change;
use crate::pipeline::plan::Cell;
use crate::pipeline::progress::count;

use super::plan::with_range;

/// Say why cells would be computed: what changed, from which value to which, and for how long
///
/// A cell is compared with the nearest stored cell of its experiment. --json has the reason of every single cell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith explain
  factsmith explain storage_cost --profile paper
  factsmith explain storage_cost --json

Reasons:
  parameter changed   a stored cell that no grid asks for any more differs in these parameters only
  new point           the nearest stored cell, which is still asked for, differs in these parameters
  other version       it is stored as computed by another version of the experiment
  lost                the table was made from these cells: a file of the store was damaged or deleted
  never computed      no stored cell is like it")]
pub struct Arguments {
    /// Stages to explain; all when none is named
    #[arg(value_name = "STAGE")]
    stages: Vec<String>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let plan = context.plan(&store, &arguments.stages)?;
    let explanations = explain(&context.manifest()?, context.experiments, &plan, &store, &context.results()?)?;
    if context.options.json {
        let stages: Vec<serde_json::Value> = explanations.iter().map(as_json).collect();
        context.print_json(&json!({ "profile": plan.profile.name(), "stages": stages }))?;
    } else {
        let text: String = explanations.iter().map(as_text).collect();
        context.print(&format!("profile {}\n{text}", plan.profile))?;
    }
    Ok(0)
}

/// Cells that are missing for the same reason.
struct Group<'p> {
    reason: &'p Reason,
    cells: usize,
    time: Vec<Prediction>,
    /// For each field that differs, the distinct words for how.
    differences: Vec<Vec<String>>,
}

fn groups<'p>(cells: &'p [(&'p Cell, Reason)]) -> Vec<Group<'p>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (cell, reason) in cells {
        let number = *known.entry(heading(reason)).or_insert_with(|| {
            let differences = vec![Vec::new(); reason.changes().len()];
            groups.push(Group { reason, cells: 0, time: Vec::new(), differences });
            groups.len() - 1
        });
        let group = &mut groups[number];
        group.cells += 1;
        group.time.push(cell.time);
        for (words, change) in group.differences.iter_mut().zip(reason.changes()) {
            let word = word(cell, change, matches!(reason, Reason::NewPoint(_)));
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    groups
}

/// The new value, or both; of a file its path, for what is in it says nothing to people.
fn word(cell: &Cell, Change { field, old, new }: &Change, new_only: bool) -> String {
    match (cell.point.file(field), new_only) {
        (Some(path), true) => format!("'{}'", path.display()),
        (Some(path), false) => format!("(the file '{}' changed)", path.display()),
        (None, true) => new.to_string(),
        (None, false) => format!("{old} → {new}"),
    }
}

/// What cells of one group have in common.
fn heading(reason: &Reason) -> String {
    match reason {
        Reason::OtherVersion { stored, current } => format!("experiment version {stored} → {current}"),
        Reason::Lost => "lost: they were there when the table was made; a file was damaged or deleted".to_owned(),
        Reason::Changed(changes) | Reason::NewPoint(changes) => {
            let names: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
            format!("{} {}", reason.name(), names.join(" "))
        }
        Reason::NeverComputed => "never computed".to_owned(),
    }
}

/// More values than this are not listed.
const MOST_VALUES: usize = 6;

impl Group<'_> {
    fn text(&self) -> String {
        let sign = if matches!(self.reason, Reason::NewPoint(_)) { " =" } else { "" };
        let differences = self.reason.changes().iter().zip(&self.differences);
        let fields: Vec<String> =
            differences.map(|(change, words)| format!("{}{sign} {}", change.field, listed(words))).collect();
        let what = if fields.is_empty() {
            heading(self.reason)
        } else {
            format!("{}: {}", self.reason.name(), fields.join("; "))
        };
        let time: Prediction = self.time.iter().copied().sum();
        format!("  {}, {}: {what}\n", count(self.cells, "cell"), with_range(time))
    }
}

fn listed(words: &[String]) -> String {
    let more = words.len().saturating_sub(MOST_VALUES);
    let mut listed = words[..words.len() - more].to_vec();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed.join(", ")
}

fn as_text(explanation: &Explanation) -> String {
    let Explanation { stage, table, cells } = explanation;
    let mut text = match cells.len() {
        0 => format!("{}: nothing to compute; {}\n", stage.name, table.text()),
        missing => {
            format!("{}: {missing} of {} to compute; {}\n", stage.name, count(stage.cells.len(), "cell"), table.text())
        }
    };
    groups(cells).iter().for_each(|group| text.push_str(&group.text()));
    text
}

fn as_json(explanation: &Explanation) -> serde_json::Value {
    let Explanation { stage, table, cells } = explanation;
    let changes = |cell: &Cell, reason: &Reason| -> Vec<serde_json::Value> {
        let file = |field: &str| cell.point.file(field).map(|path| path.display().to_string());
        let change = |it: &Change| json!({ "field": it.field, "old": it.old, "new": it.new, "file": file(&it.field) });
        reason.changes().iter().map(change).collect()
    };
    let versions = |reason: &Reason| match reason {
        Reason::OtherVersion { stored, current } => json!([stored, current]),
        _ => serde_json::Value::Null,
    };
    let cells: Vec<serde_json::Value> = cells
        .iter()
        .map(|(cell, reason)| {
            json!({
                "key": cell.key.to_string(),
                "params": cell.point.params,
                "seed": cell.seed,
                "core_seconds": cell.time.seconds,
                "reason": reason.name(),
                "changes": changes(cell, reason),
                "versions": versions(reason),
            })
        })
        .collect();
    json!({
        "stage": stage.name,
        "cells": stage.cells.len(),
        "missing": stage.missing(),
        "core_seconds": stage.missing_time().seconds,
        "uncertainty_factor": stage.missing_time().factor(),
        "table": table.text(),
        "reasons": cells,
    })
}
