//! Killed runs, cut files and flipped bits: the next run says what it dropped and ends with the same tables.

use std::path::{Path, PathBuf};

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

/// A workspace with a file of every kind: a segment, a journal of a killed run, a failure, a table, a receipt.
fn with_every_file() -> (Workspace, String) {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1");
    workspace.run();
    workspace.grid("d = [4, 8]\nkappa = 1\nfault = [\"none\", \"flaky\", \"empty\", \"abort\"]");
    let environment = [("FACTSMITH_TEST_ABORT", "1"), ("FACTSMITH_TEST_FLAKY", "1")];
    let output = start(&workspace.root, &PLACE, &environment).wait();
    assert_eq!(output.code, None, "killed by a signal: {}", output.err);
    let whole = Workspace::new();
    std::fs::copy(workspace.path("pipeline.toml"), whole.path("pipeline.toml")).unwrap();
    whole.run();
    (workspace, whole.table("margins").content_hash())
}

const PLACE: [&str; 7] = ["run", "--store", "store", "--results", "results", "--threads", "1"];

/// The unit tests of each kind of file try every byte; this tries some bytes of each with a whole run.
#[test]
fn any_state_file_may_be_cut_or_flipped_anywhere_and_the_next_run_says_what_it_dropped() {
    let (workspace, hash) = with_every_file();
    let saved = workspace.path("saved");
    for folder in ["store", "results"] {
        copy_folder(&workspace.path(folder), &saved.join(folder));
    }
    let files: Vec<_> = workspace
        .snapshot()
        .into_keys()
        .filter_map(|path| path.strip_prefix(&saved).map(Path::to_owned).ok())
        .collect();
    let kinds: std::collections::BTreeSet<_> =
        files.iter().map(|path| path.iter().take(2).collect::<PathBuf>()).collect();
    let expected = ["results/smoke", "store/cells", "store/failed", "store/format", "store/journal", "store/lock"];
    assert_eq!(kinds, expected.iter().map(PathBuf::from).collect());
    for file in files {
        let bytes = std::fs::read(saved.join(&file)).unwrap();
        for position in (0..bytes.len()).step_by(bytes.len() / 6 + 1) {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            for (damaged, is_cut) in [(&bytes[..position], true), (&flipped, false)] {
                for folder in ["store", "results"] {
                    std::fs::remove_dir_all(workspace.path(folder)).unwrap();
                    copy_folder(&saved.join(folder), &workspace.path(folder));
                }
                std::fs::write(workspace.path(file.to_str().unwrap()), damaged).unwrap();
                let what = format!("{} at {position}", file.display());
                let output = factsmith(&workspace.root, &PLACE);
                assert_eq!(output.code, Some(0), "{what}: {}", output.err);
                assert_eq!(workspace.table("margins").content_hash(), hash, "{what}");
                assert_eq!(workspace.copies(), 8, "{what}");
                assert!(!workspace.path("store/failed").join(file.file_name().unwrap()).exists(), "{what}");
                let is_told = output.err.contains("is damaged") || output.err.contains("a run was stopped while");
                let has_cells = file.starts_with("store/cells") || file.starts_with("store/journal");
                // A journal that is cut at the end of a line looks like one of a run that was killed there.
                let looks_whole = is_cut && (position == 0 || bytes[position - 1] == b'\n');
                let is_journal = file.starts_with("store/journal");
                assert!(is_told || !has_cells || is_journal && looks_whole, "{what}: {}", output.err);
                assert_eq!(factsmith(&workspace.root, &PLACE).err, "", "{what}: the second run has nothing to say");
            }
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
    let json = "{\"store_format\":2}";
    let text = format!("{} {json}\n", blake3::hash(json.as_bytes()).to_hex());
    std::fs::write(workspace.path("store/format"), text).unwrap();
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
