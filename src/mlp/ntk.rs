//! The Hermite construction of Nichani, Lee and Bietti (2412.06538), called NTK in 2512.00207.
//!
//! `G` (m×d) standard normal; columns of `D` (d×m) uniform on the sphere; with targets `t_i` per key (values, or U*)
//! `u_r = (1/m) Σ_i h_q(⟨g_r, k_i⟩)·⟨t_i, D_r⟩·k_i`, `g(x) = D·(σ(G·x) ⊙ (U·x))`. `h_q` is the normalised probabilists' Hermite
//! polynomial. Unit r depends on its own draws alone, so the MLP of size m is a prefix of any larger one, up to the factor 1/m.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::gated::{Activation, GatedMlp};
use super::nested::NestedOutputs;
use crate::facts::embeddings::{gaussian, normalise_rows};
use crate::facts::fact_set::FactSet;
use crate::facts::screening::count_stored;
use crate::num::products::{general_mat_mul, product};
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
    /// n×d.
    targets: &'a Array2<f64>,
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
    pub fn new(facts: &'a FactSet, targets: &'a Array2<f64>, settings: Settings, name: StreamName) -> Self {
        let empty = Array2::zeros((0, facts.dimension()));
        Self {
            facts,
            targets,
            settings,
            rng: name.rng(),
            units: Units { gate: empty.clone(), up: empty.clone(), down: empty },
            outputs: NestedOutputs::new(facts.keys.dim()),
        }
    }

    fn draw_up_to(&mut self, size: usize) {
        let (units, dimension) = (&mut self.units, self.facts.dimension());
        let known = units.gate.nrows();
        let missing = size.saturating_sub(known).next_multiple_of(BLOCK);
        if missing == 0 {
            return;
        }
        for all in [&mut units.gate, &mut units.up, &mut units.down] {
            all.reserve(Axis(0), missing).expect("rows of one width");
        }
        let none = Array2::zeros((BLOCK, dimension));
        for _ in 0..missing / BLOCK {
            let gate = gaussian((BLOCK, dimension), &mut self.rng);
            let mut down = gaussian((BLOCK, dimension), &mut self.rng);
            normalise_rows(&mut down);
            for (all, new) in [(&mut units.gate, &gate), (&mut units.up, &none), (&mut units.down, &down)] {
                all.append(Axis(0), new.view()).expect("rows of one width");
            }
        }
        let new = s![known.., ..];
        let (gate, down, mut up) = (units.gate.slice(new), units.down.slice(new), units.up.slice_mut(new));
        let mut room = Room::new();
        for (keys, map) in self.facts.keys.axis_chunks_iter(Axis(0), KEYS).zip(self.facts.map.chunks(KEYS)) {
            let targets = self.targets.select(Axis(0), map);
            room.add_up_rows(keys, targets.view(), gate, down, self.settings.degree, up.view_mut());
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
        let [gate, up, down] =
            [&self.units.gate, &self.units.up, &self.units.down].map(|all| all.slice(rows).to_owned());
        Units { gate, up, down }.into_mlp(self.settings.activation)
    }

    /// The MLP of size m, where no other is asked for afterwards: nothing is copied, and units drawn beyond m keep their memory.
    pub fn into_mlp(mut self, size: usize) -> GatedMlp {
        self.draw_up_to(size);
        let Units { mut gate, mut up, mut down } = self.units;
        for all in [&mut gate, &mut up, &mut down] {
            all.slice_collapse(s![..size, ..]);
        }
        Units { gate, up, down }.into_mlp(self.settings.activation)
    }
}

impl Units {
    fn into_mlp(self, activation: Activation) -> GatedMlp {
        let size = self.gate.nrows() as f64;
        GatedMlp { gate: self.gate, gate_bias: None, up: self.up / size, down: self.down.reversed_axes(), activation }
    }

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
                let mut hidden = product(&keys, &self.gate.slice(units).t());
                activation.apply_to(&mut hidden);
                hidden *= &product(&keys, &self.up.slice(units).t());
                general_mat_mul(1.0, &hidden, &self.down.slice(units), 1.0, &mut outputs);
            }
        }
    }
}

/// Scratch tables of a block of units and keys.
struct Room {
    weights: Array2<f64>,
    targets: Array2<f64>,
}

impl Room {
    fn new() -> Self {
        Self { weights: Array2::zeros((BLOCK, KEYS)), targets: Array2::zeros((BLOCK, KEYS)) }
    }

    /// Adds `[h_q(G·Kᵀ) ⊙ (D·Tᵀ)]·K` of a block of keys to `up` (m×d), for gates and down columns given as rows.
    fn add_up_rows(
        &mut self,
        keys: ArrayView2<f64>,
        targets: ArrayView2<f64>,
        gate: ArrayView2<f64>,
        down: ArrayView2<f64>,
        degree: u32,
        mut up: ArrayViewMut2<f64>,
    ) {
        let units = gate.axis_chunks_iter(Axis(0), BLOCK).zip(down.axis_chunks_iter(Axis(0), BLOCK));
        for ((gate, down), mut up) in units.zip(up.axis_chunks_iter_mut(Axis(0), BLOCK)) {
            let part = s![..gate.nrows(), ..keys.nrows()];
            let (mut weights, mut wanted) = (self.weights.slice_mut(part), self.targets.slice_mut(part));
            general_mat_mul(1.0, &gate, &keys.t(), 0.0, &mut weights);
            if degree != 1 {
                weights.mapv_inplace(|z| hermite(degree, z));
            }
            general_mat_mul(1.0, &down, &targets.t(), 0.0, &mut wanted);
            weights *= &wanted;
            general_mat_mul(1.0, &weights, &keys, 1.0, &mut up);
        }
    }
}

/// The up projection for given gates `G (m×d)` and down columns `D (d×m)`: `U = (1/m)[h_q(K·Gᵀ) ⊙ (T·D)]ᵀ·K`.
pub fn up_projection(
    keys: ArrayView2<f64>,
    targets: ArrayView2<f64>,
    gate: ArrayView2<f64>,
    down: ArrayView2<f64>,
    degree: u32,
) -> Array2<f64> {
    let mut up = Array2::zeros(gate.dim());
    let mut room = Room::new();
    for (keys, targets) in keys.axis_chunks_iter(Axis(0), KEYS).zip(targets.axis_chunks_iter(Axis(0), KEYS)) {
        room.add_up_rows(keys, targets, gate, down.t(), degree, up.view_mut());
    }
    up / gate.nrows() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decoding::stored;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;

    fn facts(count: usize) -> FactSet {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, count, 16, &mut rng).unwrap();
        FactSet::new(table.clone(), table, random_bijection(count, &mut rng)).unwrap()
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
        // Two blocks of keys, the second of which is smaller.
        let facts = facts(KEYS + 40);
        for degree in [1, 2] {
            let settings = Settings { degree, ..Settings::default() };
            let family = || NestedNtk::new(&facts, &facts.values, settings, StreamName::new("ntk"));
            let mut grown = family();
            for size in [40, 700, 300, 0] {
                let nested = grown.outputs(size) / size.max(1) as f64;
                let mlp = grown.mlp(size);
                let own = family().into_mlp(size);
                assert!(own.gate == mlp.gate && own.up == mlp.up && own.down == mlp.down);
                assert!((nested - mlp.forward(facts.keys.view())).iter().all(|x| x.abs() < 1e-10));
                assert_eq!(grown.stored(size), stored(&mlp.margins(&facts)));
                let targets = facts.by_key(&facts.values);
                let up = up_projection(facts.keys.view(), targets.view(), mlp.gate.view(), mlp.down.view(), degree);
                assert!((up - &mlp.up).iter().all(|x| x.abs() < 1e-12));
                let weights = facts.keys.dot(&mlp.gate.t()).mapv(|z| hermite(degree, z)) * targets.dot(&mlp.down);
                let up = weights.t().dot(&facts.keys) / size.max(1) as f64;
                assert!((up - &mlp.up).iter().all(|x| x.abs() < 1e-12));
            }
        }
    }

    /// In the limit of many units the output is `(1/2d) Σ_i ⟨k_i, x⟩²·v_f(i)` for ReLU and degree 1.
    #[test]
    fn wide_mlps_approach_the_kernel() {
        let facts = facts(64);
        let mut family = NestedNtk::new(&facts, &facts.values, Settings::default(), StreamName::new("ntk"));
        let outputs = family.mlp(40_000).forward(facts.keys.view());
        let kernel = facts.keys.dot(&facts.keys.t()).mapv(|x| x * x).dot(&facts.by_key(&facts.values)) / 32.0;
        let norm = |table: &Array2<f64>| table.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm(&(&outputs - &kernel)) / norm(&kernel) < 0.1);
    }
}
