//! Predicted memory, against the peaks of single cells that were measured.

use std::path::Path;

use factsmith::paper::experiments;
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::store::Store;

/// Experiment, cell, and the peak of a run of it in megabytes: `ru_maxrss` on Linux, one thread.
const MEASURED: [(&str, &str, f64); 27] = [
    ("random_decoders", "dimension = 32; facts_per_d2 = 1.0; kappa = 1; multiple = 1", 49.0),
    ("random_decoders", "dimension = 64; facts_per_d2 = 0.5; kappa = 1; multiple = 1", 60.0),
    ("encoders", "encoder = \"gadget\"; dimension = 64; facts_per_d2 = 0.5; outputs = 16", 126.0),
    ("encoders", "encoder = \"gadget\"; dimension = 128; facts_per_d2 = 0.25; outputs = 16", 425.0),
    ("encoders", "encoder = \"staircase\"; dimension = 128; facts_per_d2 = 0.25; outputs = 16", 50.0),
    ("construction_cost", "method = \"gadget_jl\"; dimension = 32; facts_per_d2 = 1.0", 62.0),
    ("construction_cost", "method = \"gadget_jl\"; dimension = 128; facts_per_d2 = 0.125", 146.0),
    ("construction_cost", "method = \"silu_pairs_jl\"; dimension = 128; facts_per_d2 = 0.125", 146.0),
    ("construction_cost", "method = \"staircase_direct\"; dimension = 128; facts_per_d2 = 0.125", 91.0),
    ("construction_cost", "method = \"naive_unit_norm\"; dimension = 128; facts_per_d2 = 0.125", 76.0),
    ("construction_cost", "method = \"ntk_degree_two\"; dimension = 128; facts_per_d2 = 0.125", 150.0),
    ("construction_cost", "method = \"hebbian\"; dimension = 128; facts_per_d2 = 0.125", 94.0),
    ("construction_cost", "method = \"hebbian_whitened\"; dimension = 128; facts_per_d2 = 0.125", 69.0),
    ("construction_cost", "method = \"hebbian_fitted\"; dimension = 32; facts_per_d2 = 1.0", 100.0),
    ("construction_cost", "method = \"gradient_descent\"; dimension = 32; facts_per_d2 = 1.0; steps = 200", 59.0),
    ("ssfr", "method = \"gradient_descent\"; steps = 100; dimension = 128; facts = 1024; size = 64", 68.0),
    ("ssfr", "method = \"gradient_descent\"; steps = 100; dimension = 128; facts = 4096; size = 64", 108.0),
    ("ssfr", "method = \"gadget_jl_wide\"; dimension = 128; facts = 4096; size = 32", 497.0),
    ("ssfr", "method = \"ntk\"; dimension = 64; facts = 256", 248.0),
    ("ssfr", "method = \"ntk\"; dimension = 128; facts = 4096; size = 1024", 108.0),
    ("ssfr", "method = \"hebbian_whitened\"; dimension = 128; facts = 4096; size = 1024", 98.0),
    ("ssfr", "method = \"hebbian_fitted\"; dimension = 128; facts = 4096; size = 1024", 165.0),
    ("noise_floor", "dimension = 90; facts = 1012; junk_length = 16; attention_steps = 100", 54.0),
    (
        "insertion",
        "schedule = \"insert_then_train\"; method = \"hebbian_fitted\"; dimension = 64; facts = 512; size = 100; \
         junk_length = 9; junk_tokens = 9; attention_steps = 100",
        53.0,
    ),
    ("language", "dimension = 32; facts = 64; hidden = 16; mlp_steps = 100; steps = 100; LANGUAGE", 50.0),
    ("language", "dimension = 128; facts = 2048; hidden = 64; mlp_steps = 50; steps = 50; LANGUAGE", 223.0),
    (
        "fact_editing",
        "dimension = 64; facts = 256; hidden = 48; mlp_steps = 100; steps = 100; percent = 10.0; LANGUAGE",
        72.0,
    ),
];

/// What the language models have in common.
const LANGUAGE: &str = "source = \"films\"; learning_rate = 2e-3; batch = 32";

fn plan_memory(manifest: &Manifest, profile: Profile, stage: &str, threads: usize) -> f64 {
    let experiments = experiments();
    let plan = Plan::new(manifest, profile, &experiments, &Store::default(), &[stage.to_owned()]).unwrap();
    plan.memory(threads)
}

#[test]
fn predictions_are_within_a_factor_of_two_of_what_was_measured() {
    for (experiment, cell, measured) in MEASURED {
        let lines = cell.replace("LANGUAGE", LANGUAGE).replace("; ", "\n");
        let text = format!("[stage.s]\ntitle = \"S\"\nexperiment = \"{experiment}\"\n[[stage.s.smoke]]\n{lines}\n");
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
