//! The project's own Makefile, under a real make, with the real program, in a copy of the checkout.
//!
//! Nothing is installed or built: the files that say so are there, newer than what they are made from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// A copy of the checkout in a folder of this name.
struct Checkout {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

/// What `make setup` leaves.
const READY: [&str; 5] = [
    ".tools/system",
    ".tools/venv/ready",
    ".tools/bin/evcxr_jupyter",
    ".tools/venv/share/jupyter/kernels/rust/kernel.json",
    ".tools/prebuilt",
];

impl Checkout {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(name);
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["Makefile", "pipeline.toml", "claims.toml", "Cargo.toml", "Cargo.lock"] {
            copy(&project.join(file), &root.join(file));
        }
        for folder in ["src", "setup", "notebooks/lab/src"] {
            copy_folder(&project.join(folder), &root.join(folder));
        }
        for file in ["notebooks/lab/Cargo.toml", "notebooks/requirements.txt"] {
            copy(&project.join(file), &root.join(file));
        }
        for entry in std::fs::read_dir(project.join("notebooks")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "ipynb") {
                copy(&path, &root.join("notebooks").join(path.file_name().unwrap()));
            }
        }
        copy(Path::new(env!("CARGO_BIN_EXE_factsmith")), &root.join("target/release/factsmith"));
        let checkout = Self { _folder: folder, root };
        for file in READY {
            checkout.write(file, "");
        }
        // Older than everything that is made from them.
        let old = SystemTime::now() - std::time::Duration::from_secs(1000);
        for path in checkout.snapshot().into_keys() {
            let is_made = READY.iter().any(|ready| checkout.root.join(ready) == path) || path.ends_with("factsmith");
            if !is_made {
                std::fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
            }
        }
        checkout
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn make(&self, words: &[&str]) -> (bool, String) {
        let output = Command::new("make")
            .args(words)
            .arg("PROFILE=smoke")
            .current_dir(&self.root)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout) + &text(&output.stderr))
    }

    #[track_caller]
    fn made(&self, words: &[&str]) -> String {
        let (is_made, said) = self.make(words);
        assert!(is_made, "{said}");
        said
    }

    /// What the generated rules can make of a kind: tables, figures or notebooks.
    fn targets(&self, kind: &str) -> Vec<String> {
        let program = self.root.join("target/release/factsmith");
        let words = ["rules", "--profile", "smoke", "--json"];
        let output = Command::new(program).args(words).current_dir(&self.root).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let path = |target: &serde_json::Value| target.as_str().unwrap().replace("$(FIGURES)", "figures/smoke");
        json[kind].as_array().unwrap().iter().map(path).collect()
    }

    /// Everything but the notebooks, which need a kernel; then as if they had been executed.
    fn reproduced(&self) {
        let targets = [self.targets("tables"), self.targets("figures")].concat();
        self.made(&targets.iter().map(String::as_str).collect::<Vec<_>>());
        self.targets("notebooks").iter().for_each(|stamp| self.write(stamp, "executed\n"));
    }

    /// The times of all files.
    fn snapshot(&self) -> BTreeMap<PathBuf, SystemTime> {
        let mut times = BTreeMap::new();
        collect(&self.root, &mut times);
        times
    }

    fn has(&self, file: &str) -> bool {
        self.root.join(file).exists()
    }
}

const FIGURES: [&str; 4] =
    ["figures/smoke/fig2a.svg", "figures/smoke/fig5.svg", "figures/smoke/fig6.svg", "figures/smoke/decodability.svg"];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy_one = if entry.path().is_dir() { copy_folder } else { copy };
        copy_one(&entry.path(), &to.join(entry.file_name()));
    }
}

fn collect(folder: &Path, times: &mut BTreeMap<PathBuf, SystemTime>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, times);
        } else {
            times.insert(path.clone(), path.metadata().unwrap().modified().unwrap());
        }
    }
}

#[test]
fn a_second_make_reproduce_computes_nothing_and_changes_no_time() {
    let checkout = Checkout::new("factsmith");
    checkout.reproduced();
    let first = checkout.made(&["-j2", "reproduce"]);
    assert!(first.contains("Results:   results/smoke"), "{first}");
    let before = checkout.snapshot();
    let second = checkout.made(&["-j2", "reproduce"]);
    assert!(second.contains("nothing to compute"), "{second}");
    assert!(!second.contains("wrote"), "{second}");
    assert_eq!(checkout.snapshot(), before);
}

#[test]
fn a_dry_run_of_make_names_the_commands_and_computes_nothing() {
    let checkout = Checkout::new("factsmith");
    let said = checkout.made(&["-n", "reproduce"]);
    for command in [
        "factsmith run --stage storage_cost --profile smoke",
        "factsmith run --stage decodability --profile smoke",
        "factsmith figures fig2a --profile smoke --out figures/smoke",
        "factsmith notebook 01_decodability --profile smoke",
    ] {
        assert!(said.contains(command), "{command} is not in:\n{said}");
    }
    assert!(!said.contains("cargo"), "{said}");
    assert!(!checkout.has("results") && !checkout.has("figures") && !checkout.has(".factsmith/store"));
}

#[test]
fn one_figure_needs_its_own_stages_only() {
    let checkout = Checkout::new("factsmith");
    checkout.made(&["figures/smoke/decodability.svg"]);
    assert!(checkout.has("figures/smoke/decodability.svg") && checkout.has("figures/smoke/decodability.png"));
    assert!(!checkout.has("figures/smoke/fig2a.svg"));
    assert!(checkout.has("results/smoke/decodability.parquet") && !checkout.has("results/smoke/storage_cost.parquet"));
    let drawn = checkout.snapshot();
    checkout.made(&["figures/smoke/decodability.svg"]);
    assert_eq!(checkout.snapshot(), drawn);
}

#[test]
fn stages_at_the_same_time_give_the_tables_they_give_one_by_one() {
    let (one, two) = (Checkout::new("one"), Checkout::new("two"));
    one.made(&["-j1", FIGURES[0], FIGURES[3]]);
    two.made(&["-j2", FIGURES[0], FIGURES[3]]);
    for file in ["results/smoke/storage_cost.parquet", "results/smoke/decodability.parquet", FIGURES[0], FIGURES[3]] {
        assert_eq!(std::fs::read(one.root.join(file)).unwrap(), std::fs::read(two.root.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn with_k_a_failed_stage_stops_nothing_but_what_reads_it() {
    let checkout = Checkout::new("factsmith");
    // A folder where the table belongs.
    std::fs::create_dir_all(checkout.root.join("results/smoke/decodability.parquet/in the way")).unwrap();
    let (is_made, said) = checkout.make(&["-k", FIGURES[0], FIGURES[3]]);
    assert!(!is_made);
    assert!(said.contains("error: 1 failure, first: stage 'decodability'"), "{said}");
    assert!(checkout.has(FIGURES[0]) && !checkout.has(FIGURES[3]), "{said}");
}

#[test]
fn a_changed_grid_makes_its_stage_and_what_reads_it_and_no_more() {
    let checkout = Checkout::new("factsmith");
    checkout.reproduced();
    let before = checkout.snapshot();
    let text = std::fs::read_to_string(checkout.root.join("pipeline.toml")).unwrap();
    let changed = text.replacen("kappa = [1.0, 10.0, 100.0, 1000.0]", "kappa = [1.0, 10.0, 100.0]", 1);
    assert_ne!(text, changed);
    checkout.write("pipeline.toml", &changed);
    let said = checkout.made(&FIGURES);
    assert!(said.contains("(0 computed, 6 cached), wrote results/smoke/decodability.parquet"), "{said}");
    let after = checkout.snapshot();
    let is_newer = |file: &str| before[&checkout.root.join(file)] != after[&checkout.root.join(file)];
    assert_eq!(FIGURES.map(is_newer), [false, false, false, true]);
    assert!(!is_newer("results/smoke/storage_cost.parquet"));
}

#[test]
fn any_path_will_do() {
    let checkout = Checkout::new("it's \"my\" ünï # copy");
    checkout.reproduced();
    checkout.made(&["reproduce"]);
    let before = checkout.snapshot();
    let said = checkout.made(&["-j2", "reproduce"]);
    assert!(said.contains("nothing to compute"), "{said}");
    assert_eq!(checkout.snapshot(), before);
    assert!(FIGURES.iter().all(|figure| checkout.has(figure)));
}

#[test]
fn new_code_executes_the_notebooks_again() {
    let checkout = Checkout::new("factsmith");
    let stamp = ".factsmith/stamps/smoke/01_decodability.executed";
    checkout.made(&["results/smoke/decodability.parquet", "results/smoke/storage_cost.parquet"]);
    checkout.write(stamp, "executed\n");
    let executes = || checkout.make(&[stamp]).1.contains("factsmith notebook 01_decodability");
    assert!(!executes());
    std::thread::sleep(std::time::Duration::from_millis(20));
    checkout.write(".tools/prebuilt", "");
    assert!(executes());
}
