//! The data-dependent Hebbian MLP: bilinear features fitted to the facts (2607.10034; `hebbian_mlps` §2.2).
//!
//! From random features (s = 1) and their unwhitened readout `W₀`, first `A₁` and then `A₀` is fitted, with `W₀` held:
//! `min_X Σ_i ‖V_f·W₀·(c_i ⊙ X·k_i) − e_i‖² + λ‖X‖²`, where `c_i` is the other factor's value at key i and `e_i` the one-hot
//! answer. The final readout is ridge regression on the fitted features.
//!
//! The normal equations are `L(X) = [C ⊙ W₀ᵀ(G_v(W₀(C ⊙ X·Kᵀ)))]·K + λX`, `G_v = V_fᵀV_f`, solved by conjugate gradients
//! without any F×F matrix. Where keys and partner values are independent, `L` is near the product
//! `X ↦ (W₀ᵀG_vW₀ ⊙ C·Cᵀ/F)·X·(KᵀK) + λX`, whose inverse preconditions the iteration; the reference divides by the diagonal.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Zip};

use super::gated::GatedMlp;
use super::hebbian::{Features, raw_readout, ridge_readout};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::num::linalg::symmetric_eigen;
use crate::rng::Rng;

/// A fitted MLP and how the fit went.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub mlp: GatedMlp,
    /// Conjugate gradient iterations of both fits.
    pub iterations: usize,
    /// The larger relative residual of the two fits.
    pub relative_residual: f64,
}

/// Fits `size` data-dependent features and their readout.
///
/// # Errors
/// When a system is not positive definite to working precision.
pub fn fit(facts: &FactSet, size: usize, ridge: f64, rng: &mut Rng) -> Result<Fitted> {
    fit_from(facts, Features { scale: 1.0, ..Features::random(size, facts.dimension(), rng) }, ridge)
}

/// Fits features from given ones; their scale has to be 1.
pub fn fit_from(facts: &FactSet, start: Features, ridge: f64) -> Result<Fitted> {
    let readout = raw_readout(&start, facts);
    let (second, of_second) = refit(facts, &readout, &start.first, ridge)?;
    let (first, of_first) = refit(facts, &readout, &second, ridge)?;
    let features = Features { first, second, scale: 1.0 };
    let readout = ridge_readout(&features, facts, ridge)?;
    Ok(Fitted {
        mlp: features.with_readout(readout),
        iterations: of_second.0 + of_first.0,
        relative_residual: of_second.1.max(of_first.1),
    })
}

/// The factor that fits best beside `partner` (m×d), with the iterations and the relative residual.
fn refit(
    facts: &FactSet,
    readout: &Array2<f64>,
    partner: &Array2<f64>,
    ridge: f64,
) -> Result<(Array2<f64>, (usize, f64))> {
    let system = System::new(facts, readout, partner, ridge);
    let rhs = system.rhs(facts);
    // The tolerances of the reference, which solves large systems in single precision.
    let tolerance = if partner.len() > 8192 { 1e-5 } else { 1e-10 };
    let limit = (2 * partner.nrows()).clamp(128, 1024);
    conjugate_gradients(system, rhs, tolerance, limit)
}

/// The operator `L` and what it needs.
struct System<'a> {
    /// F×d.
    keys: &'a Array2<f64>,
    /// d×m.
    readout: &'a Array2<f64>,
    /// `W₀ᵀ·G_v`, m×d.
    weighted: Array2<f64>,
    /// `Cᵀ`, F×m: the partner's value at each key.
    partner: Array2<f64>,
    ridge: f64,
    /// Buffers: F×m and F×d.
    units: Array2<f64>,
    outputs: Array2<f64>,
}

impl<'a> System<'a> {
    fn new(facts: &'a FactSet, readout: &'a Array2<f64>, partner: &Array2<f64>, ridge: f64) -> Self {
        let values = facts.by_key(&facts.values);
        let partner = facts.keys.dot(&partner.t());
        Self {
            keys: &facts.keys,
            readout,
            weighted: readout.t().dot(&values.t().dot(&values)),
            units: Array2::zeros(partner.dim()),
            outputs: Array2::zeros(facts.keys.dim()),
            partner,
            ridge,
        }
    }

    /// `[(W₀ᵀV_fᵀ) ⊙ C]·K`, m×d.
    fn rhs(&self, facts: &FactSet) -> Array2<f64> {
        let units = facts.by_key(&facts.values).dot(self.readout) * &self.partner;
        units.t().dot(self.keys)
    }

    /// `L(X)` into `image`.
    fn apply(&mut self, x: &Array2<f64>, image: &mut Array2<f64>) {
        general_mat_mul(1.0, self.keys, &x.t(), 0.0, &mut self.units);
        self.units *= &self.partner;
        general_mat_mul(1.0, &self.units, &self.readout.t(), 0.0, &mut self.outputs);
        general_mat_mul(1.0, &self.outputs, &self.weighted.t(), 0.0, &mut self.units);
        self.units *= &self.partner;
        image.assign(x);
        general_mat_mul(1.0, &self.units.t(), self.keys, self.ridge, image);
    }
}

/// The inverse of `X ↦ M·X·N + λX` through the eigenvectors of `M` (m×m) and `N` (d×d).
struct Preconditioner {
    left: Array2<f64>,
    right: Array2<f64>,
    inverse: Array2<f64>,
}

impl Preconditioner {
    fn new(system: &System) -> Result<Self> {
        let share = 1.0 / system.keys.nrows() as f64;
        let coupling = system.weighted.dot(system.readout) * system.partner.t().dot(&system.partner) * share;
        let (of_units, left) = symmetric_eigen(&coupling)?;
        let (of_keys, right) = symmetric_eigen(&system.keys.t().dot(system.keys))?;
        let largest = of_units.fold(0.0f64, |a, b| a.max(*b)) * of_keys.fold(0.0f64, |a, b| a.max(*b));
        let floor = system.ridge.max(1e-6 * largest);
        let inverse = Array2::from_shape_fn((of_units.len(), of_keys.len()), |(unit, key)| {
            1.0 / (of_units[unit].max(0.0) * of_keys[key].max(0.0) + floor)
        });
        Ok(Self { left, right, inverse })
    }

    fn apply(&self, x: &Array2<f64>) -> Array2<f64> {
        let turned = self.left.t().dot(x).dot(&self.right) * &self.inverse;
        self.left.dot(&turned).dot(&self.right.t())
    }
}

fn inner(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    let mut sum = 0.0;
    Zip::from(a).and(b).for_each(|a, b| sum += a * b);
    sum
}

/// Solves `L(X) = rhs` from 0; returns X with the iterations and the relative residual.
fn conjugate_gradients(
    mut system: System,
    rhs: Array2<f64>,
    tolerance: f64,
    limit: usize,
) -> Result<(Array2<f64>, (usize, f64))> {
    let mut x = Array2::zeros(rhs.dim());
    let goal = inner(&rhs, &rhs).sqrt();
    if goal == 0.0 {
        return Ok((x, (0, 0.0)));
    }
    let preconditioner = Preconditioner::new(&system)?;
    let (mut residual, mut image) = (rhs, x.clone());
    let mut direction = preconditioner.apply(&residual);
    let mut product = inner(&residual, &direction);
    for iteration in 1..=limit {
        system.apply(&direction, &mut image);
        let curvature = inner(&direction, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            return Err(Error::failure("the fit of the features lost positive definiteness").fix("use a larger ridge"));
        }
        let step = product / curvature;
        x.scaled_add(step, &direction);
        residual.scaled_add(-step, &image);
        let left = inner(&residual, &residual).sqrt() / goal;
        if left <= tolerance || iteration == limit {
            return Ok((x, (iteration, left)));
        }
        let scaled = preconditioner.apply(&residual);
        let next = inner(&residual, &scaled);
        let ratio = next / product;
        direction.zip_mut_with(&scaled, |direction, scaled| *direction = scaled + ratio * *direction);
        product = next;
    }
    Ok((x, (limit, f64::INFINITY)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;
    use crate::rng::StreamName;
    use ndarray::s;

    fn facts(count: usize, dimension: usize) -> FactSet {
        let mut rng = StreamName::new("test").with(count as u64).rng();
        let table = draw(Kind::Sphere, count, dimension, &mut rng).unwrap();
        FactSet::new(table.clone(), table, random_bijection(count, &mut rng)).unwrap()
    }

    /// The objective by its definition, with its one-hot answers.
    fn objective(facts: &FactSet, readout: &Array2<f64>, partner: &Array2<f64>, x: &Array2<f64>, ridge: f64) -> f64 {
        let units = facts.keys.dot(&x.t()) * facts.keys.dot(&partner.t());
        let logits = units.dot(&readout.t()).dot(&facts.by_key(&facts.values).t()) - Array2::<f64>::eye(facts.len());
        logits.iter().chain(x.iter().map(|x| x * ridge.sqrt()).collect::<Vec<_>>().iter()).map(|x| x * x).sum()
    }

    #[test]
    fn the_fit_minimises_the_objective() {
        let facts = facts(40, 8);
        let features = Features { scale: 1.0, ..Features::random(6, 8, &mut StreamName::new("features").rng()) };
        let readout = raw_readout(&features, &facts);
        let (x, (_, residual)) = refit(&facts, &readout, &features.first, 1e-3).unwrap();
        assert!(residual <= 1e-10);
        let at = |x: &Array2<f64>| objective(&facts, &readout, &features.first, x, 1e-3);
        for index in [[0, 0], [3, 5], [5, 7]] {
            for step in [-1e-3, 1e-3] {
                let mut moved = x.clone();
                moved[index] += step;
                assert!(at(&moved) > at(&x));
            }
        }
    }

    #[test]
    fn fitted_features_store_more_than_random_ones() {
        let facts = facts(256, 32);
        let mut rng = StreamName::new("features").rng();
        let fitted = fit(&facts, 96, 1e-6, &mut rng).unwrap();
        let random = Features::random(96, 32, &mut StreamName::new("features").rng());
        let readout = ridge_readout(&random, &facts, 1e-6).unwrap();
        let stored = |mlp: &GatedMlp| crate::facts::decoding::stored(&mlp.margins(&facts));
        assert!(stored(&fitted.mlp) > stored(&random.with_readout(readout)) + 10);
        assert!(fitted.mlp.gate.slice(s![.., ..]).iter().all(|x| x.is_finite()));
    }
}
