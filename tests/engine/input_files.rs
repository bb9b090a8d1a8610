//! Cells that read files: what is in a file is part of the key, and where it lies is not.

use std::time::{Duration, SystemTime};

use super::child::{Output, factsmith, start};
use super::reader::READER;
use super::workspace::Workspace;

const FOLDERS: [&str; 4] = ["--store", "store", "--results", "results"];

fn workspace(lines: &str) -> Workspace {
    let workspace = Workspace::new();
    write(&workspace, "a.csv", "abc");
    write(&workspace, "b.csv", "abcdef");
    manifest(&workspace, lines);
    workspace
}

fn manifest(workspace: &Workspace, lines: &str) {
    let head = "[stage.read]\ntitle = \"T\"\nexperiment = \"reader\"\n[[stage.read.smoke]]\n";
    workspace.pipeline(&format!("{head}{lines}\n"));
}

fn write(workspace: &Workspace, name: &str, text: &str) {
    std::fs::write(workspace.path(name), text).unwrap();
}

fn computed(workspace: &Workspace) -> usize {
    let outcome = workspace.run_with(&[&READER], &[], 2, None).unwrap();
    assert_eq!(outcome.failures, []);
    outcome.computed()
}

fn command(workspace: &Workspace, words: &[&str]) -> Output {
    factsmith(&workspace.root, &[words, &FOLDERS[..]].concat())
}

fn bytes(workspace: &Workspace) -> Vec<Option<i64>> {
    workspace.table("read").rows().map(|row| row.int("bytes").unwrap()).collect()
}

#[test]
fn a_changed_byte_makes_the_cells_of_that_file_stale_and_no_others_and_explain_names_the_file() {
    let workspace = workspace("file = [\"a.csv\", \"b.csv\"]\nfactor = [1, 2]\n[[stage.read.smoke]]\nfactor = 3");
    assert_eq!(computed(&workspace), 5);
    assert_eq!(computed(&workspace), 0);
    assert_eq!(bytes(&workspace), [3, 6, 6, 12, 0].map(Some));
    let before = workspace.table("read");
    write(&workspace, "a.csv", "abd");
    let explained = command(&workspace, &["explain"]);
    let expected = "read: 2 of 5 cells to compute; its table was made from other cells\n";
    assert!(explained.out.contains(expected), "{}{}", explained.out, explained.err);
    assert!(explained.out.contains("parameter changed: file (the file 'a.csv' changed)\n"), "{}", explained.out);
    let json: serde_json::Value = serde_json::from_str(&command(&workspace, &["explain", "--json"]).out).unwrap();
    let change = &json["stages"][0]["reasons"][0]["changes"][0];
    assert_eq!((change["field"].as_str(), change["file"].as_str()), (Some("file"), Some("a.csv")));
    assert!(change["old"] != change["new"] && change["new"].as_str().unwrap().starts_with("blake3:"));
    assert_eq!(computed(&workspace), 2);
    write(&workspace, "a.csv", "abc");
    assert_eq!(computed(&workspace), 0, "the old cells are there still");
    assert_eq!(workspace.table("read").content_hash(), before.content_hash());
}

#[test]
fn a_file_that_is_moved_or_touched_is_the_same_file() {
    let workspace = workspace("file = \"a.csv\"\nfactor = 1");
    computed(&workspace);
    let before = workspace.table("read");
    let future = SystemTime::now() + Duration::from_secs(1_000_000);
    std::fs::File::options().append(true).open(workspace.path("a.csv")).unwrap().set_modified(future).unwrap();
    assert_eq!(computed(&workspace), 0);
    std::fs::create_dir(workspace.path("data")).unwrap();
    std::fs::rename(workspace.path("a.csv"), workspace.path("data/other.txt")).unwrap();
    manifest(&workspace, "file = \"data/other.txt\"\nfactor = 1");
    assert_eq!(computed(&workspace), 0);
    let run = command(&workspace, &["run"]);
    assert!(run.out.contains("0 computed, 1 cached"), "as seen from another folder: {}{}", run.out, run.err);
    assert_eq!(workspace.table("read").content_hash(), before.content_hash());
    assert_eq!(command(&workspace, &["verify"]).code, Some(0));
}

#[test]
fn a_file_that_cannot_be_read_has_the_line_of_its_key() {
    for name in ["absent.csv", "."] {
        let workspace = workspace(&format!("factor = 1\nfile = [\"a.csv\", \"{name}\"]"));
        for view in ["plan", "run", "explain", "status"] {
            let output = command(&workspace, &[view]);
            assert_eq!(output.code, Some(2), "{view}");
            assert!(output.err.starts_with("error: 'file' names no file that can be read: "), "{}", output.err);
            assert!(output.err.contains("\n  where: pipeline.toml:6\n  fix: write the path as seen"), "{}", output.err);
        }
    }
}

#[test]
fn what_is_computed_while_its_file_changes_is_no_result() {
    let workspace = workspace("file = \"a.csv\"\nfactor = 1\nmeddles = true");
    let outcome = workspace.run_with(&[&READER], &[], 1, None).unwrap();
    let error = outcome.failures[0].error.to_string();
    assert!(error.contains("a.csv' changed while the cell was computed"), "{error}");
    assert_eq!(workspace.stored(), 0);
}

#[test]
fn a_failed_cell_is_replayed_with_its_file_and_refused_when_the_file_has_changed() {
    let workspace = workspace("file = \"a.csv\"\nfactor = 1");
    let flaky = start(&workspace.root, &[&["run"], &FOLDERS[..]].concat(), &[("FACTSMITH_TEST_FLAKY", "1")]).wait();
    assert_eq!(flaky.code, Some(1));
    let key = workspace.files("store/failed", "json")[0].file_stem().unwrap().to_string_lossy().into_owned();
    write(&workspace, "a.csv", "abcd");
    let refused = command(&workspace, &["replay", &key]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("or a file that it reads has changed\n  fix: put the file back"), "{}", refused.err);
    write(&workspace, "a.csv", "abc");
    let replayed = command(&workspace, &["replay", &key]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.err);
    assert_eq!((computed(&workspace), bytes(&workspace)), (0, vec![Some(3)]));
}
