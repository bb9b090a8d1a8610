//! Timing for the benches.

use std::time::Instant;

/// The least wall seconds of `repeats` calls, after one that does not count.
pub fn best_of(repeats: usize, mut work: impl FnMut()) -> f64 {
    work();
    (0..repeats)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}
