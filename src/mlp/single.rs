//! Outputs of an MLP of random features in single precision, with a bound of what that does to them.
//!
//! Without biases, and with a gate that only keeps signs apart, every row of the gate and the up projection and every key may
//! have length 1: lengths of rows go into the columns of `D`, the longest of which has length 1, the length of a key is a positive
//! factor of its outputs, and no margin changes its sign. With
//! `u = 2⁻²⁴`, `γ_n = n·u/(1 − n·u)`, `e = γ_(d+3)`, gates `a = σ(G·x)` and ups `b = U·x`, a hidden unit is off by at most
//! `e·(|a| + |b|) + e²`, and so the outputs, by Cauchy–Schwarz, by at most `‖D‖·(e·(‖a‖ + ‖b‖) + e²·√H)`. Their sum, in blocks of
//! B units, adds at most `γ_(B+H/B+2)·Σ_r |a_r·b_r|·‖D_r‖` (Higham, Accuracy and Stability of Numerical Algorithms, §3.1).

use multiversion::multiversion;
use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};

use super::gated::{Activation, GatedMlp};
use crate::facts::screening::USUAL;
use crate::num::products::{general_mat_mul, product};
use crate::num::rounding::{SINGLE, gamma};

/// Inputs and units computed at once.
const INPUTS: usize = 256;
const UNITS: usize = 256;

/// Far above what entries too small for single precision add up to, far below every bound.
const UNDERFLOW: f64 = 1e-30;

/// The MLP, its rows and columns at the lengths they may have.
pub(super) struct Single {
    /// Rows of the gate and of the up projection, 2H×d: those of each block of units after each other, so that one product
    /// makes both.
    rows: Array2<f32>,
    /// `Dᵀ`, H×d.
    down: Array2<f32>,
    /// Lengths of the columns of `D`.
    lengths: Vec<f32>,
    /// At least the spectral norm of `D`.
    norm: f64,
    is_rectified: bool,
}

impl Single {
    /// None where lengths may not be moved. Weights beyond the usual lengths give outputs that decide nothing: double precision may
    /// overflow there, and has the last word.
    pub fn of(mlp: &GatedMlp) -> Option<Self> {
        let is_rectified = match mlp.activation {
            Activation::Relu => true,
            Activation::Identity => false,
            _ => return None,
        };
        if mlp.gate_bias.is_some() {
            return None;
        }
        let mut rows = Array2::zeros((2 * mlp.hidden(), mlp.gate.ncols()));
        let mut of_units = Vec::with_capacity(mlp.hidden());
        let blocks = mlp.gate.axis_chunks_iter(Axis(0), UNITS).zip(mlp.up.axis_chunks_iter(Axis(0), UNITS));
        for ((gate, up), both) in blocks.zip(rows.axis_chunks_iter_mut(Axis(0), 2 * UNITS)) {
            let (gates, ups) = both.split_at(Axis(0), gate.nrows());
            let lengths = put_unit_rows(gate, gates).into_iter().zip(put_unit_rows(up, ups));
            of_units.extend(lengths.map(|(gate, up)| gate * up));
        }
        let (down, lengths) = scaled_columns(mlp.down.t(), &of_units);
        Some(Self { rows, norm: spectral_norm_at_most(&down), down, lengths, is_rectified })
    }

    /// Outputs for a table of inputs (n×d), each up to a positive factor, and for each what it is off by at most.
    pub fn forward(&self, inputs: ArrayView2<f64>) -> (Array2<f32>, Vec<f32>) {
        let mut outputs = Array2::zeros((inputs.nrows(), self.down.ncols()));
        let mut errors = Vec::with_capacity(inputs.nrows());
        let mut room = Array2::<f32>::zeros((INPUTS, 2 * UNITS));
        let mut unit_inputs = Array2::zeros((INPUTS, inputs.ncols()));
        for (inputs, mut outputs) in
            inputs.axis_chunks_iter(Axis(0), INPUTS).zip(outputs.axis_chunks_iter_mut(Axis(0), INPUTS))
        {
            let mut unit_inputs = unit_inputs.slice_mut(s![..inputs.nrows(), ..]);
            put_unit_rows(inputs, unit_inputs.view_mut());
            let mut sums = vec![Sums::default(); inputs.nrows()];
            for (number, down) in self.down.axis_chunks_iter(Axis(0), UNITS).enumerate() {
                let (start, units) = (number * UNITS, down.nrows());
                let mut both = room.slice_mut(s![..inputs.nrows(), ..2 * units]);
                let rows = self.rows.slice(s![2 * start..2 * (start + units), ..]);
                general_mat_mul(1.0, &unit_inputs, &rows.t(), 0.0, &mut both);
                let lengths = &self.lengths[start..start + units];
                for (row, sums) in both.rows_mut().into_iter().zip(&mut sums) {
                    let (gates, ups) = row.into_slice().expect("rows of a table of its own").split_at_mut(units);
                    sums.add(if self.is_rectified {
                        rectified(gates, ups, lengths)
                    } else {
                        bilinear(gates, ups, lengths)
                    });
                }
                general_mat_mul(1.0, &both.slice(s![.., ..units]), &down, 1.0, &mut outputs);
            }
            errors.extend(sums.iter().map(|sums| self.error(sums, inputs.ncols())));
        }
        (outputs, errors)
    }

    fn error(&self, sums: &Sums, dimension: usize) -> f32 {
        let hidden = self.down.nrows();
        let of_units = gamma(dimension + 3, SINGLE);
        let of_sum = gamma(UNITS + hidden / UNITS + 2, SINGLE);
        let lengths = f64::from(sums.gates).sqrt() + f64::from(sums.ups).sqrt();
        let units = self.norm * of_units * (lengths + of_units * (hidden as f64).sqrt());
        // The sums are rounded too: 1 % more than they come to.
        (1.01 * (units + of_sum * f64::from(sums.hidden)) + UNDERFLOW) as f32
    }
}

/// Columns of `D` (rows of `columns`, H×d) times what each is to take over from its unit, with their lengths: as shares of the longest.
fn scaled_columns(columns: ArrayView2<f64>, of_units: &[f64]) -> (Array2<f32>, Vec<f32>) {
    let columns = columns.as_standard_layout();
    let lengths = columns.rows().into_iter().zip(of_units).map(|(column, of_unit)| length(column) * of_unit);
    let lengths: Vec<f64> = lengths.collect();
    let longest = lengths.iter().copied().fold(0.0, larger);
    let mut scaled = Array2::zeros(columns.dim());
    for ((mut to, from), of_unit) in scaled.rows_mut().into_iter().zip(columns.rows()).zip(of_units) {
        let share = of_unit / longest;
        to.zip_mut_with(&from, |to, from| *to = (from * share) as f32);
    }
    (scaled, lengths.iter().map(|length| (length / longest) as f32).collect())
}

/// The length of a row; not a number, which decides nothing, beyond the usual lengths.
fn length(row: ArrayView1<f64>) -> f64 {
    let length = row.dot(&row).sqrt();
    let is_usual = USUAL.contains(&length) || row.iter().all(|entry| *entry == 0.0);
    if is_usual { length } else { f64::NAN }
}

/// Puts the rows of a table, brought to length 1, into another; returns what their lengths were. Rows of zeros stay.
fn put_unit_rows(table: ArrayView2<f64>, mut rows: ArrayViewMut2<f32>) -> Vec<f64> {
    let lengths: Vec<f64> = table.rows().into_iter().map(length).collect();
    for ((mut to, from), length) in rows.rows_mut().into_iter().zip(table.rows()).zip(&lengths) {
        let share = if *length == 0.0 { 0.0 } else { 1.0 / length };
        to.zip_mut_with(&from, |to, from| *to = (from * share) as f32);
    }
    lengths
}

/// Not a number where either is not.
fn larger(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// At least the spectral norm of a table A (n×d), and at most about d^(1/64) times it: the 32nd root of the Frobenius norm of
/// `(AᵀA)^16`. `AᵀA` (symmetric to the bit) is summed in double precision over blocks of B rows in single precision; these are off,
/// in Frobenius norm, by at most `γ_B·‖block‖_F²`, together `γ_B` times the trace, and by 1 % more for all that is rounded else.
fn spectral_norm_at_most(table: &Array2<f32>) -> f64 {
    let mut square = Array2::<f64>::zeros((table.ncols(), table.ncols()));
    for block in table.axis_chunks_iter(Axis(0), UNITS) {
        square.zip_mut_with(&product(&block.t(), &block), |sum, entry| *sum += f64::from(*entry));
    }
    let off = gamma(UNITS, SINGLE) * square.diag().sum() * 1.01;
    for _ in 0..4 {
        square = product(&square, &square);
    }
    (square.iter().map(|entry| entry * entry).sum::<f64>().powf(1.0 / 32.0) + off).sqrt()
}

/// Of one key, over units: `Σ a²`, `Σ b²`, and `Σ |a·b|·‖D_r‖`.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    gates: f32,
    ups: f32,
    hidden: f32,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.gates += other.gates;
        self.ups += other.ups;
        self.hidden += other.hidden;
    }
}

const LANES: usize = 16;

/// Replaces the gates of a key by its hidden units, `σ(gate)·up`.
#[inline(always)]
fn units(gates: &mut [f32], ups: &[f32], lengths: &[f32], activate: impl Fn(f32) -> f32) -> Sums {
    let mut lanes = [[0.0f32; LANES]; 3];
    let mut unit = |lane: usize, gate: &mut f32, up: f32, length: f32| {
        let active = activate(*gate);
        *gate = active * up;
        lanes[0][lane] += active * active;
        lanes[1][lane] += up * up;
        lanes[2][lane] += gate.abs() * length;
    };
    let whole = gates.len() - gates.len() % LANES;
    let (first, last) = gates.split_at_mut(whole);
    let blocks = first.chunks_exact_mut(LANES).zip(ups.chunks_exact(LANES)).zip(lengths.chunks_exact(LANES));
    for ((gates, ups), lengths) in blocks {
        for lane in 0..LANES {
            unit(lane, &mut gates[lane], ups[lane], lengths[lane]);
        }
    }
    for (lane, gate) in last.iter_mut().enumerate() {
        unit(lane, gate, ups[whole + lane], lengths[whole + lane]);
    }
    let [gates, ups, hidden] = lanes.map(|lanes| lanes.iter().sum());
    Sums { gates, ups, hidden }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn rectified(gates: &mut [f32], ups: &[f32], lengths: &[f32]) -> Sums {
    units(gates, ups, lengths, |gate| if gate > 0.0 { gate } else { 0.0 })
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn bilinear(gates: &mut [f32], ups: &[f32], lengths: &[f32]) -> Sums {
    units(gates, ups, lengths, |gate| gate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    fn mlp(activation: Activation, scale: f64) -> GatedMlp {
        let mut rng = StreamName::new("weights").rng();
        let mut gaussian = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let (gate, up, down) = (gaussian(700, 24) * scale, gaussian(700, 24), gaussian(24, 700));
        GatedMlp { gate, gate_bias: None, up, down, activation }
    }

    #[test]
    fn the_bound_covers_what_single_precision_does_and_is_not_idle() {
        let keys = draw(Kind::Gaussian, 300, 24, &mut StreamName::new("keys").rng()).unwrap();
        for (activation, scale) in [(Activation::Relu, 1.0), (Activation::Identity, 1e-40), (Activation::Relu, 1e40)] {
            let mut mlp = mlp(activation, scale);
            if scale > 1.0 {
                // Column by column, as constructions leave it.
                mlp.down = mlp.down.t().to_owned().reversed_axes();
            }
            let exact = mlp.forward(keys.view());
            let (found, errors) = Single::of(&mlp).unwrap().forward(keys.view());
            let mut worst = 0.0f64;
            for ((exact, found), error) in exact.rows().into_iter().zip(found.rows()).zip(errors) {
                let found = found.mapv(f64::from);
                let factor = exact.dot(&found) / exact.dot(&exact);
                let off = &found - &(&exact * factor);
                assert!(factor > 0.0);
                worst = worst.max(off.dot(&off).sqrt() / f64::from(error));
            }
            assert!(worst < 1.0 && worst > 1e-3, "{activation:?}: {worst}");
        }
    }

    #[test]
    fn weights_beyond_what_squares_hold_decide_nothing() {
        let keys = draw(Kind::Gaussian, 5, 24, &mut StreamName::new("keys").rng()).unwrap();
        let plain = mlp(Activation::Relu, 1.0);
        let mut extreme = [plain.clone(), plain.clone(), plain.clone()];
        extreme[0].gate.row_mut(3).fill(1e-200);
        extreme[1].up.row_mut(3).fill(1e200);
        extreme[2].down *= 1e-60;
        let nothing = GatedMlp { down: Array2::zeros((24, 700)), ..plain.clone() };
        for mlp in extreme.into_iter().chain([nothing]) {
            let (_, errors) = Single::of(&mlp).unwrap().forward(keys.view());
            assert!(errors.iter().all(|error| error.is_nan()), "{errors:?}");
        }
        let (_, errors) = Single::of(&plain).unwrap().forward((&keys * 1e-200).view());
        assert!(errors.iter().all(|error| error.is_nan()), "{errors:?}");
    }

    #[test]
    fn the_spectral_norm_is_bounded_closely() {
        let table = draw(Kind::Gaussian, 2 * UNITS + 90, 30, &mut StreamName::new("table").rng()).unwrap();
        let norm = crate::num::linalg::singular_values(&table).unwrap()[0];
        let bound = spectral_norm_at_most(&table.mapv(|entry| entry as f32));
        assert!(bound >= norm && bound < 1.001 * 30f64.powf(1.0 / 64.0) * norm, "{bound} {norm}");
        // In single precision no square but the first counts.
        let column = Array2::from_shape_fn((UNITS, 1), |(row, _)| if row == 0 { 1.0 } else { 2f32.powi(-13) });
        let norm = (1.0 + (UNITS - 1) as f64 * 2f64.powi(-26)).sqrt();
        let bound = spectral_norm_at_most(&column);
        assert!(bound >= norm && bound < 1.0001 * norm, "{bound} {norm}");
    }

    #[test]
    fn lengths_of_curved_gates_and_of_biases_stay_where_they_are() {
        assert!(Single::of(&mlp(Activation::Silu, 1.0)).is_none());
        let gate_bias = Some(ndarray::Array1::ones(700));
        assert!(Single::of(&GatedMlp { gate_bias, ..mlp(Activation::Relu, 1.0) }).is_none());
    }
}
