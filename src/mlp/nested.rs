//! Outputs of nested MLPs: the MLP of size m is a prefix of any larger one, so a larger size goes on from the next smaller one.

use std::ops::Range;

use ndarray::Array2;

/// Outputs on the keys, for the sizes asked for so far.
pub(super) struct NestedOutputs {
    shape: (usize, usize),
    /// Ascending by size.
    known: Vec<(usize, Array2<f64>)>,
}

impl NestedOutputs {
    pub fn new(shape: (usize, usize)) -> Self {
        Self { shape, known: Vec::new() }
    }

    /// Outputs at a size; `add` adds those of a range of units.
    pub fn at(&mut self, size: usize, add: impl FnOnce(&mut Array2<f64>, Range<usize>)) -> &Array2<f64> {
        let place = self.known.partition_point(|(known, _)| *known < size);
        if self.known.get(place).is_none_or(|(known, _)| *known > size) {
            let before = place.checked_sub(1).map(|before| &self.known[before]);
            let (known, mut outputs) = before.cloned().unwrap_or_else(|| (0, Array2::zeros(self.shape)));
            add(&mut outputs, known..size);
            self.known.insert(place, (size, outputs));
        }
        &self.known[place].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_goes_on_from_the_next_smaller_one_and_is_kept() {
        let mut outputs = NestedOutputs::new((1, 1));
        let mut asked = Vec::new();
        for size in [5, 2, 4, 5, 9, 0] {
            let found = outputs.at(size, |outputs, units| {
                *outputs += units.len() as f64;
                asked.push(units);
            });
            assert_eq!(found[[0, 0]], size as f64);
        }
        assert_eq!(asked, [0..5, 0..2, 2..4, 5..9, 0..0]);
    }
}
