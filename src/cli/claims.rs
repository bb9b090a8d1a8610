//! `factsmith claims`

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::Context;
use crate::claims::{Decided, decide, markdown, read};
use crate::error::{Error, Result};
use crate::pipeline::plan::PlannedStage;
use crate::pipeline::progress::tell;
use crate::pipeline::receipt::Receipt;
use crate::pipeline::store::Store;

/// Say which claims of the papers the results reproduce
///
/// Reads the results of the profile; where a stage has none, the published results that came with the project.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith claims
  factsmith claims --profile smoke --json
  factsmith claims --markdown")]
pub struct Arguments {
    /// The file of claims
    #[arg(long, value_name = "FILE", default_value = "claims.toml")]
    claims: PathBuf,
    /// Print the table in Markdown
    #[arg(long)]
    markdown: bool,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    if arguments.markdown {
        context.refuse_json("a table in Markdown")?;
    }
    let (sources, profile) = (context.sources()?, context.profile()?);
    let mut decided = Vec::new();
    for claim in read(&arguments.claims)? {
        let path = sources.path(&claim.stage);
        let table = if path.exists() { Some(sources.table(&claim.stage)?) } else { None };
        let place = |error: Error| error.at(path.display());
        decided.push(decide(&claim, profile, table.as_ref()).map_err(place)?);
    }
    if decided.is_empty() {
        return Err(Error::input(format!("'{}' holds no claims", arguments.claims.display())));
    }
    enter_verdicts(&decided, context)?;
    let others = other_tables(&decided, context);
    if context.options.json {
        let rows: Vec<serde_json::Value> = decided.iter().map(as_json).collect();
        let tables = others.iter().map(|(stage, table)| (stage.clone(), table.as_json()));
        let tables: serde_json::Map<String, serde_json::Value> = tables.collect();
        context.print_json(&json!({ "profile": profile.name(), "claims": rows, "other_tables": tables }))?;
    } else if arguments.markdown {
        let notes: String = others.iter().map(|(stage, table)| format!("\n{}\n", table.text(stage))).collect();
        context.print(&format!("{}{notes}", markdown(&decided)))?;
    } else {
        context.print(&plain(&decided, profile.name(), &others))?;
    }
    Ok(0)
}

/// A table that was not made from exactly the cells of the profile.
struct OtherTable {
    /// How many cells it was made from; `None` when its receipt does not say.
    made_from: Option<usize>,
    planned: usize,
}

impl OtherTable {
    fn text(&self, stage: &str) -> String {
        let planned = self.planned;
        match self.made_from {
            None => format!("Nothing says which cells the table of stage {stage} was made from."),
            Some(cells) if cells == planned => {
                format!("The table of stage {stage} was made from other cells than the {planned} of the profile.")
            }
            Some(cells) => {
                format!("The table of stage {stage} was made from {cells} cells; the profile has {planned}.")
            }
        }
    }

    fn as_json(&self) -> serde_json::Value {
        json!({ "made_from": self.made_from, "cells_of_profile": self.planned })
    }
}

/// The stages that claims rest on and whose tables were not made from exactly the cells of the profile.
fn other_tables(decided: &[Decided], context: &Context) -> BTreeMap<String, OtherTable> {
    find_other_tables(decided, context).unwrap_or_else(|error| {
        tell(&format!("warning: tables are not compared with the profile: {}", error.what()));
        BTreeMap::new()
    })
}

fn find_other_tables(decided: &[Decided], context: &Context) -> Result<BTreeMap<String, OtherTable>> {
    let manifest = context.manifest()?;
    let rests = |stage: &str| decided.iter().any(|row| row.claim.stage == stage && row.has_table());
    let stages: Vec<String> =
        manifest.stages.iter().map(|stage| stage.name.clone()).filter(|name| rests(name)).collect();
    if stages.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (sources, plan) = (context.sources()?, context.plan(&Store::default(), &stages)?);
    let other = |stage: &PlannedStage| {
        let receipt = sources.receipt(&stage.name);
        let is_current = receipt.as_ref().is_some_and(|receipt| receipt.cells_hash == stage.cells_hash());
        let made_from = receipt.map(|receipt| receipt.cells);
        (!is_current).then(|| (stage.name.clone(), OtherTable { made_from, planned: stage.cells.len() }))
    };
    Ok(plan.stages.iter().filter_map(other).collect())
}

/// Puts the verdicts that rest on own tables, not on published ones, into the receipt of these tables.
fn enter_verdicts(decided: &[Decided], context: &Context) -> Result<()> {
    let results = context.results()?;
    let path = results.receipt_path();
    let mut receipt = Receipt::read(&path);
    let own = decided.iter().filter(|row| results.table_path(&row.claim.stage).exists());
    let verdicts = own.map(|row| (row.claim.id.clone(), row.verdict.name().to_owned())).collect();
    if !receipt.stages.is_empty() && receipt.claims != verdicts {
        receipt.claims = verdicts;
        if let Err(error) = receipt.keep(&path) {
            tell(&format!("warning: the receipt stays without the verdicts: {}", error.what()));
        }
    }
    Ok(())
}

fn plain(decided: &[Decided], profile: &str, others: &BTreeMap<String, OtherTable>) -> String {
    let mut text = format!("Claims at profile {profile} (measured value, 95 % prediction interval over seeds)\n");
    for row in decided {
        text.push_str(&format!(
            "\n{}: {}\n  the paper ({}, {}) says: {}\n  measured: {} against {}{}\n",
            row.claim.id,
            row.verdict.name(),
            row.claim.paper,
            row.claim.place,
            row.claim.says,
            row.measured(),
            row.claim.compare,
            row.dimension.map_or_else(String::new, |dimension| format!(", d = {dimension}")),
        ));
        if row.other_reading.is_some() {
            text.push_str(&format!("  with keys conditioned as well: {}\n", row.other()));
        }
        text.push_str(&format!("  is: {}\n  made by: {}\n", row.claim.definition, row.command));
        if let Some(table) = others.get(&row.claim.stage) {
            text.push_str(&format!("  {}\n", table.text(&row.claim.stage)));
        }
    }
    text
}

fn as_json(row: &Decided) -> serde_json::Value {
    let finite =
        |value: Option<f64>| value.map(|value| if value.is_finite() { json!(value) } else { json!("infinite") });
    json!({
        "id": row.claim.id,
        "paper": row.claim.paper,
        "place": row.claim.place,
        "says": row.claim.says,
        "definition": row.claim.definition,
        "verdict": row.verdict.name(),
        "value": finite(row.value),
        "interval": row.interval.filter(|(low, high)| low.is_finite() && high.is_finite()),
        "other_reading": finite(row.other_reading),
        "dimension": row.dimension,
        "other_dimension": row.other_dimension,
        "command": row.command,
    })
}
