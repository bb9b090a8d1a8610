//! Everything that `factsmith measure` says of a table of values.

use ndarray::Array2;

use super::decodability::{Cores, Decodability, decodability_of};
use super::size_prediction::{Prediction, predictions, size_factor};
use super::survey::Survey;
use super::whitening::Whitening;
use crate::error::Result;
use crate::num::statistics::quantile;
use crate::rng::StreamName;

/// Decodability of a table as it is and whitened, and its geometry.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The values whose `ρ_i` is measured: all, or a sample.
    pub anchors: Vec<usize>,
    /// A certificate for each anchor.
    pub plain: Decodability,
    /// The same for the table whitened in full; `None` when it is all zeros and cannot be whitened.
    pub whitened: Option<Decodability>,
    pub survey: Survey,
    rows: usize,
    dimension: usize,
}

/// Numbers compared that take about two minutes on two cores: rows of the table × dimension × anchors.
const WORK: f64 = 2.5e10;
/// The fewest anchors that say something about the distribution of ρ_i.
const FEWEST_ANCHORS: usize = 256;

/// How many of `rows` values are measured when nothing else is asked for: all where that takes a few minutes.
pub fn usual_anchors(rows: usize, dimension: usize) -> usize {
    let affordable = WORK / (rows as f64 * dimension as f64);
    (affordable as usize).max(FEWEST_ANCHORS).min(rows)
}

/// `count` of `rows` values, ascending, drawn with a seed.
pub fn draw_anchors(rows: usize, count: usize, seed: u64) -> Vec<usize> {
    if count >= rows {
        return (0..rows).collect();
    }
    let mut rng = StreamName::new("anchors of a measurement").with(rows as u64).with(count as u64).with(seed).rng();
    let mut anchors = rand::seq::index::sample(&mut rng, rows, count).into_vec();
    anchors.sort_unstable();
    anchors
}

impl Measurement {
    /// Measures the `ρ_i` of some values among all, on all threads of the present pool.
    ///
    /// ```
    /// use factsmith::facts::embeddings::{Kind, draw};
    /// use factsmith::facts::measurement::Measurement;
    /// use factsmith::rng::StreamName;
    /// let values = draw(Kind::Sphere, 64, 16, &mut StreamName::new("doc").rng()).unwrap();
    /// let found = Measurement::of(&values, &(0..64).collect::<Vec<_>>()).unwrap();
    /// assert!(found.is_complete() && found.plain.rho > 0.4);
    /// ```
    ///
    /// # Errors
    /// When the table has fewer than two rows or is not finite, or an anchor is not there.
    pub fn of(values: &Array2<f64>, anchors: &[usize]) -> Result<Self> {
        let plain = decodability_of(values, anchors, Cores::All)?;
        let whitened = match values.iter().all(|number| *number == 0.0) {
            true => None,
            false => Some(decodability_of(&Whitening::fit(values, 1.0)?.apply(values), anchors, Cores::All)?),
        };
        let survey = Survey::of(values)?;
        Ok(Self { anchors: anchors.to_vec(), plain, whitened, survey, rows: values.nrows(), dimension: values.ncols() })
    }

    /// Whether every value was measured, so that ρ is that of the table and not an upper bound.
    pub fn is_complete(&self) -> bool {
        self.anchors.len() == self.rows
    }

    /// The `ρ_i`, each the margin that an output really achieves.
    pub fn rho(&self) -> Vec<f64> {
        margins(&self.plain)
    }

    /// The same after whitening.
    pub fn whitened_rho(&self) -> Option<Vec<f64>> {
        self.whitened.as_ref().map(margins)
    }

    /// Places of the anchors with the smallest `ρ_i`, the smallest first.
    pub fn weakest(&self, count: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.anchors.len()).collect();
        let rho = |place: &usize| self.plain.certificates[*place].lower;
        places.sort_by(|a, b| rho(a).total_cmp(&rho(b)));
        places.truncate(count);
        places
    }

    /// The smallest `ρ_i` of the values that can be decoded: ρ where all can.
    ///
    /// Taking the others out of the table changes no `ρ_i` for the worse.
    pub fn decodable_rho(&self) -> Option<f64> {
        smallest_positive(&self.plain)
    }

    /// The same after whitening.
    pub fn whitened_decodable_rho(&self) -> Option<f64> {
        smallest_positive(self.whitened.as_ref()?)
    }

    /// Predicted change of the size of a JL construction by whitening, as a factor; `None` when nothing can be decoded.
    pub fn whitening_factor(&self) -> Option<f64> {
        Some(size_factor(self.decodable_rho()?, self.whitened_decodable_rho()?))
    }

    /// Values that an MLP can be built for: all but the measured ones that cannot be decoded.
    pub fn decodable(&self) -> usize {
        self.rows - self.plain.undecodable()
    }

    /// Predicted sizes of an MLP that stores one fact per decodable value.
    pub fn predictions(&self) -> Vec<Prediction> {
        self.predictions_at(self.decodable_rho())
    }

    /// The same for an MLP built on whitened values.
    pub fn whitened_predictions(&self) -> Vec<Prediction> {
        self.predictions_at(self.whitened_decodable_rho())
    }

    fn predictions_at(&self, rho: Option<f64>) -> Vec<Prediction> {
        rho.map_or_else(Vec::new, |rho| predictions(self.decodable(), self.dimension, rho))
    }
}

fn smallest_positive(found: &Decodability) -> Option<f64> {
    let decodable = found.certificates.iter().filter(|certificate| !certificate.is_zero() && certificate.lower > 0.0);
    decodable.map(|certificate| certificate.lower).min_by(f64::total_cmp)
}

fn margins(found: &Decodability) -> Vec<f64> {
    found.certificates.iter().map(|certificate| certificate.lower).collect()
}

/// The shares of values at which the distribution of `ρ_i` is told.
pub const SHARES: [f64; 7] = [0.0, 0.01, 0.1, 0.5, 0.9, 0.99, 1.0];

/// The distribution of `ρ_i`: its quantiles at [`SHARES`].
pub fn quantiles(rho: &[f64]) -> [f64; 7] {
    SHARES.map(|share| quantile(rho, share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::conditioning::log_affine_spectrum;
    use crate::facts::embeddings::{Kind, draw};

    #[test]
    fn a_sample_of_anchors_bounds_rho_from_above_and_whitening_helps_a_stretched_table() {
        let sphere = draw(Kind::Sphere, 120, 8, &mut StreamName::new("test").rng()).unwrap();
        let values = log_affine_spectrum(&sphere, 30.0).unwrap();
        let all = Measurement::of(&values, &draw_anchors(120, 120, 0)).unwrap();
        let some = Measurement::of(&values, &draw_anchors(120, 20, 0)).unwrap();
        assert!(all.is_complete() && !some.is_complete());
        assert!(some.plain.rho >= all.plain.rho - 1e-12);
        let factor = all.whitening_factor().unwrap();
        assert!(factor < 0.5, "{factor}");
        assert_eq!((all.decodable(), all.decodable_rho()), (120, Some(all.plain.rho)));
        assert_eq!(all.weakest(3)[0], all.plain.weakest);
        let rho = all.rho();
        assert_eq!(quantiles(&rho)[0], all.plain.rho);
        assert!(quantiles(&rho).is_sorted());
    }

    #[test]
    fn anchors_are_all_where_that_is_cheap() {
        assert_eq!(usual_anchors(4096, 128), 4096);
        assert!(usual_anchors(16_384, 1024) < 2000);
        assert_eq!(usual_anchors(10_000_000, 4096), 256);
        assert_eq!(draw_anchors(10, 20, 1), (0..10).collect::<Vec<_>>());
        assert_ne!(draw_anchors(1000, 20, 1), draw_anchors(1000, 20, 2));
    }

    #[test]
    fn sizes_are_predicted_for_the_values_that_can_be_decoded() {
        let mut values = draw(Kind::Sphere, 60, 8, &mut StreamName::new("test").rng()).unwrap();
        let without = Measurement::of(&values, &draw_anchors(60, 60, 0)).unwrap();
        values.push_row(ndarray::Array1::zeros(8).view()).unwrap();
        let found = Measurement::of(&values, &draw_anchors(61, 61, 0)).unwrap();
        assert_eq!((found.plain.rho, found.decodable()), (0.0, 60));
        assert!(found.decodable_rho().unwrap() <= without.plain.rho + 1e-12);
        assert_eq!(found.predictions()[1], without.predictions()[1]);
        assert!(found.whitening_factor().is_some());
    }

    #[test]
    fn a_table_of_zeros_is_measured_and_not_whitened() {
        let found = Measurement::of(&Array2::zeros((3, 2)), &[0, 1, 2]).unwrap();
        assert_eq!((found.plain.rho, found.plain.undecodable()), (0.0, 3));
        assert!(found.whitened.is_none() && found.whitening_factor().is_none() && found.predictions().is_empty());
    }
}
