//! The generated rules under a real make.

use std::process::Command;

use super::child::factsmith;
use super::workspace::Workspace;

#[test]
fn rules_are_as_expected_and_written_only_when_they_change() {
    let workspace = Workspace::new();
    let rules = factsmith(&workspace.root, &["rules"]).out;
    assert_eq!(rules, include_str!("rules.mk"));
    factsmith(&workspace.root, &["rules", "--output", "rules.mk"]);
    assert_eq!(std::fs::read_to_string(workspace.path("rules.mk")).unwrap(), rules);
    let before = workspace.snapshot();
    factsmith(&workspace.root, &["rules", "--output", "rules.mk"]);
    assert_eq!(workspace.snapshot(), before);
    let other = factsmith(&workspace.root, &["rules", "--profile", "paper"]).out;
    assert!(other.contains("STAGE_TABLES :=\nFIGURE_FILES :=\nNOTEBOOK_STAMPS :=\n"), "{other}");
}

/// Stands in for the program: notes each call, and writes a file only when it is not there.
const PROGRAM: &str = r#"#!/bin/sh
echo "$*" >> calls
once() { mkdir -p "$(dirname "$1")"; test -e "$1" || touch "$1"; }
case $1 in
run) once "results/$5/$3.parquet" ;;
figures) mkdir -p "$6"; touch "$6/$2.svg" "$6/$2.png" ;;
notebook) mkdir -p ".factsmith/stamps/$4"; touch ".factsmith/stamps/$4/$2.executed" ;;
esac
"#;

#[test]
fn make_draws_again_only_what_reads_a_changed_table() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::named("a 'b' \"c\" ü #");
    factsmith(&workspace.root, &["rules", "--output", "rules.mk"]);
    let program = workspace.path("program");
    std::fs::write(&program, PROGRAM).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(workspace.path("notebooks")).unwrap();
    std::fs::write(workspace.path("notebooks/01_margins.ipynb"), "{}").unwrap();
    std::fs::write(
        workspace.path("Makefile"),
        "FACTSMITH := ./program\nFIGURES := figures/smoke\n\
         all: everything\ninclude rules.mk\neverything: $(STAGE_TABLES) $(FIGURE_FILES) $(NOTEBOOK_STAMPS)\n",
    )
    .unwrap();
    let make = || {
        std::fs::remove_file(workspace.path("calls")).ok();
        let output = Command::new("make").args(["-j2", "all"]).current_dir(&workspace.root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let calls = std::fs::read_to_string(workspace.path("calls")).unwrap();
        let mut calls: Vec<String> = calls.lines().map(str::to_owned).collect();
        calls.sort();
        calls
    };
    let stages = ["run --stage margins --profile smoke", "run --stage other --profile smoke"];
    let figure = "figures fig1 --profile smoke --out figures/smoke";
    let notebook = "notebook 01_margins --profile smoke";
    assert_eq!(make(), [figure, notebook, stages[0], stages[1]]);
    assert_eq!(make(), stages, "nothing changed");
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::remove_file(workspace.path("results/smoke/other.parquet")).unwrap();
    assert_eq!(make(), [figure, stages[0], stages[1]], "the notebook does not read the changed table");
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&program, PROGRAM).unwrap();
    assert_eq!(make(), [figure, stages[0], stages[1]], "a new program may draw otherwise");
}
