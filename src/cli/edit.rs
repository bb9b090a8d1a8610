//! `factsmith edit`

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Context;
use super::fact_inputs::{FactOptions, Facts};
use super::mlp_output::precision;
use super::output::{check_output, is_same};
use super::recipe::Recipe;
use crate::edit::in_place::{InPlace, edit_in_place};
use crate::error::{Error, Result, unknown};
use crate::mlp::network::Mlp;
use crate::mlp::saved::{self, Precision};
use crate::mlp::verification::{Certainty, Verified, verify};
use crate::pipeline::progress::{count, tell};

/// Change facts of an MLP
///
/// By default the MLP is built again for the new facts, as its file says it was built: at the same size, or where that stores
/// too little at the smallest that stores every fact. memit, rome and alpha_edit change the output matrix alone: fast and of the
/// same shape, but facts can be lost. The report counts the altered facts that are stored (efficacy) and the others that are
/// (specificity), and names the facts that were lost. --facts has to say what the MLP stores now, earlier edits included. The exit
/// code is 0 when every altered fact is stored and none was lost, else 1; the file is written all the same.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith edit mlp.safetensors --keys keys.npy --values values.npy --set new.csv -o new.safetensors
  factsmith edit mlp.safetensors --keys k.npy --values v.npy --facts map.csv --set new.csv --method memit -o new.safetensors
  factsmith edit mlp.safetensors --keys k.npy --values v.npy --key-names words.txt --set new.csv -o mlp.safetensors --json

A file for --set looks like one for --facts: a key and its new value in each line.")]
pub struct Arguments {
    /// The MLP, as `factsmith build` writes it
    mlp: PathBuf,
    #[command(flatten)]
    facts: FactOptions,
    /// The new facts: a CSV, TSV or Parquet file with a key and its new value in each line
    #[arg(long, value_name = "FILE")]
    set: PathBuf,
    /// How to change the MLP: rebuild, memit, rome or alpha_edit
    #[arg(long, value_name = "NAME", default_value = "rebuild")]
    method: String,
    /// memit: weight of the facts that stay, together [default: a hundredth of their number: an altered fact
    /// counts as a hundred of them]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    lambda: Option<f64>,
    /// alpha_edit: a direction is free for edits where the facts that stay have a smaller share than this of their squared
    /// activations [default: 0.01]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// memit, rome, alpha_edit: hold the change of each output to this share of its length [default: no limit]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    clip: Option<f64>,
    /// Precision of the weights in the file: single or double
    #[arg(long, value_name = "NAME", default_value = "double")]
    precision: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// How the facts are changed.
enum How {
    Rebuild,
    InPlace(InPlace),
}

/// The default of `--tolerance`.
const TOLERANCE: f64 = 0.01;

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let (how, precision) = (how(arguments)?, precision(&arguments.precision)?);
    let read: Vec<&std::path::Path> = arguments.facts.files().into_iter().chain([arguments.set.as_path()]).collect();
    check_output(&arguments.output, &read)?;
    let (old, made) = saved::read(&arguments.mlp)?;
    let mut facts = arguments.facts.read()?;
    facts.check_dimension(&old).map_err(|error| error.at(arguments.mlp.display()))?;
    let edits = real_edits(arguments, &facts)?;
    let before = verify(&old, &facts.set);
    check_present_facts(arguments, &facts, &before)?;
    let original = facts.set.clone();
    facts.set_values(&edits);
    let altered_before = verify(&old, &facts.set);
    let (mut new, made) = match how {
        How::Rebuild => rebuild(&facts, &made).map_err(|error| error.at(arguments.mlp.display()))?,
        How::InPlace(method) => {
            let edited = edit_in_place(&old, &original, &edits, method, arguments.clip)?;
            (
                edited,
                json!({ "factsmith": env!("CARGO_PKG_VERSION"), "edit": arguments.method, "facts": edits.len(), "edited": made }),
            )
        }
    };
    if precision == Precision::Single {
        new = new.rounded_to_single();
    }
    let outcome = Outcome::new(&edits, &before, &altered_before, &verify(&new, &facts.set));
    saved::write(&arguments.output, &new, precision, &made)?;
    report(arguments, context, &facts, &new, &outcome)?;
    Ok(u8::from(outcome.altered_after < outcome.altered || !outcome.lost.is_empty()))
}

/// The facts that are to stay are those that `--facts` says. An MLP that lacks some may store others, which the edit would undo: the
/// missing ones are named, and where they are most, the MLP's own file is not replaced.
fn check_present_facts(arguments: &Arguments, facts: &Facts, before: &Verified) -> Result<()> {
    let missing: Vec<usize> =
        (0..before.margins.len()).filter(|fact| before.certainty(*fact) != Certainty::Stored).collect();
    let total = before.margins.len();
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("the MLP does not store {} of {total} facts as they are before the edit", missing.len());
    if 2 * missing.len() > total && is_same(&arguments.output, &arguments.mlp) {
        return Err(Error::input(what).at(arguments.mlp.display()).fix(
            "say with --facts what it stores now, earlier edits included, or write to another --output; nothing was written",
        ));
    }
    let names: Vec<String> = missing.iter().take(5).map(|fact| facts.label(*fact).to_string()).collect();
    let more = if missing.len() > 5 { ", …" } else { "" };
    tell(&format!(
        "warning: {what}: {}{more}. They will be as --facts says; put earlier edits into that file to keep them",
        names.join(", ")
    ));
    Ok(())
}

fn how(arguments: &Arguments) -> Result<How> {
    let Arguments { lambda, tolerance, clip, .. } = *arguments;
    let misplaced = |given: bool, option: &str, methods: &str| match given {
        true => Err(Error::input(format!("--{option} does nothing with --method {}", arguments.method))
            .fix(format!("leave it out, or use --method {methods}"))),
        false => Ok(()),
    };
    let how = match arguments.method.as_str() {
        "rebuild" => How::Rebuild,
        "memit" => How::InPlace(InPlace::Memit { lambda }),
        "rome" => How::InPlace(InPlace::Rome),
        "alpha_edit" => How::InPlace(InPlace::AlphaEdit { tolerance: tolerance.unwrap_or(TOLERANCE) }),
        other => return Err(unknown("method", other, ["rebuild", "memit", "rome", "alpha_edit"])),
    };
    let is_in_place = matches!(how, How::InPlace(_));
    misplaced(lambda.is_some() && arguments.method != "memit", "lambda", "memit")?;
    misplaced(tolerance.is_some() && arguments.method != "alpha_edit", "tolerance", "alpha_edit")?;
    misplaced(clip.is_some() && !is_in_place, "clip", "memit, rome or alpha_edit")?;
    if let Some(share) = tolerance.filter(|share| !(*share > 0.0 && share.is_finite())) {
        return Err(Error::input(format!("the tolerance is {share}")).fix("use a number above 0, such as 0.01"));
    }
    match clip {
        Some(share) if !(share > 0.0 && share.is_finite()) => {
            Err(Error::input(format!("--clip {share}")).fix("use a number above 0, such as 0.75"))
        }
        _ => Ok(how),
    }
}

/// The edits that change something, by the number of their fact.
fn real_edits(arguments: &Arguments, facts: &Facts) -> Result<Vec<(usize, usize)>> {
    let edits = facts.read_edits(&arguments.set)?;
    let given = edits.len();
    let real: Vec<(usize, usize)> = edits.into_iter().filter(|(fact, value)| facts.set.map[*fact] != *value).collect();
    if real.is_empty() {
        return Err(Error::input(format!("nothing would change: {} already so", are(given)))
            .at(arguments.set.display())
            .fix("give other values, or check that --facts says what the MLP stores now; nothing was written"));
    }
    if real.len() < given {
        tell(&format!("{} already so", are(given - real.len())));
    }
    Ok(real)
}

/// "1 fact is", "3 facts are".
fn are(facts: usize) -> String {
    format!("{} {}", count(facts, "fact"), if facts == 1 { "is" } else { "are" })
}

/// The MLP built again for facts that have changed, and what its file is to say.
fn rebuild(facts: &Facts, made: &Value) -> Result<(Mlp, Value)> {
    let (recipe, size) = Recipe::from_made(made)?;
    let (size, built) = recipe.follow(&facts.set, Some(size))?;
    let stored = verify(&built.mlp, &facts.set).count(Certainty::Stored);
    if stored == facts.set.len() {
        return Ok((built.mlp, recipe.made(size, facts.set.len())));
    }
    facts.check_tellable()?;
    tell(&format!(
        "size {size} stores {stored} of {}: searching for the smallest that stores all",
        count(facts.set.len(), "new fact")
    ));
    let (size, built) = recipe.follow(&facts.set, None)?;
    Ok((built.mlp, recipe.made(size, facts.set.len())))
}

/// What an edit did.
struct Outcome {
    altered: usize,
    /// New facts that were stored before the edit, and after it.
    altered_before: usize,
    altered_after: usize,
    others: usize,
    others_before: usize,
    others_after: usize,
    /// New facts that are not stored.
    missed: Vec<usize>,
    /// Other facts that were stored and are no longer.
    lost: Vec<usize>,
    margins: Vec<f64>,
}

impl Outcome {
    fn new(edits: &[(usize, usize)], before: &Verified, altered_before: &Verified, after: &Verified) -> Self {
        let mut is_altered = vec![false; after.margins.len()];
        edits.iter().for_each(|(fact, _)| is_altered[*fact] = true);
        let stored = |verified: &Verified, fact: usize| verified.certainty(fact) == Certainty::Stored;
        let (altered, others): (Vec<usize>, Vec<usize>) = (0..is_altered.len()).partition(|fact| is_altered[*fact]);
        let number =
            |verified: &Verified, facts: &[usize]| facts.iter().filter(|fact| stored(verified, **fact)).count();
        let is_lost = |fact: &usize| stored(before, *fact) && !stored(after, *fact);
        Self {
            altered: altered.len(),
            altered_before: number(altered_before, &altered),
            altered_after: number(after, &altered),
            others: others.len(),
            others_before: number(before, &others),
            others_after: number(after, &others),
            missed: altered.into_iter().filter(|fact| !stored(after, *fact)).collect(),
            lost: others.into_iter().filter(is_lost).collect(),
            margins: after.margins.clone(),
        }
    }
}

/// How many facts a report lists of each kind.
const LISTED: usize = 20;

fn report(arguments: &Arguments, context: &mut Context, facts: &Facts, mlp: &Mlp, outcome: &Outcome) -> Result<()> {
    if context.options.json {
        let listed = |list: &[usize]| -> Vec<Value> {
            list.iter().map(|fact| json!({ "fact": facts.label(*fact), "margin": outcome.margins[*fact] })).collect()
        };
        return context.print_json(&json!({
            "file": arguments.output.display().to_string(),
            "method": arguments.method,
            "hidden": mlp.hidden(),
            "parameters": mlp.parameters(),
            "altered": outcome.altered,
            "altered_stored_before": outcome.altered_before,
            "altered_stored": outcome.altered_after,
            "others": outcome.others,
            "others_stored_before": outcome.others_before,
            "others_stored": outcome.others_after,
            "missed": listed(&outcome.missed),
            "lost": listed(&outcome.lost),
        }));
    }
    let mut text = format!(
        "wrote {}: {}, {} hidden units, {} parameters\nefficacy     {} of {} altered facts stored (before: {})\nspecificity  {} of {} other facts stored (before: {})\n",
        arguments.output.display(),
        arguments.method,
        mlp.hidden(),
        mlp.parameters(),
        outcome.altered_after,
        outcome.altered,
        outcome.altered_before,
        outcome.others_after,
        outcome.others,
        outcome.others_before,
    );
    for (kind, list) in [("not set", &outcome.missed), ("lost", &outcome.lost)] {
        for fact in list.iter().take(LISTED) {
            text.push_str(&format!("  {kind:<8} margin {:>10.3e}  {}\n", outcome.margins[*fact], facts.label(*fact)));
        }
        if list.len() > LISTED {
            text.push_str(&format!("  {kind:<8} and {} more (--json lists all)\n", list.len() - LISTED));
        }
    }
    context.print(&text)
}
