//! Rules for GNU make, generated from `pipeline.toml`, so that the two cannot drift.
//!
//! The Makefile of the project sets `FACTSMITH` (the program) and `FIGURES` (the folder of figures), includes this text
//! and remakes it when `pipeline.toml` changes.

use std::fmt::Write;

use super::manifest::{Manifest, Reader};
use super::profile::Profile;

/// The rules of one profile. Stages without cells in it have no rule, nor has anything that reads them.
pub fn rules(manifest: &Manifest, profile: Profile) -> String {
    let stages: Vec<&str> = manifest
        .stages
        .iter()
        .filter(|stage| stage.grids.contains_key(&profile))
        .map(|stage| stage.name.as_str())
        .collect();
    let drawn = |readers: &'_ [Reader]| -> Vec<Reader> {
        let has_all = |reader: &&Reader| reader.stages.iter().all(|stage| stages.contains(&stage.as_str()));
        readers.iter().filter(has_all).cloned().collect()
    };
    let (figures, notebooks) = (drawn(&manifest.figures), drawn(&manifest.notebooks));

    let mut text = format!(
        "# Rules of the profile '{profile}', made from pipeline.toml by 'factsmith rules'. Changes here are lost.\n\
         #\n\
         # The recipe of a table always runs; it returns at once, and leaves the file alone, when no cell is stale.\n\n"
    );
    variable(&mut text, "STAGE_TABLES", stages.iter().map(|stage| table(profile, stage)));
    variable(&mut text, "FIGURE_FILES", figures.iter().map(|figure| figure_files(&figure.name)));
    variable(&mut text, "NOTEBOOK_STAMPS", notebooks.iter().map(|notebook| stamp(profile, &notebook.name)));
    for stage in stages {
        stage_rule(&mut text, profile, stage);
    }
    for figure in &figures {
        figure_rule(&mut text, profile, figure);
    }
    for notebook in &notebooks {
        notebook_rule(&mut text, profile, notebook);
    }
    text.push_str("\n.PHONY: FORCE\nFORCE:\n");
    text
}

fn table(profile: Profile, stage: &str) -> String {
    format!("results/{profile}/{stage}.parquet")
}

fn figure_files(name: &str) -> String {
    format!("$(FIGURES)/{name}.svg $(FIGURES)/{name}.png")
}

fn stamp(profile: Profile, notebook: &str) -> String {
    format!(".factsmith/stamps/{profile}/{notebook}.executed")
}

fn tables(profile: Profile, reader: &Reader) -> String {
    let tables: Vec<String> = reader.stages.iter().map(|stage| table(profile, stage)).collect();
    tables.join(" ")
}

// Writing to a String never fails, so the results of `write!` are dropped below.

fn variable(text: &mut String, name: &str, words: impl Iterator<Item = String>) {
    let _ = write!(text, "{name} :=");
    for word in words {
        let _ = write!(text, " {word}");
    }
    text.push('\n');
}

fn stage_rule(text: &mut String, profile: Profile, stage: &str) {
    let target = table(profile, stage);
    let _ = write!(text, "\n{target}: FORCE | $(FACTSMITH)\n\t$(FACTSMITH) run --stage {stage} --profile {profile}\n");
}

fn figure_rule(text: &mut String, profile: Profile, figure: &Reader) {
    let (files, tables, name) = (figure_files(&figure.name), tables(profile, figure), &figure.name);
    let _ = write!(
        text,
        "\n{files} &: {tables} $(FACTSMITH)\n\
         \t$(FACTSMITH) figures {name} --profile {profile} --out $(FIGURES)\n"
    );
}

fn notebook_rule(text: &mut String, profile: Profile, notebook: &Reader) {
    let (stamp, tables, name) = (stamp(profile, &notebook.name), tables(profile, notebook), &notebook.name);
    let _ = write!(
        text,
        "\n{stamp}: {tables} notebooks/{name}.ipynb\n\t$(FACTSMITH) notebook {name} --profile {profile}\n"
    );
}
