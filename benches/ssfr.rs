//! One step of training a transformer around a frozen MLP (forward, backward, AdamW), batch 1280, on one core: against the
//! products that no implementation avoids (MLP and logits, there and back), and against the reference's step of the same shapes
//! on one thread of a 2-core machine.

mod timing;

use factsmith::facts::embeddings::gaussian;
use factsmith::mlp::encoder_gadget::Gadgets;
use factsmith::mlp::frozen::FrozenMlp;
use factsmith::mlp::gated::{Activation, GatedMlp};
use factsmith::num::adam::{Adam, decay};
use factsmith::num::products::general_mat_mul;
use factsmith::rng::StreamName;
use factsmith::transformer::batch::Batch;
use factsmith::transformer::model::{Design, Model, ROWS};
use factsmith::transformer::task::{Junk, Task};
use ndarray::Array2;
use timing::best_of;

const BATCH: usize = 1280;

/// Seconds of the products alone, on matrices of the whole batch.
fn products(dimension: usize, hidden: usize, vocabulary: usize) -> f64 {
    let ones = |rows, columns| Array2::<f32>::ones((rows, columns));
    let (mut rows, mut units, mut logits) = (ones(BATCH, dimension), ones(BATCH, 2 * hidden), ones(BATCH, vocabulary));
    let (input, down, heads) = (ones(2 * hidden, dimension), ones(dimension, hidden), ones(vocabulary, dimension));
    let mut active = ones(BATCH, hidden);
    best_of(20, || {
        general_mat_mul(1.0, &rows, &input.t(), 0.0, &mut units);
        general_mat_mul(1.0, &active, &down.t(), 0.0, &mut rows);
        general_mat_mul(1.0, &rows, &heads.t(), 0.0, &mut logits);
        general_mat_mul(1.0, &logits, &heads, 0.0, &mut rows);
        general_mat_mul(1.0, &rows, &down, 0.0, &mut active);
        general_mat_mul(1.0, &units, &input, 0.0, &mut rows);
        rows.fill(1.0);
        active.fill(1.0);
    })
}

/// Seconds of a whole step.
fn step(facts: usize, dimension: usize, mlp: GatedMlp) -> f64 {
    let mut rng = StreamName::new("bench").rng();
    let mlp = FrozenMlp::new(&mlp.into());
    let tokens = gaussian((facts, dimension), &mut StreamName::new("tokens").rng());
    let task = Task::new(&tokens, &Junk::default(), &mut rng).unwrap();
    let mut model = Model::new(task, Design::default(), &mut rng);
    let mut adam = Adam::new(model.parameters.len());
    let (mut pass, map) = (mlp.pass(ROWS), (0..facts).collect::<Vec<_>>());
    let mut batch = Batch::of(model.task(), BATCH);
    batch.draw(model.task(), &mut rng);
    best_of(20, || {
        model.step(&mlp, &mut pass, &batch, &map);
        decay(&mut model.parameters, 1.0 - 2e-5);
        adam.step(&mut model.parameters, &model.gradient, 2e-4);
    })
}

fn weights(rows: usize, columns: usize) -> Array2<f64> {
    gaussian((rows, columns), &mut StreamName::new("weights").rng())
}

fn gated(hidden: usize, dimension: usize) -> GatedMlp {
    let (gate, up, down) = (weights(hidden, dimension), weights(hidden, dimension), weights(dimension, hidden));
    GatedMlp { gate, gate_bias: None, up, down, activation: Activation::Silu }
}

/// Gadgets that share their gates, and the same MLP with a gate a hair off, which no structure helps.
fn shared_gates() {
    println!("\ngadgets of shared gates, d = 128:  F    gates   codes   ms a step   without the structure");
    for (facts, gates, codes) in [(1024, 18, 43), (4096, 72, 48)] {
        let ups = (0..codes).map(|_| weights(gates, 128)).collect();
        let gadgets = Gadgets { gates: weights(gates, 128), ups, activation: Activation::Silu, relative_residual: 0.0 };
        let stack = gadgets.under(&weights(128, codes));
        let mut plain = stack.clone();
        plain.gate[[0, 0]] += 1e-9;
        let (fast, slow) = (step(facts, 128, stack), step(facts, 128, plain));
        println!("{facts:>36} {gates:>8} {codes:>7} {:>11.2} {:>12.2} {:>8.1}x", fast * 1e3, slow * 1e3, slow / fast);
    }
}

fn main() {
    println!("    F    d    h   ms a step   its products   step/products   reference ms   ratio");
    for (facts, dimension, hidden, reference) in [
        (256, 64, 24, Some(170.0)),
        (4096, 64, 256, Some(1900.0)),
        (256, 128, 16, None),
        (1024, 128, 48, None),
        (4096, 128, 160, None),
        (16384, 128, 640, None),
    ] {
        let step = step(facts, dimension, gated(hidden, dimension));
        let alone = products(dimension, hidden, facts + 16);
        let (reference, ratio) = reference.map_or(("-".to_owned(), "-".to_owned()), |ms: f64| {
            (format!("{ms:.0}"), format!("{:.0}x", ms / step / 1e3))
        });
        println!(
            "{facts:>5} {dimension:>4} {hidden:>4} {:>11.2} {:>14.2} {:>15.2} {reference:>14} {ratio:>7}",
            step * 1e3,
            alone * 1e3,
            step / alone
        );
    }
    shared_gates();
}
