//! The numbers of real stages do not depend on threads, nor on where a table lies in memory.

use std::ffi::OsString;
use std::path::Path;

use factsmith::facts::decodability::{Cores, decodability};
use factsmith::facts::embeddings::{Kind, draw};
use factsmith::num::products::product;
use factsmith::paper::experiments;
use factsmith::rng::StreamName;
use factsmith::table::Table;
use ndarray::{Array2, s};

const STAGES: [&str; 4] = ["decodability", "constructions", "encoders", "random_decoders"];

/// Content hashes of the tables of the smoke profile.
fn tables(threads: &str) -> [String; 4] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (manifest, store, results) = (root.join("pipeline.toml").display().to_string(), path("store"), path("results"));
    let mut words = vec!["factsmith", "run", "--quiet", "--profile", "smoke", "--threads", threads];
    words.extend(["--manifest", &manifest, "--store", &store, "--results", &results]);
    words.extend(STAGES.iter().flat_map(|stage| ["--stage", stage]));
    assert_eq!(factsmith::cli::run(words.into_iter().map(OsString::from), &experiments(), &mut Vec::new()), 0);
    let table =
        |stage: &str| Table::read_parquet(&folder.path().join(format!("results/smoke/{stage}.parquet"))).unwrap();
    STAGES.map(|stage| table(stage).content_hash())
}

#[test]
fn real_stages_give_the_same_tables_on_1_2_and_8_threads() {
    let one = tables("1");
    assert_eq!(one, tables("2"));
    assert_eq!(one, tables("8"));
}

#[test]
fn numbers_do_not_depend_on_where_a_table_lies_in_memory() {
    let table = draw(Kind::Gaussian, 96, 17, &mut StreamName::new("test").rng()).unwrap();
    let results = |skipped: usize| {
        let mut shifted = Array2::zeros((skipped + table.nrows(), table.ncols()));
        shifted.slice_mut(s![skipped.., ..]).assign(&table);
        let shifted = shifted.slice_move(s![skipped.., ..]);
        let found = decodability(&shifted, Cores::One).unwrap();
        (shifted.as_ptr() as usize % 64, product(&shifted, &shifted.t()), found.rho.to_bits(), found.outputs)
    };
    let first = results(0);
    let places: std::collections::BTreeSet<usize> = (0..8).map(|skipped| results(skipped).0).collect();
    assert!(places.len() > 4, "{places:?}");
    for skipped in 1..8 {
        let other = results(skipped);
        assert!(first.1 == other.1 && first.2 == other.2 && first.3 == other.3, "rows skipped: {skipped}");
    }
}
