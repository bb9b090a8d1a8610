//! Editing facts of a language model: swapping its MLP against MEMIT, AlphaEdit, ROME and fine-tuning
//! (2512.00207, §5.4 and A.3.4, Fig 4; 2607.10034, Fig 3C).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::language_base::{BASE_FIELDS, BasePoint, Source, base};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::language::editing::accuracies::Accuracies;
use crate::language::editing::study::Study;
use crate::language::editing::task::EditTask;
use crate::language::editing::weight_edits::{self, Configuration, Edited};
use crate::methods::Method;
use crate::methods::family::{Ground, search};
use crate::mlp::network::Mlp;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::rng::StreamName;
use crate::table::Record;

/// All edits of one share of the facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub source: Source,
    pub dimension: usize,
    pub facts: usize,
    pub hidden: usize,
    pub mlp_steps: usize,
    pub learning_rate: f64,
    pub batch: usize,
    pub steps: usize,
    /// Facts to alter, in percent.
    pub percent: f64,
}

impl Point {
    fn base(&self) -> BasePoint {
        BasePoint {
            source: self.source,
            dimension: self.dimension,
            facts: self.facts,
            hidden: self.hidden,
            mlp_steps: self.mlp_steps,
            learning_rate: self.learning_rate,
            batch: self.batch,
            steps: self.steps,
        }
    }

    fn altered(&self) -> usize {
        (self.percent / 100.0 * self.facts as f64).round() as usize
    }
}

const FIELDS: [&str; 9] = {
    let [a, b, c, d, e, f, g, h] = BASE_FIELDS;
    [a, b, c, d, e, f, g, h, "percent"]
};

/// Constructions that are swapped in as well, with as many parameters as the model's own MLP has, or at twice the smallest size
/// that stores every fact where that is more: the model needs some margin. One whose sizes never store every fact has no row.
const CONSTRUCTIONS: [(Method, &str); 4] = [
    (Method::GradientDescent, "swap_gradient_descent"),
    (Method::GadgetJlWide, "swap_gadget_jl_wide"),
    (Method::HebbianWhitened, "swap_hebbian_whitened"),
    (Method::HebbianFitted, "swap_hebbian_fitted"),
];
const ROOM: usize = 2;
const CONSTRUCTION_STEPS: usize = 1000;

/// Edits of all grids, and the swaps.
const EDITS: f64 = 370.0;

/// The experiment `fact_editing`.
pub struct FactEditing;

impl Experiment for FactEditing {
    fn name(&self) -> &'static str {
        "fact_editing"
    }

    fn version(&self) -> u32 {
        3
    }

    fn fields(&self) -> &'static [&'static str] {
        &FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, &FIELDS)?;
        point.base().check()?;
        let altered = point.altered();
        if !(point.percent > 0.0 && point.percent <= 100.0) || altered < 2 {
            return Err(Error::input(format!(
                "percent is {:e}: {altered} edits of {} facts",
                point.percent, point.facts
            ))
            .fix("use a percent of at most 100 that alters at least 2 facts"));
        }
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let base = point.base();
        let residuals =
            9.0 * 100.0 * 5e-11 * (point.altered() * point.dimension) as f64 * (140.0 + 2.0 * point.facts as f64);
        0.2 * base.seconds() + EDITS * base.evaluation_seconds() + residuals
    }

    fn memory(&self, params: &Params) -> f64 {
        experiment::typed::<Point>(params).map_or(0.0, |point| point.base().bytes())
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let base = base(&point.base(), seed)?;
        let study = &base.study;
        let name = StreamName::new("edit").with(point.facts as u64).with(point.altered() as u64).with(seed);
        let task = EditTask::exchange(&study.facts.map, point.altered(), study.templates(), &mut name.rng())?;
        let mut tried = Vec::new();
        let unedited = study.predicted(&study.mlp);
        weight_edits::all(
            study,
            &task,
            |_| true,
            |edited| {
                keep(&mut tried, try_edit(study, &task, &unedited, edited));
                Ok(())
            },
        )?;
        for (kind, mlp) in swaps(&point.base(), study, &task, seed)? {
            keep(&mut tried, try_swap(study, &task, kind, mlp));
        }
        choose(study, &mut tried);
        let before = study.cross_entropy(&study.mlp);
        Ok(tried.iter().map(|tried| tried.record(point.altered(), before)).collect())
    }
}

/// One edit and how it did.
struct Tried {
    configuration: Configuration,
    null_dimensions: Option<usize>,
    /// Only of an edit that was the best of its kind by some score when it was tried.
    mlp: Option<Mlp>,
    parameters: usize,
    all: Accuracies,
    /// Over the facts that choose hyper-parameters, and over the others.
    chooses: f64,
    reports: f64,
    /// The best of its kind by the harmonic score, by the geometric, and by what the choosing facts say.
    best_harmonic: bool,
    best_geometric: bool,
    chosen: bool,
    cross_entropy: Option<f64>,
}

/// Many AlphaEdits change nothing: what the MLP says without an edit is not computed again for them.
fn try_edit(study: &Study, task: &EditTask, unedited: &[usize], edited: Edited) -> Tried {
    let mlp = study.mlp.clone().with_down(edited.down);
    let is_edited = mlp.down() != study.mlp.down();
    let predicted = if is_edited { study.predicted(&mlp) } else { unedited.to_vec() };
    let tried = tried(study, task, edited.configuration, mlp, &predicted);
    Tried { null_dimensions: edited.null_dimensions, ..tried }
}

fn try_swap(study: &Study, task: &EditTask, kind: &'static str, mlp: Mlp) -> Tried {
    let predicted = study.predicted(&mlp);
    tried(study, task, Configuration { kind, ..Configuration::default() }, mlp, &predicted)
}

fn tried(study: &Study, task: &EditTask, configuration: Configuration, mlp: Mlp, predicted: &[usize]) -> Tried {
    let over = |choosing: bool| study.accuracies(task, predicted, |fact| task.chooses[fact] == choosing).harmonic();
    Tried {
        configuration,
        null_dimensions: None,
        parameters: mlp.parameters(),
        all: study.accuracies(task, predicted, |_| true),
        chooses: over(true),
        reports: over(false),
        mlp: Some(mlp),
        best_harmonic: false,
        best_geometric: false,
        chosen: false,
        cross_entropy: None,
    }
}

/// The scores that edits of one kind are compared by.
const SCORES: [fn(&Tried) -> f64; 3] =
    [|tried| tried.all.harmonic(), |tried| tried.all.geometric(), |tried| tried.chooses];

/// Adds an edit; lets go of its MLP when others of its kind are as good by every score.
fn keep(tried: &mut Vec<Tried>, mut new: Tried) {
    let same = |old: &&Tried| old.configuration.kind == new.configuration.kind;
    let is_best = |score: &fn(&Tried) -> f64| tried.iter().filter(same).all(|old| score(&new) > score(old));
    if !SCORES.iter().any(is_best) {
        new.mlp = None;
    }
    tried.push(new);
}

/// Marks the best edits of every kind, measures what they do to the other tokens, and lets go of the rest.
fn choose(study: &Study, tried: &mut [Tried]) {
    let kinds: BTreeSet<&str> = tried.iter().map(|tried| tried.configuration.kind).collect();
    for kind in kinds {
        let own: Vec<usize> = (0..tried.len()).filter(|place| tried[*place].configuration.kind == kind).collect();
        let [harmonic, geometric, chosen] = SCORES.map(|score| {
            let better =
                |best: usize, place: usize| if score(&tried[place]) > score(&tried[best]) { place } else { best };
            own.iter().copied().reduce(better).expect("a kind has an edit")
        });
        tried[harmonic].best_harmonic = true;
        tried[geometric].best_geometric = true;
        tried[chosen].chosen = true;
    }
    for tried in tried {
        let mlp = tried.mlp.take();
        if tried.best_harmonic || tried.best_geometric || tried.chosen {
            tried.cross_entropy = mlp.map(|mlp| study.cross_entropy(&mlp));
        }
    }
}

/// The MLPs of the facts after the edit, with outputs as long as those of the MLP that the model was trained around.
fn swaps(point: &BasePoint, study: &Study, task: &EditTask, seed: u64) -> Result<Vec<(&'static str, Mlp)>> {
    let facts = FactSet::new(study.facts.keys.clone(), study.facts.values.clone(), task.map.clone())?;
    let mut swaps = vec![("swap", point.recipe(seed).fit(&facts, "facts after the edit")?.mlp)];
    let ground = Ground::new(&facts, seed);
    let length = mean_length(&study.mlp, &facts);
    for (method, kind) in CONSTRUCTIONS {
        let mut family = method.family(&ground, if method.is_trained() { CONSTRUCTION_STEPS } else { 0 })?;
        let Some(size) = search(family.as_mut(), facts.len(), |_, _| {})?.size else { continue };
        let smallest = family.build(size)?.mlp;
        let as_large = size * study.mlp.parameters() / smallest.parameters();
        let mlp = family.build(as_large.max(ROOM * size).min(family.sizes().largest))?.mlp;
        let factor = length / mean_length(&mlp, &facts);
        swaps.push((kind, mlp.scaled(factor)));
    }
    Ok(swaps)
}

/// The mean length of the outputs on the keys.
fn mean_length(mlp: &Mlp, facts: &FactSet) -> f64 {
    let outputs = mlp.forward(facts.keys.view());
    outputs.rows().into_iter().map(|row| row.dot(&row).sqrt()).sum::<f64>() / facts.len() as f64
}

impl Tried {
    fn record(&self, altered: usize, before: f64) -> Record {
        let Configuration { kind, steps, learning_rate, weight_decay, early_stop, lambda, clip, tolerance } =
            self.configuration;
        Record::new()
            .with("kind", kind)
            .with("edit_steps", steps)
            .with("edit_learning_rate", learning_rate)
            .with("edit_weight_decay", weight_decay)
            .with("early_stop", early_stop)
            .with("lambda", lambda)
            .with("clip", clip)
            .with("tolerance", tolerance)
            .with("null_dimensions", self.null_dimensions)
            .with("parameters", self.parameters)
            .with("altered", altered)
            .with("efficacy", self.all.efficacy)
            .with("paraphrase", self.all.paraphrase)
            .with("specificity", self.all.specificity)
            .with("specificity_paraphrase", self.all.specificity_paraphrase)
            .with("harmonic", self.all.harmonic())
            .with("geometric", self.all.geometric())
            .with("harmonic_choosing", self.chooses)
            .with("harmonic_reporting", self.reports)
            .with("best_harmonic", self.best_harmonic)
            .with("best_geometric", self.best_geometric)
            .with("chosen", self.chosen)
            .with("cross_entropy_before", before)
            .with("cross_entropy_after", self.cross_entropy)
            .with("perplexity_ratio", self.cross_entropy.map(|after| (after - before).exp()))
    }
}
