//! Disks that take nothing more.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::child::{Output, factsmith, start_limited};
use super::workspace::Workspace;

const GRID: &str = "seeds = 400\nd = [4, 8]\nkappa = 1";
const CELLS: usize = 800;

fn run(workspace: &Workspace) -> Output {
    factsmith(&workspace.root, &["run", "--store", "store", "--results", "results"])
}

/// A small disk of its own at `store`, until dropped; `None` where this machine doesn't let the test have one.
struct Disk(PathBuf);

impl Disk {
    fn mount(place: &Path) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let disk = Self(place.to_owned());
        disk.mount_with(&["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).then_some(disk)
    }

    fn mount_with(&self, arguments: &[&str]) -> bool {
        Command::new("mount").args(arguments).arg(&self.0).output().is_ok_and(|output| output.status.success())
    }

    #[track_caller]
    fn remount(&self, options: &str) {
        assert!(self.mount_with(&["-o", &format!("remount,{options}")]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

fn skip(what: &str) {
    eprintln!("SKIPPED: {what}: this machine mounts nothing for us");
}

#[test]
fn a_full_disk_stops_the_run_with_advice_and_costs_no_finished_cell() {
    let workspace = Workspace::new();
    workspace.grid(GRID);
    let Some(disk) = Disk::mount(&workspace.path("store")) else { return skip("a full disk") };
    let output = run(&workspace);
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("No space left on device"), "{}", output.err);
    assert!(output.err.ends_with("fix: free some disk space and run again; nothing finished is lost\n"));
    let kept = workspace.stored();
    assert!((1..CELLS).contains(&kept), "{kept}");
    assert_eq!(run(&workspace).code, Some(1), "it is still full");
    assert_eq!(workspace.stored(), kept);
    disk.remount("size=64m");
    let output = run(&workspace);
    assert!(
        output.out.contains(&format!("({} computed, {kept} cached)", CELLS - kept)),
        "{}{}",
        output.out,
        output.err
    );
    let whole = Workspace::new();
    whole.grid(GRID);
    whole.run();
    assert_eq!(workspace.table("margins").content_hash(), whole.table("margins").content_hash());
    assert_eq!(workspace.copies(), CELLS);
}

/// The same where nothing can be mounted: no file may grow beyond a limit.
#[test]
fn a_journal_that_cannot_grow_stops_the_run_and_costs_no_finished_cell() {
    let workspace = Workspace::new();
    workspace.grid(GRID);
    let output = start_limited(&workspace.root, &["run", "--store", "store", "--results", "results"], 64).wait();
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.err.contains("cannot write the journal"), "{}", output.err);
    let kept = workspace.stored();
    assert!((1..CELLS).contains(&kept), "{kept}");
    let output = run(&workspace);
    assert!(
        output.out.contains(&format!("({} computed, {kept} cached)", CELLS - kept)),
        "{}{}",
        output.out,
        output.err
    );
    assert_eq!(workspace.copies(), CELLS);
}

#[test]
fn on_a_read_only_disk_what_is_there_is_used_and_what_is_missing_is_refused() {
    let workspace = Workspace::new();
    let Some(disk) = Disk::mount(&workspace.path("disk")) else { return skip("a read-only disk") };
    let place = ["--store", "disk/store", "--results", "disk/results"];
    let command = |name: &str| factsmith(&workspace.root, &[&[name], &place[..]].concat());
    assert_eq!(command("run").code, Some(0));
    disk.remount("ro");
    let before = workspace.snapshot();
    for name in ["run", "plan", "status", "verify"] {
        assert_eq!(command(name).code, Some(0), "{name}");
    }
    workspace.grid("d = [4, 8, 16]\nkappa = 1");
    let output = command("run");
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("Read-only file system"), "{}", output.err);
    assert!(output.err.ends_with("fix: choose a writable place, for example with --store DIR\n"), "{}", output.err);
    let unchanged = |path: &PathBuf| !path.ends_with("pipeline.toml");
    let of = |files: std::collections::BTreeMap<PathBuf, _>| {
        files.into_iter().filter(|(path, _)| unchanged(path)).collect::<Vec<_>>()
    };
    assert_eq!(of(workspace.snapshot()), of(before));
}
