//! Real activations: what a small sentence-embedding model makes of 400 sentences, in its middle and at its end.

use super::fetched::Fetched;
use super::loader::{ON_NUMPY, loader};

/// The model's forward pass, what numpy finds of the activations, and of the MLP.
const MODEL_AND_CHECKS: &str = include_str!("activations.py");

#[test]
fn real_activations_are_measured_as_numpy_does_and_their_mlp_gives_the_right_values_there() {
    let Some(fetched) = Fetched::or_skipped() else { return };
    fetched.python(MODEL_AND_CHECKS, "model_runs_as_elsewhere");
    fetched.python(MODEL_AND_CHECKS, "write_activations");
    let measured = fetched.factsmith("measure embeddings.npy --names sentences.txt --worst 4 --json");
    fetched.write("activations.json", &measured);
    fetched.python(MODEL_AND_CHECKS, "measured_alike");
    let facts = "--keys middle.npy --values embeddings.npy";
    fetched.factsmith(&format!("build {facts} --method hebbian_fitted --smallest -o activations.safetensors"));
    fetched.factsmith(&format!("verify activations.safetensors {facts}"));
    fetched.python(&format!("{ON_NUMPY}\n{}\n{MODEL_AND_CHECKS}", loader()), "decoded_alike");
}
