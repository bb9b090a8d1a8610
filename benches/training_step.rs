//! One full-batch training step on one core: share of the machine's GEMM rate reached, and the ratio to the reference's CPU
//! milliseconds for a step of the same shapes on a 2-core machine.

use std::time::Instant;

use factsmith::facts::embeddings::{Kind, draw};
use factsmith::facts::fact_set::{FactSet, random_bijection};
use factsmith::mlp::gradient_descent::Trainer;
use factsmith::num::adam::Adam;
use factsmith::rng::StreamName;
use ndarray::Array2;

fn best_of(repeats: usize, mut work: impl FnMut()) -> f64 {
    work();
    (0..repeats)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Multiply–adds per second of a large single-precision product.
fn gemm_peak() -> f64 {
    let (left, right) = (Array2::<f32>::ones((1024, 1024)), Array2::<f32>::ones((1024, 1024)));
    1024f64.powi(3) / best_of(30, || drop(std::hint::black_box(left.dot(&right))))
}

fn main() {
    let peak = gemm_peak();
    println!("single-thread GEMM peak: {:.1} GFLOP/s", 2.0 * peak / 1e9);
    println!(
        "{:>5} {:>4} {:>4} {:>10} {:>12} {:>13} {:>7}",
        "F", "d", "h", "ms a step", "share of peak", "reference ms", "ratio"
    );
    for (facts, dimension, hidden, reference) in [
        (256, 32, 9, None),
        (1024, 64, 20, None),
        (1024, 64, 64, Some(7.96)),
        (1024, 64, 256, Some(11.1)),
        (4096, 64, 64, Some(199.0)),
    ] {
        let mut rng = StreamName::new("bench").rng();
        let table = draw(Kind::Sphere, facts, dimension, &mut rng).unwrap();
        let facts_set = FactSet::new(table.clone(), table, random_bijection(facts, &mut rng)).unwrap();
        let mut trainer = Trainer::new(&facts_set, hidden, StreamName::new("training"));
        let mut adam = Adam::new(trainer.parameters.len());
        let seconds = best_of(30, || {
            trainer.gradient();
            adam.step(&mut trainer.parameters, &trainer.gradient, 1e-3);
        });
        let share = trainer.products_per_step() as f64 / seconds / peak;
        let (reference, ratio) = reference.map_or((String::from("-"), String::from("-")), |ms: f64| {
            (format!("{ms:.1}"), format!("{:.1}x", ms / seconds / 1e3))
        });
        println!(
            "{facts:>5} {dimension:>4} {hidden:>4} {:>10.2} {:>11.0} % {reference:>13} {ratio:>7}",
            seconds * 1e3,
            share * 100.0
        );
    }
}
