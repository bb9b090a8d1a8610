//! An MLP of either architecture: what every construction builds.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, s};

use super::gated::{GatedMlp, forward_in_blocks};
use super::plain::PlainMlp;
use super::single::Single;
use crate::facts::decoding;
use crate::facts::fact_set::FactSet;
use crate::facts::screening::Screen;
use crate::facts::whitening::Whitening;
use crate::num::products::product;

/// A one-hidden-layer MLP.
#[derive(Debug, Clone)]
pub enum Mlp {
    Gated(GatedMlp),
    Plain(PlainMlp),
}

impl From<GatedMlp> for Mlp {
    fn from(mlp: GatedMlp) -> Self {
        Self::Gated(mlp)
    }
}

impl From<PlainMlp> for Mlp {
    fn from(mlp: PlainMlp) -> Self {
        Self::Plain(mlp)
    }
}

/// Keys computed at once where memory must not grow with the number of facts.
const KEYS: usize = 1024;

fn blocks(keys: usize) -> impl Iterator<Item = Range<usize>> {
    (0..keys).step_by(KEYS).map(move |start| start..(start + KEYS).min(keys))
}

impl Mlp {
    /// The output matrix, d×H.
    pub fn down(&self) -> &Array2<f64> {
        match self {
            Self::Gated(mlp) => &mlp.down,
            Self::Plain(mlp) => &mlp.down,
        }
    }

    /// Hidden size H.
    pub fn hidden(&self) -> usize {
        self.down().ncols()
    }

    /// Number of parameters, biases included.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Gated(mlp) => mlp.parameters(),
            Self::Plain(mlp) => mlp.parameters(),
        }
    }

    /// The matrices by name, as they are written to a file.
    pub fn matrices(&self) -> Vec<(&'static str, &Array2<f64>)> {
        match self {
            Self::Gated(mlp) => vec![("gate", &mlp.gate), ("up", &mlp.up), ("down", &mlp.down)],
            Self::Plain(mlp) => vec![("weights", &mlp.weights), ("down", &mlp.down)],
        }
    }

    /// The Frobenius norm of all weight matrices together.
    pub fn weight_norm(&self) -> f64 {
        self.matrices().iter().flat_map(|(_, matrix)| matrix.iter()).map(|entry| entry * entry).sum::<f64>().sqrt()
    }

    /// The largest absolute entry of all weight matrices.
    pub fn largest_weight(&self) -> f64 {
        self.matrices()
            .iter()
            .flat_map(|(_, matrix)| matrix.iter())
            .fold(0.0, |largest, entry| largest.max(entry.abs()))
    }

    /// Hidden units in `range` for a table of inputs: (n×d) → (n×|range|).
    pub fn hidden_units(&self, inputs: ArrayView2<f64>, range: std::ops::Range<usize>) -> Array2<f64> {
        match self {
            Self::Gated(mlp) => mlp.hidden_units(inputs, range),
            Self::Plain(mlp) => mlp.hidden_units(inputs, range),
        }
    }

    /// Outputs for a table of inputs: (n×d) → (n×d).
    pub fn forward(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        let mut outputs = forward_in_blocks(inputs, self.down(), |rows, units| self.hidden_units(rows, units));
        if let Self::Plain(PlainMlp { output_bias: Some(bias), .. }) = self {
            outputs += bias;
        }
        outputs
    }

    /// Outputs in single precision, as a model that runs in it would compute them: (n×d) → (n×d).
    pub fn forward_single(&self, inputs: ArrayView2<f32>) -> Array2<f32> {
        let narrow = |matrix: &Array2<f64>| matrix.mapv(|entry| entry as f32);
        let preactivation = |weights: &Array2<f64>, bias: Option<&ndarray::Array1<f64>>| {
            let mut units = product(&inputs, &narrow(weights).t());
            if let Some(bias) = bias {
                units += &bias.mapv(|entry| entry as f32);
            }
            units
        };
        let (mut units, activation) = match self {
            Self::Gated(mlp) => (preactivation(&mlp.gate, mlp.gate_bias.as_ref()), mlp.activation),
            Self::Plain(mlp) => (preactivation(&mlp.weights, mlp.bias.as_ref()), mlp.activation),
        };
        units.mapv_inplace(|z| activation.apply(f64::from(z)) as f32);
        if let Self::Gated(mlp) = self {
            units *= &product(&inputs, &narrow(&mlp.up).t());
        }
        let mut outputs = product(&units, &narrow(self.down()).t());
        if let Self::Plain(PlainMlp { output_bias: Some(bias), .. }) = self {
            outputs += &bias.mapv(|entry| entry as f32);
        }
        outputs
    }

    /// The same MLP with every weight rounded to single precision.
    pub fn rounded_to_single(mut self) -> Self {
        let round =
            |entries: &mut dyn Iterator<Item = &mut f64>| entries.for_each(|entry| *entry = f64::from(*entry as f32));
        match &mut self {
            Self::Gated(mlp) => {
                round(
                    &mut mlp
                        .gate
                        .iter_mut()
                        .chain(&mut mlp.up)
                        .chain(&mut mlp.down)
                        .chain(mlp.gate_bias.iter_mut().flatten()),
                );
            }
            Self::Plain(mlp) => {
                let biases = mlp.bias.iter_mut().flatten().chain(mlp.output_bias.iter_mut().flatten());
                round(&mut mlp.weights.iter_mut().chain(&mut mlp.down).chain(biases));
            }
        }
        self
    }

    /// Margin of every fact of a fact set; see [`decoding::margins`].
    pub fn margins(&self, facts: &FactSet) -> Vec<f64> {
        decoding::margins(self.forward(facts.keys.view()).view(), facts.values.view(), &facts.map)
    }

    /// Number of facts stored, without holding more than a block of outputs. Where single precision can tell, it does; the
    /// answer is that of double precision.
    pub fn stored(&self, facts: &FactSet) -> usize {
        let single = match self {
            Self::Gated(mlp) => Single::of(mlp),
            Self::Plain(_) => None,
        };
        let screen = Screen::new(facts.values.view());
        if let Some(single) = single {
            return self.stored_by(&single, &screen, facts);
        }
        let of = |keys: Range<usize>| {
            let outputs = self.forward(facts.keys.slice(s![keys.clone(), ..]));
            screen.count_stored(outputs.view(), &facts.map[keys])
        };
        blocks(facts.len()).map(of).sum()
    }

    /// The same by outputs in single precision; what they leave open is computed again.
    fn stored_by(&self, single: &Single, screen: &Screen, facts: &FactSet) -> usize {
        let mut stored = 0;
        let mut undecided = Vec::new();
        for keys in blocks(facts.len()) {
            let (outputs, errors) = single.forward(facts.keys.slice(s![keys.clone(), ..]));
            let found = screen.screen(outputs.view(), &errors, &facts.map[keys.clone()]);
            stored += found.stored;
            undecided.extend(found.undecided.iter().map(|key| keys.start + key));
        }
        for keys in undecided.chunks(KEYS) {
            let outputs = self.forward(facts.keys.select(Axis(0), keys).view());
            let map: Vec<usize> = keys.iter().map(|key| facts.map[*key]).collect();
            stored += screen.count_stored(outputs.view(), &map);
        }
        stored
    }

    /// The MLP with something added to its output matrix: `W_down ← W_down + update`, d×H.
    pub fn with_update(mut self, update: &Array2<f64>) -> Self {
        match &mut self {
            Self::Gated(mlp) => mlp.down += update,
            Self::Plain(mlp) => mlp.down += update,
        }
        self
    }

    /// The MLP with a linear map behind it: `W_down ← map·W_down`, and so the output bias. `map` p×d.
    pub fn then(mut self, map: &Array2<f64>) -> Self {
        match &mut self {
            Self::Gated(mlp) => mlp.down = map.dot(&mlp.down),
            Self::Plain(mlp) => {
                mlp.down = map.dot(&mlp.down);
                mlp.output_bias = mlp.output_bias.take().map(|bias| map.dot(&bias));
            }
        }
        self
    }

    /// The MLP with another output matrix, d×H: how an edit of the facts is put in place.
    pub fn with_down(mut self, down: Array2<f64>) -> Self {
        match &mut self {
            Self::Gated(mlp) => mlp.down = down,
            Self::Plain(mlp) => mlp.down = down,
        }
        self
    }

    /// The MLP with outputs so many times as long.
    pub fn scaled(mut self, factor: f64) -> Self {
        match &mut self {
            Self::Gated(mlp) => mlp.down *= factor,
            Self::Plain(mlp) => {
                mlp.down *= factor;
                mlp.output_bias.iter_mut().for_each(|bias| *bias *= factor);
            }
        }
        self
    }

    /// The MLP for raw values, given this one built for whitened values; see [`GatedMlp::fold_value_whitening`].
    pub fn fold_value_whitening(self, whitening: &Whitening) -> Self {
        self.then(&whitening.map)
    }

    /// The MLP for raw keys, given this one built for whitened keys. Exact.
    pub fn fold_key_whitening(self, whitening: &Whitening) -> Self {
        match self {
            Self::Gated(mlp) => mlp.fold_key_whitening(whitening).into(),
            Self::Plain(mut mlp) => {
                mlp.weights = mlp.weights.dot(&whitening.map);
                mlp.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::gated::Activation;
    use crate::rng::StreamName;
    use ndarray::array;

    fn plain() -> Mlp {
        PlainMlp {
            weights: array![[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]],
            bias: Some(array![0.0, -1.0, 0.25]),
            down: array![[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]],
            output_bias: Some(array![0.1, -0.2]),
            activation: Activation::Relu,
        }
        .into()
    }

    fn gated() -> Mlp {
        GatedMlp {
            gate: array![[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]],
            gate_bias: Some(array![0.0, -1.0, 0.25]),
            up: array![[2.0, 1.0], [-1.0, 1.0], [3.0, 0.0]],
            down: array![[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]],
            activation: Activation::Silu,
        }
        .into()
    }

    /// Among the facts are margins of all sizes, and twins that only double precision tells apart.
    #[test]
    fn counting_in_single_precision_is_counting_in_double() {
        let mut rng = crate::rng::StreamName::new("count").rng();
        let table = draw(Kind::Sphere, 300, 24, &mut rng).unwrap();
        let twins = &table + &(draw(Kind::Sphere, 300, 24, &mut rng).unwrap() * 1e-9);
        let values = ndarray::concatenate(Axis(0), &[table.view(), twins.view()]).unwrap();
        let keys = draw(Kind::Sphere, 600, 24, &mut rng).unwrap();
        let facts = FactSet::new(keys, values, (0..600).collect()).unwrap();
        for (size, activation) in [(700, Activation::Relu), (1000, Activation::Identity), (4000, Activation::Relu)] {
            let mut draw = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
            let (gate, up) = (draw(size, 24), draw(size, 24));
            let mlp = GatedMlp { gate, gate_bias: None, up, down: Array2::zeros((24, size)), activation };
            let units = mlp.hidden_units(facts.keys.view(), 0..size);
            let mlp: Mlp = GatedMlp { down: facts.by_key(&facts.values).t().dot(&units), ..mlp }.into();
            let wanted = decoding::stored(&mlp.margins(&facts));
            assert_eq!(mlp.stored(&facts), wanted);
            assert!((40..560).contains(&wanted), "{size}: {wanted}");
        }
    }

    #[test]
    fn the_plain_forward_pass_is_the_formula() {
        let x: [f64; 2] = [0.7, -0.2];
        let hidden = [(x[0] - x[1]).max(0.0), (0.5 * x[0] + 2.0 * x[1] - 1.0).max(0.0), (x[1] + 0.25).max(0.0)];
        let found = plain().forward(array![[0.7, -0.2]].view());
        assert!((found[[0, 0]] - (hidden[0] + 2.0 * hidden[2] + 0.1)).abs() < 1e-15);
        assert!((found[[0, 1]] - (hidden[1] - hidden[2] - 0.2)).abs() < 1e-15);
        assert_eq!((plain().parameters(), plain().hidden()), (6 + 6 + 3 + 2, 3));
    }

    #[test]
    fn single_precision_is_close_to_double() {
        let inputs = draw(Kind::Gaussian, 5, 2, &mut StreamName::new("test").rng()).unwrap();
        for mlp in [plain(), gated()] {
            let single = mlp.forward_single(inputs.mapv(|x| x as f32).view());
            let double = mlp.forward(inputs.view());
            assert!(single.iter().zip(&double).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5));
        }
    }

    #[test]
    fn rounding_reaches_every_weight() {
        for mlp in [plain(), gated()] {
            let shifted = |mlp: Mlp| match mlp {
                Mlp::Gated(mut mlp) => {
                    mlp.up *= 1.0 + 1e-12;
                    mlp.gate_bias = mlp.gate_bias.map(|bias| bias * (1.0 + 1e-12));
                    Mlp::from(mlp)
                }
                Mlp::Plain(mut mlp) => {
                    mlp.weights *= 1.0 + 1e-12;
                    mlp.output_bias = mlp.output_bias.map(|bias| bias * (1.0 + 1e-12));
                    Mlp::from(mlp)
                }
            };
            let text = |mlp: &Mlp| format!("{mlp:?}");
            let rounded = mlp.clone().rounded_to_single();
            assert_ne!(text(&shifted(mlp.clone())), text(&mlp));
            assert_eq!(text(&shifted(mlp).rounded_to_single()), text(&rounded));
        }
    }

    #[test]
    fn whitening_of_keys_and_values_folds() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Gaussian, 9, 2, &mut rng).unwrap();
        let values = draw(Kind::Gaussian, 4, 2, &mut rng).unwrap();
        let (of_keys, of_values) = (Whitening::fit(&keys, 0.7).unwrap(), Whitening::fit(&values, 1.0).unwrap());
        for mlp in [plain(), gated()] {
            let white = mlp.forward(of_keys.apply(&keys).view()).dot(&of_values.apply(&values).t());
            let raw = mlp.fold_key_whitening(&of_keys).fold_value_whitening(&of_values);
            let scores = raw.forward(keys.view()).dot(&values.t());
            assert!((scores - white).iter().all(|difference: &f64| difference.abs() < 1e-12));
        }
    }

    #[test]
    fn the_count_in_blocks_is_that_of_the_margins() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Gaussian, KEYS + 77, 2, &mut rng).unwrap();
        let values = draw(Kind::Gaussian, 6, 2, &mut rng).unwrap();
        let map = (0..KEYS + 77).map(|key| key % 6).collect();
        let facts = FactSet::new(keys, values, map).unwrap();
        for mlp in [plain(), gated()] {
            assert_eq!(mlp.stored(&facts), decoding::stored(&mlp.margins(&facts)));
        }
    }
}
