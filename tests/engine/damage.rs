//! Killed runs, cut files and flipped bits: the next run says what it dropped and ends with the same tables.

use std::path::Path;

use factsmith::pipeline::store::Store;

use super::child::{factsmith, start};
use super::workspace::{Workspace, copy_folder};

/// A workspace whose run was killed in its last cell, and the hash that its table will have.
fn killed() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.grid("seeds = 2\nd = [4, 8]\nkappa = 1\nfault = [\"none\", \"abort\"]");
    let output = start(
        &workspace.root,
        &["run", "--store", "store", "--results", "results", "--threads", "1"],
        &[("FACTSMITH_TEST_ABORT", "1")],
    )
    .wait();
    assert_eq!(output.code, None, "killed by a signal: {}", output.err);
    let whole = Workspace::new();
    std::fs::copy(workspace.path("pipeline.toml"), whole.path("pipeline.toml")).unwrap();
    assert_eq!(whole.run().computed(), 8);
    (workspace, whole.table("margins").content_hash())
}

fn replace_store(workspace: &Workspace, with: &Path) {
    std::fs::remove_dir_all(workspace.path("store")).unwrap();
    copy_folder(with, &workspace.path("store"));
}

#[test]
fn a_killed_run_loses_only_the_cell_in_flight() {
    let (workspace, hash) = killed();
    assert_eq!(Store::read(&workspace.path("store")).unwrap().len(), 4);
    assert_eq!(workspace.run().computed(), 4);
    assert_eq!(workspace.table("margins").content_hash(), hash);
    assert_eq!(workspace.copies(), 8);
    assert!(workspace.files("store/journal", "jsonl").is_empty());
}

#[test]
fn a_run_killed_between_segment_and_journal_leaves_no_second_copy() {
    let (workspace, hash) = killed();
    let journal = workspace.files("store/journal", "jsonl").remove(0);
    let bytes = std::fs::read(&journal).unwrap();
    workspace.run();
    // Not the whole journal: its segment would have the same name, and so be one file by luck.
    let half: Vec<u8> = bytes.split_inclusive(|byte| *byte == b'\n').take(2).flatten().copied().collect();
    std::fs::write(&journal, half).unwrap();
    std::fs::remove_dir_all(workspace.path("results")).unwrap();
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").content_hash(), hash);
    assert_eq!(workspace.copies(), 8);
    assert!(!journal.exists());
}

#[test]
fn a_journal_cut_anywhere_costs_only_what_was_cut() {
    let (workspace, hash) = killed();
    let saved = workspace.path("saved");
    copy_folder(&workspace.path("store"), &saved);
    let journal = workspace.files("store/journal", "jsonl").remove(0);
    let bytes = std::fs::read(&journal).unwrap();
    for length in (0..bytes.len()).step_by(bytes.len() / 23) {
        replace_store(&workspace, &saved);
        std::fs::write(&journal, &bytes[..length]).unwrap();
        let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(workspace.run().computed(), 8 - whole);
        assert_eq!(workspace.table("margins").content_hash(), hash);
        assert_eq!(workspace.copies(), 8);
    }
}

#[test]
fn a_journal_with_a_flipped_bit_is_reported_and_kept_aside() {
    let (workspace, hash) = killed();
    let saved = workspace.path("saved");
    copy_folder(&workspace.path("store"), &saved);
    let journal = workspace.files("store/journal", "jsonl").remove(0);
    let bytes = std::fs::read(&journal).unwrap();
    for position in (0..bytes.len() - 1).step_by(bytes.len() / 17) {
        replace_store(&workspace, &saved);
        let mut flipped = bytes.clone();
        flipped[position] ^= 4;
        std::fs::write(&journal, &flipped).unwrap();
        let warnings = Store::read(&workspace.path("store")).unwrap().warnings();
        assert_eq!(warnings.len(), 1, "one line for the one damaged file");
        assert!(warnings[0].contains(journal.to_str().unwrap()), "{warnings:?}");
        assert!(workspace.run().computed() > 4);
        assert_eq!(workspace.table("margins").content_hash(), hash);
        assert_eq!(workspace.files("store/quarantine", "jsonl").len(), 1);
        assert!(Store::read(&workspace.path("store")).unwrap().warnings().is_empty());
    }
}

#[test]
fn a_damaged_segment_is_a_reported_miss_and_never_a_hit() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = [1, 2]");
    workspace.run();
    let hash = workspace.table("margins").content_hash();
    let saved = workspace.path("saved");
    copy_folder(&workspace.path("store"), &saved);
    let segment = workspace.files("store/cells", "parquet").remove(0);
    let bytes = std::fs::read(&segment).unwrap();
    let cuts = (0..bytes.len()).step_by(bytes.len() / 11).map(|length| bytes[..length].to_vec());
    let flips = (0..bytes.len()).step_by(bytes.len() / 11).map(|position| {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1;
        flipped
    });
    for damaged in cuts.chain(flips) {
        replace_store(&workspace, &saved);
        std::fs::write(&segment, &damaged).unwrap();
        let store = Store::read(&workspace.path("store")).unwrap();
        assert!(store.is_empty());
        assert!(store.warnings()[0].contains(segment.to_str().unwrap()));
        assert_eq!(workspace.run().computed(), 4);
        assert_eq!(workspace.table("margins").content_hash(), hash);
        assert_eq!(workspace.files("store/quarantine", "parquet").len(), 1);
        assert_eq!(workspace.run().computed(), 0);
    }
}

#[test]
fn the_other_state_files_may_be_cut_anywhere() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1");
    workspace.run();
    let hash = workspace.table("margins").content_hash();
    for name in ["store/format", "store/lock", "results/smoke/receipt.json", "results/smoke/margins.parquet"] {
        let path = workspace.path(name);
        let bytes = std::fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(bytes.len() / 9 + 1) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(workspace.run().computed(), 0, "{name} cut to {length} bytes");
            assert_eq!(workspace.table("margins").content_hash(), hash);
        }
    }
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1");
    workspace.run();
    let left = workspace.path("store/cells/toy/.unfinished-abc");
    std::fs::write(&left, "half").unwrap();
    workspace.grid("d = [4, 8]\nkappa = 1");
    assert_eq!(workspace.run().computed(), 1);
    assert!(!left.exists());
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let workspace = Workspace::new();
    workspace.run();
    std::fs::write(workspace.path("store/format"), "{\"store_format\":2}\n").unwrap();
    let before = workspace.snapshot();
    for command in ["run", "plan", "status"] {
        let output = factsmith(&workspace.root, &[command, "--store", "store", "--results", "results"]);
        assert_eq!(output.code, Some(2));
        assert_eq!(
            output.err,
            "error: the store was written by a newer factsmith (store format 2; this one knows format 1)\n  \
             where: store\n  \
             fix: use the newer factsmith, or another store with --store DIR; nothing was changed\n"
        );
    }
    assert_eq!(workspace.snapshot(), before);
}
