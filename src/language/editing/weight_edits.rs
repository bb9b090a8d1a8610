//! Edits of the fact expert's output matrix over grids of hyper-parameters (2512.00207, A.3.4), each residual computed once.

use ndarray::Array2;

use super::asked::Asked;
use super::study::Study;
use super::task::EditTask;
use super::{fine_tuning, residuals};
use crate::edit::Edit;
use crate::edit::alpha_edit::alpha_edit;
use crate::edit::clip::clip;
use crate::edit::memit::memit;
use crate::edit::rome::rome;
use crate::error::Result;
use crate::language::stream::Stream;

/// A kind of edit and its hyper-parameters; those it does not have are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Configuration {
    pub kind: &'static str,
    pub steps: Option<usize>,
    pub learning_rate: Option<f64>,
    pub weight_decay: Option<f64>,
    pub early_stop: Option<f64>,
    pub lambda: Option<f64>,
    pub clip: Option<f64>,
    pub tolerance: Option<f64>,
}

/// What became of the output matrix.
pub struct Edited {
    pub configuration: Configuration,
    /// d×h.
    pub down: Array2<f64>,
    /// AlphaEdit's room; with 0 it changes nothing.
    pub null_dimensions: Option<usize>,
}

const STEPS: [usize; 3] = [10, 25, 100];
const RATES: [f64; 3] = [0.005, 0.05, 0.5];
const LAMBDAS: [f64; 4] = [1.5e4, 1.5e3, 1.5e2, 1.0];
/// The facts that these λ are meant for.
const PAPER_FACTS: f64 = 16_384.0;
const MEMIT_CLIPS: [f64; 3] = [0.5, 0.75, 1.0];
const ALPHA_EDIT_CLIPS: [Option<f64>; 3] = [Some(0.5), Some(0.75), None];
const TOLERANCES: [f64; 3] = [1e-2, 1.0, 10.0];
const DECAYS: [f64; 3] = [1.5e-3, 1.5e-4, 0.0];
const ENOUGH: f64 = 0.05;
/// The paper has no fine-tuning; these rates bracket the best one.
const FINE_TUNING_RATES: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];

/// What all edits of one task start from.
struct Start<'a> {
    study: &'a Study,
    shown: Stream,
    answers: Vec<usize>,
    /// Activations of preserved and altered facts after the sentences that the edit is made with.
    preserved: Array2<f64>,
    altered: Array2<f64>,
    /// W·k of the altered facts.
    outputs: Array2<f64>,
}

impl<'a> Start<'a> {
    fn new(study: &'a Study, task: &EditTask) -> Self {
        let hidden =
            |stream: &Stream| study.mlp.hidden_units(stream.unit.mapv(f64::from).view(), 0..study.mlp.hidden());
        let shown = study.shown(task, task.altered());
        let altered = hidden(&shown);
        Self {
            answers: task.altered().map(|fact| study.objects[task.map[fact]]).collect(),
            preserved: hidden(&study.shown(task, task.preserved())),
            outputs: altered.dot(&study.mlp.down().t()),
            altered,
            shown,
            study,
        }
    }

    fn asked(&self) -> Asked<'_> {
        Asked { stream: &self.shown, answers: &self.answers, heads: &self.study.heads }
    }

    fn edit<'b>(&'b self, residuals: &'b Array2<f64>) -> Edit<'b> {
        Edit { preserved: self.preserved.view(), altered: self.altered.view(), residuals: residuals.view() }
    }

    fn clipped(&self, residuals: &Array2<f32>, share: Option<f64>) -> Array2<f64> {
        let mut residuals = residuals.mapv(f64::from);
        if let Some(share) = share {
            clip(&mut residuals, self.outputs.view(), share);
        }
        residuals
    }

    fn changed(&self, configuration: Configuration, update: &Array2<f64>) -> Edited {
        Edited { configuration, down: self.study.mlp.down() + update, null_dimensions: None }
    }
}

/// Hands the edits of the grids of the kinds that `wanted` picks to `see`: 108 of `memit` (and as many with λ scaled to the number of
/// facts), 81 of `alpha_edit`, 54 of `rome` and 12 of `fine_tuning`. With fewer preserved facts than hidden units there is no
/// ROME: it inverts their second moments.
///
/// # Errors
/// When `see` fails or an update cannot be solved for.
pub fn all(
    study: &Study,
    task: &EditTask,
    wanted: impl Fn(&str) -> bool,
    mut see: impl FnMut(Edited) -> Result<()>,
) -> Result<()> {
    let start = Start::new(study, task);
    let outputs = start.outputs.mapv(|entry| entry as f32);
    let has_rome = wanted("rome") && start.preserved.nrows() >= start.preserved.ncols();
    for learning_rate in RATES {
        for weight_decay in DECAYS {
            let (has_memit, has_alpha_edit) =
                (weight_decay == 0.0 && wanted("memit"), weight_decay == 0.0 && wanted("alpha_edit"));
            if !(has_memit || has_alpha_edit || has_rome) {
                continue;
            }
            let settings = (learning_rate, weight_decay);
            for snapshot in residuals::trajectory(&start.asked(), &outputs, settings, &STEPS, ENOUGH as f32) {
                let base = Configuration {
                    steps: Some(snapshot.steps),
                    learning_rate: Some(learning_rate),
                    ..Configuration::default()
                };
                if has_memit {
                    memits(&start, base, &snapshot.residuals, &mut see)?;
                }
                if has_alpha_edit {
                    alpha_edits(&start, base, &snapshot.residuals, &mut see)?;
                }
                if has_rome {
                    let base = Configuration { weight_decay: Some(weight_decay), ..base };
                    romes(&start, base, &snapshot, &mut see)?;
                }
            }
        }
    }
    if wanted("fine_tuning") { fine_tunings(&start, &mut see) } else { Ok(()) }
}

/// MEMIT weighs λ times the mean over preserved facts against the sum over altered ones: with fewer facts the λ of the paper hold
/// an edit back more. The same λ times the share of the paper's facts hold it back as much as in the paper.
fn lambdas(facts: usize) -> Vec<f64> {
    let share = facts as f64 / PAPER_FACTS;
    let scaled = LAMBDAS.iter().map(|lambda| lambda * share).filter(|_| share != 1.0);
    LAMBDAS.into_iter().chain(scaled).collect()
}

fn memits(
    start: &Start,
    base: Configuration,
    residuals: &Array2<f32>,
    see: &mut impl FnMut(Edited) -> Result<()>,
) -> Result<()> {
    for share in MEMIT_CLIPS {
        let clipped = start.clipped(residuals, Some(share));
        for lambda in lambdas(start.study.facts.len()) {
            let update = memit(&start.edit(&clipped), lambda)?;
            let configuration = Configuration { kind: "memit", lambda: Some(lambda), clip: Some(share), ..base };
            see(start.changed(configuration, &update))?;
        }
    }
    Ok(())
}

fn alpha_edits(
    start: &Start,
    base: Configuration,
    residuals: &Array2<f32>,
    see: &mut impl FnMut(Edited) -> Result<()>,
) -> Result<()> {
    for share in ALPHA_EDIT_CLIPS {
        let clipped = start.clipped(residuals, share);
        for tolerance in TOLERANCES {
            let found = alpha_edit(&start.edit(&clipped), tolerance)?;
            let configuration = Configuration { kind: "alpha_edit", tolerance: Some(tolerance), clip: share, ..base };
            let null_dimensions = Some(found.null_dimensions);
            see(Edited { null_dimensions, ..start.changed(configuration, &found.update) })?;
        }
    }
    Ok(())
}

fn romes(
    start: &Start,
    base: Configuration,
    snapshot: &residuals::Snapshot,
    see: &mut impl FnMut(Edited) -> Result<()>,
) -> Result<()> {
    for (residuals, early_stop) in [(&snapshot.residuals, None), (&snapshot.stopped, Some(ENOUGH))] {
        let update = rome(&start.edit(&start.clipped(residuals, None)))?;
        see(start.changed(Configuration { kind: "rome", early_stop, ..base }, &update))?;
    }
    Ok(())
}

fn fine_tunings(start: &Start, see: &mut impl FnMut(Edited) -> Result<()>) -> Result<()> {
    let hidden = start.altered.mapv(|entry| entry as f32);
    let down = start.study.mlp.down().mapv(|entry| entry as f32);
    for learning_rate in FINE_TUNING_RATES {
        for (steps, down) in fine_tuning::trajectory(&start.asked(), &hidden, &down, learning_rate, &STEPS) {
            let configuration = Configuration {
                kind: "fine_tuning",
                steps: Some(steps),
                learning_rate: Some(learning_rate),
                ..Configuration::default()
            };
            see(Edited { configuration, down: down.mapv(f64::from), null_dimensions: None })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::language::recipe::tests::small;
    use crate::rng::StreamName;

    fn edits() -> (Study, EditTask, Vec<Edited>) {
        let study = small().study;
        let mut rng = StreamName::new("edit").rng();
        let task = EditTask::exchange(&study.facts.map, 6, study.templates(), &mut rng).unwrap();
        let mut edits = Vec::new();
        all(
            &study,
            &task,
            |_| true,
            |edited| {
                edits.push(edited);
                Ok(())
            },
        )
        .unwrap();
        (study, task, edits)
    }

    #[test]
    fn the_grids_are_those_of_the_paper() {
        let (study, _, edits) = edits();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        edits.iter().for_each(|edited| *counts.entry(edited.configuration.kind).or_default() += 1);
        let wanted = [("alpha_edit", 81), ("fine_tuning", 12), ("memit", 2 * 108), ("rome", 54)];
        assert_eq!(counts, BTreeMap::from(wanted));
        let lambdas = lambdas(study.facts.len());
        assert_eq!((lambdas[3], lambdas[7]), (1.0, 24.0 / 16_384.0));
        assert_eq!(super::lambdas(16_384), LAMBDAS);
    }

    #[test]
    fn an_edit_is_the_update_of_its_residuals() {
        let (study, task, edits) = edits();
        let start = Start::new(&study, &task);
        let outputs = start.outputs.mapv(|entry| entry as f32);
        let snapshots = residuals::trajectory(&start.asked(), &outputs, (0.05, 0.0), &STEPS, ENOUGH as f32);
        let residuals = start.clipped(&snapshots[1].residuals, Some(0.75));
        let update = memit(&start.edit(&residuals), 150.0).unwrap();
        let same = |edited: &&Edited| {
            edited.configuration
                == Configuration {
                    kind: "memit",
                    steps: Some(25),
                    learning_rate: Some(0.05),
                    lambda: Some(150.0),
                    clip: Some(0.75),
                    ..Configuration::default()
                }
        };
        let edited = edits.iter().find(same).unwrap();
        assert_eq!(edited.down, study.mlp.down() + &update);
        let score = |down: &Array2<f64>| {
            let predicted = study.predicted(&study.mlp.clone().with_down(down.clone()));
            study.accuracies(&task, &predicted, |_| true).efficacy.unwrap()
        };
        let best = edits.iter().map(|edited| score(&edited.down)).fold(0.0, f64::max);
        assert!(score(study.mlp.down()) < 0.2 && best > 0.8, "{best}");
    }
}
