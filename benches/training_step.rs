//! One full-batch training step on one core: share of the machine's GEMM rate reached in the products and in the whole step,
//! and the ratio to the reference's CPU milliseconds for a step of the same shapes on a 2-core machine.

mod timing;

use factsmith::facts::embeddings::{Kind, draw};
use factsmith::facts::fact_set::{FactSet, random_bijection};
use factsmith::mlp::gradient_descent::Trainer;
use factsmith::mlp::trainable::Architecture;
use factsmith::num::adam::Adam;
use factsmith::num::gates::{gated_silu, gated_silu_gradient};
use factsmith::num::products::product;
use factsmith::num::softmax::cross_entropy_gradient;
use factsmith::rng::StreamName;
use ndarray::Array2;
use timing::best_of;

/// Multiply–adds per second of a large single-precision product.
fn gemm_peak() -> f64 {
    let (left, right) = (Array2::<f32>::ones((1024, 1024)), Array2::<f32>::ones((1024, 1024)));
    1024f64.powi(3) / best_of(30, || drop(std::hint::black_box(product(&left, &right))))
}

/// Seconds of the parts of a step that are no products: softmax and its gradient, gates and their gradient, Adam.
fn elementwise(facts: usize, dimension: usize, hidden: usize) -> f64 {
    let mut logits = vec![0.1f32; facts * facts];
    let targets: Vec<usize> = (0..facts).collect();
    let (mut gate, mut up, mut out) = (vec![0.3f32; hidden], vec![0.2f32; hidden], vec![0.0f32; hidden]);
    let (mut parameters, gradient) = (vec![0.1f32; 3 * hidden * dimension], vec![0.01f32; 3 * hidden * dimension]);
    let mut adam = Adam::new(parameters.len());
    best_of(30, || {
        // Blocks that stay in cache, as in a step.
        for (rows, targets) in logits.chunks_mut(64 * facts).zip(targets.chunks(64)) {
            std::hint::black_box(cross_entropy_gradient(rows, facts, targets, 1e-3));
        }
        for _ in 0..facts {
            gated_silu(&gate, &up, &mut out);
            gated_silu_gradient(&mut gate, &mut up, &out);
        }
        adam.step(&mut parameters, &gradient, 1e-3);
    })
}

fn main() {
    let peak = gemm_peak();
    println!("single-thread GEMM peak: {:.1} GFLOP/s", 2.0 * peak / 1e9);
    println!("             milliseconds a step        share of the peak rate      reference");
    println!("    F    d    h     all  products      in products  in all      ms    ratio");
    for (facts, dimension, hidden, reference) in [
        (256, 32, 9, None),
        (1024, 64, 20, None),
        (1024, 64, 64, Some(7.96)),
        (1024, 64, 256, Some(11.1)),
        (4096, 64, 64, Some(199.0)),
    ] {
        let mut rng = StreamName::new("bench").rng();
        let table = draw(Kind::Sphere, facts, dimension, &mut rng).unwrap();
        let fact_set = FactSet::new(table.clone(), table, random_bijection(facts, &mut rng)).unwrap();
        let mut trainer = Trainer::new(&fact_set, Architecture::SwiGlu, hidden, StreamName::new("training"));
        let mut adam = Adam::new(trainer.network.parameters.len());
        let seconds = best_of(30, || {
            trainer.gradient();
            adam.step(&mut trainer.network.parameters, &trainer.network.gradient, 1e-3);
        });
        let products = seconds - elementwise(facts, dimension, hidden);
        let share = |seconds: f64| 100.0 * trainer.products_per_step() as f64 / seconds / peak;
        let (reference, ratio) = reference.map_or(("-".to_owned(), "-".to_owned()), |ms: f64| {
            (format!("{ms:.1}"), format!("{:.1}x", ms / seconds / 1e3))
        });
        println!(
            "{facts:>5} {dimension:>4} {hidden:>4} {:>7.2} {:>9.2} {:>14.0} % {:>5.0} % {reference:>8} {ratio:>8}",
            seconds * 1e3,
            products * 1e3,
            share(products),
            share(seconds)
        );
    }
}
