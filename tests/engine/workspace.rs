//! A folder with a pipeline, its store and its results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use factsmith::error::Result;
use factsmith::pipeline::experiment::Experiment;
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::run::{Outcome, Request, run};
use factsmith::pipeline::stop::Stop;
use factsmith::pipeline::store::Store;
use factsmith::table::Table;

use super::toy::TOY;

pub const PIPELINE: &str = r#"
[stage.margins]
title = "Margins"
experiment = "toy"

[[stage.margins.smoke]]
seeds = 2
d = [4, 8]
kappa = [1.0, 10.0]

[stage.other]
title = "Other margins"
experiment = "toy"

[[stage.other.smoke]]
d = 4
kappa = [10, 100]

[figure.fig1]
title = "Margins"
stages = ["margins", "other"]

[notebook.01_margins]
stages = ["margins"]
"#;

pub struct Workspace {
    /// Removes everything in the end.
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl Workspace {
    pub fn new() -> Self {
        Self::named("project")
    }

    pub fn named(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(name);
        std::fs::create_dir(&root).unwrap();
        let workspace = Self { _folder: folder, root };
        workspace.pipeline(PIPELINE);
        workspace
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn pipeline(&self, text: &str) {
        std::fs::write(self.path("pipeline.toml"), text).unwrap();
    }

    /// One stage with this grid in place of the usual pipeline.
    pub fn grid(&self, lines: &str) {
        self.pipeline(&format!(
            "[stage.margins]\ntitle = \"Margins\"\nexperiment = \"toy\"\n[[stage.margins.smoke]]\n{lines}\n"
        ));
    }

    pub fn run(&self) -> Outcome {
        self.try_run(2).unwrap()
    }

    pub fn try_run(&self, threads: usize) -> Result<Outcome> {
        let experiments: [&dyn Experiment; 1] = [&TOY];
        run(&Request {
            manifest: &Manifest::read(&self.path("pipeline.toml"))?,
            profile: Profile::Smoke,
            experiments: &experiments,
            only: &[],
            store: &self.path("store"),
            results: &self.path("results"),
            threads,
            shard: None,
            fail_fast: false,
            stop: &Stop::default(),
            quiet: true,
            arithmetic: "none",
        })
    }

    pub fn missing_seconds(&self) -> f64 {
        let manifest = Manifest::read(&self.path("pipeline.toml")).unwrap();
        let store = Store::read(&self.path("store")).unwrap();
        Plan::new(&manifest, Profile::Smoke, &[&TOY], &store, &[]).unwrap().missing_seconds()
    }

    pub fn table(&self, stage: &str) -> Table {
        Table::read_parquet(&self.path("results/smoke").join(format!("{stage}.parquet"))).unwrap()
    }

    /// The only files with this extension below a folder of the workspace.
    pub fn files(&self, folder: &str, extension: &str) -> Vec<PathBuf> {
        let is_wanted = |path: &PathBuf| path.extension().is_some_and(|own| own == extension);
        self.snapshot().into_keys().filter(|path| path.starts_with(self.path(folder)) && is_wanted(path)).collect()
    }

    /// All files with content and modification time.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let mut files = BTreeMap::new();
        collect(&self.root, &mut files);
        files
    }

    /// How many cells are finished now.
    pub fn stored(&self) -> usize {
        Store::read(&self.path("store")).unwrap().len()
    }

    /// Waits until `condition` holds.
    #[track_caller]
    pub fn until(condition: impl Fn() -> bool) {
        let started = std::time::Instant::now();
        while !condition() {
            assert!(started.elapsed().as_secs() < 60, "it never came");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// How many cells are stored, counting copies.
    pub fn copies(&self) -> usize {
        let rows = |path: &PathBuf| {
            let table = Table::read_parquet(path).unwrap();
            let keys: std::collections::BTreeSet<String> =
                table.rows().map(|row| row.text("cell_key").unwrap().unwrap()).collect();
            keys.len()
        };
        self.files("store/cells", "parquet").iter().map(rows).sum()
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let modified = path.metadata().unwrap().modified().unwrap();
            files.insert(path.clone(), (std::fs::read(&path).unwrap(), modified));
        }
    }
}

pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
