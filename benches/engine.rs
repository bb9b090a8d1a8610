//! The engine on synthetic stages: overhead per cell, and a plan of 100,000 cached cells. Run with `cargo bench --bench engine`.

use std::path::Path;
use std::time::Instant;

use factsmith::error::Result;
use factsmith::pipeline::experiment::{self, Experiment, Params};
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::receipt::Stopwatch;
use factsmith::pipeline::run::{Request, run};
use factsmith::pipeline::stop::Stop;
use factsmith::pipeline::store::Store;
use factsmith::table::Record;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Point {
    stage: usize,
    method: String,
    dimension: usize,
    kappa: f64,
    alpha: f64,
}

/// A cell that takes no time, with the parameters and columns of a real one.
struct Instantly;

impl Experiment for Instantly {
    fn name(&self) -> &'static str {
        "instantly"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        &["stage", "method", "dimension", "kappa", "alpha"]
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        experiment::canonical(&experiment::parse::<Point>(point, self.fields())?)
    }

    fn cost(&self, _: &Params) -> f64 {
        1e-3
    }

    fn memory(&self, _: &Params) -> f64 {
        1e3
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        Ok(vec![
            Record::new()
                .with("size", point.dimension)
                .with("rho", 1.0 / point.kappa + point.alpha)
                .with("found", seed.is_multiple_of(2))
                .with("certificate", 1e-9),
        ])
    }
}

/// Stages of `kappas` × 10 points, each with some seeds.
fn pipeline(stages: usize, kappas: usize, seeds: usize) -> Manifest {
    let values = |count: usize| (1..=count).map(|value| format!("{value}.25")).collect::<Vec<_>>().join(", ");
    let text: String = (0..stages)
        .map(|stage| {
            format!(
                "[stage.s{stage}]\ntitle = \"S\"\nexperiment = \"instantly\"\n[[stage.s{stage}.smoke]]\nseeds = {seeds}\n\
                 stage = {stage}\nmethod = \"gradient_descent\"\ndimension = 64\nkappa = [{}]\nalpha = [{}]\n",
                values(kappas),
                values(10)
            )
        })
        .collect();
    Manifest::parse(Path::new("pipeline.toml"), &text).expect("the text is right")
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}

/// Runs a pipeline; returns how many cells were computed.
fn compute(manifest: &Manifest, folder: &Path, threads: usize) -> usize {
    run(&Request {
        manifest,
        profile: Profile::Smoke,
        experiments: &[&Instantly],
        only: &[],
        store: &folder.join("store"),
        results: &folder.join("results"),
        threads,
        shard: None,
        fail_fast: false,
        stop: &Stop::default(),
        quiet: true,
        budget: None,
        arithmetic: "none",
    })
    .expect("the run succeeds")
    .computed()
}

/// Plans in a process of its own, so that its memory is that of the plan alone.
fn plan_in_child(store: &Path) {
    let program = std::env::current_exe().expect("this program has a path");
    let status = std::process::Command::new(program).env(CHILD, store).status().expect("it starts again");
    assert!(status.success());
}

const CHILD: &str = "FACTSMITH_BENCH_STORE";

fn plan(manifest: &Manifest, folder: &Path) {
    let (watch, mut read) = (Stopwatch::start(), 0.0);
    let all = seconds(|| {
        let mut store = Store::default();
        read = seconds(|| store = Store::read(folder).expect("a store"));
        let plan = Plan::new(manifest, Profile::Smoke, &[&Instantly], &store, &[]).expect("a plan");
        assert!(plan.missing().is_empty());
    });
    let (cpu, memory) = (watch.cpu_seconds(), megabytes());
    println!("  plan: {all:.3} s, of which {read:.3} s read the store; {cpu:.3} s of processor time; {memory:.0} MB");
}

fn main() {
    // Every cell a point of its own, which is the most work.
    let large = pipeline(50, 200, 1);
    if let Some(store) = std::env::var_os(CHILD) {
        return plan(&large, Path::new(&store));
    }
    let folder = tempfile::tempdir_in(".").expect("a folder");
    for threads in [1, 2] {
        let (place, mut cells) = (folder.path().join(format!("small{threads}")), 0);
        let time = seconds(|| cells = compute(&pipeline(5, 20, 2), &place, threads));
        println!(
            "{cells} cells of no work on {threads} threads, tables included: {:.3} ms a cell",
            1e3 * time / cells as f64
        );
    }
    let mut cells = 0;
    let time = seconds(|| cells = compute(&large, folder.path(), 2));
    println!("{cells} cells in 50 stages computed in {time:.1} s: {:.3} ms a cell", 1e3 * time / cells as f64);
    (0..3).for_each(|_| plan_in_child(&folder.path().join("store")));
    println!("  a run with nothing to do: {:.2} s", seconds(|| assert_eq!(compute(&large, folder.path(), 1), 0)));
    let more = pipeline(51, 200, 1);
    let time = seconds(|| cells = compute(&more, folder.path(), 1));
    println!("  a run with {cells} cells more: {time:.2} s");
    let mut slowest = 0.0_f64;
    for seeds in 2..40 {
        let text = format!(
            "[stage.one]\ntitle = \"S\"\nexperiment = \"instantly\"\n[[stage.one.smoke]]\nseeds = {seeds}\nstage = 1000\n\
             method = \"ntk\"\ndimension = 64\nkappa = 1\nalpha = 0\n"
        );
        let one = Manifest::parse(Path::new("pipeline.toml"), &text).expect("the text is right");
        slowest = slowest.max(seconds(|| cells = compute(&one, folder.path(), 1)));
    }
    println!("  a run with {cells} cell more: at most {slowest:.2} s in 38 runs");
}
