//! `factsmith methods`

use super::Context;
use crate::error::Result;
use crate::methods::METHODS;

/// List the ways to make an MLP: what they assume, what their size counts and how it grows
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith methods
  factsmith methods --json")]
pub struct Arguments {}

pub fn execute(_: &Arguments, context: &mut Context) -> Result<u8> {
    if context.options.json {
        let rows = serde_json::to_value(METHODS).unwrap_or_default();
        context.print_json(&serde_json::json!({ "methods": rows }))?;
        return Ok(0);
    }
    let mut text = String::new();
    for about in METHODS {
        text.push_str(&format!("{}\n", about.name));
        let rows = [
            ("what", about.title),
            ("size", about.size),
            ("needs", about.assumptions),
            ("parameters", about.cost_law),
            ("source", about.reference),
        ];
        text.push_str(&rows.map(|(name, value)| format!("  {name:<11} {value}\n")).concat());
    }
    context.print(&text)?;
    Ok(0)
}
