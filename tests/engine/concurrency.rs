//! Several processes and one store.

use std::time::Duration;

use super::child::{factsmith, start};
use super::workspace::Workspace;

const RUN: [&str; 7] = ["run", "--store", "store", "--results", "results", "--threads", "1"];

#[test]
fn concurrent_runs_end_with_one_copy_of_each_cell() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 4\nd = [4, 8]\nkappa = 1\nfault = \"slow\"");
    let running: Vec<_> = (0..4).map(|_| start(&workspace.root, &RUN, &[])).collect();
    let outputs: Vec<_> = running.into_iter().map(super::child::Running::wait).collect();
    assert!(outputs.iter().all(|output| output.code == Some(0)));
    assert_eq!(workspace.copies(), 8);
    let computed = outputs.iter().filter(|output| output.out.contains("(8 computed, 0 cached)")).count();
    assert_eq!(computed, 1, "one run computes, the others find its cells");
    assert_eq!(workspace.run().computed(), 0);
}

#[test]
fn a_second_run_says_for_whom_it_waits_and_status_waits_for_nobody() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 100\nd = 4\nkappa = 1\nfault = \"slow\"");
    let first = start(&workspace.root, &RUN, &[]);
    let journal = workspace.path("store/journal");
    let is_running = || std::fs::read_dir(&journal).is_ok_and(|mut files| files.next().is_some());
    while !is_running() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = factsmith(&workspace.root, &["status", "--store", "store", "--results", "results"]);
    assert_eq!(status.code, Some(0));
    assert_eq!(status.err, "");
    assert!(is_running(), "the first run is still at work");
    let second = start(&workspace.root, &RUN, &[]).wait();
    assert!(second.err.starts_with("waiting for process "), "{}", second.err);
    assert!(second.err.contains("which is using the store 'store'"), "{}", second.err);
    assert!(second.out.contains("(0 computed, 100 cached)"), "{}", second.out);
    assert_eq!(first.wait().code, Some(0));
}

#[test]
fn looking_changes_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    let look = || {
        for command in ["plan", "status"] {
            let output = factsmith(&workspace.root, &[command, "--store", "store", "--results", "results"]);
            assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
        }
    };
    let before = workspace.snapshot();
    look();
    assert_eq!(workspace.snapshot(), before);
    workspace.run();
    let before = workspace.snapshot();
    let folders = ["store", "store/cells", "store/cells/toy", "store/journal", "results", "."];
    let set = |mode| {
        for folder in folders {
            std::fs::set_permissions(workspace.path(folder), std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    look();
    set(0o755);
    assert_eq!(workspace.snapshot(), before);
}

#[test]
fn eight_runs_of_overlapping_stages_end_with_one_copy_of_each_cell() {
    let workspace = Workspace::new();
    let stage = |name: &str, d: &str| {
        format!(
            "[stage.{name}]\ntitle = \"T\"\nexperiment = \"toy\"\n[[stage.{name}.smoke]]\nseeds = 3\nd = {d}\nkappa = 1\n\
             fault = [\"none\", \"slow\"]\n"
        )
    };
    let stages = [("a", "[4, 5, 6]"), ("b", "[5, 6, 7]"), ("c", "[6, 7, 8]"), ("d", "[4, 8]")];
    workspace.pipeline(&stages.map(|(name, d)| stage(name, d)).concat());
    let running: Vec<_> = (0..8)
        .map(|number| {
            let only = [["--stage", stages[number % 4].0], ["--stage", stages[(number + 1) % 4].0]].concat();
            start(&workspace.root, &[&RUN[..], &only].concat(), &[])
        })
        .collect();
    for output in running.into_iter().map(super::child::Running::wait) {
        assert_eq!(output.code, Some(0), "{}", output.err);
    }
    assert_eq!(workspace.copies(), 5 * 3 * 2, "d from 4 to 8");
    assert_eq!(workspace.run().computed(), 0);
    let whole = Workspace::new();
    std::fs::copy(workspace.path("pipeline.toml"), whole.path("pipeline.toml")).unwrap();
    whole.run();
    for (name, _) in stages {
        assert_eq!(workspace.table(name).content_hash(), whole.table(name).content_hash());
    }
}

#[test]
fn who_reads_during_runs_never_misses_a_finished_cell() {
    let workspace = Workspace::new();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut most, mut reads) = (0, 0);
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                let stored = workspace.stored();
                assert!(stored >= most, "{most} cells were there, now {stored}");
                (most, reads) = (stored, reads + 1);
            }
            reads
        });
        // Each run turns a journal into a segment; every sixteenth merges segments.
        for d in 1..=50 {
            let all: Vec<String> = (1..=d).map(|d| d.to_string()).collect();
            workspace.grid(&format!("d = [{}]\nkappa = 1", all.join(", ")));
            workspace.run();
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().unwrap() > 50);
    });
}

#[test]
fn threads_shards_and_resumed_runs_make_the_same_tables() {
    let hashes = |workspace: &Workspace| ["margins", "other"].map(|stage| workspace.table(stage).content_hash());
    let whole = Workspace::new();
    whole.run();
    for count in [2, 5] {
        for threads in ["1", "2", "8"] {
            let workspace = Workspace::new();
            // A part of the cells first, as after an end ahead of time.
            factsmith(&workspace.root, &[&RUN[..5], &["--stage", "other", "--threads", threads]].concat());
            let shards: Vec<_> = (1..=count)
                .map(|number| {
                    let shard = format!("{number}/{count}");
                    start(&workspace.root, &[&RUN[..5], &["--shard", &shard, "--threads", threads]].concat(), &[])
                })
                .collect();
            assert!(shards.into_iter().all(|shard| shard.wait().code == Some(0)));
            assert_eq!(hashes(&workspace), hashes(&whole), "{count} shards of {threads} threads");
        }
    }
}
