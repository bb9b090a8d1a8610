//! Rotary positional embeddings (Su et al. 2023): dimension i turns together with dimension i + d/2.

use ndarray::{Array2, ArrayViewMut1, Axis, Zip};

const BASE: f64 = 10_000.0;

/// Cosines and sines of every position and pair of dimensions.
#[derive(Debug, Clone)]
pub struct Rotary {
    cosines: Array2<f32>,
    sines: Array2<f32>,
}

impl Rotary {
    /// For positions `0..positions`; an odd last dimension is left as it is.
    pub fn new(dimension: usize, positions: usize) -> Self {
        Self::with_base(BASE, dimension, positions)
    }

    /// With a base of one's own: the slowest pair of dimensions turns by about `1/base` a position.
    pub fn with_base(base: f64, dimension: usize, positions: usize) -> Self {
        let angle =
            |(position, pair): (usize, usize)| position as f64 * base.powf(-2.0 * pair as f64 / dimension as f64);
        let shape = (positions, dimension / 2);
        Self {
            cosines: Array2::from_shape_fn(shape, |index| angle(index).cos() as f32),
            sines: Array2::from_shape_fn(shape, |index| angle(index).sin() as f32),
        }
    }

    /// Turns a vector to its position.
    pub fn turn(&self, vector: ArrayViewMut1<f32>, position: usize) {
        self.by(vector, position, 1.0);
    }

    /// Undoes [`Rotary::turn`]; also its gradient.
    pub fn turn_back(&self, vector: ArrayViewMut1<f32>, position: usize) {
        self.by(vector, position, -1.0);
    }

    fn by(&self, vector: ArrayViewMut1<f32>, position: usize, sign: f32) {
        let half = self.cosines.ncols();
        let (mut first, rest) = vector.split_at(Axis(0), half);
        let (mut second, _) = rest.split_at(Axis(0), half);
        Zip::from(&mut first).and(&mut second).and(self.cosines.row(position)).and(self.sines.row(position)).for_each(
            |first, second, cosine, sine| {
                let (a, b, sine) = (*first, *second, sign * sine);
                *first = a * cosine - b * sine;
                *second = b * cosine + a * sine;
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn products_depend_on_the_distance_alone() {
        let rotary = Rotary::new(4, 12);
        let score = |query: usize, key: usize| {
            let (mut a, mut b) = (array![0.3f32, -1.0, 0.5, 2.0], array![1.0f32, 0.2, -0.7, 0.4]);
            rotary.turn(a.view_mut(), query);
            rotary.turn(b.view_mut(), key);
            a.dot(&b)
        };
        assert!((score(7, 3) - score(11, 7)).abs() < 1e-5);
        assert!((score(7, 3) - score(7, 4)).abs() > 1e-2);
    }

    #[test]
    fn turning_back_undoes() {
        let rotary = Rotary::new(4, 12);
        let mut vector = array![0.3f32, -1.0, 0.5, 2.0];
        rotary.turn(vector.view_mut(), 9);
        rotary.turn_back(vector.view_mut(), 9);
        assert!((vector - array![0.3f32, -1.0, 0.5, 2.0]).iter().all(|error| error.abs() < 1e-6));
    }
}
