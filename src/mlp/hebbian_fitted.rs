//! The data-dependent Hebbian MLP: bilinear features fitted to the facts (2607.10034).
//!
//! From random features (s = 1) and their unwhitened readout `W₀`, first `A₁` and then `A₀` is fitted, with `W₀` held:
//! `min_X Σ_i ‖V_f·W₀·(c_i ⊙ X·k_i) − e_i‖² + λ‖X‖²`, where `c_i` is the other factor's value at key i and `e_i` the one-hot
//! answer. The final readout is ridge regression on the fitted features.
//!
//! The normal equations are `L(X) = [C ⊙ W₀ᵀ(G_v(W₀(C ⊙ X·Kᵀ)))]·K + λX`, `G_v = V_fᵀV_f`, solved by conjugate gradients
//! without any F×F matrix. Where keys and partner values are independent, `L` is near the product
//! `X ↦ (W₀ᵀG_vW₀ ⊙ C·Cᵀ/F)·X·(KᵀK)`, whose inverse preconditions the iteration; the reference divides by the diagonal.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis, NdFloat, Zip};

use super::gated::GatedMlp;
use super::hebbian::{Features, raw_readout, ridge_readout};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::num::factor::Factor;
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

/// Systems of more unknowns are solved to a tolerance that single precision can reach; so does the reference.
const LARGE: usize = 8192;

/// What one solve in single precision is asked for at most.
const SINGLE: f64 = 1e-5;

/// The factor that fits best beside `partner` (m×d), with the iterations and the relative residual.
///
/// Conjugate gradients run in single precision; smaller systems are refined with residuals in double precision.
fn refit(
    facts: &FactSet,
    readout: &Array2<f64>,
    partner: &Array2<f64>,
    ridge: f64,
) -> Result<(Array2<f64>, (usize, f64))> {
    let limit = (2 * partner.nrows()).clamp(128, 1024);
    let tolerance = if partner.len() <= LARGE { 1e-10 } else { SINGLE };
    let Problem { system, rhs, preconditioner } = Problem::new(facts, readout, partner, ridge)?;
    let single = system.narrow();
    let goal = norm(&rhs);
    let (mut x, mut residual) = (Array2::zeros(rhs.dim()), rhs.clone());
    let (mut iterations, mut left) = (0, if goal > 0.0 { 1.0 } else { 0.0 });
    while left > tolerance && iterations < limit {
        let scale = norm(&residual);
        let wanted = (residual / scale).mapv(|entry| entry as f32);
        let asked = (0.5 * tolerance / left).max(SINGLE);
        let (step, taken, reached) = solve(&single, &preconditioner, wanted, asked, limit - iterations)?;
        x.zip_mut_with(&step, |x, step| *x += scale * f64::from(*step));
        iterations += taken;
        if tolerance >= SINGLE {
            return Ok((x, (iterations, reached)));
        }
        residual = &rhs - &system.applied(&x);
        left = norm(&residual) / goal;
    }
    Ok((x, (iterations, left)))
}

/// The operator `L` in either precision.
struct System<A> {
    /// F×d.
    keys: Array2<A>,
    /// d×m.
    readout: Array2<A>,
    /// `W₀ᵀ·G_v`, m×d.
    weighted: Array2<A>,
    /// `Cᵀ`, F×m: the partner's value at each key.
    partner: Array2<A>,
    ridge: A,
}

/// Keys handled at once: a block of units stays in cache.
const KEYS: usize = 256;

impl<A: NdFloat> System<A> {
    /// `L(X)` into `image`, key block by key block.
    fn apply(&self, x: &Array2<A>, image: &mut Array2<A>) {
        image.zip_mut_with(x, |image, x| *image = self.ridge * *x);
        for (keys, partner) in
            self.keys.axis_chunks_iter(Axis(0), KEYS).zip(self.partner.axis_chunks_iter(Axis(0), KEYS))
        {
            let mut units = keys.dot(&x.t());
            units *= &partner;
            let outputs = units.dot(&self.readout.t());
            general_mat_mul(A::one(), &outputs, &self.weighted.t(), A::zero(), &mut units);
            units *= &partner;
            general_mat_mul(A::one(), &units.t(), &keys, A::one(), image);
        }
    }

    /// `L(X)`.
    fn applied(&self, x: &Array2<A>) -> Array2<A> {
        let mut image = Array2::zeros(x.dim());
        self.apply(x, &mut image);
        image
    }
}

impl System<f64> {
    fn narrow(&self) -> System<f32> {
        System {
            keys: single(&self.keys),
            readout: single(&self.readout),
            weighted: single(&self.weighted),
            partner: single(&self.partner),
            ridge: self.ridge as f32,
        }
    }
}

fn single(table: &Array2<f64>) -> Array2<f32> {
    table.mapv(|entry| entry as f32)
}

/// `L`, the right-hand side `[(W₀ᵀV_fᵀ) ⊙ C]·K` (m×d) and what preconditions the iteration.
struct Problem {
    system: System<f64>,
    rhs: Array2<f64>,
    preconditioner: Preconditioner,
}

impl Problem {
    fn new(facts: &FactSet, readout: &Array2<f64>, partner: &Array2<f64>, ridge: f64) -> Result<Self> {
        let values = facts.by_key(&facts.values);
        let partner = facts.keys.dot(&partner.t());
        let weighted = readout.t().dot(&values.t().dot(&values));
        let rhs = (values.dot(readout) * &partner).t().dot(&facts.keys);
        let coupling = weighted.dot(readout) * partner.t().dot(&partner) / facts.len() as f64;
        let preconditioner = Preconditioner::new(coupling, &facts.keys.t().dot(&facts.keys))?;
        let system = System { keys: facts.keys.clone(), readout: readout.clone(), weighted, partner, ridge };
        Ok(Self { system, rhs, preconditioner })
    }
}

/// About the inverse of `X ↦ M·X·N`: `(M + εI)⁻¹` and the eigenvectors of N.
struct Preconditioner {
    /// m×m.
    of_units: Array2<f32>,
    /// d×d.
    of_keys: Array2<f32>,
}

/// Shares of the mean of M's and of the largest of N's eigenvalues below which no eigenvalue counts.
const FLOOR_OF_UNITS: f64 = 1e-2;
const FLOOR_OF_KEYS: f64 = 1e-6;

impl Preconditioner {
    fn new(mut of_units: Array2<f64>, of_keys: &Array2<f64>) -> Result<Self> {
        let size = of_units.nrows();
        let floor = FLOOR_OF_UNITS * of_units.diag().sum() / size as f64;
        of_units.diag_mut().mapv_inplace(|entry| entry + floor);
        let eye = Array2::<f64>::eye(size);
        let of_units = Factor::new(of_units)?.solve(eye.view());
        let (eigenvalues, vectors) = symmetric_eigen(of_keys)?;
        let floor = FLOOR_OF_KEYS * eigenvalues.fold(0.0f64, |a, b| a.max(*b));
        let of_keys = (&vectors / &eigenvalues.mapv(|eigenvalue| eigenvalue.max(floor))).dot(&vectors.t());
        Ok(Self { of_units: single(&of_units), of_keys: single(&of_keys) })
    }

    fn apply(&self, x: &Array2<f32>) -> Array2<f32> {
        self.of_units.dot(&x.dot(&self.of_keys))
    }
}

/// The inner product, summed in double precision.
fn inner(a: &Array2<f32>, b: &Array2<f32>) -> f64 {
    let mut sum = 0.0;
    Zip::from(a).and(b).for_each(|a, b| sum += f64::from(*a) * f64::from(*b));
    sum
}

fn norm(table: &Array2<f64>) -> f64 {
    table.iter().map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// Solves `L(X) = rhs` from 0 by conjugate gradients; returns X with the iterations and the relative residual.
fn solve(
    system: &System<f32>,
    preconditioner: &Preconditioner,
    rhs: Array2<f32>,
    tolerance: f64,
    limit: usize,
) -> Result<(Array2<f32>, usize, f64)> {
    let mut x = Array2::zeros(rhs.dim());
    let goal = inner(&rhs, &rhs).sqrt();
    let (mut residual, mut image) = (rhs, x.clone());
    let mut direction = preconditioner.apply(&residual);
    let mut product = inner(&residual, &direction);
    let mut left = 1.0;
    for iteration in 1..=limit {
        system.apply(&direction, &mut image);
        let curvature = inner(&direction, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            return Err(Error::failure("the fit of the features lost positive definiteness")
                .fix("remove keys that are equal or nearly so, or use another method (factsmith methods)"));
        }
        let step = product / curvature;
        x.scaled_add(step as f32, &direction);
        residual.scaled_add(-step as f32, &image);
        left = inner(&residual, &residual).sqrt() / goal;
        if left <= tolerance {
            return Ok((x, iteration, left));
        }
        let scaled = preconditioner.apply(&residual);
        let next = inner(&residual, &scaled);
        let ratio = (next / product) as f32;
        direction.zip_mut_with(&scaled, |direction, scaled| *direction = *scaled + ratio * *direction);
        product = next;
    }
    Ok((x, limit, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;
    use crate::rng::StreamName;

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

    /// The normal equations in double precision hold to the tolerance; 96 units in 96 dimensions are a large system.
    #[test]
    fn systems_of_both_sizes_are_solved_to_their_tolerance() {
        for (dimension, size, tolerance) in [(24, 48, 1e-10), (96, 96, 2e-5)] {
            let facts = facts(300, dimension);
            let features = Features::random(size, dimension, &mut StreamName::new("features").rng());
            let readout = raw_readout(&Features { scale: 1.0, ..features.clone() }, &facts);
            let (x, (_, residual)) = refit(&facts, &readout, &features.first, 1e-2).unwrap();
            let Problem { system, rhs, .. } = Problem::new(&facts, &readout, &features.first, 1e-2).unwrap();
            let missing = norm(&(&rhs - &system.applied(&x))) / norm(&rhs);
            assert!(missing <= tolerance && residual <= tolerance, "{dimension}: {missing} {residual}");
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
        assert!(fitted.mlp.gate.iter().all(|x| x.is_finite()));
    }
}
