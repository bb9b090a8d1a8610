//! Hebbian MLPs: random bilinear features and a readout in closed form (2607.10034).
//!
//! Features `φ(x) = s·(A₀·x) ⊙ (A₁·x)` with `A₀, A₁` (m×d) standard normal and `s = 1/√m`; `g(x) = W·φ(x)`. With `Φ` (F×m) the
//! features of the keys and `V_f` (F×d) the values in key order, the readout `W` (d×m) is
//! - unwhitened: `W = V_fᵀΦ/F`, the sum of outer products;
//! - whitened: `Wᵀ = (ΦᵀΦ/F + λI)⁻¹ΦᵀV_f/F`, ridge regression, or the same from the F×F side when m > F.
//!
//! Keys are taken in blocks, so that memory does not grow with F·m, and Gram matrices are made as lower triangles.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::gated::{Activation, GatedMlp};
use super::nested::NestedOutputs;
use crate::error::{Error, Result};
use crate::facts::embeddings::gaussian;
use crate::facts::fact_set::FactSet;
use crate::facts::screening::count_stored;
use crate::num::factor::{Factor, add_gram};
use crate::num::products::{general_mat_mul, product};
use crate::rng::{Rng, StreamName};

/// The ridge λ of the released experiments.
pub const RIDGE: f64 = 1e-6;

/// Keys handled at once, and units: a block of features stays in cache.
const BLOCK: usize = 256;
const UNITS: usize = 512;

/// Bilinear features `φ(x) = scale·(first·x) ⊙ (second·x)`: `first` and `second` are m×d.
#[derive(Debug, Clone)]
pub struct Features {
    pub first: Array2<f64>,
    pub second: Array2<f64>,
    pub scale: f64,
}

impl Features {
    /// `size` random features, `s = 1/√m`. Unit r takes the draws after those of unit r − 1: features are nested.
    pub fn random(size: usize, dimension: usize, rng: &mut Rng) -> Self {
        let both = gaussian((size, 2 * dimension), rng);
        Self {
            first: both.slice(s![.., ..dimension]).to_owned(),
            second: both.slice(s![.., dimension..]).to_owned(),
            scale: 1.0 / (size as f64).sqrt(),
        }
    }

    /// Number of features m.
    pub fn size(&self) -> usize {
        self.first.nrows()
    }

    /// Features of a table of inputs, of the units in `range`: (n×d) → (n×|range|).
    fn units(&self, inputs: ArrayView2<f64>, range: Range<usize>) -> Array2<f64> {
        let mut features = Array2::zeros((inputs.nrows(), range.len()));
        let mut room = Array2::zeros((inputs.nrows(), UNITS.min(range.len())));
        self.put_units(inputs, range, features.view_mut(), &mut room);
        features
    }

    /// Puts the features of the units in `range` into a table n×|range|, block by block of units. `room` has as many rows, or
    /// more, and [`UNITS`] columns, or those of the table where these are fewer.
    fn put_units(
        &self,
        inputs: ArrayView2<f64>,
        range: Range<usize>,
        mut features: ArrayViewMut2<f64>,
        room: &mut Array2<f64>,
    ) {
        for (start, mut features) in range.step_by(UNITS).zip(features.axis_chunks_iter_mut(Axis(1), UNITS)) {
            let units = s![start..start + features.ncols(), ..];
            let mut second = room.slice_mut(s![..inputs.nrows(), ..features.ncols()]);
            general_mat_mul(1.0, &inputs, &self.first.slice(units).t(), 0.0, &mut features);
            general_mat_mul(1.0, &inputs, &self.second.slice(units).t(), 0.0, &mut second);
            features.zip_mut_with(&second, |first, second| *first *= second * self.scale);
        }
    }

    /// Features of a table of inputs: (n×d) → (n×m).
    pub fn of(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        self.units(inputs, 0..self.size())
    }

    /// The MLP with these features and a readout (d×m): a gated MLP whose gate is the identity.
    pub fn with_readout(self, mut readout: Array2<f64>) -> GatedMlp {
        readout *= self.scale;
        let (gate, up) = (self.first, self.second);
        GatedMlp { gate, gate_bias: None, up, down: readout, activation: Activation::Identity }
    }
}

/// The unwhitened readout `V_fᵀΦ/F` (d×m).
pub fn raw_readout(features: &Features, facts: &FactSet) -> Array2<f64> {
    let mut readout = Array2::zeros((facts.dimension(), features.size()));
    let table = || Array2::zeros((BLOCK.min(facts.len()), UNITS.min(features.size())));
    let (mut block, mut room) = (table(), table());
    for start in (0..facts.len()).step_by(BLOCK) {
        let keys = start..(start + BLOCK).min(facts.len());
        let values = facts.values.select(Axis(0), &facts.map[keys.clone()]);
        for first in (0..features.size()).step_by(UNITS) {
            let units = first..(first + UNITS).min(features.size());
            let mut block = block.slice_mut(s![..keys.len(), ..units.len()]);
            let inputs = facts.keys.slice(s![keys.clone(), ..]);
            features.put_units(inputs, units.clone(), block.view_mut(), &mut room);
            let mut own = readout.slice_mut(s![.., units]);
            general_mat_mul(1.0 / facts.len() as f64, &values.t(), &block, 1.0, &mut own);
        }
    }
    readout
}

/// The nested family of unwhitened Hebbian MLPs for one fact set: grows unit by unit and keeps the outputs on the keys.
pub struct NestedHebbian<'a> {
    facts: &'a FactSet,
    values: Array2<f64>,
    rng: Rng,
    /// Units drawn so far, each row the two factors side by side.
    factors: Array2<f64>,
    /// Up to a positive factor.
    outputs: NestedOutputs,
}

impl<'a> NestedHebbian<'a> {
    pub fn new(facts: &'a FactSet, name: StreamName) -> Self {
        Self {
            facts,
            values: facts.by_key(&facts.values),
            rng: name.rng(),
            factors: Array2::zeros((0, 2 * facts.dimension())),
            outputs: NestedOutputs::new(facts.keys.dim()),
        }
    }

    fn draw_up_to(&mut self, size: usize) {
        let missing = size.saturating_sub(self.factors.nrows());
        let new = gaussian((missing, self.factors.ncols()), &mut self.rng);
        self.factors.append(Axis(0), new.view()).expect("rows of one width");
    }

    /// Number of facts that the MLP of size m stores.
    pub fn stored(&mut self, size: usize) -> usize {
        let (values, map) = (self.facts.values.view(), &self.facts.map);
        count_stored(self.outputs(size).view(), values, map)
    }

    /// Outputs on the keys at size m, up to a positive factor.
    fn outputs(&mut self, size: usize) -> &Array2<f64> {
        self.draw_up_to(size);
        self.outputs.at(size, |outputs, range| {
            for start in range.clone().step_by(BLOCK) {
                let features = features(&self.factors, start..(start + BLOCK).min(range.end));
                let block = features.of(self.facts.keys.view());
                general_mat_mul(1.0, &block, &product(&block.t(), &self.values), 1.0, outputs);
            }
        })
    }

    /// The MLP of size m.
    pub fn mlp(&mut self, size: usize) -> GatedMlp {
        self.draw_up_to(size);
        let features = Features { scale: 1.0 / (size as f64).sqrt(), ..features(&self.factors, 0..size) };
        let readout = raw_readout(&features, self.facts);
        features.with_readout(readout)
    }
}

/// The units in `range` of factors that stand side by side.
fn features(factors: &Array2<f64>, range: Range<usize>) -> Features {
    let dimension = factors.ncols() / 2;
    Features {
        first: factors.slice(s![range.clone(), ..dimension]).to_owned(),
        second: factors.slice(s![range, dimension..]).to_owned(),
        scale: 1.0,
    }
}

/// The whitened readout (d×m): ridge regression of the values on the features, the same estimator for m ≤ F and m > F.
///
/// The reference's code uses the ridge λ on one side and F·λ on the other; here the ridge of the F×F side is F·λ, which is the
/// same problem.
///
/// # Errors
/// When the ridge is not positive, or the Gram matrix is not positive definite to working precision.
pub fn ridge_readout(features: &Features, facts: &FactSet, ridge: f64) -> Result<Array2<f64>> {
    if !(ridge > 0.0 && ridge.is_finite()) {
        return Err(Error::input(format!("a ridge of {ridge}")).fix("use a positive ridge, for example 1e-6"));
    }
    let solved = if features.size() <= facts.len() {
        from_features(features, facts, ridge)
    } else {
        from_keys(features, facts, ridge)
    };
    solved.map_err(|error| {
        Error::input(format!("the features do not determine a readout: {}", error.what()))
            .fix("remove keys that are equal or nearly so, or bring keys to lengths around 1")
    })
}

/// Solves the m×m system.
fn from_features(features: &Features, facts: &FactSet, ridge: f64) -> Result<Array2<f64>> {
    let (size, share) = (features.size(), 1.0 / facts.len() as f64);
    let mut gram = Array2::from_diag_elem(size, ridge);
    let mut cross = Array2::zeros((size, facts.dimension()));
    let table = |columns| Array2::zeros((BLOCK.min(facts.len()), columns));
    let (mut block, mut room) = (table(size), table(UNITS.min(size)));
    for start in (0..facts.len()).step_by(BLOCK) {
        let keys = start..(start + BLOCK).min(facts.len());
        let values = facts.values.select(Axis(0), &facts.map[keys.clone()]);
        let mut block = block.slice_mut(s![..keys.len(), ..]);
        features.put_units(facts.keys.slice(s![keys, ..]), 0..size, block.view_mut(), &mut room);
        add_gram(share, block.view(), &mut gram);
        general_mat_mul(share, &block.t(), &values, 1.0, &mut cross);
    }
    Ok(Factor::new(gram)?.solve(cross.view()).reversed_axes())
}

/// Solves the F×F system, `W = [(ΦΦᵀ + FλI)⁻¹V_f]ᵀΦ`.
fn from_keys(features: &Features, facts: &FactSet, ridge: f64) -> Result<Array2<f64>> {
    let mut kernel = Array2::from_diag_elem(facts.len(), ridge * facts.len() as f64);
    let blocks = || (0..features.size()).step_by(BLOCK).map(|start| start..(start + BLOCK).min(features.size()));
    for units in blocks() {
        add_gram(1.0, features.units(facts.keys.view(), units).t(), &mut kernel);
    }
    let coefficients = Factor::new(kernel)?.solve(facts.by_key(&facts.values).view());
    let mut readout = Array2::zeros((facts.dimension(), features.size()));
    for units in blocks() {
        let block = features.units(facts.keys.view(), units.clone());
        readout.slice_mut(s![.., units]).assign(&product(&coefficients.t(), &block));
    }
    Ok(readout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decoding::stored;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;

    fn facts(count: usize, dimension: usize) -> FactSet {
        let mut rng = StreamName::new("test").with(count as u64).rng();
        let table = draw(Kind::Sphere, count, dimension, &mut rng).unwrap();
        FactSet::new(table.clone(), table, random_bijection(count, &mut rng)).unwrap()
    }

    #[test]
    fn both_sides_of_the_ridge_solve_the_same_problem() {
        let facts = facts(60, 12);
        for size in [20, 60, 700] {
            let features = Features::random(size, 12, &mut StreamName::new("features").rng());
            let one = from_features(&features, &facts, 1e-3).unwrap();
            let other = from_keys(&features, &facts, 1e-3).unwrap();
            assert!((one - other).iter().all(|x| x.abs() < 1e-9), "{size}");
        }
    }

    #[test]
    fn the_ridge_readout_is_stationary() {
        let facts = facts(700, 12);
        let features = Features::random(30, 12, &mut StreamName::new("features").rng());
        let readout = ridge_readout(&features, &facts, 1e-4).unwrap();
        let table = features.of(facts.keys.view());
        let gradient =
            (table.dot(&readout.t()) - facts.by_key(&facts.values)).t().dot(&table) / 700.0 + &readout * 1e-4;
        assert!(gradient.iter().all(|x| x.abs() < 1e-12));
    }

    #[test]
    fn the_mlp_is_the_readout_of_the_features() {
        let facts = facts(600, 12);
        let features = Features::random(700, 12, &mut StreamName::new("features").rng());
        let readout = raw_readout(&features, &facts);
        let plain = facts.by_key(&facts.values).t().dot(&features.of(facts.keys.view())) / 600.0;
        assert!((&readout - &plain).iter().all(|x| x.abs() < 1e-14));
        let outputs = features.of(facts.keys.view()).dot(&readout.t());
        let mlp = features.with_readout(readout);
        assert!((mlp.forward(facts.keys.view()) - outputs).iter().all(|x| x.abs() < 1e-14));
        assert_eq!(mlp.parameters(), 3 * 700 * 12);
    }

    #[test]
    fn the_nested_family_agrees_with_its_mlps() {
        let facts = facts(80, 12);
        let mut family = NestedHebbian::new(&facts, StreamName::new("features"));
        for size in [700, 30, 200] {
            let nested = family.outputs(size) / (size * 80) as f64;
            let mlp = family.mlp(size);
            assert!((nested - mlp.forward(facts.keys.view())).iter().all(|x| x.abs() < 1e-12));
            assert_eq!(family.stored(size), stored(&mlp.margins(&facts)));
        }
    }

    #[test]
    fn features_are_nested() {
        let draw = |size| Features::random(size, 5, &mut StreamName::new("features").rng());
        assert_eq!(draw(9).first.slice(s![..4, ..]), draw(4).first);
        assert_eq!(draw(9).second.slice(s![..4, ..]), draw(4).second);
    }

    #[test]
    fn a_ridge_of_zero_is_refused() {
        let features = Features::random(4, 12, &mut StreamName::new("features").rng());
        assert_eq!(ridge_readout(&features, &facts(20, 12), 0.0).unwrap_err().exit_code(), 2);
    }
}
