//! The Hermite construction of Nichani, Lee and Bietti (2412.06538), called NTK in 2512.00207.
//!
//! `G` (m×d) standard normal; columns of `D` (d×m) uniform on the sphere; with targets `t_i` per key (values, or U*)
//! `u_r = (1/m) Σ_i h_q(⟨g_r, k_i⟩)·⟨t_i, D_r⟩·k_i`, `g(x) = D·(σ(G·x) ⊙ (U·x))`. `h_q` is the normalised probabilists' Hermite
//! polynomial. Unit r depends on its own draws alone, so the MLP of size m is a prefix of any larger one, up to the factor 1/m.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};

use super::gated::{Activation, GatedMlp};
use super::nested::NestedOutputs;
use crate::facts::embeddings::{gaussian, normalise_rows};
use crate::facts::fact_set::FactSet;
use crate::facts::screening::count_stored;
use crate::rng::{Rng, StreamName};

/// Units drawn and computed at once, and keys.
const BLOCK: usize = 256;
const KEYS: usize = 256;

/// Settings of the construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Degree q of the Hermite polynomial; the released experiments use 1.
    pub degree: u32,
    /// Gate; the released experiments use ReLU.
    pub activation: Activation,
}

impl Default for Settings {
    fn default() -> Self {
        Self { degree: 1, activation: Activation::Relu }
    }
}

/// `h_q(z)`: `h_0 = 1`, `h_1 = z`, `h_(n+1) = (z·h_n − √n·h_(n−1))/√(n+1)`.
pub fn hermite(degree: u32, z: f64) -> f64 {
    let (mut before, mut value) = (0.0, 1.0);
    for n in 0..degree {
        let next = (z * value - f64::from(n).sqrt() * before) / f64::from(n + 1).sqrt();
        (before, value) = (value, next);
    }
    value
}

/// The nested family of NTK MLPs for one fact set: grows unit by unit and keeps the accumulated outputs on the keys.
pub struct NestedNtk<'a> {
    facts: &'a FactSet,
    targets: Array2<f64>,
    settings: Settings,
    rng: Rng,
    units: Units,
    /// Without the factor 1/m.
    outputs: NestedOutputs,
}

/// The units drawn so far, a row each.
struct Units {
    gate: Array2<f64>,
    /// Without the factor 1/m.
    up: Array2<f64>,
    down: Array2<f64>,
}

impl<'a> NestedNtk<'a> {
    /// `targets (n×d)`: the wanted output per value.
    pub fn new(facts: &'a FactSet, targets: &Array2<f64>, settings: Settings, name: StreamName) -> Self {
        let empty = Array2::zeros((0, facts.dimension()));
        Self {
            facts,
            targets: facts.by_key(targets),
            settings,
            rng: name.rng(),
            units: Units { gate: empty.clone(), up: empty.clone(), down: empty },
            outputs: NestedOutputs::new(facts.keys.dim()),
        }
    }

    fn draw_up_to(&mut self, size: usize) {
        let keys = &self.facts.keys;
        let units = &mut self.units;
        while units.gate.nrows() < size {
            let gate = gaussian((BLOCK, self.facts.dimension()), &mut self.rng);
            let mut down = gaussian((BLOCK, self.facts.dimension()), &mut self.rng);
            normalise_rows(&mut down);
            let up = up_rows(keys.view(), self.targets.view(), &gate, &down, self.settings.degree);
            for (all, new) in [(&mut units.gate, &gate), (&mut units.up, &up), (&mut units.down, &down)] {
                all.append(Axis(0), new.view()).expect("rows of one width");
            }
        }
    }

    /// Number of facts that the MLP of size m stores.
    pub fn stored(&mut self, size: usize) -> usize {
        let (values, map) = (self.facts.values.view(), &self.facts.map);
        count_stored(self.outputs(size).view(), values, map)
    }

    /// Outputs on the keys at size m, without the factor 1/m.
    fn outputs(&mut self, size: usize) -> &Array2<f64> {
        self.draw_up_to(size);
        let (keys, activation) = (self.facts.keys.view(), self.settings.activation);
        self.outputs.at(size, |outputs, range| self.units.add_outputs(range, keys, activation, outputs))
    }

    /// The MLP of size m.
    pub fn mlp(&mut self, size: usize) -> GatedMlp {
        self.draw_up_to(size);
        let rows = s![..size, ..];
        GatedMlp {
            gate: self.units.gate.slice(rows).to_owned(),
            gate_bias: None,
            up: &self.units.up.slice(rows) / size as f64,
            down: self.units.down.slice(rows).to_owned().reversed_axes(),
            activation: self.settings.activation,
        }
    }
}

impl Units {
    /// Adds the outputs of the units in `range` on the keys.
    fn add_outputs(
        &self,
        range: Range<usize>,
        keys: ArrayView2<f64>,
        activation: Activation,
        outputs: &mut Array2<f64>,
    ) {
        for (keys, mut outputs) in keys.axis_chunks_iter(Axis(0), KEYS).zip(outputs.axis_chunks_iter_mut(Axis(0), KEYS))
        {
            for start in range.clone().step_by(BLOCK) {
                let units = s![start..(start + BLOCK).min(range.end), ..];
                let mut hidden = keys.dot(&self.gate.slice(units).t());
                activation.apply_to(&mut hidden);
                hidden *= &keys.dot(&self.up.slice(units).t());
                general_mat_mul(1.0, &hidden, &self.down.slice(units), 1.0, &mut outputs);
            }
        }
    }
}

/// `[h_q(K·Gᵀ) ⊙ (T·Dᵀ)]ᵀ·K` for gates and down columns given as rows: m×d, in blocks of keys that stay in cache.
fn up_rows(
    keys: ArrayView2<f64>,
    targets: ArrayView2<f64>,
    gate: &Array2<f64>,
    down: &Array2<f64>,
    degree: u32,
) -> Array2<f64> {
    let mut up = Array2::zeros(gate.dim());
    for (keys, targets) in keys.axis_chunks_iter(Axis(0), KEYS).zip(targets.axis_chunks_iter(Axis(0), KEYS)) {
        let mut weights = keys.dot(&gate.t());
        if degree != 1 {
            weights.mapv_inplace(|z| hermite(degree, z));
        }
        weights *= &targets.dot(&down.t());
        general_mat_mul(1.0, &weights.t(), &keys, 1.0, &mut up);
    }
    up
}

/// The up projection for given gates `G (m×d)` and down columns `D (d×m)`: `U = (1/m)[h_q(K·Gᵀ) ⊙ (T·D)]ᵀ·K`.
pub fn up_projection(
    keys: ArrayView2<f64>,
    targets: ArrayView2<f64>,
    gate: ArrayView2<f64>,
    down: ArrayView2<f64>,
    degree: u32,
) -> Array2<f64> {
    up_rows(keys, targets, &gate.to_owned(), &down.t().to_owned(), degree) / gate.nrows() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decoding::stored;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;

    fn facts() -> FactSet {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap()
    }

    #[test]
    fn hermite_polynomials() {
        let z = 0.7f64;
        assert_eq!(hermite(0, z), 1.0);
        assert_eq!(hermite(1, z), z);
        assert!((hermite(2, z) - (z * z - 1.0) / 2f64.sqrt()).abs() < 1e-15);
        assert!((hermite(3, z) - (z.powi(3) - 3.0 * z) / 6f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn the_nested_family_agrees_with_the_mlp_and_the_formula() {
        let facts = facts();
        let mut family = NestedNtk::new(&facts, &facts.values, Settings::default(), StreamName::new("ntk"));
        for size in [700, 40, 300] {
            let nested = family.outputs(size) / size as f64;
            let mlp = family.mlp(size);
            assert!((nested - mlp.forward(facts.keys.view())).iter().all(|x| x.abs() < 1e-10));
            assert_eq!(family.stored(size), stored(&mlp.margins(&facts)));
            let targets = facts.by_key(&facts.values);
            let up = up_projection(facts.keys.view(), targets.view(), mlp.gate.view(), mlp.down.view(), 1);
            assert!((up - &mlp.up).iter().all(|x| x.abs() < 1e-12));
        }
    }

    /// In the limit of many units the output is `(1/2d) Σ_i ⟨k_i, x⟩²·v_f(i)` for ReLU and degree 1.
    #[test]
    fn wide_mlps_approach_the_kernel() {
        let facts = facts();
        let mut family = NestedNtk::new(&facts, &facts.values, Settings::default(), StreamName::new("ntk"));
        let outputs = family.mlp(40_000).forward(facts.keys.view());
        let kernel = facts.keys.dot(&facts.keys.t()).mapv(|x| x * x).dot(&facts.by_key(&facts.values)) / 32.0;
        let norm = |table: &Array2<f64>| table.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm(&(&outputs - &kernel)) / norm(&kernel) < 0.1);
    }
}
