//! Compaction and the removal of what nobody names.

use std::collections::BTreeSet;

use super::child::{Output, factsmith};
use super::workspace::Workspace;

fn gc(workspace: &Workspace, arguments: &[&str]) -> Output {
    let output = factsmith(&workspace.root, &[&["gc", "--store", "store", "--results", "results"], arguments].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    output
}

fn segments(workspace: &Workspace) -> usize {
    workspace.files("store/cells", "parquet").len()
}

#[test]
fn many_small_segments_become_one_and_the_table_stays() {
    let workspace = Workspace::new();
    let mut most = 0;
    for d in 1..=40 {
        let all: Vec<String> = (1..=d).map(|d| d.to_string()).collect();
        workspace.grid(&format!("d = [{}]\nkappa = 1", all.join(", ")));
        assert_eq!(workspace.run().computed(), 1);
        most = most.max(segments(&workspace));
    }
    assert!(most < 16, "{most} segments");
    assert_eq!(workspace.copies(), 40);
    let whole = Workspace::new();
    std::fs::copy(workspace.path("pipeline.toml"), whole.path("pipeline.toml")).unwrap();
    whole.run();
    assert_eq!(workspace.table("margins").content_hash(), whole.table("margins").content_hash());
}

#[test]
fn a_run_killed_between_the_new_segment_and_the_old_ones_leaves_no_second_copy() {
    let workspace = Workspace::new();
    let add = |last: usize| {
        let all: Vec<String> = (1..=last).map(|d| d.to_string()).collect();
        workspace.grid(&format!("d = [{}]\nkappa = 1", all.join(", ")));
        assert_eq!(workspace.run().computed(), 1);
    };
    (1..=15).for_each(add);
    let old: Vec<_> = workspace
        .files("store/cells", "parquet")
        .iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    assert_eq!(old.len(), 15);
    add(16);
    assert_eq!(segments(&workspace), 1);
    // As a kill before any, or after some, of the old ones were removed.
    for left in [15, 7, 1] {
        for (path, bytes) in &old[..left] {
            std::fs::write(path, bytes).unwrap();
        }
        assert_eq!(workspace.stored(), 16);
        let hash = workspace.table("margins").content_hash();
        std::fs::remove_dir_all(workspace.path("results")).unwrap();
        assert_eq!(workspace.run().computed(), 0);
        assert_eq!((workspace.copies(), segments(&workspace)), (16, 1));
        assert_eq!(workspace.table("margins").content_hash(), hash);
    }
}

#[test]
fn gc_removes_only_cells_that_no_profile_names_and_only_when_asked() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 20\nd = [4, 8, 9]\nkappa = 1\nfault = [\"none\", \"error\"]");
    workspace.try_run(2).unwrap();
    workspace
        .grid("seeds = 20\nd = 4\nkappa = 1\n[[stage.margins.paper]]\nd = 8\nkappa = 1\nfault = [\"none\", \"error\"]");
    workspace.run();
    let before = workspace.snapshot();
    let dry = gc(&workspace, &["--dry-run"]);
    assert!(dry.out.starts_with("would remove 39 cells that no profile names: "), "{}", dry.out);
    assert!(dry.out.ends_with("would remove 59 failures of such cells\n"), "{}", dry.out);
    assert_eq!(workspace.snapshot(), before);
    let bytes = |workspace: &Workspace| -> usize {
        workspace.files("store/cells", "parquet").iter().map(|path| std::fs::read(path).unwrap().len()).sum()
    };
    let size = bytes(&workspace);
    let real: serde_json::Value = serde_json::from_str(&gc(&workspace, &["--json"]).out).unwrap();
    assert_eq!((real["cells"].as_u64(), real["failures"].as_u64()), (Some(39), Some(59)));
    assert_eq!(real["cell_bytes"].as_u64(), Some((size - bytes(&workspace)) as u64), "the bytes are those of the disk");
    assert_eq!(workspace.copies(), 21, "20 of this profile, 1 of another");
    assert_eq!(workspace.files("store/failed", "json").len(), 1);
    assert_eq!(gc(&workspace, &[]).out, "nothing to remove\n");
    assert_eq!(workspace.run().computed(), 0);
}

#[test]
fn gc_removes_quarantine_and_unfinished_files() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1");
    workspace.run();
    let segment = workspace.files("store/cells", "parquet").remove(0);
    std::fs::write(&segment, "damaged").unwrap();
    workspace.run();
    for name in ["store/.unfinished-a", "store/cells/toy/.unfinished-b", "results/smoke/.unfinished-c"] {
        std::fs::write(workspace.path(name), "half").unwrap();
    }
    let listed = gc(&workspace, &["--dry-run", "--json"]).out;
    assert_eq!(gc(&workspace, &["--json"]).out, listed.replace("true", "false"));
    let json: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let files: BTreeSet<&str> = json["files"].as_array().unwrap().iter().filter_map(|file| file.as_str()).collect();
    assert_eq!(files.len(), 4);
    assert_eq!(json["file_bytes"].as_u64(), Some(7 + 3 * 4));
    assert!(files.iter().all(|file| !workspace.path(file).exists()));
    assert_eq!((workspace.stored(), workspace.run().computed()), (2, 0));
}

#[test]
fn gc_without_stages_removes_nothing() {
    let workspace = Workspace::new();
    workspace.run();
    workspace.pipeline("");
    let before = workspace.snapshot();
    let output = factsmith(&workspace.root, &["gc", "--store", "store"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.starts_with("error: the manifest has no stages, so every cell would be removed\n"));
    assert_eq!(workspace.snapshot(), before);
}
