//! The Johnson–Lindenstrauss decoder: codes and outputs through one random matrix (2512.00207, §4.2, algorithm 4).
//!
//! Draw `D` (d×m) with independent standard normal entries and code value i as `c_i = Dᵀu*_i`. Decoding works when
//! `⟨v_i, D·c_i⟩ > ⟨v_j, D·c_i⟩` for all j ≠ i, which `m = O(ρ⁻² log n)` makes likely. Scores only need the d×d matrix
//! `D·Dᵀ`, so trying another m costs the same whatever m is.

use ndarray::{Array2, ArrayView2, s};
use rand_distr::{Distribution, StandardNormal};

use crate::facts::decoding;
use crate::num::products;
use crate::rng::{Rng, StreamName};

/// A sequence of random columns: the decoder of size m is its first m columns, so larger decoders contain smaller ones.
#[derive(Debug, Clone)]
pub struct NestedDecoder {
    rng: Rng,
    /// One column of `D` per row.
    columns: Vec<f64>,
    dimension: usize,
    /// `D·Dᵀ` of the first m columns for the sizes asked for so far.
    products: Vec<(usize, Array2<f64>)>,
}

impl NestedDecoder {
    /// Columns in `dimension` dimensions from a stream of their own.
    pub fn new(dimension: usize, name: StreamName) -> Self {
        Self {
            rng: name.rng(),
            columns: Vec::new(),
            dimension,
            products: vec![(0, Array2::zeros((dimension, dimension)))],
        }
    }

    fn draw_up_to(&mut self, size: usize) {
        while self.columns.len() < size * self.dimension {
            self.columns.push(StandardNormal.sample(&mut self.rng));
        }
    }

    /// `D` of size m: d×m.
    pub fn matrix(&mut self, size: usize) -> Array2<f64> {
        self.draw_up_to(size);
        let rows = ArrayView2::from_shape((size, self.dimension), &self.columns[..size * self.dimension]);
        rows.expect("whole columns").t().to_owned()
    }

    /// `D·Dᵀ` of size m, from the nearest smaller one that is known.
    fn product(&mut self, size: usize) -> Array2<f64> {
        self.draw_up_to(size);
        let place = self.products.partition_point(|(known, _)| *known <= size);
        let (known, mut product) = self.products[place - 1].clone();
        if known < size {
            let all = ArrayView2::from_shape((size, self.dimension), &self.columns[..size * self.dimension]);
            let new = all.expect("whole columns");
            let new = new.slice(s![known.., ..]);
            product += &products::product(&new.t(), &new);
            self.products.insert(place, (size, product.clone()));
        }
        product
    }

    /// Margin of every value under the decoder of size m: `⟨v_i − v_j, D·Dᵀ·u_i⟩` minimised over j. `values`, `outputs` n×d.
    pub fn margins(&mut self, values: &Array2<f64>, outputs: &Array2<f64>, size: usize) -> Vec<f64> {
        let decoded = products::product(outputs, &self.product(size));
        let own: Vec<usize> = (0..values.nrows()).collect();
        decoding::margins(decoded.view(), values.view(), &own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decodability::{Cores, decodability};
    use crate::facts::embeddings::{Kind, draw};

    #[test]
    fn the_shortcut_gives_the_margins_of_the_definition() {
        let values = draw(Kind::Sphere, 40, 8, &mut StreamName::new("test").rng()).unwrap();
        let outputs = decodability(&values, Cores::One).unwrap().outputs;
        let mut decoder = NestedDecoder::new(8, StreamName::new("decoder"));
        for size in [30, 5, 17, 30] {
            let matrix = decoder.matrix(size);
            let codes = outputs.dot(&matrix);
            let scores = codes.dot(&matrix.t()).dot(&values.t());
            let found = decoder.margins(&values, &outputs, size);
            for (value, margin) in found.iter().enumerate() {
                let others = (0..40).filter(|other| *other != value).map(|other| scores[[value, other]]);
                let plain = scores[[value, value]] - others.fold(f64::NEG_INFINITY, f64::max);
                assert!((margin - plain).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn decoders_are_nested_and_large_ones_decode() {
        let values = draw(Kind::Sphere, 64, 16, &mut StreamName::new("test").rng()).unwrap();
        let outputs = decodability(&values, Cores::One).unwrap().outputs;
        let mut decoder = NestedDecoder::new(16, StreamName::new("decoder"));
        assert_eq!(decoder.matrix(9).slice(s![.., ..4]), decoder.matrix(4));
        assert!(decoder.margins(&values, &outputs, 2).iter().any(|margin| *margin <= 0.0));
        assert!(decoder.margins(&values, &outputs, 400).iter().all(|margin| *margin > 0.0));
    }
}
