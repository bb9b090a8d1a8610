//! The plain twin of [`super::model`]: tokens → embeddings → attention of every position → MLP → logits, in double precision,
//! with gradients by reverse accumulation over the whole sequence. For tests.

use ndarray::{Array1, Array2, Axis, s};

use super::batch::{Batch, Pair};
use super::model::Design;
use super::task::{Task, Template};
use crate::mlp::lipschitz::jacobian;
use crate::mlp::network::Mlp;

pub struct Plain<'a> {
    pub task: &'a Task,
    pub design: Design,
    pub mlp: &'a Mlp,
}

pub struct PlainAnswer {
    pub weight: f64,
    pub noise: f64,
    pub margin: f64,
}

pub struct PlainStep {
    /// Mean over the pairs.
    pub loss: f64,
    pub gradient: Vec<f64>,
    pub answers: Vec<PlainAnswer>,
}

struct Parts {
    query: Array2<f64>,
    key: Array2<f64>,
    value: Array2<f64>,
    output: Array2<f64>,
    gain: Array1<f64>,
}

/// Everything of one sequence that the backward pass needs.
struct Trace {
    normed: Array2<f64>,
    queries: Array2<f64>,
    keys: Array2<f64>,
    shares: Array2<f64>,
    mixed: Array1<f64>,
    valued: Array1<f64>,
    stream: Array1<f64>,
    input: Array1<f64>,
    out: Array1<f64>,
    logits: Array1<f64>,
}

impl Plain<'_> {
    fn parts(&self, parameters: &[f64]) -> Parts {
        let dimension = self.task.dimension();
        let square = dimension * dimension;
        let matrix = |index: usize| {
            Array2::from_shape_vec((dimension, dimension), parameters[index * square..(index + 1) * square].to_vec())
                .unwrap()
        };
        let (value, output) = if self.design.trains_values {
            (matrix(2), matrix(3))
        } else {
            (Array2::eye(dimension), Array2::eye(dimension))
        };
        let gain = if self.design.trains_norm {
            Array1::from(parameters[parameters.len() - dimension..].to_vec())
        } else {
            Array1::ones(dimension)
        };
        Parts { query: matrix(0), key: matrix(1), value, output, gain }
    }

    fn sequence(&self, template: &Template, key: usize) -> Vec<usize> {
        let junk = |tokens: &[usize]| tokens.iter().map(|token| self.task.facts + token).collect::<Vec<_>>();
        [junk(&template.prefix), vec![key], junk(&template.suffix)].concat()
    }

    /// The rotation of a position, as a matrix.
    fn rotation(&self, position: usize) -> Array2<f64> {
        let dimension = self.task.dimension();
        let mut rotation = Array2::eye(dimension);
        if self.design.rotary {
            for pair in 0..dimension / 2 {
                let angle = position as f64 / 10_000f64.powf(2.0 * pair as f64 / dimension as f64);
                let other = pair + dimension / 2;
                rotation[[pair, pair]] = angle.cos();
                rotation[[other, other]] = angle.cos();
                rotation[[pair, other]] = -angle.sin();
                rotation[[other, pair]] = angle.sin();
            }
        }
        rotation
    }

    fn forward(&self, parts: &Parts, tokens: &[usize]) -> Trace {
        let (dimension, length) = (self.task.dimension(), tokens.len());
        let embedded = self.task.inputs.select(Axis(0), tokens);
        let mut normed = embedded.clone();
        for mut row in normed.rows_mut() {
            let mean_square = row.dot(&row) / dimension as f64;
            row /= mean_square.sqrt();
        }
        let (mut queries, mut keys) = (normed.dot(&parts.query.t()), normed.dot(&parts.key.t()));
        for position in 0..length {
            let rotation = self.rotation(position);
            let turned = rotation.dot(&queries.row(position));
            queries.row_mut(position).assign(&turned);
            let turned = rotation.dot(&keys.row(position));
            keys.row_mut(position).assign(&turned);
        }
        let mut shares = queries.dot(&keys.t()) / (dimension as f64).sqrt();
        for (position, mut row) in shares.rows_mut().into_iter().enumerate() {
            row.slice_mut(s![position + 1..]).fill(f64::NEG_INFINITY);
            let top = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            row.mapv_inplace(|score| (score - top).exp());
            let total = row.sum();
            row /= total;
        }
        let last = length - 1;
        let mixed = shares.dot(&normed).row(last).to_owned();
        let valued = parts.value.dot(&mixed);
        let mut stream = parts.output.dot(&valued);
        if self.design.attention_residual {
            stream += &embedded.row(last);
        }
        let input = &stream / stream.dot(&stream).sqrt() * &parts.gain;
        let mut out = self.mlp.forward(input.view().insert_axis(Axis(0))).row(0).to_owned();
        if self.design.mlp_residual {
            out += &stream;
        }
        let length = if self.design.unit_output { 1.0 } else { (dimension as f64).sqrt() };
        let normed_out = &out / out.dot(&out).sqrt() * length;
        let logits = self.task.heads.dot(&normed_out);
        Trace { normed, queries, keys, shares, mixed, valued, stream, input, out, logits }
    }

    pub fn step(&self, parameters: &[f64], batch: &Batch, map: &[usize]) -> PlainStep {
        let parts = self.parts(parameters);
        let mut step = PlainStep { loss: 0.0, gradient: vec![0.0; parameters.len()], answers: Vec::new() };
        let Batch { templates, pairs } = batch;
        for pair in pairs {
            let template = &templates[pair.0];
            let tokens = self.sequence(template, pair.1);
            let trace = self.forward(&parts, &tokens);
            let target = map[pair.1];
            let top = trace.logits.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            let log_total = top + trace.logits.mapv(|logit| (logit - top).exp()).sum().ln();
            step.loss += (log_total - trace.logits[target]) / pairs.len() as f64;
            let mut of_logits = trace.logits.mapv(|logit| (logit - log_total).exp());
            of_logits[target] -= 1.0;
            self.backward(&parts, &trace, &(of_logits / pairs.len() as f64), &mut step.gradient);
            step.answers.push(self.answer(template, *pair, &trace, target));
        }
        step
    }

    fn answer(&self, template: &Template, (_, key): Pair, trace: &Trace, target: usize) -> PlainAnswer {
        let place = template.prefix.len();
        let key = self.task.inputs.row(key);
        let noise = &trace.input - &(&key / key.dot(&key).sqrt());
        let rival = trace.logits.iter().enumerate().filter(|(token, _)| *token != target).map(|(_, logit)| *logit);
        PlainAnswer {
            weight: trace.shares[[trace.shares.nrows() - 1, place]],
            noise: noise.dot(&noise).sqrt(),
            margin: trace.logits[target] - rival.fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn backward(&self, parts: &Parts, trace: &Trace, of_logits: &Array1<f64>, gradient: &mut [f64]) {
        let (dimension, last) = (self.task.dimension(), trace.normed.nrows() - 1);
        let root = (dimension as f64).sqrt();
        let length = if self.design.unit_output { 1.0 } else { root };
        let of_out = through_norm(&trace.out, &(self.task.heads.t().dot(of_logits) * length));
        let of_input = jacobian(self.mlp, trace.input.view()).t().dot(&of_out);
        let unit = &trace.stream / trace.stream.dot(&trace.stream).sqrt();
        let mut of_stream = through_norm(&trace.stream, &(&of_input * &parts.gain));
        if self.design.mlp_residual {
            of_stream += &of_out;
        }
        let of_valued = parts.output.t().dot(&of_stream);
        let of_mixed = parts.value.t().dot(&of_valued);
        let shares = trace.shares.row(last);
        let of_shares = trace.normed.dot(&of_mixed);
        let of_scores = &shares * &(&of_shares - shares.dot(&of_shares)) / root;
        let of_query = self.rotation(last).t().dot(&trace.keys.t().dot(&of_scores));
        let outer = |left: &Array1<f64>, right: &Array1<f64>| {
            left.view().insert_axis(Axis(1)).dot(&right.view().insert_axis(Axis(0)))
        };
        let mut matrices = vec![outer(&of_query, &trace.normed.row(last).to_owned())];
        let mut of_key = Array2::zeros((dimension, dimension));
        for (position, score) in of_scores.iter().enumerate() {
            let of_position = self.rotation(position).t().dot(&trace.queries.row(last)) * *score;
            of_key += &outer(&of_position, &trace.normed.row(position).to_owned());
        }
        matrices.push(of_key);
        if self.design.trains_values {
            matrices.push(outer(&of_valued, &trace.mixed));
            matrices.push(outer(&of_stream, &trace.valued));
        }
        let of_gain = (of_input * unit).to_vec();
        let entries = matrices.iter().flat_map(|matrix| matrix.iter().copied());
        let gains = of_gain.into_iter().filter(|_| self.design.trains_norm);
        gradient.iter_mut().zip(entries.chain(gains)).for_each(|(sum, entry)| *sum += entry);
    }
}

/// From the gradient of `v/‖v‖` to that of `v`.
fn through_norm(vector: &Array1<f64>, gradient: &Array1<f64>) -> Array1<f64> {
    let length = vector.dot(vector).sqrt();
    let unit = vector / length;
    (gradient - &unit * unit.dot(gradient)) / length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::gated::{Activation, GatedMlp};
    use crate::rng::StreamName;
    use crate::transformer::task::Junk;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let mut rng = StreamName::new("twin").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let mlp: Mlp = GatedMlp {
            gate: table(5, 4),
            gate_bias: None,
            up: table(5, 4),
            down: table(4, 5),
            activation: Activation::Silu,
        }
        .into();
        let tokens = table(6, 4);
        let start = table(1, 4 * 16 + 4).row(0).to_vec();
        let task = Task::new(&tokens, &Junk { templates: 2, ..Junk::default() }, &mut rng).unwrap();
        let asked = Task::new(&tokens, &Junk::around_a_key(3, 4, 2), &mut rng).unwrap();
        let all = Design {
            rotary: true,
            attention_residual: true,
            mlp_residual: true,
            trains_values: true,
            trains_norm: true,
            unit_output: false,
        };
        let designs = [
            all,
            Design { attention_residual: false, mlp_residual: false, ..all },
            Design { rotary: false, ..all },
            Design { rotary: false, mlp_residual: false, trains_norm: false, unit_output: true, ..all },
        ];
        for (design, task) in designs.into_iter().flat_map(|design| [(design, &task), (design, &asked)]) {
            let plain = Plain { task, design, mlp: &mlp };
            let mut batch = Batch::of(task, 3);
            batch.draw(task, &mut rng);
            let map = [1, 2, 3, 4, 5, 0];
            let start = &start[..4 * 16 + if design.trains_norm { 4 } else { 0 }];
            let gradient = plain.step(start, &batch, &map).gradient;
            for index in 0..start.len() {
                let at = |step: f64| {
                    let mut moved = start.to_vec();
                    moved[index] += step;
                    plain.step(&moved, &batch, &map).loss
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (gradient[index] - slope).abs() < 1e-7 * (1.0 + slope.abs()),
                    "{index}: {} {slope}",
                    gradient[index]
                );
            }
        }
    }
}
