//! How many parameters an MLP needs to store one fact per value: predictions from the number of facts, the dimension and ρ.
//!
//! The exact counts follow from the constructions. The ranges are those of the published results of this project
//! (`published/laptop`, stage `storage_cost`: d = 32 and 64, F = d²/4, condition numbers 1 to 10⁴): what other tables need
//! can lie outside, and only building and verifying an MLP shows it.

/// A range that a size is expected in; both ends are equal where the size is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeRange {
    pub low: f64,
    pub high: f64,
}

/// The predicted number of parameters of one construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub construction: &'static str,
    pub formula: &'static str,
    pub parameters: SizeRange,
}

/// Code length of the JL decoder over `ln F/ρ²`: medians over seeds in the published results, well- to ill-conditioned.
const CODE_LENGTH: SizeRange = SizeRange { low: 0.6, high: 2.1 };
/// Parameters that gradient descent needed over `F·log₂F` in the published results, well- to ill-conditioned.
const GRADIENT_DESCENT: SizeRange = SizeRange { low: 0.4, high: 1.4 };

/// Predictions for a random map of `facts` keys to as many values of decodability `rho` in `dimension` dimensions.
///
/// With `ρ = 0` some value cannot be decoded and no size suffices: there is no prediction.
///
/// ```
/// use factsmith::facts::size_prediction::predictions;
/// let found = predictions(256, 32, 0.5);
/// assert_eq!(found[1].parameters.low, 3.0 * 32.0 * 256.0);
/// assert!(predictions(256, 32, 0.0).is_empty());
/// ```
pub fn predictions(facts: usize, dimension: usize, rho: f64) -> Vec<Prediction> {
    if facts < 2 || rho <= 0.0 {
        return Vec::new();
    }
    let (count, width) = (facts as f64, dimension as f64);
    // A gadget has ⌈F/d⌉ hidden units of 3·d weights; there is one for each entry of the code.
    let gadget = 3.0 * width * facts.div_ceil(dimension) as f64;
    let code = SizeRange { low: CODE_LENGTH.low, high: CODE_LENGTH.high }.times(count.ln() / (rho * rho)).whole();
    vec![
        Prediction {
            construction: "encoder and JL decoder",
            formula: "3·d·⌈F/d⌉·m, m = 0.6 to 2.1 × ln F/ρ²",
            parameters: code.times(gadget),
        },
        Prediction {
            construction: "encoder of outputs U*",
            formula: "3·d²·⌈F/d⌉, exact",
            parameters: SizeRange { low: width, high: width }.times(gadget),
        },
        Prediction {
            construction: "gradient descent",
            formula: "0.4 to 1.4 × F·log₂F",
            parameters: GRADIENT_DESCENT.times(count * count.log2()).whole(),
        },
    ]
}

/// The factor by which the size of a JL construction is predicted to change when ρ becomes `after`: `(before/after)²`.
pub fn size_factor(before: f64, after: f64) -> f64 {
    (before / after).powi(2)
}

impl SizeRange {
    fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    fn whole(self) -> Self {
        Self { low: self.low.ceil(), high: self.high.ceil() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_those_of_the_formulas() {
        let found = predictions(1024, 64, 0.5);
        let (low, high) = ((0.6 * 1024f64.ln() / 0.25).ceil(), (2.1 * 1024f64.ln() / 0.25).ceil());
        assert_eq!(found[0].parameters, SizeRange { low: 3072.0 * low, high: 3072.0 * high });
        assert_eq!(found[1].parameters.high, 3.0 * 64.0 * 64.0 * 16.0);
        assert_eq!(found[2].parameters, SizeRange { low: 4096.0, high: 14336.0 });
        assert_eq!(size_factor(0.1, 0.4), 0.0625);
    }
}
