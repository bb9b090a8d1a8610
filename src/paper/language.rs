//! Facts in a language model: how small the MLP may be that holds them, and what swapping it does to the other tokens
//! (2512.00207, §5.4 and A.3.3; Figs 9a, 9b).

use super::language_base::{BASE_FIELDS, BasePoint, base};
use crate::error::Result;
use crate::facts::fact_set::{FactSet, random_bijection};
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::rng::StreamName;
use crate::table::Record;

/// The experiment `language`.
pub struct Language;

impl Experiment for Language {
    fn name(&self) -> &'static str {
        "language"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        &BASE_FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: BasePoint = experiment::parse(point, &BASE_FIELDS)?;
        point.check()?;
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<BasePoint>(params) else { return 0.0 };
        point.seconds() + 10.0 * point.evaluation_seconds()
    }

    fn memory(&self, params: &Params) -> f64 {
        experiment::typed::<BasePoint>(params).map_or(0.0, |point| point.bytes())
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: BasePoint = experiment::typed(params)?;
        let base = base(&point, seed)?;
        let study = &base.study;
        let name = StreamName::new("other facts of the language model").with(point.facts as u64).with(seed);
        let map = random_bijection(point.facts, &mut name.rng());
        let other = FactSet::new(study.facts.keys.clone(), study.facts.values.clone(), map)?;
        let fitted = point.recipe(seed).fit(&other, "other facts of the language model")?;
        let (before, after) = (study.cross_entropy(&study.mlp), study.cross_entropy(&fitted.mlp));
        Ok(vec![
            Record::new()
                .with("parameters", study.mlp.parameters())
                .with("mlp_loss", base.mlp_loss)
                .with("stored", base.stored as f64 / point.facts as f64)
                .with("other_stored", fitted.stored as f64 / point.facts as f64)
                .with("epochs_taken", base.trained.epochs)
                .with("steps_taken", base.trained.steps)
                .with("loss", base.trained.loss)
                .with("recall", base.trained.recall)
                .with("worst_template", study.worst_template(&study.mlp))
                .with("fact_adaptive_recall", study.recall(&fitted.mlp, &other.map))
                .with("cross_entropy_before", before)
                .with("cross_entropy_after", after)
                .with("cross_entropy_ratio", after / before)
                .with("perplexity_ratio", (after - before).exp())
                .with("fact_weight_before_objects", study.asked.mean_weight())
                .with("fact_weight_before_words", study.word_weight()),
        ])
    }
}
