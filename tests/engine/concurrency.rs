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
