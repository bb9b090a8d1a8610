//! Interrupted runs: they say so, end with exit code 130 and lose nothing that is finished.

use std::time::{Duration, Instant};

use super::child::{factsmith, start};
use super::workspace::Workspace;

const RUN: [&str; 7] = ["run", "--store", "store", "--results", "results", "--threads", "1"];

/// The hash of the table when nothing interrupts the run.
fn hash(workspace: &Workspace) -> String {
    let whole = Workspace::new();
    std::fs::copy(workspace.path("pipeline.toml"), whole.path("pipeline.toml")).unwrap();
    whole.run();
    whole.table("margins").content_hash()
}

#[test]
fn an_interrupted_run_keeps_what_is_finished_and_ends_with_130() {
    for signal in ["INT", "TERM"] {
        let workspace = Workspace::new();
        workspace.grid("seeds = 200\nd = 4\nkappa = 1\nfault = \"slow\"");
        let running = start(&workspace.root, &RUN, &[]);
        Workspace::until(|| workspace.stored() >= 3);
        running.signal(signal);
        let output = running.wait();
        assert_eq!(output.code, Some(130), "{}", output.err);
        let stored = workspace.stored();
        assert!((3..200).contains(&stored));
        assert_eq!(workspace.copies(), stored, "what is finished is in segments");
        let left = 200 - stored;
        assert!(output.err.contains(&format!("error: interrupted with {left} cells left; what is finished is kept")));
        assert!(output.out.contains(&format!("({stored} computed, 0 cached, {left} left)")), "{}", output.out);
        assert_eq!(workspace.run().computed(), left);
        assert_eq!(workspace.table("margins").content_hash(), hash(&workspace));
    }
}

#[test]
fn cells_that_take_too_long_are_dropped_and_named() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1\nfault = [\"slow\", \"long\"]");
    let running = start(&workspace.root, &["run", "--store", "store", "--threads", "4"], &[]);
    Workspace::until(|| workspace.stored() == 2);
    let started = Instant::now();
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(130));
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(output.err.contains("interrupted: giving 2 cells in flight 5.0 s to finish"), "{}", output.err);
    assert_eq!(output.err.lines().last(), Some("dropped 2 cells in flight; 2 cells finished and kept"));
    assert_eq!(workspace.stored(), 2);
}

#[test]
fn a_second_signal_ends_the_run_at_once() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1\nfault = [\"slow\", \"long\"]");
    let running = start(&workspace.root, &["run", "--store", "store", "--threads", "4"], &[]);
    Workspace::until(|| workspace.stored() == 2);
    let started = Instant::now();
    running.signal("INT");
    // Two signals at the same moment are one.
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    assert!(started.elapsed() < Duration::from_secs(4), "less than what cells in flight are given");
    assert_eq!(workspace.stored(), 2);
}

#[test]
fn a_run_that_waits_for_the_store_can_be_interrupted() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1\nfault = \"long\"");
    let first = start(&workspace.root, &RUN, &[]);
    let lock = workspace.path("store/lock");
    Workspace::until(|| std::fs::read_to_string(&lock).is_ok_and(|text| text.contains("process")));
    let second = start(&workspace.root, &RUN, &[]);
    // Until it says so, on a busy machine as well.
    std::thread::sleep(Duration::from_secs(3));
    second.signal("INT");
    let output = second.wait();
    assert_eq!(output.code, Some(130));
    assert!(output.err.starts_with("waiting for process "), "{}", output.err);
    assert!(output.err.ends_with("error: interrupted while waiting for the store; nothing was computed\n"));
    first.signal("KILL");
    first.wait();
    workspace.grid("d = 4\nkappa = 1");
    let third = factsmith(&workspace.root, &RUN);
    assert_eq!((third.code, third.err.contains("waiting")), (Some(0), false), "a lock dies with its process");
}
