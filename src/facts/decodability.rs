//! Decodability ρ of a value table, with margin-optimal outputs and a certificate for each value.
//!
//! For value `v_i` (2512.00207, §3.1–3.2, equation 4 and definition 3.2.1)
//!
//! `ρ_i = max_{‖u‖≤1} min_{j≠i} ⟨a_ij, u⟩` with `a_ij = (v_i − v_j)/‖v_i − v_j‖`, and `ρ(V) = min_i ρ_i`.
//!
//! By duality `ρ_i` is the distance of the origin to the convex hull of the `a_ij`. The nearest point `p_i = Σ_j λ_j a_ij`
//! has few non-zero `λ_j`, so an active-set method finds it exactly: solve over a small working set, price all values at the
//! found direction `u = p/‖p‖`, add the worst violators, repeat. Any convex combination bounds `ρ_i` from above by `‖p‖`, any
//! unit `u` from below by `min_j ⟨a_ij, u⟩`; both numbers are returned. Pricing, the one step that looks at all values, is a
//! matrix product shared by a block of anchors.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use rayon::prelude::*;

use super::files::check_table;
use crate::error::{Error, Result};
use crate::num::cholesky::{GrowingCholesky, dot};
use crate::num::pricing;
use crate::num::products::{general_mat_mul, product};

/// How many anchors share a pricing product. A fixed number: results must not depend on the thread count.
const BLOCK: usize = 64;
/// How many violators a round may add. Fewer rounds against larger working sets; 16 was the fastest of 1, 4, 8, 16, 24, 32, 48
/// over the sizes of `benches/decodability.rs`.
const ADDED_PER_ROUND: usize = 16;
/// Relative duality gap at which an anchor is done, well inside [`Certificate::TIGHT`].
const TARGET_GAP: f64 = 1e-12;
/// A hull that comes this close to the origin, within the rounding of its points, holds it: no separating direction.
const ZERO: f64 = 1e-13;
/// Values whose squared distance is below this share of their squared norms are close: their distance and margin are computed
/// from the difference itself, because those of products would lose digits.
const NEAR: f64 = 1e-4;
/// Rounds after which the best certificate so far is returned; isotropic tables need about 10.
const MOST_ROUNDS: usize = 400;

/// Bounds on one `ρ_i`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Primal value: the margin that the returned output really achieves.
    pub lower: f64,
    /// Dual value: the norm of a point of the convex hull. No output has a larger margin.
    pub upper: f64,
    /// How many other values hold the optimum.
    pub active: usize,
    /// The nearest other value in the direction of the output: the one it is most easily taken for.
    pub rival: usize,
    /// Another value equal to this one, which makes `ρ_i = 0` whatever the rest.
    pub duplicate: Option<usize>,
}

impl Certificate {
    /// The relative gap up to which a certificate counts as tight.
    pub const TIGHT: f64 = 1e-9;

    /// Whether no direction separates this value from all others (`ρ_i = 0`).
    pub fn is_zero(&self) -> bool {
        self.upper <= ZERO
    }

    /// `(upper − lower)/upper`; 0 where `ρ_i = 0`.
    pub fn relative_gap(&self) -> f64 {
        if self.is_zero() { 0.0 } else { (1.0 - self.lower / self.upper).max(0.0) }
    }
}

/// Decodability of a table of values.
#[derive(Debug, Clone)]
pub struct Decodability {
    /// `ρ(V)`, the smallest `ρ_i` (its primal value).
    pub rho: f64,
    /// The place of its certificate.
    pub weakest: usize,
    /// One certificate per measured value, in the order they were asked for.
    pub certificates: Vec<Certificate>,
    /// Margin-optimal outputs `U*` (n×d), a row per certificate: unit rows, zero where `ρ_i = 0`.
    pub outputs: Array2<f64>,
}

impl Decodability {
    /// How many values cannot be separated from the others.
    pub fn undecodable(&self) -> usize {
        self.certificates.iter().filter(|certificate| certificate.is_zero()).count()
    }

    /// The largest relative gap of any certificate.
    pub fn worst_gap(&self) -> f64 {
        self.certificates.iter().map(Certificate::relative_gap).fold(0.0, f64::max)
    }

    /// How many certificates are not tight: `ρ_i` is so small that rounding hides its digits.
    pub fn loose(&self) -> usize {
        self.certificates.iter().filter(|certificate| certificate.relative_gap() > Certificate::TIGHT).count()
    }

    /// Mean of the `ρ_i`.
    pub fn mean(&self) -> f64 {
        self.certificates.iter().map(|certificate| certificate.lower).sum::<f64>() / self.certificates.len() as f64
    }
}

/// How many cores a measurement may take. The result is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cores {
    One,
    All,
}

/// Measures decodability: `values (n×d)` with `n ≥ 2`, any scale.
///
/// ```
/// use factsmith::facts::decodability::{Cores, decodability};
/// use ndarray::array;
/// // The paper's example: of e1 and 2·e1 the first is decoded by −e1.
/// let found = decodability(&array![[1.0, 0.0], [2.0, 0.0]], Cores::One).unwrap();
/// assert_eq!(found.outputs.row(0), array![-1.0, 0.0]);
/// assert_eq!(found.rho, 1.0);
/// // The centre of a square is inside the hull of its corners: no direction singles it out.
/// let square = array![[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]];
/// let found = decodability(&square, Cores::One).unwrap();
/// assert_eq!((found.rho, found.weakest, found.undecodable()), (0.0, 4, 1));
/// ```
///
/// # Errors
/// When there are fewer than two values, or a number is not finite.
pub fn decodability(values: &Array2<f64>, cores: Cores) -> Result<Decodability> {
    decodability_of(values, &(0..values.nrows()).collect::<Vec<usize>>(), cores)
}

/// Measures the `ρ_i` of some values among all: `rho` is then the smallest of these, an upper bound of `ρ(V)`.
///
/// # Errors
/// As [`decodability`], and when no value is asked for or one is not there.
pub fn decodability_of(values: &Array2<f64>, anchors: &[usize], cores: Cores) -> Result<Decodability> {
    check_table("values", values.view())?;
    if values.nrows() < 2 {
        return Err(Error::input("decodability of a single value is not defined").fix("give at least two values"));
    }
    if anchors.is_empty() || anchors.iter().any(|anchor| *anchor >= values.nrows()) {
        return Err(Error::input(format!("decodability of values that are not among the {}", values.nrows()))
            .fix("ask for at least one value, counted from 0"));
    }
    let problem = Problem::new(values);
    let solve = |block: &[usize]| problem.solve_block(block);
    let blocks: Vec<Block> = match cores {
        Cores::One => anchors.chunks(BLOCK).map(solve).collect(),
        Cores::All => anchors.par_chunks(BLOCK).map(solve).collect(),
    };
    Ok(gather(blocks, values.ncols()))
}

/// The margin `min_{j≠i} ⟨a_ij, u_i⟩/‖u_i‖` that each given output really achieves: `values`, `outputs` both n×d.
///
/// With `outputs = values` this is the margin of the plain choice `u_i = v_i`. By the definition, without shortcuts.
pub fn achieved_margins(values: ArrayView2<f64>, outputs: ArrayView2<f64>) -> Vec<f64> {
    (0..values.nrows())
        .map(|anchor| {
            let output = outputs.row(anchor);
            let norm = output.dot(&output).sqrt();
            let others = (0..values.nrows()).filter(|other| *other != anchor);
            let margins = others.map(|other| {
                let difference = &values.row(anchor) - &values.row(other);
                difference.dot(&output) / (difference.dot(&difference).sqrt() * norm)
            });
            margins.fold(f64::INFINITY, f64::min)
        })
        .collect()
}

struct Block {
    certificates: Vec<Certificate>,
    outputs: Array2<f64>,
}

fn gather(blocks: Vec<Block>, dimension: usize) -> Decodability {
    let mut certificates = Vec::new();
    let mut outputs = Array2::zeros((0, dimension));
    for block in blocks {
        certificates.extend(block.certificates);
        // Every block has `dimension` columns.
        outputs.append(Axis(0), block.outputs.view()).expect("blocks of equal width");
    }
    let mut weakest = 0;
    for (index, certificate) in certificates.iter().enumerate() {
        if certificate.lower < certificates[weakest].lower {
            weakest = index;
        }
    }
    Decodability { rho: certificates[weakest].lower, weakest, certificates, outputs }
}

/// The table twice: as given, up to a power of two that keeps squares from overflowing, so that differences of close values
/// are exact; and centred, for the products that price all values. Neither shift nor scale changes ρ.
struct Problem {
    exact: Array2<f64>,
    centred: Array2<f64>,
    squared_norms: Vec<f64>,
}

impl Problem {
    fn new(values: &Array2<f64>) -> Self {
        let largest = values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let exponent = if largest > 0.0 { -largest.log2().floor() } else { 0.0 };
        // In two steps: one factor alone may be out of range for tables of subnormal numbers.
        let (half, rest) = ((exponent / 2.0).trunc().exp2(), (exponent - (exponent / 2.0).trunc()).exp2());
        let exact = values.mapv(|x| x * half * rest).as_standard_layout().into_owned();
        let mean = exact.mean_axis(Axis(0)).unwrap_or_default();
        let centred = &exact - &mean;
        let squared_norms = centred.rows().into_iter().map(|row| row.dot(&row)).collect();
        Self { exact, centred, squared_norms }
    }

    fn row(&self, index: usize) -> &[f64] {
        self.exact.row(index).to_slice().expect("a table in standard layout")
    }

    /// Products of some vectors (rows) with all values (columns), row after row in memory whatever the shape.
    fn scores(&self, vectors: ArrayView2<f64>) -> Array2<f64> {
        let mut scores = Array2::zeros((vectors.nrows(), self.centred.nrows()));
        general_mat_mul(1.0, &vectors, &self.centred.t(), 0.0, &mut scores);
        scores
    }

    /// `1/‖v_i − v_j‖` for the anchors of a block (rows) and all values (columns); infinite for equal values, 0 for j = i.
    fn inverse_distances(&self, block: &[usize]) -> Array2<f64> {
        let mut distances = self.scores(self.centred.select(Axis(0), block).view());
        for (&anchor, mut row) in block.iter().zip(distances.rows_mut()) {
            for (other, entry) in row.iter_mut().enumerate() {
                let scale = self.squared_norms[anchor] + self.squared_norms[other];
                let mut squared = scale - 2.0 * *entry;
                if squared <= NEAR * scale {
                    squared = squared_distance(self.row(anchor), self.row(other));
                }
                *entry = if other == anchor { 0.0 } else { squared.sqrt().recip() };
            }
        }
        distances
    }

    fn solve_block(&self, block: &[usize]) -> Block {
        let inverse_distances = self.inverse_distances(block);
        let mut anchors: Vec<Anchor> =
            block.iter().enumerate().map(|(place, index)| Anchor::new(self, place, *index)).collect();
        for (anchor, inverse) in anchors.iter_mut().zip(inverse_distances.rows()) {
            anchor.find_duplicate(inverse);
            anchor.find_near(self, inverse);
        }
        for _ in 0..MOST_ROUNDS {
            let mut live: Vec<&mut Anchor> = anchors.iter_mut().filter(|anchor| !anchor.done).collect();
            if live.is_empty() {
                break;
            }
            let mut directions = Array2::zeros((live.len(), self.exact.ncols()));
            for (mut row, anchor) in directions.rows_mut().into_iter().zip(&live) {
                row.assign(&ArrayView1::from(&anchor.direction[..]));
            }
            let mut scores = self.scores(directions.view());
            for (anchor, mut scores) in live.iter_mut().zip(scores.rows_mut()) {
                let inverse = inverse_distances.row(anchor.place);
                // Rows of matrices in standard layout.
                let (scores, inverse) = (scores.as_slice_mut().expect("rows"), inverse.to_slice().expect("rows"));
                anchor.round(self, scores, inverse);
            }
        }
        let mut outputs = Array2::zeros((block.len(), self.exact.ncols()));
        for (mut row, anchor) in outputs.rows_mut().into_iter().zip(&anchors) {
            if !anchor.certificate.is_zero() {
                row.assign(&ArrayView1::from(&anchor.best_direction[..]));
            }
        }
        Block { certificates: anchors.into_iter().map(|anchor| anchor.certificate).collect(), outputs }
    }
}

fn squared_distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The search for one `ρ_i`.
struct Anchor {
    /// Its row in the block and in the table.
    place: usize,
    index: usize,
    done: bool,
    certificate: Certificate,
    /// Unit direction to price next, and the one whose margin is `certificate.lower`.
    direction: Vec<f64>,
    best_direction: Vec<f64>,
    working: WorkingSet,
    /// Other values that are close to this one.
    near: Vec<usize>,
}

impl Anchor {
    fn new(problem: &Problem, place: usize, index: usize) -> Self {
        let dimension = problem.exact.ncols();
        let mut direction = problem.centred.row(index).to_vec();
        if !normalise(&mut direction) {
            direction[0] = 1.0;
        }
        Self {
            place,
            index,
            done: false,
            certificate: Certificate {
                lower: 0.0,
                upper: f64::INFINITY,
                active: 0,
                rival: usize::from(index == 0),
                duplicate: None,
            },
            best_direction: vec![0.0; dimension],
            direction,
            working: WorkingSet::new(dimension),
            near: Vec::new(),
        }
    }

    fn find_duplicate(&mut self, inverse_distances: ArrayView1<f64>) {
        if let Some(twin) = inverse_distances.iter().position(|inverse| inverse.is_infinite()) {
            self.done = true;
            self.certificate.upper = 0.0;
            self.certificate.rival = twin;
            self.certificate.duplicate = Some(twin);
        }
    }

    fn find_near(&mut self, problem: &Problem, inverse_distances: ArrayView1<f64>) {
        let own = problem.squared_norms[self.index];
        let is_near = |&other: &usize| {
            let inverse = inverse_distances[other];
            inverse.is_finite() && inverse * inverse * NEAR * (own + problem.squared_norms[other]) >= 1.0
        };
        self.near = (0..inverse_distances.len()).filter(is_near).collect();
    }

    /// One round: prices all values at the present direction, keeps the better bounds, and moves to the optimum of the
    /// enlarged working set.
    fn round(&mut self, problem: &Problem, scores: &mut [f64], inverse_distances: &[f64]) {
        let own = scores[self.index];
        pricing::margins(scores, own, inverse_distances);
        let margins = scores;
        margins[self.index] = f64::INFINITY;
        for &other in &self.near {
            margins[other] = unit_difference_margin(problem.row(self.index), problem.row(other), &self.direction);
        }
        let upper = self.certificate.upper;
        let worst = pricing::smallest::<ADDED_PER_ROUND>(margins, upper * (1.0 - TARGET_GAP));
        self.note_margin(problem, margins, &worst);
        if upper.is_finite() && upper - self.certificate.lower <= TARGET_GAP * upper {
            self.done = true;
            return;
        }
        let grown = self.working.add(problem, self.index, worst.iter().copied());
        let solved = self.working.solve();
        let Some(distance) = solved.filter(|_| grown || self.certificate.upper.is_infinite()) else {
            self.done = true;
            return;
        };
        self.certificate.upper = self.certificate.upper.min(distance);
        self.certificate.active = self.working.active();
        if distance <= ZERO {
            self.certificate.lower = 0.0;
            self.done = true;
            return;
        }
        self.direction.clear();
        self.direction.extend(self.working.nearest.iter().map(|x| x / distance));
    }

    /// Records the margin of the present direction when it is the best so far. The few smallest margins are computed again
    /// from the differences themselves, so that the certificate does not rest on the shortcut.
    fn note_margin(&mut self, problem: &Problem, margins: &[f64], worst: &[usize]) {
        let (first, smallest) = pricing::minimum(margins);
        let mut exact = (smallest, first);
        for &other in worst.iter().chain(self.working.members.iter()).chain([&first]) {
            if margins[other] <= smallest + 1e-6 {
                let margin = unit_difference_margin(problem.row(self.index), problem.row(other), &self.direction);
                if other == exact.1 || margin < exact.0 {
                    exact = (margin, other);
                }
            }
        }
        if exact.0 > self.certificate.lower {
            self.certificate.lower = exact.0;
            self.certificate.rival = exact.1;
            self.best_direction.clone_from(&self.direction);
        }
    }
}

fn unit_difference_margin(anchor: &[f64], other: &[f64], direction: &[f64]) -> f64 {
    let along: f64 = anchor.iter().zip(other).zip(direction).map(|((a, b), u)| (a - b) * u).sum();
    along / squared_distance(anchor, other).sqrt()
}

fn normalise(vector: &mut [f64]) -> bool {
    let norm = dot(vector, vector).sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    }
    norm > 0.0
}

/// A few unit differences `a_j`, and the point of their convex hull nearest to the origin.
///
/// The nearest point is found as a non-negative least squares problem, `min_{λ≥0} ‖[Aᵀ; 1ᵀ]λ − [0; 1]‖`, by the active-set
/// method of Lawson and Hanson on the Gram matrix `Q = A·Aᵀ + 1·1ᵀ`; `λ/Σλ` are the weights of the nearest point.
struct WorkingSet {
    dimension: usize,
    /// Indices of values; `points` holds their unit differences, one row each; `gram` their products plus 1.
    members: Vec<usize>,
    points: Vec<f64>,
    gram: Vec<Vec<f64>>,
    /// Members with positive weight, in the order of the factor's rows.
    passive: Vec<usize>,
    weights: Vec<f64>,
    factor: GrowingCholesky,
    /// The nearest point.
    nearest: Vec<f64>,
    gradient: Vec<f64>,
    trial: Vec<f64>,
}

/// A new member whose distance to the span of the active ones is below this share of its norm depends on them.
const DEPENDENT: f64 = 1e-14;

impl WorkingSet {
    fn new(dimension: usize) -> Self {
        Self {
            dimension,
            members: Vec::new(),
            points: Vec::new(),
            gram: Vec::new(),
            passive: Vec::new(),
            weights: Vec::new(),
            factor: GrowingCholesky::with_capacity(dimension + 1),
            nearest: vec![0.0; dimension],
            gradient: Vec::new(),
            trial: Vec::new(),
        }
    }

    fn active(&self) -> usize {
        self.passive.len()
    }

    fn point(&self, member: usize) -> &[f64] {
        &self.points[member * self.dimension..(member + 1) * self.dimension]
    }

    /// Adds the unit differences of `anchor` to `others` that are not there yet; says whether there was one.
    fn add(&mut self, problem: &Problem, anchor: usize, others: impl Iterator<Item = usize>) -> bool {
        let before = self.members.len();
        for other in others {
            if self.members.contains(&other) {
                continue;
            }
            let (from, to) = (problem.row(anchor), problem.row(other));
            let inverse = squared_distance(from, to).sqrt().recip();
            self.points.extend(from.iter().zip(to).map(|(a, b)| (a - b) * inverse));
            self.members.push(other);
        }
        self.extend_gram(before);
        self.members.len() > before
    }

    fn extend_gram(&mut self, before: usize) {
        let count = self.members.len();
        if before == count {
            return;
        }
        // `points` holds `count` rows of `dimension` numbers.
        let points = ArrayView2::from_shape((count, self.dimension), &self.points).expect("whole rows");
        let products = product(&points.slice(s![before.., ..]), &points.t());
        for (member, row) in (before..count).zip(products.rows()) {
            self.gram.push(row.iter().map(|product| product + 1.0).collect());
            for earlier in 0..before {
                let value = self.gram[member][earlier];
                self.gram[earlier].push(value);
            }
        }
    }

    /// Moves to the nearest point of the enlarged hull and returns its norm; `None` when the weights vanish.
    fn solve(&mut self) -> Option<f64> {
        let mut polished = false;
        // Each pass activates one member; passes that repeat can only come from rounding, hence the bound.
        for _ in 0..20 * (self.dimension + self.members.len()) {
            if polished {
                self.refine();
                self.exact_gradient();
            } else {
                self.gram_gradient();
            }
            if self.activate_steepest(if polished { TARGET_GAP } else { 1e-13 }) {
                self.restore_feasibility();
            } else if polished {
                break;
            } else {
                polished = true;
            }
        }
        self.refine();
        let total: f64 = self.weights.iter().sum();
        if total <= 0.0 {
            return None;
        }
        self.nearest.iter_mut().for_each(|x| *x /= total);
        Some(dot(&self.nearest, &self.nearest).sqrt())
    }

    /// `1 − Q·λ` for all members: fast, with an absolute error of about 1e-15.
    fn gram_gradient(&mut self) {
        self.gradient.clear();
        self.gradient.resize(self.members.len(), 1.0);
        for (&member, &weight) in self.passive.iter().zip(&self.weights) {
            for (gradient, product) in self.gradient.iter_mut().zip(&self.gram[member]) {
                *gradient -= weight * product;
            }
        }
    }

    /// The same gradient relative to the margin of the active members, from the vectors themselves: it stays accurate when
    /// the nearest point is close to the origin.
    fn exact_gradient(&mut self) {
        let level = self.level();
        self.gradient.clear();
        for member in 0..self.members.len() {
            let point = &self.points[member * self.dimension..(member + 1) * self.dimension];
            self.gradient.push(1.0 - dot(point, &self.nearest) / level);
        }
    }

    /// `⟨a_s, Σλa⟩`, the same for all active `s` at an optimum; their mean here.
    fn level(&self) -> f64 {
        let sum: f64 = self.passive.iter().map(|&member| dot(self.point(member), &self.nearest)).sum();
        sum / self.passive.len() as f64
    }

    /// Activates the member of steepest gradient that does not depend on the active ones; says whether there was one.
    fn activate_steepest(&mut self, tolerance: f64) -> bool {
        while let Some(entering) = self.steepest(tolerance) {
            if self.activate(entering) {
                return true;
            }
            self.gradient[entering] = f64::NEG_INFINITY;
        }
        false
    }

    fn steepest(&self, tolerance: f64) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (member, &gradient) in self.gradient.iter().enumerate() {
            if gradient > tolerance
                && best.is_none_or(|other| gradient > self.gradient[other])
                && !self.passive.contains(&member)
            {
                best = Some(member);
            }
        }
        best
    }

    fn activate(&mut self, member: usize) -> bool {
        if self.factor.is_full() {
            return false;
        }
        let cross: Vec<f64> = self.passive.iter().map(|&other| self.gram[member][other]).collect();
        let accepted = self.factor.append(&cross, self.gram[member][member], DEPENDENT);
        if accepted {
            self.passive.push(member);
            self.weights.push(0.0);
        }
        accepted
    }

    /// Moves to the unconstrained optimum of the active members, dropping those whose weight would turn negative.
    fn restore_feasibility(&mut self) {
        while !self.passive.is_empty() {
            self.trial.clear();
            self.trial.resize(self.passive.len(), 1.0);
            self.factor.solve(&mut self.trial);
            if self.trial.iter().all(|weight| *weight > 0.0) {
                self.weights.copy_from_slice(&self.trial);
                return;
            }
            let mut step = 1.0f64;
            for (&weight, &target) in self.weights.iter().zip(&self.trial) {
                if target <= 0.0 {
                    step = step.min(weight / (weight - target));
                }
            }
            for (weight, &target) in self.weights.iter_mut().zip(&self.trial) {
                *weight += step * (target - *weight);
            }
            self.drop_smallest();
        }
    }

    /// Drops every member whose weight has reached 0: those with a non-positive target and the smallest weight.
    fn drop_smallest(&mut self) {
        let bounded = (0..self.weights.len()).filter(|&row| self.trial[row] <= 0.0);
        let least = bounded.map(|row| self.weights[row]).fold(f64::INFINITY, f64::min);
        for row in (0..self.weights.len()).rev() {
            if self.trial[row] <= 0.0 && self.weights[row] <= least.max(0.0) {
                self.factor.remove(row);
                self.passive.remove(row);
                self.weights.remove(row);
                self.trial.remove(row);
            }
        }
    }

    /// Computes `Σλa` and removes the rounding error of the normal equations by one step of iterative refinement.
    fn refine(&mut self) {
        for _ in 0..2 {
            self.sum_points();
            let missing = 1.0 - self.weights.iter().sum::<f64>();
            self.trial.clear();
            for &member in &self.passive {
                self.trial.push(missing - dot(self.point(member), &self.nearest));
            }
            self.factor.solve(&mut self.trial);
            if self.weights.iter().zip(&self.trial).all(|(weight, correction)| weight + correction > 0.0) {
                self.weights.iter_mut().zip(&self.trial).for_each(|(weight, correction)| *weight += correction);
            }
        }
        self.sum_points();
    }

    fn sum_points(&mut self) {
        self.nearest.fill(0.0);
        for (&member, &weight) in self.passive.iter().zip(&self.weights) {
            let point = &self.points[member * self.dimension..(member + 1) * self.dimension];
            self.nearest.iter_mut().zip(point).for_each(|(sum, x)| *sum += weight * x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;
    use ndarray::array;

    fn sphere(count: usize, dimension: usize) -> Array2<f64> {
        draw(Kind::Sphere, count, dimension, &mut StreamName::new("test").with(count as u64).rng()).unwrap()
    }

    fn rho(values: &Array2<f64>) -> f64 {
        decodability(values, Cores::One).unwrap().rho
    }

    #[test]
    fn the_corners_of_a_simplex_have_a_known_rho() {
        // Unit differences of e_i to the others have products 1/2, so the nearest point has the square (1 + (n−2)/2)/(n−1).
        for count in [2, 3, 10, 30] {
            let n = count as f64;
            let wanted = ((1.0 + (n - 2.0) / 2.0) / (n - 1.0)).sqrt();
            assert!((rho(&Array2::eye(count)) - wanted).abs() < 1e-14, "{count}");
        }
    }

    #[test]
    fn one_dimension_and_few_values_are_no_special_case() {
        let found = decodability(&array![[3.0], [1.0], [2.0]], Cores::One).unwrap();
        let lower: Vec<f64> = found.certificates.iter().map(|certificate| certificate.lower).collect();
        assert_eq!(lower, [1.0, 1.0, 0.0], "the middle value is not decodable");
        assert!(rho(&sphere(5, 40)) > 0.5);
    }

    #[test]
    fn shift_and_scale_change_nothing() {
        let table = sphere(80, 12);
        let plain = rho(&table);
        for (scale, shift) in [(1e-200, 0.0), (1e300, 0.0), (3.0, 100.0), (1e-3, -5.0)] {
            let moved = table.mapv(|x| x * scale + shift);
            assert!((rho(&moved) - plain).abs() < 1e-9, "{scale} {shift}: {} against {plain}", rho(&moved));
        }
    }

    #[test]
    fn close_pairs_keep_their_digits() {
        // Five values around a small one, in a table far from its mean: differences of the table as given are exact, those of
        // a shifted table are not, and products cannot tell the five apart.
        let table = sphere(30, 8) + 3.0;
        for exponent in [-20, -30, -40, -50] {
            let mut close = table.clone();
            let step = 2f64.powi(exponent);
            for row in 0..5 {
                let entry = |axis: usize| 1e-3 + step * ((row * 37 + axis * 11 + row * axis * 5) as f64).sin();
                close.row_mut(row).assign(&ndarray::Array1::from_shape_fn(8, entry));
            }
            let found = decodability(&close, Cores::One).unwrap();
            let achieved = achieved_margins(close.view(), found.outputs.view());
            for (certificate, margin) in found.certificates.iter().zip(&achieved) {
                assert!((certificate.lower - margin).abs() < 1e-13, "2^{exponent}: {certificate:?} against {margin}");
                assert!(certificate.relative_gap() < Certificate::TIGHT, "2^{exponent}: {certificate:?}");
            }
        }
    }

    #[test]
    fn a_tiny_rho_is_not_called_zero() {
        // The middle value is 1e-11 above the line of the others: decodable, by a margin of about that size.
        let table = array![[0.0, 1e-11], [1.0, 0.0], [-1.0, 0.0], [0.5, 0.0], [-0.5, 0.0]];
        let found = decodability(&table, Cores::One).unwrap();
        assert!(!found.certificates[0].is_zero(), "{:?}", found.certificates[0]);
        assert!(found.certificates[0].upper > 1e-12 && found.certificates[0].upper < 1e-10);
    }

    #[test]
    fn equal_values_are_named_and_the_others_are_measured() {
        let mut table = sphere(20, 6);
        let twin = table.row(4).to_owned();
        table.row_mut(17).assign(&twin);
        let found = decodability(&table, Cores::One).unwrap();
        assert_eq!((found.certificates[4].duplicate, found.certificates[17].duplicate), (Some(17), Some(4)));
        assert_eq!((found.undecodable(), found.rho), (2, 0.0));
        assert!(found.outputs.row(4).iter().all(|x| *x == 0.0));
    }

    #[test]
    fn all_cores_give_the_same_bits_as_one() {
        let table = sphere(300, 24);
        let (one, all) = (decodability(&table, Cores::One).unwrap(), decodability(&table, Cores::All).unwrap());
        assert_eq!(one.certificates, all.certificates);
        assert_eq!(one.outputs, all.outputs);
    }

    #[test]
    fn some_values_are_measured_among_all() {
        let table = sphere(200, 12);
        let all = decodability(&table, Cores::One).unwrap();
        let anchors = [150, 3, 77];
        let some = decodability_of(&table, &anchors, Cores::One).unwrap();
        for (certificate, anchor) in some.certificates.iter().zip(anchors) {
            assert!((certificate.lower - all.certificates[anchor].lower).abs() < 1e-12);
            assert_eq!(certificate.rival, all.certificates[anchor].rival);
        }
        for anchors in [&[][..], &[200]] {
            assert_eq!(decodability_of(&table, anchors, Cores::One).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn tables_without_a_decodability_are_refused() {
        for table in [array![[1.0, 2.0]], array![[1.0, f64::NAN], [0.0, 1.0]], Array2::zeros((0, 3))] {
            assert_eq!(decodability(&table, Cores::One).unwrap_err().exit_code(), 2);
        }
    }
}
