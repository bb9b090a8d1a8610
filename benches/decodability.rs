//! Seconds on one core for ρ with certificates of all anchors, beside the recorded CPU seconds of the reference's
//! 300-iteration ADMM on a 2-core machine (an approximation; here the values are exact).

use std::time::Instant;

use factsmith::facts::decodability::{Cores, decodability};
use factsmith::facts::embeddings::{Kind, draw};
use factsmith::rng::StreamName;

fn main() {
    println!("{:>6} {:>4} {:>10} {:>10} {:>9} {:>10}", "F", "d", "seconds", "ADMM s", "ratio", "worst gap");
    for (facts, dimension, admm) in [(64, 16, 0.167), (256, 32, 2.70), (1024, 64, 70.3), (4096, 128, 3542.0)] {
        let values = draw(Kind::Sphere, facts, dimension, &mut StreamName::new("bench").rng()).unwrap();
        let repeats = if facts > 1024 { 1 } else { 5 };
        let mut best = f64::INFINITY;
        let mut gap = 0.0;
        for _ in 0..repeats {
            let start = Instant::now();
            gap = decodability(&values, Cores::One).unwrap().worst_gap();
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{facts:>6} {dimension:>4} {best:>10.4} {admm:>10.2} {:>8.0}x {gap:>10.1e}", admm / best);
    }
}
