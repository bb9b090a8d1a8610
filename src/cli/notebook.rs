//! `factsmith notebook`

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Context;
use crate::durable;
use crate::error::{Error, Result, unknown};
use crate::notebook::{Execution, execute as run};
use crate::pipeline::manifest::Reader;
use crate::pipeline::profile::Profile;
use crate::pipeline::progress::tell;

/// Execute notebooks without a browser; a panic or an error in a cell fails
///
/// Reads the results of the profile; where a stage has none, the published results that came with the project. In the
/// profile laptop a notebook keeps its own outputs, in the others the executed notebook goes to notebooks/PROFILE.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith notebook 01_decodability
  factsmith notebook --all --profile smoke")]
pub struct Arguments {
    /// Notebooks to execute, by the names in pipeline.toml
    #[arg(required_unless_present = "all")]
    names: Vec<String>,
    /// Execute all notebooks
    #[arg(long)]
    all: bool,
    /// The longest time that one cell may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    cell_limit: u64,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let (manifest, profile) = (context.manifest()?, context.profile()?);
    let known = || manifest.notebooks.iter().map(|notebook| notebook.name.as_str());
    if let Some(name) = arguments.names.iter().find(|name| known().all(|other| other != name.as_str())) {
        return Err(unknown("notebook", name, known().collect::<Vec<_>>()));
    }
    let is_chosen = |notebook: &&Reader| arguments.all || arguments.names.contains(&notebook.name);
    let mut executed = Vec::new();
    for notebook in manifest.notebooks.iter().filter(is_chosen) {
        executed.push(one(notebook, profile, arguments, context)?);
    }
    if context.options.json {
        context.print_json(&executed.into())?;
    }
    Ok(0)
}

fn one(notebook: &Reader, profile: Profile, arguments: &Arguments, context: &mut Context) -> Result<Json> {
    let root = context.options.manifest.parent().unwrap_or(Path::new("")).to_path_buf();
    let file = format!("{}.ipynb", notebook.name);
    let source = root.join("notebooks").join(&file);
    let output = match profile {
        Profile::Laptop => source.clone(),
        other => root.join("notebooks").join(other.name()).join(&file),
    };
    tell(&format!("executing {}, about half a minute", source.display()));
    let executed = run(&Execution {
        notebook: source,
        output: output.clone(),
        tools: root.join(".tools"),
        environment: vec![
            ("FACTSMITH_PROFILE".to_owned(), profile.name().to_owned()),
            ("FACTSMITH_RESULTS".to_owned(), tables_folder(notebook, context)?.display().to_string()),
        ],
        cell_limit: Duration::from_secs(arguments.cell_limit),
    })?;
    durable::replace_text(&stamp(&root, profile, &notebook.name), &format!("{}\n", output.display()))?;
    // The stamp's time is what make compares with the tables.
    let stamped = std::fs::File::options().write(true).open(stamp(&root, profile, &notebook.name));
    stamped
        .and_then(|file| file.set_modified(std::time::SystemTime::now()))
        .map_err(|error| Error::io("touch", &stamp(&root, profile, &notebook.name), &error))?;
    let output = output.display().to_string();
    if !context.options.json {
        context.print(&format!(
            "{}: {} cells in {:.0} s, in {output}\n",
            notebook.name, executed.cells, executed.seconds
        ))?;
    }
    Ok(json!({
        "notebook": notebook.name, "cells": executed.cells, "seconds": executed.seconds, "output": output,
    }))
}

/// The folder all of the notebook's tables are in, as an absolute path: cells run in the folder of the notebook.
fn tables_folder(notebook: &Reader, context: &Context) -> Result<PathBuf> {
    let sources = context.sources()?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for stage in &notebook.stages {
        let path = sources.path(stage);
        let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        if !path.exists() {
            return Err(Error::input(format!("stage '{stage}' has no results in '{}'", folder.display()))
                .fix(format!("make reproduce PROFILE={}", context.options.profile)));
        }
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // A notebook that reads no tables gets the folder of a person's own.
    if notebook.stages.is_empty() {
        folders.push(context.options.results.join(context.profile()?.name()));
    }
    match folders.as_slice() {
        [folder] => std::path::absolute(folder).map_err(|error| Error::io("find", folder, &error)),
        _ => Err(Error::input(format!("the notebook '{}' reads tables of several runs", notebook.name))
            .fix(format!("make reproduce PROFILE={}", context.options.profile))),
    }
}

fn stamp(root: &Path, profile: Profile, name: &str) -> PathBuf {
    root.join(".factsmith/stamps").join(profile.name()).join(format!("{name}.executed"))
}
