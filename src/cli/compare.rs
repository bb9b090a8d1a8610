//! `factsmith compare`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use crate::error::{Error, Result};
use crate::pipeline::compare::{Verdict, compare};

/// Compare two folders of results, table by table
///
/// Ends with exit code 0 when every table is in both folders and equal, bit for bit or within the tolerance, else 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith compare results/laptop /tmp/mine/laptop
  factsmith compare results /tmp/mine --tolerance 1e-6")]
pub struct Arguments {
    /// A folder of results
    first: PathBuf,
    /// The folder to compare with
    second: PathBuf,
    /// Relative difference that numbers may have
    #[arg(long, default_value_t = 1e-9, value_name = "X")]
    tolerance: f64,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    if !arguments.tolerance.is_finite() || arguments.tolerance < 0.0 {
        return Err(Error::input(format!("the tolerance is {}", arguments.tolerance)).fix("give a number from 0 on"));
    }
    let comparison = compare(&arguments.first, &arguments.second, arguments.tolerance)?;
    if context.options.json {
        let tables: Vec<serde_json::Value> = comparison
            .tables
            .iter()
            .map(|(name, verdict)| {
                let largest = if let Verdict::Close { largest, .. } = verdict { Some(*largest) } else { None };
                json!({
                    "table": name,
                    "verdict": verdict.name(),
                    "largest_relative_difference": largest,
                    "text": verdict.describe(),
                })
            })
            .collect();
        context.print_json(&json!({ "agrees": comparison.agrees(), "tables": tables }))?;
    } else {
        let lines = comparison.tables.iter().map(|(name, verdict)| format!("{name}: {}\n", verdict.describe()));
        let text: String = lines.collect();
        context.print(&text)?;
    }
    Ok(u8::from(!comparison.agrees()))
}
