//! What the fact expert's output would have to change by for a new answer (2607.10034 and its released code): for every altered fact alone,
//! Adam on δ from 0, minimising the cross-entropy of the new object after its sentence.
//!
//! Fewer steps are a prefix of more, and a fact that stops early is one whose δ is kept, so one trajectory gives the residuals of
//! all numbers of steps with and without early stopping.

use ndarray::{Array2, Axis};

use super::asked::Asked;
use crate::num::adam::Adam;

/// Residuals after some steps, N₁×d.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub steps: usize,
    pub residuals: Array2<f32>,
    /// With those facts left as they were that had stopped.
    pub stopped: Array2<f32>,
}

/// The residuals after each of `steps` (in ascending order), with weight decay in the gradient; `outputs` are those of the fact
/// expert, N₁×d. A fact stops after the step before which its loss was below `enough` nats.
pub fn trajectory(
    asked: &Asked,
    outputs: &Array2<f32>,
    (learning_rate, decay): (f64, f64),
    steps: &[usize],
    enough: f32,
) -> Vec<Snapshot> {
    let mut residuals = Array2::<f32>::zeros(outputs.dim());
    let mut stopped = residuals.clone();
    let mut running = vec![true; outputs.nrows()];
    let mut adam = Adam::new(residuals.len());
    let mut gradient = residuals.clone();
    let mut snapshots = Vec::with_capacity(steps.len());
    for step in 1..=steps.last().copied().unwrap_or(0) {
        let losses = asked.losses(&(outputs + &residuals), &mut gradient);
        gradient.scaled_add(decay as f32, &residuals);
        let parameters = residuals.as_slice_mut().expect("standard layout");
        adam.step(parameters, gradient.as_slice().expect("standard layout"), learning_rate as f32);
        for (fact, loss) in losses.iter().enumerate().filter(|(fact, _)| running[*fact]).collect::<Vec<_>>() {
            stopped.row_mut(fact).assign(&residuals.index_axis(Axis(0), fact));
            running[fact] = *loss >= enough;
        }
        if steps.contains(&step) {
            snapshots.push(Snapshot { steps: step, residuals: residuals.clone(), stopped: stopped.clone() });
        }
    }
    snapshots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::gaussian;
    use crate::language::batch::Positions;
    use crate::language::editing::fine_tuning;
    use crate::language::full_sequence::tests::setting;
    use crate::language::stream::Stream;
    use crate::rng::StreamName;

    struct Case {
        stream: Stream,
        heads: Array2<f32>,
        outputs: Array2<f32>,
    }

    fn case() -> Case {
        let mut model = setting().model;
        let stream = Stream::of(&mut model, Positions::Object).rows(&[0, 4, 8]);
        let outputs = gaussian((3, 8), &mut StreamName::new("outputs").rng()).mapv(|entry| entry as f32);
        // Long embeddings: every answer can be certain.
        Case { heads: model.heads() * 8.0, stream, outputs }
    }

    impl Case {
        fn asked(&self) -> Asked<'_> {
            Asked { stream: &self.stream, answers: &[8, 9, 7], heads: &self.heads }
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_losses() {
        let case = case();
        let mut gradient = case.outputs.clone();
        case.asked().losses(&case.outputs, &mut gradient);
        let mut unused = gradient.clone();
        for ((row, column), own) in gradient.indexed_iter() {
            let mut at = |step: f32| {
                let mut moved = case.outputs.clone();
                moved[[row, column]] += step;
                f64::from(case.asked().losses(&moved, &mut unused)[row])
            };
            let slope = (at(1.0 / 64.0) - at(-1.0 / 64.0)) * 32.0;
            assert!((f64::from(*own) - slope).abs() < 1e-3 * (1.0 + slope.abs()), "{row} {column}: {own} {slope}");
        }
    }

    #[test]
    fn fewer_steps_are_a_prefix_and_stopped_facts_stay_where_they_were() {
        let case = case();
        let of = |steps: &[usize], enough| trajectory(&case.asked(), &case.outputs, (0.05, 1e-3), steps, enough);
        let (long, short) = (of(&[10, 80], 0.5), of(&[10], 0.5));
        assert_eq!(long[0].residuals, short[0].residuals);
        assert_ne!(long[0].residuals, long[1].residuals);
        let loss = |residuals: &Array2<f32>| {
            let mut unused = residuals.clone();
            case.asked().losses(&(&case.outputs + residuals), &mut unused)
        };
        let (at_end, stopped) = (loss(&long[1].residuals), loss(&long[1].stopped));
        assert!(at_end.iter().all(|loss| *loss < 0.5), "{at_end:?}");
        assert!(
            stopped.iter().zip(&at_end).all(|(stopped, end)| *stopped < 0.6 && stopped > end),
            "{stopped:?} {at_end:?}"
        );
        let never = of(&[80], 0.0);
        assert_eq!(never[0].stopped, never[0].residuals);
    }

    #[test]
    fn fine_tuning_lowers_the_losses_and_fewer_steps_are_a_prefix() {
        let case = case();
        let hidden = gaussian((3, 5), &mut StreamName::new("hidden").rng()).mapv(|entry| entry as f32);
        let down = gaussian((8, 5), &mut StreamName::new("down").rng()).mapv(|entry| entry as f32);
        let of = |steps: &[usize]| fine_tuning::trajectory(&case.asked(), &hidden, &down, 0.05, steps);
        let (long, short) = (of(&[10, 100]), of(&[10]));
        assert_eq!(long[0], short[0]);
        let mut unused = case.outputs.clone();
        let mut loss =
            |down: &Array2<f32>| case.asked().losses(&hidden.dot(&down.t()), &mut unused).iter().sum::<f32>();
        assert!(loss(&long[1].1) < 0.5 * loss(&down));
    }
}
