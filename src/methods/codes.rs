//! Codes between encoder and decoder: `c_i` of m numbers per value, and a map `D` that decodes value i from `D·c_i`.

use ndarray::Array2;

use super::family::Ground;
use crate::capacity::{Range, smallest_size};
use crate::error::{Error, Result};
use crate::facts::decoding::stored;
use crate::mlp::gradient_decoder::{SETTINGS, Stop, train};
use crate::mlp::johnson_lindenstrauss::NestedDecoder;

/// Codes (n×m) and the map from them (d×m).
#[derive(Debug, Clone)]
pub struct CodeBook {
    pub codes: Array2<f64>,
    pub map: Array2<f64>,
}

/// Codes of every length.
pub trait Codes {
    /// The lengths there are, and where a search should start.
    fn lengths(&self) -> Range;

    /// How many values codes of a length decode.
    fn decoded(&mut self, length: usize) -> Result<usize>;

    /// Codes of a length that decode every value, where there are any; else codes that decode many.
    fn book(&mut self, length: usize) -> Result<CodeBook>;

    /// Multiply–adds of making codes of a length.
    fn work(&self, length: usize) -> f64;
}

/// The shortest codes that decode every value of the ground.
///
/// # Errors
/// When no codes of any length do.
pub fn shortest(codes: &mut dyn Codes, ground: &Ground) -> Result<usize> {
    let values = ground.facts.values.nrows();
    let found = smallest_size(codes.lengths(), values, |length| codes.decoded(length))?;
    found.size.ok_or_else(|| {
        Error::input(format!("no codes of up to {} numbers decode all {values} values", codes.lengths().largest))
            .fix("use a method with another decoder (factsmith methods)")
    })
}

/// Draws of the random decoder: a length suffices when most draws of it do.
const DRAWS: u64 = 5;
/// The longest codes searched.
const LONGEST: usize = 1 << 18;

/// Random codes `Dᵀu*` (2512.00207, algorithm 4): a draw that fails is drawn again.
pub struct JohnsonLindenstrauss<'a> {
    ground: &'a Ground<'a>,
    outputs: &'a Array2<f64>,
    rho: f64,
    draws: Vec<NestedDecoder>,
}

impl<'a> JohnsonLindenstrauss<'a> {
    pub fn new(ground: &'a Ground<'a>) -> Result<Self> {
        let decoder = |draw| NestedDecoder::new(ground.facts.dimension(), ground.stream("decoder").with(draw));
        let (outputs, rho) = (ground.outputs()?, ground.decodability()?.rho);
        Ok(Self { ground, outputs, rho, draws: (0..DRAWS).map(decoder).collect() })
    }

    /// Values decoded by each draw.
    fn decoded_by_draws(&mut self, length: usize) -> Vec<usize> {
        let values = &self.ground.facts.values;
        self.draws.iter_mut().map(|draw| stored(&draw.margins(values, self.outputs, length))).collect()
    }
}

impl Codes for JohnsonLindenstrauss<'_> {
    fn lengths(&self) -> Range {
        // `m = c·ln(n)/ρ²` with c between 1 and 3 (spec f.8).
        let predicted = (self.ground.facts.values.nrows() as f64).ln() / self.rho.powi(2);
        Range { smallest: 1, largest: LONGEST, predicted: predicted.ceil() as usize, step: 1.5, precision: 0.01 }
    }

    fn decoded(&mut self, length: usize) -> Result<usize> {
        let mut decoded = self.decoded_by_draws(length);
        decoded.sort_unstable();
        Ok(decoded[decoded.len() / 2])
    }

    fn book(&mut self, length: usize) -> Result<CodeBook> {
        let decoded = self.decoded_by_draws(length);
        let most = decoded.iter().copied().max().unwrap_or(0);
        let first = decoded.iter().position(|count| *count == most).expect("there are draws");
        let map = self.draws[first].matrix(length);
        Ok(CodeBook { codes: self.outputs.dot(&map), map })
    }

    fn work(&self, length: usize) -> f64 {
        let (count, dimension) = self.ground.facts.values.dim();
        self.ground.outputs_work() + (count * count * dimension + 2 * count * dimension * length) as f64
    }
}

/// Codes found by gradient descent.
pub struct TrainedCodes<'a> {
    ground: &'a Ground<'a>,
}

impl<'a> TrainedCodes<'a> {
    pub fn new(ground: &'a Ground<'a>) -> Self {
        Self { ground }
    }
}

impl Codes for TrainedCodes<'_> {
    fn lengths(&self) -> Range {
        // 4, 6, 8 numbers for d = 16, 32, 64 (spec f.9).
        let dimension = self.ground.facts.dimension();
        let predicted = (0.9 * (dimension as f64).sqrt()).ceil() as usize;
        Range { smallest: 1, largest: dimension, predicted, step: 1.3, precision: 0.0 }
    }

    fn decoded(&mut self, length: usize) -> Result<usize> {
        let name = self.ground.stream("trained decoder").with(length as u64);
        Ok(train(&self.ground.facts.values, length, SETTINGS, Stop::WhenStored, name)?.stored)
    }

    fn book(&mut self, length: usize) -> Result<CodeBook> {
        let name = self.ground.stream("trained decoder").with(length as u64);
        let mut found = train(&self.ground.facts.values, length, SETTINGS, Stop::AtTheEnd, name.clone())?;
        if found.stored < self.ground.facts.values.nrows() {
            // The last steps can lose a value again that was decoded on the way.
            found = train(&self.ground.facts.values, length, SETTINGS, Stop::WhenStored, name)?;
        }
        Ok(CodeBook { codes: found.codes, map: found.map })
    }

    fn work(&self, length: usize) -> f64 {
        let (count, dimension) = self.ground.facts.values.dim();
        (SETTINGS.steps * (2 * count * count * dimension + 3 * count * dimension * length)) as f64
    }
}

/// U* itself, for m = d.
pub struct Direct<'a> {
    ground: &'a Ground<'a>,
    outputs: &'a Array2<f64>,
}

impl<'a> Direct<'a> {
    pub fn new(ground: &'a Ground<'a>) -> Result<Self> {
        Ok(Self { ground, outputs: ground.outputs()? })
    }
}

impl Codes for Direct<'_> {
    fn lengths(&self) -> Range {
        let dimension = self.ground.facts.dimension();
        Range { smallest: dimension, largest: dimension, predicted: dimension, step: 2.0, precision: 0.0 }
    }

    fn decoded(&mut self, length: usize) -> Result<usize> {
        self.book(length).map(|_| self.outputs.nrows())
    }

    fn book(&mut self, length: usize) -> Result<CodeBook> {
        let dimension = self.ground.facts.dimension();
        if length != dimension {
            return Err(Error::input(format!("codes of length {length} for U* itself"))
                .fix(format!("use the dimension of the values, {dimension}")));
        }
        Ok(CodeBook { codes: self.outputs.clone(), map: Array2::eye(dimension) })
    }

    fn work(&self, _length: usize) -> f64 {
        self.ground.outputs_work()
    }
}
