//! Predicted memory, against the peaks of single cells that were measured.

use std::path::Path;

use factsmith::paper::experiments;
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::store::Store;

/// Experiment, cell, and the peak of a run of it in megabytes: `ru_maxrss` on Linux, one thread.
const MEASURED: [(&str, &str, f64); 22] = [
    ("random_decoders", "dimension = 32\nfacts_per_d2 = 1.0\nkappa = 1\nmultiple = 1", 49.0),
    ("random_decoders", "dimension = 64\nfacts_per_d2 = 0.5\nkappa = 1\nmultiple = 1", 60.0),
    ("encoders", "encoder = \"gadget\"\ndimension = 64\nfacts_per_d2 = 0.5\noutputs = 16", 126.0),
    ("encoders", "encoder = \"gadget\"\ndimension = 128\nfacts_per_d2 = 0.25\noutputs = 16", 425.0),
    ("encoders", "encoder = \"staircase\"\ndimension = 128\nfacts_per_d2 = 0.25\noutputs = 16", 50.0),
    ("construction_cost", "method = \"gadget_jl\"\ndimension = 32\nfacts_per_d2 = 1.0", 62.0),
    ("construction_cost", "method = \"gadget_jl\"\ndimension = 128\nfacts_per_d2 = 0.125", 146.0),
    ("construction_cost", "method = \"silu_pairs_jl\"\ndimension = 128\nfacts_per_d2 = 0.125", 146.0),
    ("construction_cost", "method = \"staircase_direct\"\ndimension = 128\nfacts_per_d2 = 0.125", 83.0),
    ("construction_cost", "method = \"naive_unit_norm\"\ndimension = 128\nfacts_per_d2 = 0.125", 76.0),
    ("construction_cost", "method = \"ntk_degree_two\"\ndimension = 128\nfacts_per_d2 = 0.125", 150.0),
    ("construction_cost", "method = \"hebbian\"\ndimension = 128\nfacts_per_d2 = 0.125", 94.0),
    ("construction_cost", "method = \"hebbian_whitened\"\ndimension = 128\nfacts_per_d2 = 0.125", 69.0),
    ("construction_cost", "method = \"hebbian_fitted\"\ndimension = 32\nfacts_per_d2 = 1.0", 71.0),
    ("construction_cost", "method = \"gradient_descent\"\ndimension = 32\nfacts_per_d2 = 1.0\nsteps = 200", 59.0),
    ("ssfr", "method = \"gradient_descent\"\nsteps = 100\ndimension = 128\nfacts = 1024\nsize = 64", 59.0),
    ("ssfr", "method = \"gradient_descent\"\nsteps = 100\ndimension = 128\nfacts = 4096\nsize = 64", 86.0),
    ("ssfr", "method = \"gadget_jl_wide\"\ndimension = 128\nfacts = 4096\nsize = 32", 497.0),
    ("ssfr", "method = \"ntk\"\ndimension = 64\nfacts = 256", 248.0),
    ("ssfr", "method = \"ntk\"\ndimension = 128\nfacts = 4096\nsize = 1024", 108.0),
    ("ssfr", "method = \"hebbian_whitened\"\ndimension = 128\nfacts = 4096\nsize = 1024", 98.0),
    ("ssfr", "method = \"hebbian_fitted\"\ndimension = 128\nfacts = 4096\nsize = 1024", 154.0),
];

fn plan_memory(manifest: &Manifest, profile: Profile, stage: &str, threads: usize) -> f64 {
    let experiments = experiments();
    let plan = Plan::new(manifest, profile, &experiments, &Store::default(), &[stage.to_owned()]).unwrap();
    plan.memory(threads)
}

#[test]
fn predictions_are_within_a_factor_of_two_of_what_was_measured() {
    for (experiment, cell, measured) in MEASURED {
        let text = format!("[stage.s]\ntitle = \"S\"\nexperiment = \"{experiment}\"\n[[stage.s.smoke]]\n{cell}\n");
        let manifest = Manifest::parse(Path::new("pipeline.toml"), &text).unwrap();
        let factor = plan_memory(&manifest, Profile::Smoke, "s", 1) / (1e6 * measured);
        assert!((0.5..2.0).contains(&factor), "{experiment}: {factor:.2} times the measured memory of {cell}");
    }
}

#[test]
fn memory_is_predicted_for_every_stage_of_every_profile() {
    let manifest = Manifest::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("pipeline.toml")).unwrap();
    for profile in Profile::ALL {
        for stage in &manifest.stages {
            let (one, two) = [1, 2].map(|threads| plan_memory(&manifest, profile, &stage.name, threads)).into();
            assert!(one > 45e6 && two > one && two < 1e12, "{} in {profile}: {one}", stage.name);
        }
    }
}
