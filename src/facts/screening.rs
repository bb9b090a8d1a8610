//! Counting stored facts in single precision, with double precision for the facts that single precision cannot decide.
//!
//! A score `⟨g, v⟩` of an output and a value of norm at most 1 is off by at most `(d + 4)·2⁻²⁴·‖g‖` when both are rounded to
//! single precision and summed there (Higham, Accuracy and Stability of Numerical Algorithms, §3.1). A margin beyond twice
//! that has its sign; the others, few, are computed again in double precision. The answer is that of double precision.
//!
//! Values are taken in blocks, and a key leaves at the first block that holds a surely larger score than its own: where few
//! facts are stored most of the products are never made.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::decoding::{margins, stored};
use crate::num::products::general_mat_mul;
use crate::num::rounding::SINGLE;
use crate::num::softmax::maximum;

/// Keys and values of a block of scores.
const KEYS: usize = 512;
const VALUES: usize = 512;

/// Lengths whose products stay far from the largest and the smallest numbers.
pub const USUAL: std::ops::Range<f64> = 1e-50..1e50;

/// What single precision says of some facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screened {
    /// Facts whose margin is positive for sure.
    pub stored: usize,
    /// The facts, by their keys, whose margin may have either sign.
    pub undecided: Vec<usize>,
}

/// Values in single precision, scaled so that the longest has length 1: that changes no sign of a margin.
pub struct Screen<'a> {
    exact: ArrayView2<'a, f64>,
    values: Array2<f32>,
}

impl<'a> Screen<'a> {
    /// For values n×d. Where the longest of them is very long or short nothing is decided: double precision may overflow.
    pub fn new(values: ArrayView2<'a, f64>) -> Self {
        let largest = values.rows().into_iter().map(|row| row.dot(&row)).fold(0.0f64, f64::max).sqrt();
        let largest = if USUAL.contains(&largest) { largest } else { f64::NAN };
        Self { exact: values, values: values.mapv(|entry| (entry / largest) as f32) }
    }

    /// Number of facts with a positive margin; `outputs` (F×d) and `map` (F) as for [`margins`].
    pub fn count_stored(&self, outputs: ArrayView2<f64>, map: &[usize]) -> usize {
        let mut narrow = Array2::<f32>::zeros(outputs.dim());
        for (row, mut narrow) in outputs.rows().into_iter().zip(narrow.rows_mut()) {
            let norm = row.dot(&row).sqrt();
            narrow.zip_mut_with(&row, |to, from| *to = (from / norm) as f32);
        }
        let found = self.screen(narrow.view(), &vec![0.0; map.len()], map);
        let targets: Vec<usize> = found.undecided.iter().map(|key| map[*key]).collect();
        let open = outputs.select(Axis(0), &found.undecided);
        found.stored + stored(&margins(open.view(), self.exact, &targets))
    }

    /// Screens outputs (F×d) that are off from the exact ones by vectors of at most the lengths `errors` (F). `map` (F) names
    /// the value of each.
    pub fn screen(&self, outputs: ArrayView2<f32>, errors: &[f32], map: &[usize]) -> Screened {
        let mut found = Screened::default();
        for start in (0..map.len()).step_by(KEYS) {
            let keys = start..(start + KEYS).min(map.len());
            let block = outputs.slice(s![keys.clone(), ..]);
            self.screen_block(block, &errors[keys.clone()], &map[keys], start, &mut found);
        }
        found
    }

    fn screen_block(
        &self,
        outputs: ArrayView2<f32>,
        errors: &[f32],
        map: &[usize],
        first: usize,
        found: &mut Screened,
    ) {
        // The bound is rounded too: 1 % more than it comes to.
        let share = 1.01 * (outputs.ncols() + 4) as f32 * SINGLE as f32;
        let mut outputs = outputs.to_owned();
        let mut open = Vec::with_capacity(map.len());
        for ((row, error), (offset, &target)) in outputs.rows().into_iter().zip(errors).zip(map.iter().enumerate()) {
            let own = row.dot(&self.values.row(target));
            let bound = 2.0 * (error + share * row.dot(&row).sqrt());
            open.push(Open { key: first + offset, target, own, rival: f32::NEG_INFINITY, bound });
        }
        let mut scores = Array2::<f32>::zeros((map.len(), VALUES));
        for start in (0..self.values.nrows()).step_by(VALUES) {
            let values = self.values.slice(s![start..(start + VALUES).min(self.values.nrows()), ..]);
            let mut scores = scores.slice_mut(s![..open.len(), ..values.nrows()]);
            general_mat_mul(1.0, &outputs.slice(s![..open.len(), ..]), &values.t(), 0.0, &mut scores);
            for (fact, mut row) in open.iter_mut().zip(scores.rows_mut()) {
                if let Some(own) = fact.target.checked_sub(start).filter(|own| *own < row.len()) {
                    row[own] = f32::NEG_INFINITY;
                }
                fact.rival = fact.rival.max(maximum(row.as_slice().expect("rows of a table of its own")));
            }
            keep(&mut open, &mut outputs, |fact| !fact.is_lost());
        }
        found.stored += open.iter().filter(|fact| fact.is_stored()).count();
        found.undecided.extend(open.iter().filter(|fact| !fact.is_stored()).map(|fact| fact.key));
    }
}

/// A fact that no score seen so far has decided against. What is not a number decides nothing.
struct Open {
    key: usize,
    target: usize,
    own: f32,
    rival: f32,
    bound: f32,
}

impl Open {
    fn is_lost(&self) -> bool {
        self.rival - self.own > self.bound
    }

    fn is_stored(&self) -> bool {
        self.own - self.rival > self.bound
    }
}

/// Keeps some facts, in their order, with their rows.
fn keep(open: &mut Vec<Open>, rows: &mut Array2<f32>, mut is_kept: impl FnMut(&Open) -> bool) {
    let (mut row, mut kept) = (0, 0);
    open.retain(|fact| {
        let keeps = is_kept(fact);
        if keeps {
            if kept < row {
                let (mut before, after) = rows.view_mut().split_at(Axis(0), row);
                before.row_mut(kept).assign(&after.row(0));
            }
            kept += 1;
        }
        row += 1;
        keeps
    });
}

/// Number of facts with a positive margin: that of [`margins`], without its memory, and at half its cost or less where few
/// are undecided.
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
    Screen::new(values).count_stored(outputs, map)
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
        // Three blocks of values and three of keys, the last of each smaller.
        let values = draw(Kind::Sphere, 2 * VALUES + 90, 24, &mut rng).unwrap();
        let map: Vec<usize> = (0..2 * KEYS + 100).map(|key| (key * 7) % values.nrows()).collect();
        for (noise, scale) in [(0.0, 1.0), (0.3, 1e-30), (0.6, 1e60), (1e9, 1.0)] {
            let drawn = draw(Kind::Gaussian, map.len(), 24, &mut rng).unwrap();
            let outputs = (values.select(Axis(0), &map) + drawn * noise) * scale;
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
    fn values_beyond_the_usual_lengths_are_left_to_double_precision() {
        let outputs = ndarray::array![[1.0, 0.0], [0.9, 1.0]];
        for scale in [1e-162, 1e160] {
            let values = ndarray::array![[1.0, 0.0], [0.0, 1.0]] * scale;
            let found = Screen::new(values.view()).screen(outputs.mapv(|x| x as f32).view(), &[0.0; 2], &[0, 1]);
            assert_eq!(found, Screened { stored: 0, undecided: vec![0, 1] });
            assert_eq!(count_stored(outputs.view(), values.view(), &[0, 1]), 2);
        }
    }

    #[test]
    fn outputs_that_are_zero_or_no_numbers_store_nothing() {
        let values = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
        let outputs = ndarray::array![[0.0, 0.0], [f64::NAN, 1.0], [1.0, 0.0]];
        assert_eq!(count_stored(outputs.view(), values.view(), &[0, 0, 0]), 1);
    }
}
