//! The NTK construction against weights and margins of the official implementation (its random gate and down matrices, a
//! table of 64 keys that are also the values, ReLU gates, Hermite degree 1).

use std::path::{Path, PathBuf};

use factsmith::facts::fact_set::FactSet;
use factsmith::facts::files::read_table;
use factsmith::mlp::gated::{Activation, GatedMlp};
use factsmith::mlp::ntk::up_projection;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ntk").join(name)
}

fn lines(name: &str) -> Vec<String> {
    std::fs::read_to_string(path(name)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn weights_and_margins_agree_with_the_reference() {
    let table = read_table(&path("F64_d16_K.npy")).unwrap();
    let map = lines("F64_d16_map.csv").iter().map(|line| line.parse().unwrap()).collect();
    let facts = FactSet::new(table.clone(), table, map).unwrap();
    let [gate, up, down] =
        ["gate", "up", "down"].map(|name| read_table(&path(&format!("F64_d16_m64_{name}.npy"))).unwrap());
    let targets = facts.by_key(&facts.values);
    let built = up_projection(facts.keys.view(), targets.view(), gate.view(), down.view(), 1);
    assert!((&built - &up).iter().all(|difference| difference.abs() < 1e-13));
    let mlp = GatedMlp { gate, gate_bias: None, up: built, down, activation: Activation::Relu };
    let margins = mlp.margins(&facts);
    let reference: Vec<f64> = lines("F64_d16_m64_keys.csv")[1..]
        .iter()
        .map(|line| line.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(margins.len(), reference.len());
    for (margin, wanted) in margins.iter().zip(&reference) {
        assert!((margin - wanted).abs() < 1e-12, "{margin} against {wanted}");
    }
}
