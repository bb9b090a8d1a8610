//! `kill -9` at random moments of real runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use factsmith::pipeline::key::Key;
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::store::Store;
use factsmith::rng::StreamName;
use rand::RngExt as _;

use super::workspace::Workspace;

const KILLS: usize = 200;

/// A real stage, in cells of some milliseconds.
const PIPELINE: &str = r#"
[stage.decodability]
title = "Decodability"
experiment = "decodability"
[[stage.decodability.smoke]]
seeds = 4
dimension = 16
facts_per_d2 = 0.25
kappa = [1.0, 3.7, 14.0, 52.0, 190.0, 720.0, 2700.0, 10000.0]
alpha = [0.0, 1.0]
spectrum = "log_affine"
"#;

const CELLS: usize = 64;

fn command(workspace: &Workspace) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_factsmith"));
    command.args(["run", "--profile", "smoke", "--threads", "2", "--store", "store"]).current_dir(&workspace.root);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn finished(root: &Path) -> BTreeSet<Key> {
    let manifest = Manifest::read(&root.join("pipeline.toml")).unwrap();
    let store = Store::read(&root.join("store")).unwrap();
    let plan = Plan::new(&manifest, Profile::Smoke, &factsmith::paper::experiments(), &store, &[]).unwrap();
    plan.stages[0].cells.iter().filter(|cell| cell.cached).map(|cell| cell.key).collect()
}

fn begin() -> Workspace {
    let workspace = Workspace::new();
    workspace.pipeline(PIPELINE);
    workspace
}

#[test]
fn two_hundred_kills_of_a_real_stage_lose_no_finished_cell_and_change_no_result() {
    let whole = begin();
    let started = Instant::now();
    assert!(command(&whole).status().unwrap().success());
    let usual = started.elapsed();
    let hash = whole.table("decodability").content_hash();
    let mut rng = StreamName::new("kills").rng();
    let (mut kills, mut runs, mut midway) = (0, 0, 0);
    while kills < KILLS {
        let workspace = begin();
        let mut before = BTreeSet::new();
        loop {
            let mut child = command(&workspace).spawn().unwrap();
            std::thread::sleep(usual.mul_f64(rng.random_range(0.0..1.1)).min(Duration::from_millis(400)));
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success());
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            let now = finished(&workspace.root);
            assert!(now.is_superset(&before), "finished cells were lost");
            midway += usize::from(!now.is_empty() && now.len() < CELLS);
            before = now;
        }
        runs += 1;
        assert_eq!(workspace.table("decodability").content_hash(), hash);
        assert_eq!(workspace.copies(), CELLS);
        assert_eq!(finished(&workspace.root).len(), CELLS);
    }
    assert!(midway > KILLS / 20, "only {midway} kills were in the middle");
    println!("{kills} kills in {runs} runs, {midway} of them between the first and the last cell");
}
