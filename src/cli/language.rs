//! `factsmith language`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use crate::error::{Error, Result, unknown};
use crate::facts::fact_set::FactSet;
use crate::language::editing::accuracies::Accuracies;
use crate::language::editing::task::EditTask;
use crate::language::editing::weight_edits::{self, Configuration};
use crate::language::recipe::{Recipe, Trial};
use crate::language::relation::{Fact, Objects, Relation};
use crate::language::templates::{self, Template};
use crate::language::{fact_file, films, training};
use crate::mlp::network::Mlp;
use crate::pipeline::progress::{count, tell};
use crate::rng::StreamName;

/// Train a small language model on facts in sentences, and edit its facts
///
/// The facts live in a frozen MLP behind a router; the model learns to use it from sentences about every fact. Says how many
/// facts it recalls. With --set, facts are edited by swapping the MLP or by changing its output matrix, over a grid of settings
/// (the paper's, where it has one); the setting with the best score on these very facts is reported.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith language --count 256
  factsmith language --facts books.csv --subject book --object author --count 512
  factsmith language --facts books.csv --subject book --object author --count 512 --set new.csv --method memit")]
pub struct Arguments {
    /// Facts: a CSV, TSV or Parquet file [default: films and their directors, one film each]
    #[arg(long, value_name = "FILE", requires_all = ["subject", "object"])]
    facts: Option<PathBuf>,
    /// The column of the subjects
    #[arg(long, value_name = "COLUMN", requires = "facts")]
    subject: Option<String>,
    /// The column of the objects
    #[arg(long, value_name = "COLUMN", requires = "facts")]
    object: Option<String>,
    /// Refuse facts that have an object in common
    #[arg(long)]
    distinct_objects: bool,
    /// How many facts, from the first [default: all, at most 1024]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Sentences, one a line, such as: Who wrote {subject}? It was {object}
    #[arg(long, value_name = "FILE")]
    templates: Option<PathBuf>,
    /// Embedding dimension
    #[arg(long, value_name = "D", default_value_t = 128)]
    dimension: usize,
    /// Hidden units of the MLP [default: 48 parameters a fact, 4 units at least]
    #[arg(long, value_name = "H")]
    hidden: Option<usize>,
    /// The most training steps of the model, each of 32 sentences
    #[arg(long, value_name = "N", default_value_t = 6000)]
    steps: usize,
    /// Learning rate of the model
    #[arg(long, value_name = "RATE", default_value_t = 1e-3)]
    learning_rate: f64,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Facts to change: a file with the same two columns (film and director where no --facts are given)
    #[arg(long, value_name = "FILE")]
    set: Option<PathBuf>,
    /// How to change them: swap, memit, alpha_edit, rome or fine_tuning
    #[arg(long, value_name = "NAME", default_value = "swap", requires = "set")]
    method: String,
}

const METHODS: [&str; 5] = ["swap", "memit", "alpha_edit", "rome", "fine_tuning"];
const MOST_FACTS: usize = 1024;
const MLP_STEPS: usize = 3000;

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    if !METHODS.contains(&arguments.method.as_str()) {
        return Err(unknown("method", &arguments.method, METHODS));
    }
    arguments.check()?;
    let (relation, sentences) = arguments.facts_and_sentences()?;
    let (relation, edit) = match &arguments.set {
        Some(_) => arguments.with_edit(relation).map(|(relation, edit)| (relation, Some(edit)))?,
        None => (relation, None),
    };
    let recipe = arguments.recipe(relation.facts().len());
    arguments.check_rome(&relation, edit.as_ref(), &recipe)?;
    tell(&format!(
        "training a language model on {} in {} each",
        count(relation.facts().len(), "fact"),
        count(sentences.len(), "sentence")
    ));
    let trial = recipe.make(&relation, &sentences)?;
    let edited = edit.map(|edit| arguments.edit(&trial, &recipe, &relation, &edit)).transpose()?;
    report(context, &relation, &trial, edited.as_ref())?;
    Ok(0)
}

/// New objects of the last facts.
struct Edit {
    objects: Vec<String>,
}

/// The best edit of the grid.
struct Edited {
    configuration: Configuration,
    accuracies: Accuracies,
    cross_entropies: (f64, f64),
}

impl Arguments {
    /// What would only be found after a training.
    fn check(&self) -> Result<()> {
        for (option, value) in
            [("--dimension", Some(self.dimension)), ("--hidden", self.hidden), ("--steps", Some(self.steps))]
        {
            if value == Some(0) {
                return Err(Error::input(format!("{option} 0")).fix("use at least 1"));
            }
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Error::input(format!("a learning rate of {}", self.learning_rate)).fix("use a positive number"));
        }
        Ok(())
    }

    fn facts_and_sentences(&self) -> Result<(Relation, Vec<Template>)> {
        let kind = if self.distinct_objects { Objects::Distinct } else { Objects::Shared };
        let (relation, sentences) = match (&self.facts, &self.subject, &self.object) {
            (Some(file), Some(subject), Some(object)) => {
                (fact_file::read(file, subject, object, kind)?, templates::any()?)
            }
            _ if self.distinct_objects => (films::one_per_director()?, templates::films()?),
            _ => (films::first(self.count.unwrap_or(MOST_FACTS))?, templates::films()?),
        };
        let all = relation.facts().len();
        let count = self.count.unwrap_or_else(|| all.min(MOST_FACTS));
        if self.count.is_none() && count < all {
            tell(&format!("the first {count} of {all} facts; --count says how many"));
        }
        let sentences = self.templates.as_deref().map_or(Ok(sentences), templates::read)?;
        Ok((relation.first(count)?, sentences))
    }

    fn recipe(&self, facts: usize) -> Recipe {
        let training = training::Settings {
            learning_rate: self.learning_rate,
            most_steps: self.steps,
            ..training::Settings::default()
        };
        let hidden = self.hidden.unwrap_or_else(|| (16 * facts).div_ceil(self.dimension.max(1)).max(4));
        Recipe { dimension: self.dimension, hidden, mlp_steps: MLP_STEPS, training, seed: self.seed }
    }

    /// The facts with those to be changed at the end, and their new objects.
    fn with_edit(&self, relation: Relation) -> Result<(Relation, Edit)> {
        let file = self.set.as_deref().expect("called with --set");
        let columns = (self.subject.as_deref().unwrap_or("film"), self.object.as_deref().unwrap_or("director"));
        let changes = fact_file::read(file, columns.0, columns.1, Objects::Shared)?;
        let (facts, changes) = (relation.facts(), changes.facts());
        for change in changes {
            let place = facts.iter().position(|fact| fact.subject == change.subject);
            let old = place.ok_or_else(|| {
                unknown("subject", &change.subject, facts.iter().map(|fact| fact.subject.as_str())).at(file.display())
            })?;
            if !facts.iter().any(|fact| fact.object == change.object) {
                let known = facts.iter().map(|fact| fact.object.as_str());
                return Err(unknown("object", &change.object, known).at(file.display()));
            }
            if facts[old].object == change.object {
                return Err(Error::input(format!("'{}' has the object '{}' already", change.subject, change.object))
                    .at(file.display())
                    .fix("leave the row out, or give another object"));
            }
        }
        let is_changed = |fact: &&Fact| changes.iter().any(|change| change.subject == fact.subject);
        let kept = facts.iter().filter(|fact| !is_changed(fact));
        let old = changes.iter().filter_map(|change| facts.iter().find(|fact| fact.subject == change.subject));
        let ordered = kept.chain(old).cloned().collect();
        let objects = changes.iter().map(|change| change.object.clone()).collect();
        Ok((Relation::new(&relation.name, ordered, Objects::Shared)?, Edit { objects }))
    }

    /// ROME inverts the second moments of the facts that stay.
    fn check_rome(&self, relation: &Relation, edit: Option<&Edit>, recipe: &Recipe) -> Result<()> {
        let Some(edit) = edit.filter(|_| self.method == "rome") else { return Ok(()) };
        let stay = relation.facts().len() - edit.objects.len();
        if stay >= recipe.hidden {
            return Ok(());
        }
        Err(Error::input(format!(
            "{stay} facts stay, too few for ROME with {} hidden units: it inverts their second moments",
            recipe.hidden
        ))
        .fix("change fewer facts, use fewer --hidden units, or another --method"))
    }

    fn edit(&self, trial: &Trial, recipe: &Recipe, relation: &Relation, edit: &Edit) -> Result<Edited> {
        let (study, facts) = (&trial.study, relation.facts());
        let first = facts.len() - edit.objects.len();
        let mut map = study.facts.map.clone();
        for (value, object) in map[first..].iter_mut().zip(&edit.objects) {
            let owner = facts.iter().position(|fact| fact.object == *object);
            *value = study.facts.map[owner.expect("every new object belongs to a fact: it was looked up before")];
        }
        let mut rng = StreamName::new("sentences of an edit").with(self.seed).rng();
        let task = EditTask::new(map, first, study.templates(), &mut rng);
        let mut best: Option<(Edited, Mlp)> = None;
        let mut consider = |configuration: Configuration, mlp: Mlp| {
            let accuracies = study.accuracies(&task, &study.predicted(&mlp), |_| true);
            // Where the score is 0 the changed facts decide.
            let rank = |own: &Accuracies| (own.harmonic(), own.efficacy.unwrap_or(0.0) + own.paraphrase.unwrap_or(0.0));
            let is_better = |(old, _): &(Edited, Mlp)| rank(&accuracies) > rank(&old.accuracies);
            if best.as_ref().is_none_or(is_better) {
                best = Some((Edited { configuration, accuracies, cross_entropies: (0.0, 0.0) }, mlp));
            }
        };
        if self.method == "swap" {
            let new = FactSet::new(study.facts.keys.clone(), study.facts.values.clone(), task.map.clone())?;
            let fitted = recipe.fit(&new, "facts after the edit")?;
            consider(Configuration { kind: "swap", ..Configuration::default() }, fitted.mlp);
        } else {
            tell(&format!("trying the settings of {}", self.method));
            weight_edits::all(
                study,
                &task,
                |kind| kind == self.method,
                |edited| {
                    consider(edited.configuration, study.mlp.clone().with_down(edited.down));
                    Ok(())
                },
            )?;
        }
        let (edited, mlp) = best.expect("every method has a setting: ROME without one was refused before");
        Ok(Edited { cross_entropies: (study.cross_entropy(&study.mlp), study.cross_entropy(&mlp)), ..edited })
    }
}

fn report(context: &mut Context, relation: &Relation, trial: &Trial, edited: Option<&Edited>) -> Result<()> {
    let (study, trained) = (&trial.study, &trial.trained);
    if context.options.json {
        let edit = edited.map(|edited| {
            json!({
                "method": edited.configuration.kind,
                "steps": edited.configuration.steps,
                "learning_rate": edited.configuration.learning_rate,
                "weight_decay": edited.configuration.weight_decay,
                "early_stop": edited.configuration.early_stop,
                "lambda": edited.configuration.lambda,
                "clip": edited.configuration.clip,
                "tolerance": edited.configuration.tolerance,
                "efficacy": edited.accuracies.efficacy,
                "paraphrase": edited.accuracies.paraphrase,
                "specificity": edited.accuracies.specificity,
                "harmonic": edited.accuracies.harmonic(),
                "geometric": edited.accuracies.geometric(),
                "cross_entropy_before": edited.cross_entropies.0,
                "cross_entropy_after": edited.cross_entropies.1,
            })
        });
        return context.print_json(&json!({
            "relation": relation.name,
            "facts": relation.facts().len(),
            "hidden": study.mlp.hidden(),
            "parameters": study.mlp.parameters(),
            "stored": trial.stored,
            "steps": trained.steps,
            "recall": trained.recall,
            "worst_template": study.worst_template(&study.mlp),
            "edit": edit,
        }));
    }
    context.print(&format!(
        "{}: {} facts, an MLP of {} parameters that stores {} of them by itself\nthe model recalls {:.1} % of the facts after {} steps; in its worst sentence {:.1} %\n",
        relation.name,
        relation.facts().len(),
        study.mlp.parameters(),
        trial.stored,
        100.0 * trained.recall,
        trained.steps,
        100.0 * study.worst_template(&study.mlp),
    ))?;
    edited.map_or(Ok(()), |edited| context.print(&told(edited)))
}

fn told(edited: &Edited) -> String {
    let share = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let Configuration { kind, steps, learning_rate, weight_decay, early_stop, lambda, clip, tolerance } =
        edited.configuration;
    let settings = [
        steps.map(|steps| format!("{steps} steps")),
        learning_rate.map(|rate| format!("learning rate {rate}")),
        weight_decay.map(|decay| format!("weight decay {decay}")),
        early_stop.map(|loss| format!("stops at loss {loss}")),
        lambda.map(|lambda| format!("λ {lambda}")),
        clip.map(|clip| format!("clip {clip}")),
        tolerance.map(|tolerance| format!("tolerance {tolerance}")),
    ];
    let settings: Vec<String> = settings.into_iter().flatten().collect();
    let settings = if settings.is_empty() { String::new() } else { format!(" ({})", settings.join(", ")) };
    let (before, after) = edited.cross_entropies;
    format!(
        "edited by {kind}{settings}:\n  efficacy (changed facts, the sentence shown) {}\n  paraphrase (changed facts, other sentences) {}\n  specificity (other facts) {}\n  score {:.3} (harmonic mean), {:.3} (geometric)\n  cross-entropy of the other tokens {before:.3} → {after:.3}\n",
        share(edited.accuracies.efficacy),
        share(edited.accuracies.paraphrase),
        share(edited.accuracies.specificity),
        edited.accuracies.harmonic(),
        edited.accuracies.geometric(),
    )
}
