//! The trained decoder: codes and a linear map found by gradient descent (2512.00207, §4.2, A.1.3).
//!
//! Codes C (n×m) and a map M (m×d) minimise the cross-entropy of the scores `C·M·Vᵀ`, value i being the answer of row i; full
//! batch, Adam, cosine schedule (1 to 0.01 over 1000 steps in the paper). Gradients: `∂C = ∂Y·Mᵀ`, `∂M = Cᵀ·∂Y` with `Y = C·M`.

use ndarray::Array2;
use rand_distr::{Distribution, StandardNormal};

use super::gradient_descent::{LOGIT_ROWS, Settings, decode};
use super::trainable::{matrix, matrix_mut};
use crate::error::{Error, Result};
use crate::facts::screening::count_stored;
use crate::num::adam::{Adam, cosine};
use crate::num::products::{general_mat_mul, product};
use crate::rng::StreamName;

/// Settings of the paper.
pub const SETTINGS: Settings = Settings { steps: 1000, learning_rate: 1.0, final_learning_rate: 0.01 };

/// Codes and the map from them.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// One code per value, n×m.
    pub codes: Array2<f64>,
    /// `D = Mᵀ`, d×m: value i is decoded from `D·c_i`.
    pub map: Array2<f64>,
    /// Values whose code decodes to them.
    pub stored: usize,
    pub steps: usize,
}

/// When training ends before its steps are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// As soon as every value is decoded: enough to know that the size suffices.
    WhenStored,
    /// Never: the rest of the steps widens the margins.
    AtTheEnd,
}

/// Trains a decoder of code length `size` for `values` (n×d).
///
/// ```
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::mlp::gradient_decoder::{SETTINGS, Stop, train};
/// use factsmith::rng::StreamName;
/// let values = draw(Kind::Sphere, 64, 16, &mut StreamName::new("doc").rng()).unwrap();
/// let decoder = train(&values, 6, SETTINGS, Stop::WhenStored, StreamName::new("decoder")).unwrap();
/// assert_eq!((decoder.stored, decoder.map.dim()), (64, (16, 6)));
/// ```
///
/// # Errors
/// When the size or the steps are 0, or the loss stops being a finite number.
pub fn train(values: &Array2<f64>, size: usize, settings: Settings, stop: Stop, name: StreamName) -> Result<Decoder> {
    settings.check(size)?;
    let mut training = Training::new(values, size, name);
    let mut adam = Adam::new(training.parameters.len());
    for step in 0..settings.steps {
        let correct = training.gradient()?;
        if stop == Stop::WhenStored && correct == values.nrows() {
            let found = training.decoder(values, step);
            if found.stored == values.nrows() {
                return Ok(found);
            }
        }
        let rate = cosine(settings.learning_rate, settings.final_learning_rate, step, settings.steps);
        adam.step(&mut training.parameters, &training.gradient, rate as f32);
    }
    Ok(training.decoder(values, settings.steps))
}

struct Training {
    values: Array2<f32>,
    own: Vec<usize>,
    size: usize,
    /// Codes (n×m), then the map M (m×d).
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    decoded: Array2<f32>,
    decoded_gradient: Array2<f32>,
    logits: Vec<f32>,
}

impl Training {
    fn new(values: &Array2<f64>, size: usize, name: StreamName) -> Self {
        let (count, dimension) = values.dim();
        let mut rng = name.rng();
        // Standard normal codes and map entries of variance 1/m: decoded vectors of order 1.
        let scale = 1.0 / (size as f64).sqrt();
        let mut parameters: Vec<f32> = (0..count * size).map(|_| StandardNormal.sample(&mut rng)).collect();
        parameters.extend((0..size * dimension).map(|_| {
            let entry: f64 = StandardNormal.sample(&mut rng);
            (entry * scale) as f32
        }));
        Self {
            values: values.mapv(|x| x as f32),
            own: (0..count).collect(),
            size,
            gradient: vec![0.0; parameters.len()],
            parameters,
            decoded: Array2::zeros((count, dimension)),
            decoded_gradient: Array2::zeros((count, dimension)),
            logits: vec![0.0; LOGIT_ROWS * count],
        }
    }

    /// The number of values decoded at the present parameters; leaves the gradient of the mean cross-entropy.
    fn gradient(&mut self) -> Result<usize> {
        let ((count, dimension), size) = (self.values.dim(), self.size);
        let (codes, map) = self.parameters.split_at(count * size);
        let (codes, map) = (matrix(codes, count, size), matrix(map, size, dimension));
        general_mat_mul(1.0, &codes, &map, 0.0, &mut self.decoded);
        let found = decode(&self.decoded, &self.values, &self.own, &mut self.logits, &mut self.decoded_gradient);
        if !found.loss.is_finite() {
            return Err(Error::failure(format!("training the decoder diverged: the loss is {}", found.loss))
                .fix("bring keys and values to lengths around 1"));
        }
        let (code_gradient, map_gradient) = self.gradient.split_at_mut(count * size);
        general_mat_mul(1.0, &self.decoded_gradient, &map.t(), 0.0, &mut matrix_mut(code_gradient, count, size));
        general_mat_mul(1.0, &codes.t(), &self.decoded_gradient, 0.0, &mut matrix_mut(map_gradient, size, dimension));
        Ok(found.correct)
    }

    fn decoder(&self, values: &Array2<f64>, steps: usize) -> Decoder {
        let ((count, dimension), size) = (self.values.dim(), self.size);
        let (codes, map) = self.parameters.split_at(count * size);
        let codes = matrix(codes, count, size).mapv(f64::from);
        let map = matrix(map, size, dimension).mapv(f64::from).reversed_axes();
        let stored = count_stored(product(&codes, &map.t()).view(), values.view(), &self.own);
        Decoder { codes, map, stored, steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};

    fn values() -> Array2<f64> {
        draw(Kind::Sphere, 64, 16, &mut StreamName::new("test").rng()).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_the_cross_entropy() {
        let values = values();
        let mut training = Training::new(&values, 3, StreamName::new("decoder"));
        training.gradient().unwrap();
        let gradient = training.gradient.clone();
        training.gradient().unwrap();
        assert_eq!(training.gradient, gradient, "a step starts anew");
        let loss = |training: &Training| {
            let found = training.decoder(&values, 0);
            let logits = found.codes.dot(&found.map.t()).dot(&values.t());
            let of = |(row, target): (ndarray::ArrayView1<f64>, usize)| row.mapv(f64::exp).sum().ln() - row[target];
            logits.rows().into_iter().zip(0..).map(of).sum::<f64>() / 64.0
        };
        for index in (0..gradient.len()).step_by(17) {
            let mut at = |step: f32| {
                let kept = training.parameters[index];
                training.parameters[index] = kept + step;
                let loss = loss(&training);
                training.parameters[index] = kept;
                loss
            };
            let difference = (at(1.0 / 256.0) - at(-1.0 / 256.0)) * 128.0;
            let error = (f64::from(gradient[index]) - difference).abs();
            assert!(error < 1e-6 + 1e-3 * difference.abs(), "{index}: {} against {difference}", gradient[index]);
        }
    }

    #[test]
    fn more_steps_widen_the_margins() {
        let values = values();
        let smallest = |stop| {
            let found = train(&values, 8, SETTINGS, stop, StreamName::new("decoder")).unwrap();
            assert_eq!(found.stored, 64);
            let own: Vec<usize> = (0..64).collect();
            let decoded = found.codes.dot(&found.map.t());
            let margins = crate::facts::decoding::margins(decoded.view(), values.view(), &own);
            margins.into_iter().fold(f64::INFINITY, f64::min)
        };
        assert!(smallest(Stop::AtTheEnd) > 2.0 * smallest(Stop::WhenStored));
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert_eq!(train(&values(), 0, SETTINGS, Stop::WhenStored, StreamName::new("t")).unwrap_err().exit_code(), 2);
        let one = train(&values(), 1, SETTINGS, Stop::WhenStored, StreamName::new("t")).unwrap();
        assert!(one.stored < 64, "a line has two ends");
    }
}
