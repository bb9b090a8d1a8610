//! `factsmith show`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use super::digits::significant;
use crate::error::Result;
use crate::mlp::network::Mlp;
use crate::mlp::saved;

/// Show what an MLP file holds: architecture, sizes, weights, and how it was made
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith show mlp.safetensors
  factsmith show mlp.safetensors --json")]
pub struct Arguments {
    /// The file, as `factsmith build` writes it
    mlp: PathBuf,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let (mlp, made) = saved::read(&arguments.mlp)?;
    if context.options.json {
        context.print_json(&json!({
            "file": arguments.mlp.display().to_string(),
            "architecture": architecture(&mlp),
            "dimension": mlp.down().nrows(),
            "hidden": mlp.hidden(),
            "parameters": mlp.parameters(),
            "weight_norm": mlp.weight_norm(),
            "largest_weight": mlp.largest_weight(),
            "made": made,
        }))?;
        return Ok(0);
    }
    let shapes: Vec<String> =
        mlp.matrices().iter().map(|(name, matrix)| format!("{name} {} × {}", matrix.nrows(), matrix.ncols())).collect();
    context.print(&format!(
        "{}\n  weights         {}\n  hidden units    {}\n  parameters      {}\n  weight norm     {}\n  largest weight  {}\n  made            {made}\n",
        architecture(&mlp),
        shapes.join(", "),
        mlp.hidden(),
        mlp.parameters(),
        significant(mlp.weight_norm(), 5),
        significant(mlp.largest_weight(), 5),
    ))?;
    Ok(0)
}

fn architecture(mlp: &Mlp) -> String {
    let (kind, activation) = match mlp {
        Mlp::Gated(mlp) => ("gated", mlp.activation),
        Mlp::Plain(mlp) => ("plain", mlp.activation),
    };
    let activation = serde_json::to_value(activation).unwrap_or_default();
    format!("{kind} MLP, {}", activation.as_str().unwrap_or_default())
}
