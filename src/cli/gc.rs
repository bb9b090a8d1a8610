//! `factsmith gc`

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::pipeline::garbage::{Garbage, collect, find, named};
use crate::pipeline::progress::{count, tell};

/// Remove cells that no profile of the manifest names, files in quarantine and unfinished files
///
/// Cells of other manifests that share the store, and of older versions of an experiment, are among them: look with
/// --dry-run first. No other command removes a cell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith gc --dry-run
  factsmith gc")]
pub struct Arguments {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let named = named(&context.manifest()?, context.experiments)?;
    let (store, results) = (&context.options.store, &context.options.results);
    let garbage =
        if arguments.dry_run { find(store, results, &named)? } else { collect(store, results, &named, &tell)? };
    if context.options.json {
        context.print_json(&json!({
            "dry_run": arguments.dry_run,
            "cells": garbage.cells,
            "cell_bytes": garbage.cell_bytes,
            "failures": garbage.failures,
            "files": garbage.files.keys().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "file_bytes": garbage.files.values().sum::<u64>(),
        }))?;
    } else {
        if !store.exists() {
            tell(&format!("there is no store at '{}'", store.display()));
        }
        context.print(&text(&garbage, if arguments.dry_run { "would remove" } else { "removed" }))?;
    }
    Ok(0)
}

fn text(garbage: &Garbage, done: &str) -> String {
    let mut lines = Vec::new();
    if garbage.cells > 0 {
        let (cells, bytes) = (count(garbage.cells, "cell"), size(garbage.cell_bytes));
        lines.push(format!("{done} {cells} that no profile names: {bytes}"));
    }
    if garbage.failures > 0 {
        lines.push(format!("{done} {} of such cells", count(garbage.failures, "failure")));
    }
    if !garbage.files.is_empty() {
        let (files, bytes) =
            (count(garbage.files.len(), "damaged or unfinished file"), size(garbage.files.values().sum()));
        lines.push(format!("{done} {files}: {bytes}"));
    }
    if lines.is_empty() {
        lines.push("nothing to remove".to_owned());
    }
    lines.join("\n") + "\n"
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => count(bytes as usize, "byte"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
