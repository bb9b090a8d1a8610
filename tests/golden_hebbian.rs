//! The Hebbian constructions against readouts, fitted features and margins of the official implementation, from its random
//! features: 64 tied keys (m = 8, 64, 128) and 256 untied ones (m = 32).

use std::path::{Path, PathBuf};

use factsmith::facts::fact_set::FactSet;
use factsmith::facts::files::read_table;
use factsmith::mlp::gated::GatedMlp;
use factsmith::mlp::hebbian::{Features, RIDGE, raw_readout, ridge_readout};
use factsmith::mlp::hebbian_fitted::fit_from;
use ndarray::Array2;

/// Fact sets with the feature counts of their golden files.
const CASES: [(&str, &[usize]); 2] = [("F64_d16", &[8, 64, 128]), ("F256_d32", &[32])];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/hebbian").join(name)
}

fn table(name: &str) -> Array2<f64> {
    read_table(&path(&format!("{name}.npy"))).unwrap()
}

fn facts(name: &str) -> FactSet {
    let keys = table(&format!("{name}_K"));
    let values = if name == "F256_d32" { table("F256_d32_V") } else { keys.clone() };
    let map = std::fs::read_to_string(path(&format!("{name}_map.csv"))).unwrap();
    FactSet::new(keys, values, map.lines().map(|line| line.parse().unwrap()).collect()).unwrap()
}

fn features(name: &str, size: usize, scale: f64) -> Features {
    let part = |letter| table(&format!("{name}_m{size}_{letter}"));
    Features { first: part("A0"), second: part("A1"), scale }
}

/// The largest difference as a share of the largest entry.
fn difference(found: &Array2<f64>, wanted: &Array2<f64>) -> f64 {
    let largest = |table: &Array2<f64>| table.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    largest(&(found - wanted)) / largest(wanted)
}

fn margins_agree(mlp: &GatedMlp, facts: &FactSet, file: &str, tolerance: f64) {
    let text = std::fs::read_to_string(path(&format!("{file}_keys.csv"))).unwrap();
    let margins = mlp.margins(facts);
    assert_eq!(text.lines().count(), margins.len() + 1);
    let largest = margins.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for (line, margin) in text.lines().skip(1).zip(margins) {
        let wanted: f64 = line.split(',').next().unwrap().parse().unwrap();
        assert!((margin - wanted).abs() < tolerance * largest, "{file}: {margin} against {wanted}");
    }
}

#[test]
fn unwhitened() {
    for (name, sizes) in CASES {
        let facts = facts(name);
        for &size in sizes {
            let file = format!("{name}_m{size}_unwhitened");
            let features = features(name, size, 1.0 / (size as f64).sqrt());
            let readout = raw_readout(&features, &facts);
            assert!(difference(&readout, &table(&format!("{file}_W"))) < 1e-13);
            margins_agree(&features.with_readout(readout), &facts, &file, 1e-12);
        }
    }
}

/// The reference's ridge is λ on the F×F side (m > F) and F·λ, in our terms, on the other.
#[test]
fn whitened() {
    for (name, sizes) in CASES {
        let facts = facts(name);
        for &size in sizes {
            let file = format!("{name}_m{size}_whitened");
            let features = features(name, size, 1.0 / (size as f64).sqrt());
            let ridge = if size > facts.len() { RIDGE / facts.len() as f64 } else { RIDGE };
            let readout = ridge_readout(&features, &facts, ridge).unwrap();
            // At m = F the condition number is about 1e6 and that many digits go.
            assert!(difference(&readout, &table(&format!("{file}_W"))) < 1e-8, "{file}");
            margins_agree(&features.with_readout(readout), &facts, &file, 1e-8);
        }
    }
}

#[test]
fn data_dependent() {
    for (name, sizes) in CASES {
        let facts = facts(name);
        for &size in sizes.iter().filter(|size| **size <= facts.len()) {
            let file = format!("{name}_m{size}_data_dependent");
            let fitted = fit_from(&facts, features(name, size, 1.0), RIDGE).unwrap();
            if size * facts.dimension() == facts.len() * facts.dimension() {
                // As many unknowns as equations: neither solver converges in its iterations, and both stop elsewhere.
                assert!(fitted.mlp.margins(&facts).iter().all(|margin| *margin > 0.0));
                continue;
            }
            assert!(fitted.relative_residual <= 1e-10);
            for (found, part) in [(&fitted.mlp.gate, "A0"), (&fitted.mlp.up, "A1"), (&fitted.mlp.down, "W")] {
                assert!(difference(found, &table(&format!("{file}_{part}"))) < 1e-7, "{file} {part}");
            }
            margins_agree(&fitted.mlp, &facts, &file, 1e-7);
        }
    }
}
