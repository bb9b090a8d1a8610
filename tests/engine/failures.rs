//! Cells that fail: what a run does then, what is kept, and how to see it again.

use super::child::{Output, factsmith, start};
use super::workspace::Workspace;

const PLACE: [&str; 4] = ["--store", "store", "--results", "results"];

fn with_flaw(workspace: &Workspace, arguments: &[&str]) -> Output {
    start(&workspace.root, &[arguments, &PLACE].concat(), &[("FACTSMITH_TEST_FLAKY", "1")]).wait()
}

fn sound(workspace: &Workspace, arguments: &[&str]) -> Output {
    factsmith(&workspace.root, &[arguments, &PLACE].concat())
}

/// The key of the failed cell that the last line of a run names.
fn named_key(output: &Output) -> String {
    let words: Vec<&str> = output.err.lines().last().unwrap().split([' ', ',']).collect();
    words[words.iter().position(|word| *word == "cell").unwrap() + 1].to_owned()
}

#[test]
fn a_failed_cell_is_replayed_by_the_first_digits_of_its_key() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1\nfault = \"flaky\"");
    let run = with_flaw(&workspace, &["run"]);
    let key = named_key(&run);
    assert_eq!(run.code, Some(1));
    assert_eq!(workspace.files("store/failed", "json").len(), 1);
    let again = with_flaw(&workspace, &["replay", &key]);
    assert_eq!((again.code, again.err.as_str()), (Some(1), "error: the toy is out of order\n"));
    assert!(
        again.out.ends_with("experiment toy, version 1\nparams {\"d\":4,\"fault\":\"flaky\",\"kappa\":1.0}, seed 0\n")
    );
    // The inputs are the store's: the manifest may name other cells by now.
    workspace.grid("d = 8\nkappa = 1");
    let sound = sound(&workspace, &["replay", &key[..6]]);
    assert_eq!((sound.code, sound.err.as_str()), (Some(0), ""));
    assert!(sound.out.contains("3 rows:\nanchor "), "{}", sound.out);
    assert!(workspace.files("store/failed", "json").is_empty(), "a success removes the failure");
    workspace.grid("d = 4\nkappa = 1\nfault = \"flaky\"");
    assert_eq!(workspace.run().computed(), 0, "the replayed cell is stored");
    assert_eq!(workspace.table("margins").height(), 3);
}

#[test]
fn a_run_that_succeeds_removes_the_failures_of_its_cells() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1\nfault = [\"flaky\", \"error\"]");
    with_flaw(&workspace, &["run"]);
    assert_eq!(workspace.files("store/failed", "json").len(), 4);
    assert_eq!(sound(&workspace, &["run"]).code, Some(1));
    assert_eq!(workspace.files("store/failed", "json").len(), 2);
    assert_eq!(workspace.copies(), 2, "failures are no cells");
}

#[test]
fn replay_computes_any_cell_of_the_manifest_and_prints_its_rows() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1\n");
    workspace.run();
    let table = workspace.table("margins");
    let key = factsmith::pipeline::key::Key::new("toy", 1, "{\"d\":4,\"fault\":\"none\",\"kappa\":1.0}", 0).to_string();
    let before = workspace.snapshot();
    let replayed = sound(&workspace, &["replay", &key, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&replayed.out).unwrap();
    assert_eq!((json["key"].as_str(), json["error"].is_null()), (Some(key.as_str()), true));
    for (row, printed) in table.rows().zip(json["rows"].as_array().unwrap()) {
        assert_eq!(row.float("margin").unwrap(), printed["margin"].as_f64());
    }
    assert_eq!(workspace.snapshot(), before, "nothing is stored twice");
}

#[test]
fn keys_that_name_no_cell_or_several_are_refused() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 40\nd = 4\nkappa = 1");
    for (key, what) in [
        ("xyz", "'xyz' is not the beginning of a cell key"),
        ("0123456789abcdef", "no cell that failed or that the manifest names has a key that begins with"),
    ] {
        let output = sound(&workspace, &["replay", key]);
        assert_eq!(output.code, Some(2));
        assert!(output.err.contains(what) && output.err.contains("fix: "), "{}", output.err);
    }
    let several = (0..16).map(|digit| sound(&workspace, &["replay", &format!("{digit:x}")]));
    assert!(several.into_iter().any(|output| output.err.contains("fix: give more digits: ")));
}

#[test]
fn fail_fast_begins_no_cell_after_the_first_failure_and_keep_going_all() {
    let workspace = Workspace::new();
    // The toy's cells of a larger d come first.
    workspace.grid("d = [4, 8, 9]\nkappa = 1\nfault = [\"none\", \"error\"]");
    let fast = sound(&workspace, &["run", "--fail-fast", "--threads", "1"]);
    assert_eq!(fast.code, Some(1));
    assert!(fast.out.contains("(1 computed, 0 cached, 1 failed, 4 left)"), "{}", fast.out);
    assert!(fast.err.lines().last().unwrap().starts_with("error: 1 failure, first: stage 'margins', cell "));
    let on = sound(&workspace, &["run", "--keep-going", "--threads", "1"]);
    assert!(on.out.contains("(2 computed, 1 cached, 3 failed)"), "{}", on.out);
    assert_eq!(on.code, Some(1));
    assert_eq!(sound(&workspace, &["run", "--keep-going", "--fail-fast"]).code, Some(2));
}

#[test]
fn a_panic_is_the_failure_of_its_cell_and_its_place_is_told() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1\nfault = [\"none\", \"panic\"]");
    let run = sound(&workspace, &["run", "--threads", "2"]);
    assert!(run.out.contains("(2 computed, 0 cached, 2 failed)"), "{}", run.out);
    let last = run.err.lines().last().unwrap();
    assert!(last.starts_with("error: 2 failures, first: "), "{last}");
    assert!(last.contains("panicked at tests/engine/toy.rs:") && last.ends_with(": the toy is broken"), "{last}");
    assert_eq!(run.err.lines().filter(|line| line.starts_with("failed: ")).count(), 2);
    let replay = sound(&workspace, &["replay", &named_key(&run)]);
    assert!(replay.err.starts_with("error: panicked at tests/engine/toy.rs:"), "{}", replay.err);
}
