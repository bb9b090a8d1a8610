//! The plain twin of the model: whole sentences, one after the other, in double precision and as the definitions read.

use ndarray::{Array1, Array2, ArrayView1, Axis, s};

use super::batch::Pair;
use super::corpus::Corpus;
use super::layout::{Layout, Part};
use super::model::RANK;
use crate::mlp::network::Mlp;

pub struct Plain<'a> {
    pub corpus: &'a Corpus,
    pub embeddings: &'a Array2<f64>,
    pub mlp: &'a Mlp,
}

impl Plain<'_> {
    /// Mean cross-entropy over all positions of some sentences.
    pub fn loss(&self, parameters: &[f64], pairs: &[Pair]) -> f64 {
        let (mut sum, mut number) = (0.0, 0.0);
        for (template, fact) in pairs {
            let words = &self.corpus.templates[*template];
            let mut tokens = words.prefix.clone();
            tokens.push(self.corpus.subjects[*fact]);
            tokens.extend(&words.suffix);
            tokens.push(self.corpus.objects[*fact]);
            let logits = self.logits(parameters, &tokens[..tokens.len() - 1]);
            for (row, next) in logits.rows().into_iter().zip(&tokens[1..]) {
                let top = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
                sum += top + row.mapv(|logit| (logit - top).exp()).sum().ln() - row[*next];
                number += 1.0;
            }
        }
        sum / number
    }

    /// A row of logits for every position.
    pub fn logits(&self, parameters: &[f64], tokens: &[usize]) -> Array2<f64> {
        let dimension = self.embeddings.ncols();
        let parts = Parts { layout: Layout::new(dimension, RANK), parameters };
        let scaled = |row: ArrayView1<f64>| {
            let square = row.dot(&row) / row.len() as f64;
            row.to_owned() / square.sqrt()
        };
        let inputs: Vec<Array1<f64>> =
            tokens.iter().map(|token| scaled(self.embeddings.row(*token)) * parts.vector(Part::InputGain)).collect();
        let turned = |vector: Array1<f64>, position: usize| turn(&vector, position);
        let queries: Vec<_> = inputs.iter().enumerate().map(|(t, input)| turned(parts.query(input), t)).collect();
        let keys: Vec<_> = inputs.iter().enumerate().map(|(t, input)| turned(parts.key(input), t)).collect();
        let mut logits = Array2::zeros((tokens.len(), self.embeddings.nrows()));
        for (position, query) in queries.iter().enumerate() {
            let scores: Array1<f64> =
                keys[..=position].iter().map(|key| query.dot(key) / (dimension as f64).sqrt()).collect();
            let shares = scores.mapv(f64::exp);
            let mut stream = Array1::zeros(dimension);
            for (share, input) in shares.iter().zip(&inputs) {
                stream.scaled_add(share / shares.sum(), input);
            }
            let mixed = self.mixed(&parts, &stream);
            let out = scaled(mixed.view()) * parts.vector(Part::OutputGain);
            logits.row_mut(position).assign(&self.embeddings.dot(&out));
        }
        logits
    }

    fn mixed(&self, parts: &Parts, stream: &Array1<f64>) -> Array1<f64> {
        let hidden = (parts.matrix(Part::RouterIn).dot(stream) + parts.vector(Part::RouterInBias)).mapv(gelu);
        let logit = hidden.dot(&parts.vector(Part::RouterOut)) + parts.vector(Part::RouterOutBias)[0];
        let weight = 1.0 / (1.0 + (-logit).exp());
        let language = stream.dot(&parts.matrix(Part::LowRankIn)).dot(&parts.matrix(Part::LowRankOut));
        let unit = stream / stream.dot(stream).sqrt();
        let facts = self.mlp.forward(unit.insert_axis(Axis(0)).view()).index_axis(Axis(0), 0).to_owned();
        language * (1.0 - weight) + facts * weight
    }
}

struct Parts<'a> {
    layout: Layout,
    parameters: &'a [f64],
}

impl Parts<'_> {
    fn vector(&self, part: Part) -> Array1<f64> {
        Array1::from(self.parameters[self.layout.range(part)].to_vec())
    }

    fn matrix(&self, part: Part) -> Array2<f64> {
        let shape = self.layout.matrix(&vec![0.0; self.layout.parameters()], part).dim();
        Array2::from_shape_vec(shape, self.parameters[self.layout.range(part)].to_vec()).unwrap()
    }

    fn query(&self, input: &Array1<f64>) -> Array1<f64> {
        let normed = standard(input) * self.vector(Part::QueryGain) + self.vector(Part::QueryShift);
        let hidden = (self.matrix(Part::QueryIn).dot(&normed) + self.vector(Part::QueryInBias)).mapv(gelu);
        self.matrix(Part::QueryOut).dot(&hidden) + self.vector(Part::QueryOutBias)
    }

    fn key(&self, input: &Array1<f64>) -> Array1<f64> {
        let normed = standard(input) * self.vector(Part::KeyGain) + self.vector(Part::KeyShift);
        let hidden = (self.matrix(Part::KeyIn).dot(&normed) + self.vector(Part::KeyInBias)).mapv(gelu);
        self.matrix(Part::KeyOut).dot(&hidden) + self.vector(Part::KeyOutBias)
    }
}

fn standard(input: &Array1<f64>) -> Array1<f64> {
    let centred = input - input.mean().unwrap();
    let variance = centred.dot(&centred) / input.len() as f64;
    centred / (variance + 1e-5).sqrt()
}

fn gelu(z: f64) -> f64 {
    z * 0.5 * (1.0 + statrs::function::erf::erf(z / 2.0f64.sqrt()))
}

fn turn(vector: &Array1<f64>, position: usize) -> Array1<f64> {
    let (dimension, half) = (vector.len(), vector.len() / 2);
    let base = 10_000f64.powf(dimension as f64 / 1024.0);
    let mut turned = vector.clone();
    for pair in 0..half {
        let angle = position as f64 * base.powf(-2.0 * pair as f64 / dimension as f64);
        turned[pair] = vector[pair] * angle.cos() - vector[pair + half] * angle.sin();
        turned[pair + half] = vector[pair + half] * angle.cos() + vector[pair] * angle.sin();
    }
    turned
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::facts::embeddings::gaussian;
    use crate::language::batch::{Batch, Positions};
    use crate::language::corpus::Sentence;
    use crate::language::model::{Model, ROWS, uniform_embeddings};
    use crate::language::stream::Stream;
    use crate::mlp::frozen::FrozenMlp;
    use crate::mlp::gated::{Activation, GatedMlp};
    use crate::rng::{Rng, StreamName};

    fn corpus() -> Corpus {
        let facts = 3;
        let sentence =
            |prefix: &[usize], suffix: &[usize]| Sentence { prefix: prefix.to_vec(), suffix: suffix.to_vec() };
        Corpus {
            tokens: (0..4 + 2 * facts).map(|token| format!("token {token}")).collect(),
            words: 4,
            subjects: (4..4 + facts).collect(),
            objects: (4 + facts..4 + 2 * facts).collect(),
            templates: vec![sentence(&[0, 1, 2], &[3, 1]), sentence(&[2], &[0]), sentence(&[], &[1, 3])],
        }
    }

    pub struct Setting {
        pub embeddings: Array2<f64>,
        pub mlp: Mlp,
        pub model: Model,
    }

    /// A small model with parameters all over the place.
    pub fn setting() -> Setting {
        let mut rng = StreamName::new("language twin").rng();
        let embeddings = uniform_embeddings(10, 8, &mut rng);
        let table = |rows, columns, rng: &mut Rng| gaussian((rows, columns), rng);
        let mlp: Mlp = GatedMlp {
            gate: table(5, 8, &mut rng),
            gate_bias: None,
            up: table(5, 8, &mut rng),
            down: table(8, 5, &mut rng),
            activation: Activation::Silu,
        }
        .into();
        let mut model = Model::new(corpus(), &embeddings, &mut rng).unwrap();
        let start = table(1, model.parameters.len(), &mut rng);
        model.parameters.iter_mut().zip(&start).for_each(|(parameter, entry)| *parameter += 0.3 * *entry as f32);
        Setting { embeddings, mlp, model }
    }

    const PAIRS: [Pair; 5] = [(0, 1), (2, 0), (0, 2), (1, 1), (0, 1)];

    #[test]
    fn loss_and_gradient_are_those_of_the_plain_twin() {
        let Setting { embeddings, mlp, mut model } = setting();
        let corpus = corpus();
        let plain = Plain { corpus: &corpus, embeddings: &embeddings, mlp: &mlp };
        let frozen = FrozenMlp::new(&mlp);
        let found = model.step(&frozen, &mut frozen.pass(ROWS), &PAIRS);
        let parameters: Vec<f64> = model.parameters.iter().map(|entry| f64::from(*entry)).collect();
        let loss = plain.loss(&parameters, &PAIRS);
        assert!((found.loss / found.predictions - loss).abs() < 1e-6 * loss, "{found:?} {loss}");
        for index in 0..parameters.len() {
            let at = |step: f64| {
                let mut moved = parameters.clone();
                moved[index] += step;
                plain.loss(&moved, &PAIRS)
            };
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            let own = f64::from(model.gradient[index]);
            assert!((own - slope).abs() < 3e-5 * (1.0 + slope.abs()), "{index}: {own} {slope}");
        }
    }

    #[test]
    fn streams_give_the_logits_of_the_plain_twin() {
        let Setting { embeddings, mlp, mut model } = setting();
        let corpus = corpus();
        let plain = Plain { corpus: &corpus, embeddings: &embeddings, mlp: &mlp };
        let frozen = FrozenMlp::new(&mlp);
        let parameters: Vec<f64> = model.parameters.iter().map(|entry| f64::from(*entry)).collect();
        let heads = model.heads();
        let objects = Stream::of(&mut model, Positions::Object);
        let mut rows = 0;
        objects.logits(&frozen, &heads, |row, logits| {
            let (fact, template) = (row / 3, row % 3);
            let words = &corpus.templates[template];
            let tokens: Vec<usize> =
                words.prefix.iter().chain([&corpus.subjects[fact]]).chain(&words.suffix).copied().collect();
            let whole = plain.logits(&parameters, &tokens);
            for (own, twin) in logits.iter().zip(whole.slice(s![-1, ..])) {
                assert!((f64::from(*own) - twin).abs() < 1e-4 * (1.0 + twin.abs()), "{own} {twin}");
            }
            rows += 1;
        });
        assert_eq!(rows, 9);
        let everything = all(&corpus);
        let mut sum = objects.cross_entropy(&frozen, &heads);
        let prefixes = Stream::of_batch(&mut model, &Batch::prefixes(&corpus));
        for part in [prefixes, Stream::of(&mut model, Positions::Words)] {
            let (loss, number) = part.cross_entropy(&frozen, &heads);
            sum = (sum.0 + loss, sum.1 + number);
        }
        let loss = plain.loss(&parameters, &everything);
        assert!((sum.0 / sum.1 - loss).abs() < 1e-5 * loss, "every position is in exactly one part");
    }

    fn all(corpus: &Corpus) -> Vec<Pair> {
        super::super::batch::all_pairs(corpus)
    }
}
