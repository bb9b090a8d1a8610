//! What the geometry of a table says: directions in use, rows that are close, equal or zero.

use std::collections::HashMap;

use ndarray::{Array2, ArrayView1, s};
use rayon::prelude::*;

use super::embeddings::normalise_rows;
use super::files::check_table;
use crate::error::Result;
use crate::num::linalg::singular_values;
use crate::num::products::product;
use crate::num::statistics::median;

/// Rows compared per product: keeps the matrix of cosines small.
const BLOCK: usize = 256;
/// Two rows are close when their distance is below this share of the median distance of a row to its nearest other one.
pub const CLOSE: f64 = 0.01;

/// The geometry of a table (n×d).
#[derive(Debug, Clone)]
pub struct Survey {
    pub spectrum: Spectrum,
    /// Largest `|cos|` over pairs of rows, 0 for one row, and a pair that has it.
    pub coherence: f64,
    pub coherent: Option<(usize, usize)>,
    /// The nearest other row of each row.
    pub nearest: Vec<Neighbour>,
    /// Rows that equal an earlier one, with the first of these.
    pub equal: Vec<(usize, usize)>,
    /// Pairs that are close and not equal, the closest first, with their distance.
    pub close: Vec<(usize, usize, f64)>,
    pub zero: Vec<usize>,
}

/// Another row and its distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    pub row: usize,
    pub distance: f64,
}

/// Singular values, summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Singular values, descending.
    pub values: Vec<f64>,
    /// Number of directions that the rows span, to working precision.
    pub rank: usize,
}

impl Survey {
    /// Surveys a table on all threads of the present pool.
    ///
    /// ```
    /// use factsmith::facts::survey::Survey;
    /// use ndarray::array;
    /// let found = Survey::of(&array![[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 3.1]]).unwrap();
    /// assert_eq!(found.equal, [(2, 0)]);
    /// assert_eq!((found.coherence, found.coherent), (1.0, Some((0, 2))));
    /// assert_eq!(found.spectrum.rank, 2);
    /// ```
    ///
    /// # Errors
    /// When the table is empty or not finite.
    pub fn of(table: &Array2<f64>) -> Result<Self> {
        check_table("the table", table.view())?;
        let spectrum = Spectrum::of(table)?;
        let comparison = Comparison::new(table);
        let starts: Vec<usize> = (0..table.nrows()).step_by(BLOCK).collect();
        let blocks: Vec<Vec<(Neighbour, Neighbour)>> =
            starts.par_iter().map(|start| comparison.block(*start)).collect();
        let (mut aligned, mut nearest) = (Vec::new(), Vec::new());
        for (most_aligned, closest) in blocks.into_iter().flatten() {
            aligned.push(most_aligned);
            nearest.push(closest);
        }
        let first_of_all = |best: Option<usize>, row: usize| match best {
            Some(best) if aligned[best].distance >= aligned[row].distance => Some(best),
            _ => Some(row),
        };
        let most = (0..aligned.len()).fold(None, first_of_all).filter(|_| table.nrows() > 1);
        Ok(Self {
            spectrum,
            coherence: most.map_or(0.0, |row| aligned[row].distance.min(1.0)),
            coherent: most.map(|row| (row, aligned[row].row)),
            equal: equal_rows(table),
            close: close_pairs(&nearest),
            nearest,
            zero: (0..table.nrows()).filter(|row| table.row(*row).iter().all(|x| *x == 0.0)).collect(),
        })
    }
}

impl Survey {
    /// Whether an encoder cannot tell these keys apart: equal keys give equal rows of its linear system, a zero key a zero row.
    pub fn is_singular_for_an_encoder(&self) -> bool {
        !self.equal.is_empty() || !self.zero.is_empty()
    }
}

impl Spectrum {
    fn of(table: &Array2<f64>) -> Result<Self> {
        let values = singular_values(table)?.to_vec();
        let limit = f64::EPSILON * table.nrows().max(table.ncols()) as f64 * values[0];
        let rank = values.iter().filter(|value| **value > limit).count();
        Ok(Self { values, rank })
    }

    /// Largest singular value over smallest; infinite for a table without full rank.
    pub fn condition_number(&self) -> f64 {
        if self.rank < self.values.len() { f64::INFINITY } else { self.values[0] / self.values[self.values.len() - 1] }
    }

    /// Squared singular values as shares of their sum.
    fn shares(&self) -> Vec<f64> {
        let relative: Vec<f64> = self.values.iter().map(|value| (value / self.values[0]).powi(2)).collect();
        let total: f64 = relative.iter().sum();
        relative.into_iter().map(|square| square / total).collect()
    }

    /// Share of the squared norms that lies along the first direction.
    pub fn first_share(&self) -> f64 {
        self.shares()[0]
    }

    /// Number of directions that hold a share of the squared norms.
    pub fn directions_for(&self, share: f64) -> usize {
        let mut left = share;
        let is_short = |part: &f64| {
            left -= part;
            left > 0.0
        };
        (self.shares().into_iter().take_while(is_short).count() + 1).min(self.values.len())
    }

    /// `(Σσ²)²/Σσ⁴`: how many equally strong directions would be as concentrated.
    pub fn effective_dimension(&self) -> f64 {
        self.shares().iter().map(|share| share * share).sum::<f64>().recip()
    }
}

/// Distances from products, and from differences where it matters.
struct Comparison {
    /// Up to a power of two as given, so that differences of close rows are exact.
    scaled: Array2<f64>,
    scale: f64,
    unit: Array2<f64>,
    norms: Vec<f64>,
}

impl Comparison {
    fn new(table: &Array2<f64>) -> Self {
        let largest = table.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        // Within the range of exponents whose inverse is a number too.
        let exponent = if largest > 0.0 { largest.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
        let scale = exponent.exp2();
        let scaled = table.mapv(|x| x / scale).as_standard_layout().into_owned();
        let mut unit = scaled.clone();
        normalise_rows(&mut unit);
        let norms = scaled.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
        Self { scaled, scale, unit, norms }
    }

    /// For each row of a block the other row with the largest `|cos|`, which stands for the distance, and the nearest.
    fn block(&self, start: usize) -> Vec<(Neighbour, Neighbour)> {
        let stop = (start + BLOCK).min(self.unit.nrows());
        let cosines = product(&self.unit.slice(s![start..stop, ..]), &self.unit.t());
        (start..stop)
            .zip(cosines.rows())
            .map(|(row, cosines)| (most_aligned(row, cosines), self.nearest(row, cosines)))
            .collect()
    }

    fn nearest(&self, row: usize, cosines: ArrayView1<f64>) -> Neighbour {
        let squared = |other: usize, cosine: f64| {
            let (own, its) = (self.norms[row], self.norms[other]);
            own * own + its * its - 2.0 * own * its * cosine
        };
        let others = || cosines.iter().enumerate().filter(|(other, _)| *other != row);
        let smallest = others().map(|(other, cosine)| squared(other, *cosine)).fold(f64::INFINITY, f64::min);
        // Products lose the digits of small distances; those that may be the smallest are computed from differences.
        let doubt = |other: usize| 1e-13 * (self.norms[row].powi(2) + self.norms[other].powi(2));
        let mut best = Neighbour { row: usize::from(row == 0), distance: f64::INFINITY };
        for (other, cosine) in others() {
            if squared(other, *cosine) <= smallest + doubt(other) {
                let difference = &self.scaled.row(row) - &self.scaled.row(other);
                let distance = difference.dot(&difference).sqrt() * self.scale;
                if distance < best.distance {
                    best = Neighbour { row: other, distance };
                }
                if distance == 0.0 {
                    break;
                }
            }
        }
        best
    }
}

fn most_aligned(row: usize, cosines: ArrayView1<f64>) -> Neighbour {
    let mut best = Neighbour { row: usize::from(row == 0), distance: -1.0 };
    for (other, cosine) in cosines.iter().enumerate() {
        if other != row && cosine.abs() > best.distance {
            best = Neighbour { row: other, distance: cosine.abs() };
        }
    }
    best
}

/// Rows that are equal to an earlier one, each with the first that it is equal to.
pub(super) fn equal_rows(table: &Array2<f64>) -> Vec<(usize, usize)> {
    let mut first: HashMap<blake3::Hash, usize> = HashMap::new();
    let mut equal = Vec::new();
    for (number, row) in table.rows().into_iter().enumerate() {
        let mut hasher = blake3::Hasher::new();
        for entry in row {
            // Both zeros count as one number.
            hasher.update(&(entry + 0.0).to_bits().to_le_bytes());
        }
        let twin = *first.entry(hasher.finalize()).or_insert(number);
        if twin != number {
            equal.push((number, twin));
        }
    }
    equal
}

fn close_pairs(nearest: &[Neighbour]) -> Vec<(usize, usize, f64)> {
    let distances: Vec<f64> = nearest.iter().map(|neighbour| neighbour.distance).collect();
    let limit = CLOSE * median(&distances);
    let mut close: Vec<(usize, usize, f64)> = nearest
        .iter()
        .enumerate()
        .filter(|(_, neighbour)| neighbour.distance > 0.0 && neighbour.distance < limit)
        .map(|(row, neighbour)| (row.min(neighbour.row), row.max(neighbour.row), neighbour.distance))
        .collect();
    close.sort_by(|a, b| a.2.total_cmp(&b.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    close.dedup_by_key(|pair| (pair.0, pair.1));
    close
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::geometry::{coherence, condition_number};
    use crate::rng::StreamName;
    use ndarray::array;

    fn table(count: usize) -> Array2<f64> {
        draw(Kind::Gaussian, count, 8, &mut StreamName::new("test").rng()).unwrap()
    }

    #[test]
    fn the_survey_agrees_with_the_definitions() {
        let table = table(600);
        let found = Survey::of(&table).unwrap();
        assert!((found.coherence - coherence(&table)).abs() < 1e-14);
        let (one, other) = found.coherent.unwrap();
        let cosine = table.row(one).dot(&table.row(other)).abs();
        let norms = (table.row(one).dot(&table.row(one)) * table.row(other).dot(&table.row(other))).sqrt();
        assert!((cosine / norms - found.coherence).abs() < 1e-14);
        assert!((found.spectrum.condition_number() - condition_number(&table).unwrap()).abs() < 1e-12);
        for row in [0, 255, 256, 599] {
            let distance = |other: &usize| (&table.row(row) - &table.row(*other)).mapv(|x| x * x).sum().sqrt();
            let nearest = (0..600).filter(|other| *other != row).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            assert_eq!(Some(found.nearest[row].row), nearest);
            assert!((found.nearest[row].distance - distance(&nearest.unwrap())).abs() < 1e-14);
        }
    }

    #[test]
    fn equal_close_and_zero_rows_are_found_far_from_the_origin_and_at_any_scale() {
        for (scale, shift) in [(1.0, 0.0), (1e-200, 0.0), (1e200, 0.0), (1.0, 1e6)] {
            let mut table = (table(300) + shift) * scale;
            let (twin, near) = (table.row(40).to_owned(), table.row(7).to_owned());
            table.row_mut(200).assign(&twin);
            table.row_mut(250).assign(&near);
            table[[250, 3]] += 2f64.powi(-10) * scale;
            table.row_mut(100).fill(0.0);
            let found = Survey::of(&table).unwrap();
            assert_eq!((found.equal, found.zero), (vec![(200, 40)], vec![100]), "{scale} {shift}");
            let pairs: Vec<(usize, usize)> = found.close.iter().map(|pair| (pair.0, pair.1)).collect();
            assert_eq!(pairs, [(7, 250)], "{scale} {shift}");
            assert!((found.close[0].2 / scale * 1024.0 - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn spectra_are_summed_up() {
        let spectrum = Survey::of(&array![[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).unwrap().spectrum;
        assert_eq!((spectrum.rank, spectrum.condition_number()), (2, 3.0));
        assert!((spectrum.first_share() - 0.9).abs() < 1e-15);
        assert_eq!((spectrum.directions_for(0.85), spectrum.directions_for(0.95)), (1, 2));
        assert!((spectrum.effective_dimension() - 100.0 / 82.0).abs() < 1e-14);
        let flat = Survey::of(&array![[1.0, 1.0], [2.0, 2.0], [0.5, 0.5]]).unwrap().spectrum;
        assert_eq!((flat.rank, flat.condition_number()), (1, f64::INFINITY));
    }

    #[test]
    fn a_single_row_has_no_pair() {
        let found = Survey::of(&array![[1.0, 2.0]]).unwrap();
        assert_eq!((found.coherence, found.coherent, found.close.len()), (0.0, None, 0));
    }
}
