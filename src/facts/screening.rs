//! Counting stored facts in single precision, with double precision for the facts that single precision cannot decide.
//!
//! A score `⟨g, v⟩` of a unit output and a value of norm at most 1 is off by at most `(d + 4)·2⁻²⁴` when both are rounded to
//! single precision and summed there (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). A margin beyond twice
//! that has its sign; the others, few, are computed again in double precision. The answer is that of double precision.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::decoding::{margins, stored};
use crate::num::softmax::maximum;

/// Keys scored per block: the scores of a block stay in cache.
const BLOCK: usize = 64;

/// Number of facts with a positive margin: that of [`margins`], at about half its cost and without its memory.
///
/// Shapes: `outputs (F×d)`, `values (n×d)`, `map (F)`.
///
/// ```
/// use factsmith::facts::screening::count_stored;
/// use ndarray::array;
/// let values = array![[1.0, 0.0], [0.0, 1.0]];
/// assert_eq!(count_stored(array![[2.0, 0.5], [1.0, 1.0]].view(), values.view(), &[0, 1]), 1);
/// ```
pub fn count_stored(outputs: ArrayView2<f64>, values: ArrayView2<f64>, map: &[usize]) -> usize {
    let largest = values.rows().into_iter().map(|row| row.dot(&row)).fold(0.0f64, f64::max).sqrt();
    let narrow_values = values.mapv(|entry| (entry / largest) as f32);
    let mut block_outputs = Array2::<f32>::zeros((BLOCK, outputs.ncols()));
    let mut scores = Array2::<f32>::zeros((BLOCK, values.nrows()));
    let bound = 2.0 * (outputs.ncols() + 4) as f32 * (f32::EPSILON / 2.0);
    let (mut certain, mut undecided) = (0, Vec::new());
    for start in (0..map.len()).step_by(BLOCK) {
        let count = BLOCK.min(map.len() - start);
        for (row, mut narrow) in outputs.rows().into_iter().skip(start).take(count).zip(block_outputs.rows_mut()) {
            let norm = row.dot(&row).sqrt();
            narrow.zip_mut_with(&row, |to, from| *to = (from / norm) as f32);
        }
        let mut block = scores.slice_mut(s![..count, ..]);
        ndarray::linalg::general_mat_mul(
            1.0,
            &block_outputs.slice(s![..count, ..]),
            &narrow_values.t(),
            0.0,
            &mut block,
        );
        for (offset, mut row) in block.rows_mut().into_iter().enumerate() {
            let row = row.as_slice_mut().expect("standard layout");
            let own = std::mem::replace(&mut row[map[start + offset]], f32::NEG_INFINITY);
            let margin = own - maximum(row);
            if margin > bound {
                certain += 1;
            } else if margin.is_nan() || margin >= -bound {
                undecided.push(start + offset);
            }
        }
    }
    let targets: Vec<usize> = undecided.iter().map(|key| map[*key]).collect();
    certain + stored(&margins(outputs.select(Axis(0), &undecided).view(), values, &targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    fn exact(outputs: &Array2<f64>, values: &Array2<f64>, map: &[usize]) -> usize {
        stored(&margins(outputs.view(), values.view(), map))
    }

    #[test]
    fn the_count_is_that_of_double_precision() {
        let mut rng = StreamName::new("test").rng();
        let values = draw(Kind::Sphere, 150, 24, &mut rng).unwrap();
        let map: Vec<usize> = (0..200).map(|key| (key * 7) % 150).collect();
        for (noise, scale) in [(0.0, 1.0), (0.3, 1e-30), (0.6, 1e60), (1e9, 1.0)] {
            let outputs =
                (values.select(Axis(0), &map) + draw(Kind::Gaussian, 200, 24, &mut rng).unwrap() * noise) * scale;
            let found = count_stored(outputs.view(), values.view(), &map);
            assert_eq!(found, exact(&outputs, &values, &map), "noise {noise}");
        }
    }

    /// Every margin is far below what single precision can tell apart, half of them on each side of 0.
    #[test]
    fn margins_below_single_precision_are_settled_in_double() {
        let values = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
        let outputs = Array2::from_shape_fn(
            (100, 2),
            |(key, axis)| if axis == 0 { 1.0 } else { 1.0 + 1e-13 * (key as f64 - 49.5) },
        );
        assert_eq!(count_stored(outputs.view(), values.view(), &[0; 100]), 50);
        assert_eq!(count_stored(outputs.view(), values.view(), &[1; 100]), 50);
    }

    /// Values in pairs a billionth apart: single precision gives margins of either sign between the two.
    #[test]
    fn signs_that_single_precision_gets_wrong_are_settled_in_double() {
        let mut rng = StreamName::new("test").rng();
        let base = draw(Kind::Sphere, 60, 24, &mut rng).unwrap();
        let shift = draw(Kind::Sphere, 60, 24, &mut rng).unwrap() * 1e-9;
        let values = ndarray::concatenate(Axis(0), &[base.view(), (&base + &shift).view()]).unwrap();
        let map: Vec<usize> = (0..120).collect();
        let outputs = &values + &(draw(Kind::Gaussian, 120, 24, &mut rng).unwrap() * 0.05);
        let wanted = exact(&outputs, &values, &map);
        assert!((20..100).contains(&wanted), "{wanted}");
        assert_eq!(count_stored(outputs.view(), values.view(), &map), wanted);
    }

    #[test]
    fn outputs_that_are_zero_or_no_numbers_store_nothing() {
        let values = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
        let outputs = ndarray::array![[0.0, 0.0], [f64::NAN, 1.0], [1.0, 0.0]];
        assert_eq!(count_stored(outputs.view(), values.view(), &[0, 0, 0]), 1);
    }
}
