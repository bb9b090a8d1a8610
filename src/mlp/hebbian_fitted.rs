//! The data-dependent Hebbian MLP: bilinear features fitted to the facts (2607.10034).
//!
//! From random features (s = 1) and their unwhitened readout `W₀`, first `A₁` and then `A₀` is fitted, with `W₀` held:
//! `min_X Σ_i ‖V_f·W₀·(c_i ⊙ X·k_i) − e_i‖² + λ‖X‖²`, where `c_i` is the other factor's value at key i and `e_i` the one-hot
//! answer. The final readout is ridge regression on the fitted features.
//!
//! The normal equations are `L(X) = [C ⊙ W₀ᵀ(G_v(W₀(C ⊙ X·Kᵀ)))]·K + λX`, `G_v = V_fᵀV_f`, solved by conjugate gradients
//! without any F×F matrix. Where keys and partner values are independent, `L` is near the product
//! `X ↦ M·X·N`, `M = W₀ᵀG_vW₀ ⊙ C·Cᵀ/F`, `N = KᵀK`, whose inverse, with a correction, preconditions the iteration; the reference
//! divides by the diagonal.

use ndarray::{Array1, Array2, Axis, NdFloat, Zip, s};

use super::gated::GatedMlp;
use super::hebbian::{Features, raw_readout, ridge_readout};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::num::factor::{Factor, add_gram};
use crate::num::linalg::symmetric_eigen;
use crate::num::products::{DEPTH, Entry, general_mat_mul, product};
use crate::rng::Rng;

/// A fitted MLP and how the fit went.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub mlp: GatedMlp,
    /// Conjugate gradient iterations of both fits.
    pub iterations: usize,
    /// The larger relative residual of the two fits, as their iterations carry it on.
    pub relative_residual: f64,
}

/// Fits `size` data-dependent features and their readout.
///
/// # Errors
/// When a system is not positive definite to working precision.
pub fn fit(facts: &FactSet, size: usize, ridge: f64, rng: &mut Rng) -> Result<Fitted> {
    fit_from(facts, Features { scale: 1.0, ..Features::random(size, facts.dimension(), rng) }, ridge)
}

/// Bytes that a fit of `size` features takes beside its facts: square tables of the units, and the units at the keys.
pub fn bytes(facts: f64, size: f64) -> f64 {
    44.0 * size * size + 8.0 * size * facts
}

/// Fits features from given ones; their scale has to be 1.
pub fn fit_from(facts: &FactSet, start: Features, ridge: f64) -> Result<Fitted> {
    let readout = raw_readout(&start, facts);
    let held = Held::new(facts, &readout, ridge)?;
    let (second, of_second) = refit(&held, &start.first)?;
    let (first, of_first) = refit(&held, &second)?;
    let features = Features { first, second, scale: 1.0 };
    let readout = ridge_readout(&features, facts, ridge)?;
    Ok(Fitted {
        mlp: features.with_readout(readout),
        iterations: of_second.0 + of_first.0,
        relative_residual: of_second.1.max(of_first.1),
    })
}

/// Systems of more unknowns are solved in single precision, to a tolerance that it can reach; so does the reference.
const LARGE: usize = 8192;

/// The factor that fits best beside `partner` (m×d), with the iterations and the relative residual.
fn refit(held: &Held, partner: &Array2<f64>) -> Result<(Array2<f64>, (usize, f64))> {
    let limit = (2 * partner.nrows()).clamp(128, 1024);
    if partner.len() <= LARGE {
        return System::<f64>::new(held, partner)?.solve(1e-10, limit);
    }
    let (solution, how) = System::<f32>::new(held, partner)?.solve(1e-5, limit)?;
    Ok((solution.mapv(f64::from), how))
}

/// A number of either precision: the only place where both are needed.
trait Number: NdFloat + Entry {
    fn of(value: f64) -> Self;
    fn value(self) -> f64;
}

impl Number for f64 {
    fn of(value: f64) -> Self {
        value
    }
    fn value(self) -> f64 {
        self
    }
}

impl Number for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
    fn value(self) -> f64 {
        f64::from(self)
    }
}

/// What both fits share: the facts, their readout, and what follows from these alone.
struct Held<'a> {
    /// F×d.
    keys: &'a Array2<f64>,
    /// `V_f`, F×d.
    values: Array2<f64>,
    /// `W₀`, d×m.
    readout: &'a Array2<f64>,
    /// `W₀ᵀ·G_v`, m×d.
    weighted: Array2<f64>,
    /// `P = W₀ᵀ·G_v·W₀`, m×m.
    coupling: Array2<f64>,
    /// Eigenvalues and eigenvectors (columns) of `N = KᵀK`.
    spectrum: (Array1<f64>, Array2<f64>),
    ridge: f64,
}

impl<'a> Held<'a> {
    fn new(facts: &'a FactSet, readout: &'a Array2<f64>, ridge: f64) -> Result<Self> {
        let values = facts.by_key(&facts.values);
        let weighted = product(&readout.t(), &product(&values.t(), &values));
        let spectrum = symmetric_eigen(&product(&facts.keys.t(), &facts.keys)).map_err(not_fitted)?;
        let coupling = product(&weighted, readout);
        Ok(Self { keys: &facts.keys, values, readout, weighted, coupling, spectrum, ridge })
    }
}

fn not_fitted(error: Error) -> Error {
    Error::input(format!("the features cannot be fitted: {}", error.what()))
        .fix("bring keys and values to lengths around 1, or remove keys that are equal or nearly so")
}

/// What a partner, given by its rows (m×d), is at the keys, and the sums over all keys that it enters.
struct Partner<A> {
    /// `Cᵀ`, F×m.
    at_keys: Array2<A>,
    /// `C·Cᵀ`, m×m, a lower triangle.
    gram: Array2<f64>,
    /// `(C∘C)·(C∘C)ᵀ`, m×m, a lower triangle.
    gram_of_squares: Array2<f64>,
    /// `[(W₀ᵀV_fᵀ) ⊙ C]·K`, m×d.
    rhs: Array2<f64>,
}

impl<A: Number> Partner<A> {
    fn new(held: &Held, rows: &Array2<f64>) -> Self {
        let (units, count) = (rows.nrows(), held.keys.nrows());
        let square = || Array2::zeros((units, units));
        let mut all = Self {
            at_keys: Array2::zeros((count, units)),
            gram: square(),
            gram_of_squares: square(),
            rhs: Array2::zeros(rows.dim()),
        };
        let room = || Array2::<f64>::zeros((BLOCK.min(count), units));
        let (mut at_keys, mut answers) = (room(), room());
        for ((keys, values), mut narrow) in held
            .keys
            .axis_chunks_iter(Axis(0), BLOCK)
            .zip(held.values.axis_chunks_iter(Axis(0), BLOCK))
            .zip(all.at_keys.axis_chunks_iter_mut(Axis(0), BLOCK))
        {
            let part = s![..keys.nrows(), ..];
            let (mut at_keys, mut answers) = (at_keys.slice_mut(part), answers.slice_mut(part));
            general_mat_mul(1.0, &keys, &rows.t(), 0.0, &mut at_keys);
            general_mat_mul(1.0, &values, held.readout, 0.0, &mut answers);
            narrow.zip_mut_with(&at_keys, |narrow, entry| *narrow = A::of(*entry));
            answers *= &at_keys;
            general_mat_mul(1.0, &answers.t(), &keys, 1.0, &mut all.rhs);
            add_gram(1.0, at_keys.view(), &mut all.gram);
            at_keys.mapv_inplace(|entry| entry * entry);
            add_gram(1.0, at_keys.view(), &mut all.gram_of_squares);
        }
        all
    }
}

/// The operator `L`, its right-hand side and its preconditioner.
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
    /// That of [`Partner`], m×d.
    rhs: Array2<A>,
    preconditioner: Preconditioner<A>,
}

impl<A: Number> System<A> {
    fn new(held: &Held, rows: &Array2<f64>) -> Result<Self> {
        let narrow = |table: &Array2<f64>| table.mapv(A::of);
        let partner = Partner::new(held, rows);
        let rhs = narrow(&partner.rhs);
        let preconditioner = Preconditioner::new(held, rows, partner.gram, partner.gram_of_squares);
        let preconditioner = preconditioner.map_err(not_fitted)?;
        Ok(Self {
            keys: narrow(held.keys),
            readout: narrow(held.readout),
            weighted: narrow(&held.weighted),
            partner: partner.at_keys,
            ridge: A::of(held.ridge),
            rhs,
            preconditioner,
        })
    }

    /// Solves the system; without the correction of the preconditioner where rounding has made that indefinite, as it may where
    /// facts are few for the units.
    fn solve(mut self, tolerance: f64, limit: usize) -> Result<(Array2<A>, (usize, f64))> {
        solve(&self, tolerance, limit).or_else(|_| {
            self.preconditioner.correction.fill(A::zero());
            solve(&self, tolerance, limit)
        })
    }

    /// `L(X)` into `image`, key block by key block.
    fn apply(&self, x: &Array2<A>, image: &mut Array2<A>, room: &mut Room<A>) {
        image.zip_mut_with(x, |image, x| *image = self.ridge * *x);
        for (keys, partner) in
            self.keys.axis_chunks_iter(Axis(0), KEYS).zip(self.partner.axis_chunks_iter(Axis(0), KEYS))
        {
            let rows = s![..keys.nrows(), ..];
            let (mut units, mut outputs) = (room.units.slice_mut(rows), room.outputs.slice_mut(rows));
            general_mat_mul(A::one(), &keys, &x.t(), A::zero(), &mut units);
            units *= &partner;
            general_mat_mul(A::one(), &units, &self.readout.t(), A::zero(), &mut outputs);
            general_mat_mul(A::one(), &outputs, &self.weighted.t(), A::zero(), &mut units);
            units *= &partner;
            general_mat_mul(A::one(), &units.t(), &keys, A::one(), image);
        }
    }

    fn room(&self) -> Room<A> {
        let rows = KEYS.min(self.keys.nrows());
        Room { units: Array2::zeros((rows, self.partner.ncols())), outputs: Array2::zeros((rows, self.keys.ncols())) }
    }
}

/// Units and outputs of a block of keys.
struct Room<A> {
    units: Array2<A>,
    outputs: Array2<A>,
}

/// Keys handled at once in the iterations: a block of units stays in cache.
const KEYS: usize = 512;

/// Keys whose sums are made at once, in double precision: as many as a product sums before it adds to its result, so that sums
/// over blocks have the bits of one product.
const BLOCK: usize = DEPTH;

/// About the inverse of `L`: that of `X ↦ M·X·N`, put right where X has the partner's own rows.
///
/// There, `x_r = α_r·a_r`, averages of four entries of a key do not come apart into averages of two and two: on α, `L` is
/// `E = P ⊙ (C∘C)(C∘C)ᵀ` with `P = W₀ᵀG_vW₀`, and the product is `M ⊙ A·N·Aᵀ`, several times smaller. With Z the map from α to X,
/// `M⁻¹⊗N⁻¹ + Z·(E⁻¹ − (M ⊙ A·N·Aᵀ)⁻¹)·Zᵀ` is positive definite before rounding, and halves the iterations.
struct Preconditioner<A> {
    /// M⁻¹, m×m.
    of_units: Array2<A>,
    /// N⁻¹, d×d.
    of_keys: Array2<A>,
    /// A, m×d.
    rows: Array2<A>,
    /// m×m.
    correction: Array2<A>,
}

/// Shares of the mean eigenvalue by which M and the matrices of the correction are shifted, and of the largest eigenvalue of N
/// below which none of N counts.
const SHIFT_OF_UNITS: f64 = 1e-1;
const SHIFT_OF_CORRECTION: f64 = 1e-6;
const FLOOR_OF_KEYS: f64 = 1e-2;

impl<A: Number> Preconditioner<A> {
    /// `rows` A (m×d), with the sums of its [`Partner`].
    fn new(held: &Held, rows: &Array2<f64>, gram: Array2<f64>, gram_of_squares: Array2<f64>) -> Result<Self> {
        let (coupling, (of_keys, vectors)) = (&held.coupling, &held.spectrum);
        let of_units = shifted(gram * coupling / held.keys.nrows() as f64, SHIFT_OF_UNITS);
        let floor = FLOOR_OF_KEYS * of_keys.fold(0.0f64, |a, b| a.max(*b));
        let of_keys = of_keys.mapv(|eigenvalue| eigenvalue.max(floor));
        let turned = product(rows, vectors);
        let of_product = shifted(product(&(&turned * &of_keys), &turned.t()) * &of_units, SHIFT_OF_CORRECTION);
        let exact = shifted(gram_of_squares * coupling, SHIFT_OF_CORRECTION);
        let narrow = |table: &Array2<f64>| table.mapv(A::of);
        Ok(Self {
            of_units: narrow(&Factor::new(of_units)?.inverse()),
            of_keys: narrow(&product(&(vectors / &of_keys), &vectors.t())),
            rows: narrow(rows),
            correction: narrow(&(Factor::new(exact)?.inverse() - Factor::new(of_product)?.inverse())),
        })
    }

    /// The product with X (m×d) into `solved`; `room` is as large.
    fn apply(&self, x: &Array2<A>, solved: &mut Array2<A>, room: &mut Array2<A>) {
        general_mat_mul(A::one(), x, &self.of_keys, A::zero(), room);
        general_mat_mul(A::one(), &self.of_units, room, A::zero(), solved);
        let along: Array1<A> = Zip::from(x.rows()).and(self.rows.rows()).map_collect(|x, row| x.dot(&row));
        let corrected = self.correction.dot(&along);
        Zip::from(solved.rows_mut()).and(self.rows.rows()).and(&corrected).for_each(|mut solved, row, factor| {
            solved.scaled_add(*factor, &row);
        });
    }
}

/// A positive semidefinite matrix with a share of its mean eigenvalue added to its diagonal; the identity where it is 0.
fn shifted(mut matrix: Array2<f64>, share: f64) -> Array2<f64> {
    let mean = matrix.diag().sum() / matrix.nrows() as f64;
    let shift = if mean == 0.0 { 1.0 } else { share * mean };
    matrix.diag_mut().mapv_inplace(|entry| entry + shift);
    matrix
}

/// The inner product, summed in double precision.
fn inner<A: Number>(a: &Array2<A>, b: &Array2<A>) -> f64 {
    inners(a, b, b).0
}

/// `⟨a, b⟩` and `⟨a, c⟩` at the time that one of them takes: each sum waits for its own additions.
fn inners<A: Number>(a: &Array2<A>, b: &Array2<A>, c: &Array2<A>) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    Zip::from(a).and(b).and(c).for_each(|a, b, c| {
        sums.0 += a.value() * b.value();
        sums.1 += a.value() * c.value();
    });
    sums
}

/// Solves `L(X) = rhs` from 0 by conjugate gradients; returns X with the iterations and the relative residual.
///
/// # Errors
/// When the operator or the preconditioner turns out not to be positive definite.
fn solve<A: Number>(system: &System<A>, tolerance: f64, limit: usize) -> Result<(Array2<A>, (usize, f64))> {
    let mut x = Array2::zeros(system.rhs.dim());
    let goal = inner(&system.rhs, &system.rhs).sqrt();
    if goal == 0.0 {
        return Ok((x, (0, 0.0)));
    }
    let (mut residual, mut image, mut direction, mut room) = (system.rhs.clone(), x.clone(), x.clone(), system.room());
    system.preconditioner.apply(&residual, &mut direction, &mut image);
    let (mut scaled, mut product) = (x.clone(), inner(&residual, &direction));
    let mut left = 1.0;
    for iteration in 1..=limit {
        system.apply(&direction, &mut image, &mut room);
        let curvature = inner(&direction, &image);
        let is_definite = curvature > 0.0 && product > 0.0;
        if !is_definite {
            return Err(Error::failure("the fit of the features lost positive definiteness")
                .fix("remove keys that are equal or nearly so, or use another method (factsmith methods)"));
        }
        let step = product / curvature;
        x.scaled_add(A::of(step), &direction);
        residual.scaled_add(A::of(-step), &image);
        system.preconditioner.apply(&residual, &mut scaled, &mut image);
        let (square, next) = inners(&residual, &residual, &scaled);
        left = square.sqrt() / goal;
        if left <= tolerance {
            return Ok((x, (iteration, left)));
        }
        let ratio = A::of(next / product);
        direction.zip_mut_with(&scaled, |direction, scaled| *direction = *scaled + ratio * *direction);
        product = next;
    }
    Ok((x, (limit, left)))
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
        // One block of keys of either kind, and more, the last of which is smaller.
        for count in [40, BLOCK + 9, KEYS + 88] {
            let facts = facts(count, 8);
            let features = Features { scale: 1.0, ..Features::random(6, 8, &mut StreamName::new("features").rng()) };
            let readout = raw_readout(&features, &facts);
            let held = Held::new(&facts, &readout, 1e-3).unwrap();
            let (x, (_, residual)) = refit(&held, &features.first).unwrap();
            assert!(residual <= 1e-10);
            let at = |x: &Array2<f64>| objective(&facts, &readout, &features.first, x, 1e-3);
            for index in [[0, 0], [3, 5], [5, 7]] {
                for step in [-1e-3, 1e-3] {
                    let mut moved = x.clone();
                    moved[index] += step;
                    assert!(at(&moved) > at(&x), "{count}");
                }
            }
        }
    }

    #[test]
    fn sums_over_blocks_have_the_bits_of_one_product() {
        let facts = facts(2 * BLOCK + 9, 8);
        let features = Features { scale: 1.0, ..Features::random(6, 8, &mut StreamName::new("features").rng()) };
        let readout = raw_readout(&features, &facts);
        let partner = Partner::<f64>::new(&Held::new(&facts, &readout, 1e-3).unwrap(), &features.first);
        let at_keys = facts.keys.dot(&features.first.t());
        let answers = facts.by_key(&facts.values).dot(&readout);
        assert_eq!(partner.at_keys, at_keys);
        assert_eq!(partner.rhs, (answers * &at_keys).t().dot(&facts.keys));
        for (found, rows) in [(partner.gram, &at_keys), (partner.gram_of_squares, &(&at_keys * &at_keys))] {
            let mut gram = Array2::zeros((6, 6));
            add_gram(1.0, rows.view(), &mut gram);
            assert_eq!(found, gram);
        }
    }

    /// The preconditioner is symmetric and positive definite, also where keys are fewer than dimensions.
    #[test]
    fn the_preconditioner_is_positive_definite() {
        for count in [5, 60] {
            let facts = facts(count, 8);
            let features = Features::random(6, 8, &mut StreamName::new("features").rng());
            let readout = raw_readout(&features, &facts);
            let held = Held::new(&facts, &readout, 1e-3).unwrap();
            let preconditioner = System::<f64>::new(&held, &features.first).unwrap().preconditioner;
            let matrix = Array2::from_shape_fn((48, 48), |(i, j)| {
                let mut unit = Array2::zeros((6, 8));
                unit[[j / 8, j % 8]] = 1.0;
                let (mut image, mut room) = (unit.clone(), unit.clone());
                preconditioner.apply(&unit, &mut image, &mut room);
                image[[i / 8, i % 8]]
            });
            let scale = matrix.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!((&matrix - &matrix.t()).iter().all(|x| x.abs() < 1e-10 * scale), "{count}");
            let (eigenvalues, _) = symmetric_eigen(&matrix).unwrap();
            assert!(eigenvalues[0] > 0.0, "{count}: {eigenvalues}");
        }
    }

    #[test]
    fn a_correction_that_rounding_spoiled_is_left_out() {
        let facts = facts(60, 8);
        let features = Features::random(6, 8, &mut StreamName::new("features").rng());
        let readout = raw_readout(&features, &facts);
        let held = Held::new(&facts, &readout, 1e-3).unwrap();
        let system = || System::<f64>::new(&held, &features.first).unwrap();
        let (wanted, _) = system().solve(1e-10, 1000).unwrap();
        let mut spoiled = system();
        spoiled.preconditioner.correction = Array2::eye(6) * -1e9;
        let (found, _) = spoiled.solve(1e-10, 1000).unwrap();
        assert!((found - &wanted).iter().all(|x| x.abs() < 1e-6 * inner(&wanted, &wanted).sqrt()));
    }

    #[test]
    fn values_too_short_to_be_fitted_are_refused_with_advice() {
        let mut rng = StreamName::new("short").rng();
        let keys = draw(Kind::Gaussian, 20, 6, &mut rng).unwrap();
        let values = draw(Kind::Gaussian, 20, 6, &mut rng).unwrap();
        let fitted = |exponent: i32| {
            let facts = FactSet::new(keys.clone(), &values * 10f64.powi(-exponent), (0..20).collect()).unwrap();
            fit(&facts, 40, 1e-6, &mut StreamName::new("features").rng())
        };
        let errors: Vec<Error> = (20..40).filter_map(|exponent| fitted(exponent).err()).collect();
        let advises = |error: &Error| error.exit_code() == 2 && error.to_string().contains("lengths around 1");
        assert!(!errors.is_empty() && errors.iter().all(advises), "{errors:?}");
    }

    /// Most directions of the correction are singular here.
    #[test]
    fn few_facts_and_many_units_are_fitted() {
        let facts = facts(5, 128);
        let fitted = fit(&facts, 100, 1e-6, &mut StreamName::new("features").rng()).unwrap();
        assert_eq!(crate::facts::decoding::stored(&fitted.mlp.margins(&facts)), 5);
    }

    /// Isotropic keys and many of them: the correction is what keeps the iterations few.
    #[test]
    fn few_iterations_solve_well_conditioned_facts() {
        let facts = facts(512, 32);
        let fitted = fit(&facts, 64, 1e-6, &mut StreamName::new("features").rng()).unwrap();
        assert!(fitted.relative_residual <= 1e-10 && fitted.iterations <= 90, "{}", fitted.iterations);
        let nothing = Array2::zeros((6, 32));
        let readout = nothing.t().to_owned();
        assert!(
            refit(&Held::new(&facts, &readout, 1e-6).unwrap(), &nothing).unwrap().0.iter().all(|entry| *entry == 0.0)
        );
    }

    /// 96 units in 96 dimensions are more unknowns than double precision is used for.
    #[test]
    fn large_systems_are_solved_in_single_precision_to_its_tolerance() {
        let facts = facts(300, 96);
        let features = Features { scale: 1.0, ..Features::random(96, 96, &mut StreamName::new("features").rng()) };
        let readout = raw_readout(&features, &facts);
        let held = Held::new(&facts, &readout, 1e-2).unwrap();
        let (single, (_, residual)) = refit(&held, &features.first).unwrap();
        assert!(residual <= 1e-5);
        let system = System::<f64>::new(&held, &features.first).unwrap();
        let (double, _) = system.solve(1e-10, 1000).unwrap();
        let norm = |table: &Array2<f64>| inner(table, table).sqrt();
        assert!(norm(&(single - &double)) < 1e-3 * norm(&double));
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
