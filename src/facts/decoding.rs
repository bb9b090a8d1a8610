//! Decoding: which value an output stands for, and by what margin.

use ndarray::{ArrayView2, s};

use crate::num::products::product;

/// Keys decoded per block: keeps the score matrix small whatever the number of facts.
const BLOCK: usize = 256;

/// Margin of every fact: `⟨g_i, v_f(i)⟩ − max_{j≠f(i)} ⟨g_i, v_j⟩` (2512.00207, §2.1). A fact is stored when it is positive;
/// a tie is not.
///
/// Shapes: `outputs (F×d)`, `values (n×d)`, `map (F)`. With a single value every margin is infinite.
///
/// ```
/// use factsmith::facts::decoding::{accuracy, margins};
/// use ndarray::array;
/// let values = array![[1.0, 0.0], [0.0, 1.0]];
/// let found = margins(array![[2.0, 0.5], [1.0, 1.0]].view(), values.view(), &[0, 1]);
/// assert_eq!(found, [1.5, 0.0]);
/// assert_eq!(accuracy(&found), 0.5);
/// ```
pub fn margins(outputs: ArrayView2<f64>, values: ArrayView2<f64>, map: &[usize]) -> Vec<f64> {
    let mut margins = Vec::with_capacity(map.len());
    for start in (0..map.len()).step_by(BLOCK) {
        let stop = (start + BLOCK).min(map.len());
        let scores = product(&outputs.slice(s![start..stop, ..]), &values.t());
        for (row, &target) in scores.rows().into_iter().zip(&map[start..stop]) {
            let rival = |scores: ndarray::ArrayView1<f64>| scores.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let best = rival(row.slice(s![..target])).max(rival(row.slice(s![target + 1..])));
            margins.push(row[target] - best);
        }
    }
    margins
}

/// Share of facts with a positive margin. A margin that is not a number counts as a failure.
pub fn accuracy(margins: &[f64]) -> f64 {
    stored(margins) as f64 / margins.len() as f64
}

/// Number of facts with a positive margin.
pub fn stored(margins: &[f64]) -> usize {
    margins.iter().filter(|margin| **margin > 0.0).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    #[test]
    fn blocks_agree_with_the_definition() {
        let mut rng = StreamName::new("test").rng();
        let outputs = draw(Kind::Gaussian, 600, 5, &mut rng).unwrap();
        let values = draw(Kind::Gaussian, 9, 5, &mut rng).unwrap();
        let map: Vec<usize> = (0..600).map(|key| key % 9).collect();
        let found = margins(outputs.view(), values.view(), &map);
        for key in [0, 8, 255, 256, 599] {
            let score = |value: usize| outputs.row(key).dot(&values.row(value));
            let best = (0..9).filter(|value| *value != map[key]).map(score).fold(f64::NEG_INFINITY, f64::max);
            assert!((found[key] - (score(map[key]) - best)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_margin_that_is_not_a_number_is_not_stored() {
        assert_eq!(stored(&[f64::NAN, 1.0, 0.0, -1.0]), 1);
    }
}
