//! What searches for the smallest usable MLP share: where they look, and what that costs.

use crate::capacity::Range;
use crate::methods::Method;

/// The largest MLP searched, as a multiple of the smallest that stores every fact, and the precision of the search.
const LARGEST: usize = 16;
const PRECISION: f64 = 0.1;

/// From the smallest MLP that stores every fact upwards.
pub fn usable_range(storing: usize, sizes: Range) -> Range {
    let largest = (LARGEST * storing).min(sizes.largest).max(storing);
    Range { smallest: storing, largest, predicted: storing.div_ceil(2) * 3, step: 1.5, precision: PRECISION }
}

/// All sizes around a multiple of the predicted one.
pub fn range_from(multiple: f64, sizes: Range) -> Range {
    let predicted = ((multiple * sizes.predicted as f64).ceil() as usize).clamp(sizes.smallest, sizes.largest);
    Range { predicted, largest: (LARGEST * predicted).min(sizes.largest), step: 1.5, precision: PRECISION, ..sizes }
}

/// Sizes that a search probes: the mean of 30 searches at laptop scale, from 3 to 9.
pub const PROBES: f64 = 5.2;
/// Steps after which gradient descent stores every fact, where the MLP is not near the smallest that does (39 to 111, in the
/// mean 66, at d = 128 for F = 1,024 and 4,096), and trainings of a search for that smallest one that go through all steps.
const STEPS_TO_STORE: f64 = 70.0;
const FAILING: f64 = 4.0;

/// About how many parameters a usable MLP has, from the searches of the laptop profile.
fn usable_parameters(method: Method, facts: f64) -> f64 {
    match method {
        Method::GradientDescent | Method::GradientDescentRelu | Method::GradientDescentBilinear => {
            1.2 * facts * facts.log2()
        }
        Method::HebbianFitted => 70.0 * facts,
        Method::HebbianWhitened => 150.0 * facts,
        Method::Ntk | Method::NtkMarginOptimal => 1000.0 * facts,
        _ => 400.0 * facts,
    }
}

/// About how many multiply–adds a usable MLP takes for one input: gadgets share their gates ([`crate::mlp::frozen`]).
pub fn usable_products(method: Method, facts: f64) -> f64 {
    let parameters = usable_parameters(method, facts);
    if method == Method::GadgetJlWide { parameters / 3.0 } else { parameters }
}

/// The MLPs that a cell makes.
pub struct Building {
    /// Steps of training; 0 for methods that do not train.
    pub steps: usize,
    /// MLPs that are large enough.
    pub built: f64,
    /// Whether the smallest storing one is searched before.
    pub searches: bool,
    /// Badly conditioned facts may not be stored at any step.
    pub is_hard: bool,
}

impl Building {
    /// Seconds of one core.
    pub fn seconds(&self, facts: f64, dimension: f64) -> f64 {
        let all = self.steps as f64;
        let failing = if self.searches { FAILING } else { 0.0 };
        // A search comes by as many sizes that do store the facts.
        let built = self.built + failing;
        let steps = built * if self.is_hard { all } else { STEPS_TO_STORE.min(all) } + failing * all;
        let square = facts * facts * dimension;
        steps * (4e-11 * square + 2e-5) + (built + failing) * 2e-9 * square
    }
}
