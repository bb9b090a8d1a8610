//! Where each part of a language model lies among its parameters: matrices, which decay, before vectors.

use std::ops::Range;

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};

use crate::mlp::trainable::{matrix, matrix_mut};

/// The trained parts, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    QueryIn,
    QueryOut,
    KeyIn,
    KeyOut,
    RouterIn,
    RouterOut,
    LowRankIn,
    LowRankOut,
    QueryGain,
    QueryShift,
    QueryInBias,
    QueryOutBias,
    KeyGain,
    KeyShift,
    KeyInBias,
    KeyOutBias,
    RouterInBias,
    RouterOutBias,
    InputGain,
    OutputGain,
}

const PARTS: [Part; 20] = [
    Part::QueryIn,
    Part::QueryOut,
    Part::KeyIn,
    Part::KeyOut,
    Part::RouterIn,
    Part::RouterOut,
    Part::LowRankIn,
    Part::LowRankOut,
    Part::QueryGain,
    Part::QueryShift,
    Part::QueryInBias,
    Part::QueryOutBias,
    Part::KeyGain,
    Part::KeyShift,
    Part::KeyInBias,
    Part::KeyOutBias,
    Part::RouterInBias,
    Part::RouterOutBias,
    Part::InputGain,
    Part::OutputGain,
];

/// The shapes and places of all parts.
#[derive(Debug, Clone)]
pub struct Layout {
    parts: Vec<(Range<usize>, usize, usize)>,
}

impl Layout {
    /// For embeddings of a dimension and a language expert of a rank.
    pub fn new(dimension: usize, rank: usize) -> Self {
        let mut start = 0;
        let place = |part: &Part| {
            let (rows, columns) = shape(*part, dimension, rank);
            let range = start..start + rows * columns;
            start = range.end;
            (range, rows, columns)
        };
        Self { parts: PARTS.iter().map(place).collect() }
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.range(Part::OutputGain).end
    }

    /// Number of parameters in matrices, which are the first ones.
    pub fn matrices(&self) -> usize {
        self.range(Part::QueryGain).start
    }

    pub fn range(&self, part: Part) -> Range<usize> {
        self.parts[part as usize].0.clone()
    }

    pub fn matrix<'a>(&self, parameters: &'a [f32], part: Part) -> ArrayView2<'a, f32> {
        let (range, rows, columns) = &self.parts[part as usize];
        matrix(&parameters[range.clone()], *rows, *columns)
    }

    pub fn matrix_mut<'a>(&self, parameters: &'a mut [f32], part: Part) -> ArrayViewMut2<'a, f32> {
        let (range, rows, columns) = &self.parts[part as usize];
        matrix_mut(&mut parameters[range.clone()], *rows, *columns)
    }

    pub fn vector<'a>(&self, parameters: &'a [f32], part: Part) -> ArrayView1<'a, f32> {
        ArrayView1::from(&parameters[self.range(part)])
    }

    pub fn vector_mut<'a>(&self, parameters: &'a mut [f32], part: Part) -> ArrayViewMut1<'a, f32> {
        ArrayViewMut1::from(&mut parameters[self.range(part)])
    }
}

fn shape(part: Part, dimension: usize, rank: usize) -> (usize, usize) {
    match part {
        Part::QueryIn | Part::QueryOut | Part::KeyIn | Part::KeyOut | Part::RouterIn => (dimension, dimension),
        Part::LowRankIn => (dimension, rank),
        Part::LowRankOut => (rank, dimension),
        Part::RouterOutBias => (1, 1),
        _ => (1, dimension),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_the_paper_has_its_number_of_parameters() {
        let layout = Layout::new(256, 8);
        assert_eq!(layout.parameters(), 334_849);
        for (place, part) in PARTS.iter().enumerate() {
            assert_eq!(*part as usize, place, "the list is in the order of the parts");
        }
        assert_eq!(layout.matrices(), 5 * 256 * 256 + 256 + 2 * 256 * 8);
    }
}
