//! The model and its training step over a batch of pairs of template and key.
//!
//! Forward, a row a pair: `A = w·x_key + (1 − w)·mean` ([`super::attention`], [`super::counted`]), `H = A·(W_O·W_V)ᵀ` (+ the
//! query's embedding with a residual), `Z = H/‖H‖` (⊙ gain), `Y = MLP(Z)`, `O = Y` (+ H with a residual), logits `√d·O/‖O‖·Eᵀ`
//! over all tokens (without √d where the last norm is to the unit sphere).
//! Gradients are derived by hand. Rows go through in blocks whose hidden units and logits stay in cache.

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut1, Zip, s};
use serde::{Deserialize, Serialize};

use super::attention::{Attention, Look, Sight, Weights};
use super::batch::{Batch, Pair};
use super::counted::{Counted, Shares};
use super::rotary::Rotary;
use super::task::{Task, Template};
use crate::mlp::frozen::{FrozenMlp, Pass};
use crate::mlp::trainable::{matrix, matrix_mut};
use crate::num::products::general_mat_mul;
use crate::num::rows::{add_scaled, divide, entries, entries_mut, mix, project_out};
use crate::num::softmax::{Contribution, cross_entropy_gradient, maximum};
use crate::rng::Rng;

/// Rows that go through the model at once.
pub const ROWS: usize = 128;

/// What the papers change about a transformer (2512.00207 §5.1), and what can be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// Rotary positions; none otherwise.
    pub rotary: bool,
    /// A residual connection around attention.
    pub attention_residual: bool,
    /// A residual connection around the MLP.
    pub mlp_residual: bool,
    /// W_V and W_O are trained; the identity otherwise.
    pub trains_values: bool,
    /// The norm before the MLP has a trained gain; it only projects to the unit sphere otherwise.
    pub trains_norm: bool,
    /// The final norm is to the unit sphere; to length √d otherwise.
    pub unit_output: bool,
}

impl Default for Design {
    fn default() -> Self {
        Self {
            rotary: true,
            attention_residual: false,
            mlp_residual: false,
            trains_values: false,
            trains_norm: false,
            unit_output: false,
        }
    }
}

/// Attention of the last position, by the structure there is.
enum Gaze {
    Placed(Attention),
    Counted(Counted),
}

/// What the way back through attention needs.
enum Looked {
    Placed(Vec<Look>),
    Counted(Shares),
}

/// What the model did with one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Attention on the key.
    pub weight: f32,
    /// Distance between the MLP's input and the normalised key.
    pub noise: f32,
    /// Logit of the right token minus the largest other.
    pub margin: f32,
}

/// A transformer around a frozen MLP.
pub struct Model {
    task: Task,
    design: Design,
    gaze: Gaze,
    /// Embeddings of the tokens as the attention reads them, F×d.
    tokens: Array2<f32>,
    heads: Array2<f32>,
    /// W_Q, W_K (then W_V, W_O, the gain, where they are trained), row by row.
    pub parameters: Vec<f32>,
    /// Gradient of the mean cross-entropy, in the same order.
    pub gradient: Vec<f32>,
    buffers: Buffers,
}

/// One row a pair of the present block.
struct Buffers {
    weights: Vec<f32>,
    attended: Array2<f32>,
    values: Array2<f32>,
    stream: Array2<f32>,
    unit: Array2<f32>,
    lengths: Vec<f32>,
    inputs: Array2<f32>,
    outputs: Array2<f32>,
    output_lengths: Vec<f32>,
    logits: Vec<f32>,
    gradient: Array2<f32>,
    other_gradient: Array2<f32>,
}

impl Buffers {
    fn new(dimension: usize, vocabulary: usize) -> Self {
        let table = || Array2::zeros((ROWS, dimension));
        Self {
            weights: vec![0.0; ROWS],
            attended: table(),
            values: table(),
            stream: table(),
            unit: table(),
            lengths: vec![0.0; ROWS],
            inputs: table(),
            outputs: table(),
            output_lengths: vec![0.0; ROWS],
            logits: vec![0.0; ROWS * vocabulary],
            gradient: table(),
            other_gradient: table(),
        }
    }
}

/// Standard deviation of the matrices at the start.
const INITIAL: f64 = 0.02;

impl Model {
    pub fn new(task: Task, design: Design, rng: &mut Rng) -> Self {
        let dimension = task.dimension();
        let normalised = root_mean_square_normalised(&task.inputs);
        let junk = normalised.slice(s![task.facts.., ..]).to_owned();
        let gaze = if task.junk.has_query_token && !design.rotary {
            Gaze::Counted(Counted { junk })
        } else {
            Gaze::Placed(Attention { junk, rotary: design.rotary.then(|| Rotary::new(dimension, task.longest())) })
        };
        let matrices = if design.trains_values { 4 } else { 2 };
        let drawn = crate::facts::embeddings::gaussian((matrices * dimension, dimension), rng);
        let mut parameters: Vec<f32> = drawn.iter().map(|entry| (INITIAL * entry) as f32).collect();
        if design.trains_norm {
            parameters.extend(std::iter::repeat_n(1.0, dimension));
        }
        Self {
            gaze,
            design,
            tokens: normalised.slice(s![..task.facts, ..]).to_owned(),
            heads: task.heads.mapv(|entry| entry as f32),
            gradient: vec![0.0; parameters.len()],
            parameters,
            buffers: Buffers::new(dimension, task.heads.nrows()),
            task,
        }
    }

    pub fn task(&self) -> &Task {
        &self.task
    }

    /// How many of the parameters, from the first, are entries of matrices; the others are gains.
    pub fn matrix_parameters(&self) -> usize {
        let dimension = self.task.dimension();
        self.parameters.len() - if self.design.trains_norm { dimension } else { 0 }
    }

    /// Multiply–adds of the products that a step over `rows` pairs cannot avoid: MLP and logits, forward and backward.
    pub fn products(&self, mlp: &FrozenMlp, rows: usize) -> usize {
        mlp.products(rows) + 2 * rows * self.heads.len()
    }

    /// Computes the loss (summed over pairs) and leaves the gradient of its mean in `gradient`. `map` names the value of every
    /// key.
    pub fn step(&mut self, mlp: &FrozenMlp, pass: &mut Pass, batch: &Batch, map: &[usize]) -> Contribution {
        let Batch { templates, pairs } = batch;
        let (sight, looked) = self.look(templates);
        self.gradient.fill(0.0);
        let mut of_sight = sight.no_gradient();
        let mut sum = Contribution::default();
        let mut targets = Vec::with_capacity(ROWS);
        for block in pairs.chunks(ROWS) {
            targets.clear();
            targets.extend(block.iter().map(|(_, key)| map[*key]));
            self.forward(mlp, pass, &sight, (templates, block));
            let width = self.heads.nrows();
            let logits = &mut self.buffers.logits[..block.len() * width];
            let found = cross_entropy_gradient(logits, width, &targets, 1.0 / pairs.len() as f32);
            sum.loss += found.loss;
            sum.correct += found.correct;
            self.backward(mlp, pass, &sight, block, &mut of_sight);
        }
        self.back_through_attention(templates, (&sight, &looked), &of_sight);
        sum
    }

    /// What the model does with pairs, without gradients.
    pub fn answers(&mut self, mlp: &FrozenMlp, pass: &mut Pass, batch: &Batch, map: &[usize]) -> Vec<Answer> {
        let Batch { templates, pairs } = batch;
        let (sight, _) = self.look(templates);
        let mut answers = Vec::with_capacity(pairs.len());
        for block in pairs.chunks(ROWS) {
            self.forward(mlp, pass, &sight, (templates, block));
            let width = self.heads.nrows();
            for (row, (logits, (_, key))) in self.buffers.logits.chunks_exact_mut(width).zip(block).enumerate() {
                let own = std::mem::replace(&mut logits[map[*key]], f32::NEG_INFINITY);
                let key = self.tokens.row(*key);
                let length = key.dot(&key).sqrt();
                let input = self.buffers.inputs.row(row);
                let square: f32 = input.iter().zip(key).map(|(z, x)| (z - x / length).powi(2)).sum();
                let weight = self.buffers.weights[row];
                answers.push(Answer { weight, noise: square.sqrt(), margin: own - maximum(logits) });
            }
        }
        answers
    }

    fn look(&self, templates: &[Template]) -> (Sight, Looked) {
        let weights = attention_weights(&self.parameters, self.task.dimension());
        match &self.gaze {
            Gaze::Placed(attention) => {
                let (sight, looks) = attention.look(templates, weights);
                (sight, Looked::Placed(looks))
            }
            Gaze::Counted(counted) => {
                let (sight, shares) = counted.look(templates, weights);
                (sight, Looked::Counted(shares))
            }
        }
    }

    fn back_through_attention(&mut self, templates: &[Template], seen: (&Sight, &Looked), gradient: &Sight) {
        let dimension = self.task.dimension();
        let weights = attention_weights(&self.parameters, dimension);
        let (query, rest) = self.gradient.split_at_mut(dimension * dimension);
        let mut query = matrix_mut(query, dimension, dimension);
        let mut key = matrix_mut(&mut rest[..dimension * dimension], dimension, dimension);
        let of_weights = (&mut query, &mut key);
        match (&self.gaze, seen) {
            (Gaze::Placed(attention), (sight, Looked::Placed(looks))) => {
                attention.back(templates, weights, (sight, looks), gradient, of_weights);
            }
            (Gaze::Counted(counted), (sight, Looked::Counted(shares))) => {
                counted.back(weights, (sight, shares), gradient, of_weights);
            }
            _ => unreachable!("a model looks and goes back by the same structure"),
        }
    }

    /// From pairs to logits, in the buffers.
    fn forward(&mut self, mlp: &FrozenMlp, pass: &mut Pass, sight: &Sight, (templates, block): (&[Template], &[Pair])) {
        let (dimension, count) = (self.task.dimension(), block.len());
        let rows = s![..count, ..];
        let buffers = &mut self.buffers;
        for (row, (template, key)) in block.iter().enumerate() {
            let (mean, key) = (sight.means.row(*template), self.tokens.row(*key));
            let weight = 1.0 / (1.0 + (sight.log_sums[*template] - sight.direction(*template).dot(&key)).exp());
            buffers.weights[row] = weight;
            mix(entries_mut(buffers.attended.row_mut(row)), weight, entries(key), entries(mean));
        }
        if self.design.trains_values {
            let (values, outputs) = value_weights(&self.parameters, dimension);
            general_mat_mul(1.0, &buffers.attended.slice(rows), &values.t(), 0.0, &mut buffers.values.slice_mut(rows));
            general_mat_mul(1.0, &buffers.values.slice(rows), &outputs.t(), 0.0, &mut buffers.stream.slice_mut(rows));
        } else {
            buffers.stream.slice_mut(rows).assign(&buffers.attended.slice(rows));
        }
        if self.design.attention_residual {
            for (mut stream, (template, _)) in buffers.stream.rows_mut().into_iter().zip(block) {
                let asking = self.task.facts + templates[*template].asking();
                stream.zip_mut_with(&self.task.inputs.row(asking), |stream, input| *stream += *input as f32);
            }
        }
        let gain =
            self.design.trains_norm.then(|| ArrayView1::from(&self.parameters[self.parameters.len() - dimension..]));
        for row in 0..count {
            buffers.unit.row_mut(row).assign(&buffers.stream.row(row));
            buffers.lengths[row] = normalise(buffers.unit.row_mut(row));
            buffers.inputs.row_mut(row).assign(&buffers.unit.row(row));
            if let Some(gain) = gain {
                buffers.inputs.row_mut(row).zip_mut_with(&gain, |input, gain| *input *= gain);
            }
        }
        mlp.forward(buffers.inputs.slice(rows), pass, buffers.outputs.slice_mut(rows));
        if self.design.mlp_residual {
            buffers.outputs.slice_mut(rows).zip_mut_with(&buffers.stream.slice(rows), |out, stream| *out += stream);
        }
        for row in 0..count {
            buffers.output_lengths[row] = normalise(buffers.outputs.row_mut(row));
        }
        let logits = &mut buffers.logits[..count * self.heads.nrows()];
        let mut logits = matrix_mut(logits, count, self.heads.nrows());
        general_mat_mul(
            output_length(self.design, dimension),
            &buffers.outputs.slice(rows),
            &self.heads.t(),
            0.0,
            &mut logits,
        );
    }

    /// From the gradient of the logits, which lies in their place, to those of the weights and of what the queries see.
    fn backward(&mut self, mlp: &FrozenMlp, pass: &mut Pass, sight: &Sight, block: &[Pair], of_sight: &mut Sight) {
        let (dimension, count) = (self.task.dimension(), block.len());
        let rows = s![..count, ..];
        let buffers = &mut self.buffers;
        let logits = matrix(&buffers.logits[..count * self.heads.nrows()], count, self.heads.nrows());
        general_mat_mul(
            output_length(self.design, dimension),
            &logits,
            &self.heads,
            0.0,
            &mut buffers.gradient.slice_mut(rows),
        );
        for row in 0..count {
            let length = buffers.output_lengths[row];
            normalise_gradient(buffers.outputs.row(row), length, buffers.gradient.row_mut(row));
        }
        mlp.backward(buffers.gradient.slice(rows), pass, buffers.other_gradient.slice_mut(rows));
        if self.design.trains_norm {
            let start = self.parameters.len() - dimension;
            let gain = ArrayView1::from(&self.parameters[start..]);
            for row in 0..count {
                let of_input = buffers.other_gradient.row_mut(row);
                let of_gain = ArrayViewMut1::from(&mut self.gradient[start..]);
                Zip::from(of_gain).and(buffers.unit.row(row)).and(&of_input).for_each(|sum, unit, g| *sum += unit * g);
                Zip::from(of_input).and(&gain).for_each(|g, gain| *g *= gain);
            }
        }
        for row in 0..count {
            let length = buffers.lengths[row];
            normalise_gradient(buffers.unit.row(row), length, buffers.other_gradient.row_mut(row));
        }
        if self.design.mlp_residual {
            buffers.other_gradient.slice_mut(rows).zip_mut_with(&buffers.gradient.slice(rows), |a, b| *a += b);
        }
        if self.design.trains_values {
            let (values, outputs) = value_weights(&self.parameters, dimension);
            let square = dimension * dimension;
            let (of_values, of_outputs) = self.gradient[2 * square..4 * square].split_at_mut(square);
            let of_stream = buffers.other_gradient.slice(rows);
            let mut of_outputs = matrix_mut(of_outputs, dimension, dimension);
            general_mat_mul(1.0, &of_stream.t(), &buffers.values.slice(rows), 1.0, &mut of_outputs);
            general_mat_mul(1.0, &of_stream, &outputs, 0.0, &mut buffers.gradient.slice_mut(rows));
            let of_value = buffers.gradient.slice(rows);
            let mut of_values = matrix_mut(of_values, dimension, dimension);
            general_mat_mul(1.0, &of_value.t(), &buffers.attended.slice(rows), 1.0, &mut of_values);
            general_mat_mul(1.0, &of_value, &values, 0.0, &mut buffers.other_gradient.slice_mut(rows));
        }
        for (row, (template, key)) in block.iter().enumerate() {
            let (key, weight) = (self.tokens.row(*key), buffers.weights[row]);
            let gradient = buffers.other_gradient.row(row);
            let score = weight * (1.0 - weight) * (gradient.dot(&key) - gradient.dot(&sight.means.row(*template)));
            of_sight.log_sums[*template] -= score;
            add_scaled(entries_mut(of_sight.direction_mut(*template)), score, entries(key));
            add_scaled(entries_mut(of_sight.means.row_mut(*template)), 1.0 - weight, entries(gradient));
        }
    }
}

/// The length that the final norm gives.
fn output_length(design: Design, dimension: usize) -> f32 {
    if design.unit_output { 1.0 } else { (dimension as f32).sqrt() }
}

fn attention_weights(parameters: &[f32], dimension: usize) -> Weights<'_> {
    let (query, key) = matrices(parameters, dimension);
    Weights { query, key }
}

/// W_V and W_O.
fn value_weights(parameters: &[f32], dimension: usize) -> (ArrayView2<'_, f32>, ArrayView2<'_, f32>) {
    matrices(&parameters[2 * dimension * dimension..], dimension)
}

fn matrices(parameters: &[f32], dimension: usize) -> (ArrayView2<'_, f32>, ArrayView2<'_, f32>) {
    let (first, rest) = parameters.split_at(dimension * dimension);
    (matrix(first, dimension, dimension), matrix(&rest[..dimension * dimension], dimension, dimension))
}

/// Rows divided by the root of the mean of their squares.
fn root_mean_square_normalised(table: &Array2<f64>) -> Array2<f32> {
    let mut normalised = table.clone();
    crate::facts::embeddings::normalise_rows(&mut normalised);
    let root = (table.ncols() as f64).sqrt();
    normalised.mapv(|entry| (root * entry) as f32)
}

/// `row ← row/‖row‖`; returns the length.
fn normalise(row: ArrayViewMut1<f32>) -> f32 {
    let length = row.dot(&row).sqrt().max(f32::MIN_POSITIVE);
    divide(entries_mut(row), length);
    length
}

/// From the gradient of a unit vector to that of the vector of a length, in place: `(g − u·⟨u, g⟩)/length`.
fn normalise_gradient(unit: ArrayView1<f32>, length: f32, gradient: ArrayViewMut1<f32>) {
    let along = unit.dot(&gradient);
    project_out(entries_mut(gradient), along, entries(unit), length);
}

#[cfg(test)]
mod tests {
    use super::super::full_sequence::Plain;
    use super::super::task::Junk;
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::gated::{Activation, GatedMlp};
    use crate::mlp::network::Mlp;
    use crate::rng::StreamName;
    use ndarray::Array1;

    fn designs() -> Vec<Design> {
        let base = Design::default();
        vec![
            base,
            Design { rotary: false, ..base },
            Design { attention_residual: true, mlp_residual: true, ..base },
            Design { trains_values: true, ..base },
            Design { trains_norm: true, ..base },
            Design { rotary: false, unit_output: true, ..base },
            Design { rotary: false, attention_residual: true, trains_values: true, unit_output: true, ..base },
            Design { rotary: false, mlp_residual: true, trains_values: true, trains_norm: true, ..base },
        ]
    }

    fn tasks() -> Vec<Junk> {
        let templates = Junk { templates: 5, ..Junk::default() };
        let fresh = Junk { is_fresh: true, ..templates.clone() };
        vec![templates, fresh, Junk::around_a_key(7, 6, 5)]
    }

    struct Setup {
        model: Model,
        mlp: Mlp,
        batch: Batch,
        map: Vec<usize>,
    }

    fn setup(design: Design, junk: &Junk) -> Setup {
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let (dimension, facts) = (6, 40);
        let mlp = GatedMlp {
            gate: table(9, dimension),
            gate_bias: None,
            up: table(9, dimension),
            down: table(dimension, 9),
            activation: Activation::Silu,
        };
        let tokens = table(facts, dimension);
        let task = Task::new(&tokens, junk, &mut rng).unwrap();
        let mut model = Model::new(task, design, &mut rng);
        // Attention that prefers some tokens to others.
        model.parameters.iter_mut().for_each(|parameter| *parameter *= 20.0);
        let mut batch = Batch::of(model.task(), 200);
        batch.draw(model.task(), &mut rng);
        let map = (0..facts).map(|key| (7 * key + 3) % facts).collect();
        Setup { model, mlp: mlp.into(), batch, map }
    }

    #[test]
    fn loss_answers_and_gradients_agree_with_the_full_sequence() {
        for (design, junk) in
            designs().into_iter().flat_map(|design| tasks().into_iter().map(move |junk| (design, junk)))
        {
            let Setup { mut model, mlp, batch, map } = setup(design, &junk);
            let frozen = FrozenMlp::new(&mlp);
            let mut pass = frozen.pass(ROWS);
            let plain = Plain { task: model.task(), design, mlp: &mlp };
            let parameters: Vec<f64> = model.parameters.iter().map(|x| f64::from(*x)).collect();
            let wanted = plain.step(&parameters, &batch, &map);
            let found = model.step(&frozen, &mut pass, &batch, &map);
            assert!((found.loss / batch.pairs.len() as f64 - wanted.loss).abs() < 1e-5, "{design:?}");
            let scale = wanted.gradient.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            for (found, wanted) in model.gradient.iter().zip(&wanted.gradient) {
                assert!((f64::from(*found) - wanted).abs() < 2e-5 * scale, "{design:?} {found} {wanted}");
            }
            let answers = model.answers(&frozen, &mut pass, &batch, &map);
            for (found, wanted) in answers.iter().zip(&wanted.answers) {
                assert!((f64::from(found.weight) - wanted.weight).abs() < 1e-5);
                assert!((f64::from(found.noise) - wanted.noise).abs() < 1e-4);
                assert!((f64::from(found.margin) - wanted.margin).abs() < 2e-4);
            }
        }
    }

    #[test]
    fn a_batch_counts_a_pair_as_often_as_it_is_there() {
        let Setup { mut model, mlp, batch, map } = setup(Design::default(), &Junk::default());
        let frozen = FrozenMlp::new(&mlp);
        let mut pass = frozen.pass(ROWS);
        let doubled = Batch { pairs: batch.pairs.repeat(2), ..batch.clone() };
        let once = model.step(&frozen, &mut pass, &batch, &map);
        let gradient = Array1::from(model.gradient.clone());
        let twice = model.step(&frozen, &mut pass, &doubled, &map);
        assert!((twice.loss - 2.0 * once.loss).abs() < 1e-6 * once.loss);
        assert!((Array1::from(model.gradient.clone()) - gradient).iter().all(|error| error.abs() < 1e-6));
    }
}
