//! `factsmith rules`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use super::output::check_not_read;
use crate::durable;
use crate::error::Result;
use crate::pipeline::makefile;

/// Print the make rules of stages, figures and notebooks
///
/// --json has the files that make can be asked for instead.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith rules --profile smoke
  factsmith rules --output .factsmith/laptop.mk")]
pub struct Arguments {
    /// Write the rules to this file, only if they changed, instead of printing them
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let (manifest, profile) = (context.manifest()?, context.profile()?);
    let rules = makefile::rules(&manifest, profile);
    match &arguments.output {
        Some(path) => {
            check_not_read(path, &[&context.options.manifest])?;
            durable::replace_text(path, &rules)?;
        }
        None if context.options.json => context.print_json(&json!(makefile::targets(&manifest, profile)))?,
        None => context.print(&rules)?,
    }
    Ok(0)
}
