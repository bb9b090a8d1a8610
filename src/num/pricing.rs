//! The vector kernels that price all values against one direction (used by decodability).

use multiversion::multiversion;

/// Turns scores `s_j = ⟨v_j, u⟩` into margins `(own − s_j)·inverse_distance_j` in place.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn margins(scores: &mut [f64], own: f64, inverse_distances: &[f64]) {
    for (score, inverse) in scores.iter_mut().zip(inverse_distances) {
        *score = (own - *score) * inverse;
    }
}

const CHUNK: usize = 64;

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn chunk_minimum(chunk: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; 8];
    let chunks = chunk.chunks_exact(8);
    let rest = chunks.remainder();
    for eight in chunks {
        for lane in 0..8 {
            lanes[lane] = if eight[lane] < lanes[lane] { eight[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().chain(rest).copied().fold(f64::INFINITY, f64::min)
}

/// The smallest margin and the first index that has it.
pub fn minimum(margins: &[f64]) -> (usize, f64) {
    let smallest = margins.chunks(CHUNK).map(chunk_minimum).fold(f64::INFINITY, f64::min);
    let index = margins.iter().position(|margin| *margin == smallest).unwrap_or(0);
    (index, smallest)
}

/// Up to `N` indices of the smallest margins below `limit`, smallest first; ties by index.
pub fn smallest<const N: usize>(margins: &[f64], limit: f64) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::with_capacity(N + 1);
    let mut bar = limit;
    for (number, chunk) in margins.chunks(CHUNK).enumerate() {
        if chunk_minimum(chunk) >= bar {
            continue;
        }
        for (offset, &margin) in chunk.iter().enumerate() {
            if margin < bar {
                let place = best.partition_point(|&other| margins[other] <= margin);
                best.insert(place, number * CHUNK + offset);
                best.truncate(N);
                if best.len() == N {
                    bar = margins[best[N - 1]];
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_are_found_in_order() {
        let margins: Vec<f64> = (0..300).map(|i| ((i * 37) % 300) as f64).collect();
        let found = smallest::<4>(&margins, 250.0);
        assert_eq!(found.iter().map(|&index| margins[index]).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(smallest::<4>(&margins, 2.0).len(), 2);
        assert_eq!(minimum(&margins), (0, 0.0));
    }

    #[test]
    fn margins_are_scaled_differences() {
        let mut scores = vec![1.0, 2.0, 4.0];
        margins(&mut scores, 3.0, &[1.0, 0.5, 2.0]);
        assert_eq!(scores, [2.0, 0.5, -2.0]);
    }
}
