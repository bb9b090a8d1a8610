//! Rules for GNU make, generated from `pipeline.toml`, so that the two cannot drift.
//!
//! The Makefile of the project sets `FACTSMITH` (the program) and `FIGURES` (the folder of figures), includes this text
//! and remakes it when `pipeline.toml` changes.

use std::fmt::Write;

use serde::Serialize;

use super::manifest::{Manifest, Reader, Stage};
use super::profile::Profile;

/// What make can be asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Targets {
    pub profile: &'static str,
    pub tables: Vec<String>,
    /// `$(FIGURES)` is the folder of figures.
    pub figures: Vec<String>,
    pub notebooks: Vec<String>,
}

/// What has rules in a profile: stages with cells in it, and what reads nothing else.
struct Ruled<'a> {
    stages: Vec<&'a str>,
    figures: Vec<&'a Reader>,
    notebooks: Vec<&'a Reader>,
}

impl<'a> Ruled<'a> {
    fn new(manifest: &'a Manifest, profile: Profile) -> Self {
        let has_cells = |stage: &&Stage| stage.grids.contains_key(&profile);
        let stages: Vec<&str> = manifest.stages.iter().filter(has_cells).map(|stage| stage.name.as_str()).collect();
        let has_all = |reader: &&Reader| reader.stages.iter().all(|stage| stages.contains(&stage.as_str()));
        let figures = manifest.figures.iter().filter(has_all).collect();
        let notebooks = manifest.notebooks.iter().filter(has_all).collect();
        Self { stages, figures, notebooks }
    }

    fn targets(&self, profile: Profile) -> Targets {
        Targets {
            profile: profile.name(),
            tables: self.stages.iter().map(|stage| table(profile, stage)).collect(),
            figures: self.figures.iter().flat_map(|figure| figure_files(&figure.name)).collect(),
            notebooks: self.notebooks.iter().map(|notebook| stamp(profile, &notebook.name)).collect(),
        }
    }
}

/// The files that have rules in a profile.
pub fn targets(manifest: &Manifest, profile: Profile) -> Targets {
    Ruled::new(manifest, profile).targets(profile)
}

/// The rules of one profile. Stages without cells in it have no rule, nor has anything that reads them.
pub fn rules(manifest: &Manifest, profile: Profile) -> String {
    let ruled = Ruled::new(manifest, profile);
    let targets = ruled.targets(profile);
    let mut text = format!(
        "# Rules of the profile '{profile}', made from pipeline.toml by 'factsmith rules'. Changes here are lost.\n\
         #\n\
         # The recipe of a table always runs; it returns at once, and leaves the file alone, when no cell is stale.\n\n"
    );
    variable(&mut text, "STAGE_TABLES", &targets.tables);
    variable(&mut text, "FIGURE_FILES", &targets.figures);
    variable(&mut text, "NOTEBOOK_STAMPS", &targets.notebooks);
    ruled.stages.iter().for_each(|stage| stage_rule(&mut text, profile, stage));
    ruled.figures.iter().for_each(|figure| figure_rule(&mut text, profile, figure));
    ruled.notebooks.iter().for_each(|notebook| notebook_rule(&mut text, profile, notebook));
    text.push_str("\n.PHONY: FORCE\nFORCE:\n");
    text
}

fn table(profile: Profile, stage: &str) -> String {
    format!("results/{profile}/{stage}.parquet")
}

fn figure_files(name: &str) -> [String; 2] {
    ["svg", "png"].map(|kind| format!("$(FIGURES)/{name}.{kind}"))
}

fn stamp(profile: Profile, notebook: &str) -> String {
    format!(".factsmith/stamps/{profile}/{notebook}.executed")
}

fn tables(profile: Profile, reader: &Reader) -> String {
    let tables: Vec<String> = reader.stages.iter().map(|stage| table(profile, stage)).collect();
    tables.join(" ")
}

// Writing to a String never fails, so the results of `write!` are dropped below.

fn variable(text: &mut String, name: &str, words: &[String]) {
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
    let (files, tables, name) = (figure_files(&figure.name).join(" "), tables(profile, figure), &figure.name);
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
