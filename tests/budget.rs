//! `--budget` with the experiments and the claims of the project.

use std::ffi::OsString;
use std::path::Path;

use factsmith::paper::experiments;

/// Eight cells per seed; of the claims, only those about this method can be decided.
const PIPELINE: &str = r#"
[stage.storage_cost]
title = "Smallest MLP that stores a random bijection"
experiment = "storage_cost"

[[stage.storage_cost.laptop]]
seeds = 2
method = "constructed"
dimension = 16
facts_per_d2 = 0.25
kappa = [1.0, 10.0, 100.0, 1000.0]
alpha = [0.0, 1.0]
keys = "isotropic"
"#;

fn factsmith(folder: &Path, words: &[&str]) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    let claims = format!("{}/claims.toml", env!("CARGO_MANIFEST_DIR"));
    let (manifest, store, results) = (path("pipeline.toml"), path("store"), path("results"));
    let folders = ["--manifest", &manifest, "--store", &store, "--results", &results, "--threads", "1"];
    let arguments = [&["factsmith"], words, &folders, &["--claims", &claims]].concat();
    let mut out = Vec::new();
    let code = factsmith::cli::run(arguments.into_iter().map(OsString::from), &experiments(), &mut out);
    assert_eq!(code, 0, "{words:?}");
    String::from_utf8(out).unwrap()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_budget_decides_claims_from_complete_seeds_and_names_those_that_stay_inconclusive() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pipeline.toml"), PIPELINE).unwrap();
    let whole = json(&factsmith(folder.path(), &["plan", "--json"]));
    assert_eq!(whole["left_out"], serde_json::json!([]));
    let milliseconds = 1000.0 * whole["core_seconds"].as_f64().unwrap();
    let tiny = format!("{}us", (50.0 * milliseconds) as u64);
    let half = format!("{}us", (600.0 * milliseconds) as u64);

    let planned = factsmith(folder.path(), &["plan", "--budget", &tiny]);
    assert!(
        planned.contains("claims that stay inconclusive: rho-predicts-constructed, rho-predicts-gd, "),
        "{planned}"
    );
    let planned = json(&factsmith(folder.path(), &["plan", "--budget", &half, "--json"]));
    let left = planned["left_out"][0]["cells"].as_u64().unwrap();
    assert!((1..=8).contains(&left), "seed 0 and part of seed 1: {left} left out");
    let run = json(&factsmith(folder.path(), &["run", "--quiet", "--budget", &half, "--json"]));
    assert_eq!(run["stages"][0]["computed"], planned["missing"]);
    assert_eq!(run["stages"][0]["outcome"], "written");
    let open = &run["left_out"][0];
    assert_eq!((&open["stage"], &open["cells"]), (&"storage_cost".into(), &left.into()));
    let ids = |list: &str| open[list].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(ids("from_part"), ["rho-predicts-constructed", "coherence-weak-constructed", "whitening-gain"]);
    assert!(ids("inconclusive").contains(&"rho-predicts-gd"));

    let rest = factsmith(folder.path(), &["run", "--quiet"]);
    assert!(rest.contains(&format!("16 cells ({left} computed, ")) && !rest.contains("left out"), "{rest}");
}
