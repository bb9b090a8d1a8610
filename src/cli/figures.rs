//! `factsmith figures`

use std::path::PathBuf;

use super::Context;
use crate::error::{Result, unknown};
use crate::figures::{Entry, find};

/// Draw figures as SVG and PNG from the results that are there
///
/// Reads the results of the profile; where a stage has none, the published results that came with the project.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith figures
  factsmith figures fig2a --out /tmp/figures
  factsmith figures --profile smoke")]
pub struct Arguments {
    /// Figures to draw; all when none is named
    names: Vec<String>,
    /// Folder of the drawn figures [default: figures, in other profiles than laptop figures/PROFILE]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let manifest = context.manifest()?;
    let known: Vec<&str> = manifest.figures.iter().map(|figure| figure.name.as_str()).collect();
    if let Some(name) = arguments.names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(unknown("figure", name, known));
    }
    let chosen = |name: &&str| arguments.names.is_empty() || arguments.names.iter().any(|other| other == name);
    let entries: Vec<&Entry> = known.into_iter().filter(chosen).map(find).collect::<Result<_>>()?;
    let sources = context.sources()?;
    let out = arguments.out.clone().unwrap_or_else(|| match context.options.profile.as_str() {
        "laptop" => PathBuf::from("figures"),
        other => PathBuf::from("figures").join(other),
    });
    let mut drawn = Vec::new();
    for entry in entries {
        (entry.make)(&|stage| sources.table(stage))?.write(&out, entry.name)?;
        let base = out.join(entry.name).display().to_string();
        drawn
            .push(serde_json::json!({ "figure": entry.name, "files": [format!("{base}.svg"), format!("{base}.png")] }));
        if !context.options.json {
            context.print(&format!("{}: wrote {base}.svg and {base}.png\n", entry.name))?;
        }
    }
    if context.options.json {
        context.print_json(&drawn.into())?;
    }
    Ok(0)
}
