//! Why a cell would run: the field, the old and the new value.

use factsmith::pipeline::explain::{Reason, TableReason, explain};
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::results::Results;
use factsmith::pipeline::store::Store;

use super::child::factsmith;
use super::synthetic::Synthetic;
use super::workspace::Workspace;

const FOLDERS: [&str; 4] = ["--store", "store", "--results", "results"];

fn explained(workspace: &Workspace) -> String {
    let output = factsmith(&workspace.root, &[&["explain"], &FOLDERS[..]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    // What the cells of the toy take is measured and differs; what is said of it is tested elsewhere.
    let time = |line: &str| match (line.find(", "), line.find(": ")) {
        (Some(from), Some(to)) if line.starts_with("  ") => format!("{}{}", &line[..from], &line[to..]),
        _ => line.to_owned(),
    };
    output.out.lines().skip(1).map(|line| time(line) + "\n").collect()
}

#[test]
fn nothing_stored_is_said_with_the_predicted_time() {
    let workspace = Workspace::new();
    let output = factsmith(&workspace.root, &["explain", "margins"]);
    assert_eq!(
        output.out,
        "profile smoke\n\
         margins: 8 of 8 cells to compute; it has no table yet\n  \
         8 cells, about 48 s (4.7 s to 8 min): never computed\n"
    );
}

#[test]
fn a_changed_parameter_is_told_from_a_new_point() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 2\nd = [4, 8]\nkappa = [1, 10]");
    workspace.run();
    workspace.grid("seeds = 2\nd = [4, 8]\nkappa = [1, 20]");
    let changed = "margins: 4 of 8 cells to compute; its table was made from other cells\n  \
                   4 cells: parameter changed: kappa 10.0 → 20.0\n";
    assert_eq!(explained(&workspace), changed);
    workspace.grid("seeds = 3\nd = [4, 8]\nkappa = [1, 10, 30]");
    assert_eq!(
        explained(&workspace),
        "margins: 10 of 18 cells to compute; its table was made from other cells\n  \
         4 cells: new point: seed = 2\n  \
         4 cells: new point: kappa = 30.0\n  \
         2 cells: new point: kappa = 30.0; seed = 2\n"
    );
    workspace.grid("seeds = 2\nd = [4, 8]\nkappa = [1, 10]");
    assert_eq!(explained(&workspace), "margins: nothing to compute; its table is current\n");
}

#[test]
fn cells_of_another_profile_are_not_taken_for_old_values() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1\n[[stage.margins.laptop]]\nd = 8\nkappa = 1");
    workspace.run();
    let output = factsmith(&workspace.root, &[&["explain", "--profile", "laptop"], &FOLDERS[..]].concat());
    assert!(output.out.contains("new point: d = 8\n"), "{}", output.out);
}

#[test]
fn absent_foreign_damaged_and_lost_results_are_told_apart() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1");
    workspace.run();
    let table = workspace.path("results/smoke/margins.parquet");
    let bytes = std::fs::read(&table).unwrap();
    std::fs::write(&table, &bytes[1..]).unwrap();
    let say = |what: &str| format!("margins: nothing to compute; {what}\n");
    assert_eq!(explained(&workspace), say("its table is damaged, or was changed by something else"));
    std::fs::remove_file(&table).unwrap();
    assert_eq!(explained(&workspace), say("it has no table yet"));
    std::fs::write(&table, &bytes).unwrap();
    assert_eq!(explained(&workspace), say("its table is current"));
    let receipt = workspace.path("results/smoke/receipt.json");
    let receipt_text = std::fs::read(&receipt).unwrap();
    std::fs::remove_file(&receipt).unwrap();
    assert_eq!(explained(&workspace), say("nothing says what its table was made from"));
    std::fs::write(&receipt, receipt_text).unwrap();
    std::fs::write(&workspace.files("store/cells", "parquet")[0], "no Parquet").unwrap();
    let output = factsmith(&workspace.root, &[&["explain"], &FOLDERS[..]].concat());
    assert!(output.out.contains("lost: they were there when the table was made"), "{}", output.out);
    assert!(output.err.contains("is damaged"), "{}", output.err);
}

#[test]
fn a_raised_version_is_the_reason_and_both_versions_are_named() {
    let workspace = Workspace::new();
    workspace.pipeline("[stage.one]\ntitle = \"T\"\nexperiment = \"x\"\n[[stage.one.smoke]]\nfloat = [1, 2]\n");
    workspace.run_with(&[&Synthetic::new("x", 1)], &[], 1, None).unwrap();
    let newer = Synthetic::new("x", 3);
    let plan = workspace.plan_with(&[&newer], &[]);
    let manifest = Manifest::read(&workspace.path("pipeline.toml")).unwrap();
    let (store, results) = (Store::read(&workspace.path("store")).unwrap(), workspace.path("results"));
    let found = explain(&manifest, &[&newer], &plan, &store, &Results::new(&results, Profile::Smoke)).unwrap();
    assert_eq!(found[0].table, TableReason::OtherCells);
    let reasons: Vec<&Reason> = found[0].cells.iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [&Reason::OtherVersion { stored: 1, current: 3 }; 2]);
}

#[test]
fn json_has_the_reason_of_every_cell() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1");
    workspace.run();
    workspace.grid("d = [4, 8]\nkappa = 2");
    let output = factsmith(&workspace.root, &[&["explain", "--json"], &FOLDERS[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let stage = &json["stages"][0];
    assert_eq!((&stage["cells"], &stage["missing"]), (&2.into(), &2.into()));
    let cell = &stage["reasons"][1];
    assert_eq!(cell["params"]["d"], 8);
    assert_eq!(cell["reason"], "parameter changed");
    assert_eq!(cell["changes"], serde_json::json!([{ "field": "kappa", "old": 1.0, "new": 2.0, "file": null }]));
    assert_eq!(cell["key"].as_str().unwrap().len(), 64);
}
