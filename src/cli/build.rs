//! `factsmith build`

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;

use super::Context;
use super::fact_inputs::{FactOptions, Facts};
use super::mlp_output::precision;
use super::output::check_output;
use super::recipe::Recipe;
use crate::error::{Error, Result, unknown};
use crate::methods::family::Built;
use crate::methods::{METHODS, Method};
use crate::mlp::saved::{self, Precision};
use crate::mlp::verification::{Certainty, Verified, verify};

/// Build an MLP that stores facts, by any construction
///
/// The file says how it was made; the same command makes the same file again. The exit code is 0 when every fact is stored. An
/// MLP of a --size that stores fewer is written all the same, with exit code 1. With --smallest, sizes are searched to 1 % where
/// they run into hundreds; a length of random codes counts when most of five draws of them decode, so that a lucky draw of a
/// smaller size may do too.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith build --keys keys.npy --values values.npy --method gradient_descent --smallest -o mlp.safetensors
  factsmith build --keys k.npy --values v.npy --facts map.csv --method hebbian_whitened --size 800 -o mlp.safetensors
  factsmith build --keys k.npy --values v.npy --method gadget_jl --smallest --precision single -o mlp.safetensors

'factsmith methods' lists the methods and what their size counts.")]
pub struct Arguments {
    #[command(flatten)]
    facts: FactOptions,
    /// How to make it
    #[arg(long, value_name = "NAME")]
    method: String,
    /// The size, as the method counts it
    #[arg(long, value_name = "N", required_unless_present = "smallest", conflicts_with = "smallest")]
    size: Option<usize>,
    /// Search for the smallest size that stores every fact
    #[arg(long)]
    smallest: bool,
    /// Steps of training, for the methods that train
    #[arg(long, value_name = "N", default_value_t = 2000)]
    steps: usize,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Precision of the weights in the file: single or double
    #[arg(long, value_name = "NAME", default_value = "double")]
    precision: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let (method, precision) = (method(&arguments.method)?, precision(&arguments.precision)?);
    check_output(&arguments.output, &arguments.facts.files())?;
    let facts = arguments.facts.read()?;
    let started = Instant::now();
    if arguments.size == Some(0) {
        return Err(Error::input("a size of 0").fix("use at least 1, or --smallest"));
    }
    if arguments.smallest {
        facts.check_tellable()?;
    }
    let recipe = Recipe { method, seed: arguments.seed, steps: arguments.steps };
    let (size, mut built) = recipe.follow(&facts.set, arguments.size)?;
    if precision == Precision::Single {
        // What is said of the MLP is said of the weights in the file.
        built.mlp = built.mlp.rounded_to_single();
    }
    let verified = verify(&built.mlp, &facts.set);
    let stored = verified.count(Certainty::Stored);
    if arguments.smallest && stored < facts.set.len() {
        return Err(inexact(size, stored, facts.set.len(), &built));
    }
    let seconds = started.elapsed().as_secs_f64();
    saved::write(&arguments.output, &built.mlp, precision, &recipe.made(size, facts.set.len()))?;
    report(arguments, context, &facts, size, &built, &verified, seconds)?;
    Ok(u8::from(stored < facts.set.len()))
}

fn method(name: &str) -> Result<Method> {
    let found = METHODS.iter().find(|about| about.name == name).map(|about| about.method);
    found.ok_or_else(|| unknown("method", name, METHODS.iter().map(|about| about.name)))
}

/// The error of a search whose codes decode and whose encoder does not give them.
fn inexact(size: usize, stored: usize, count: usize, built: &Built) -> Error {
    let off =
        built.relative_residual.map_or_else(String::new, |residual| format!(": its encoder is off by {residual:.0e}"));
    Error::failure(format!("at size {size} the built MLP stores {stored} of {count} facts{off}"))
        .fix("use another method (factsmith methods), --precision double, or a size of your own with --size; nothing was written")
}

fn report(
    arguments: &Arguments,
    context: &mut Context,
    facts: &Facts,
    size: usize,
    built: &Built,
    verified: &Verified,
    seconds: f64,
) -> Result<()> {
    let count = |certainty| verified.count(certainty);
    let (stored, undecided) = (count(Certainty::Stored), count(Certainty::Undecided));
    if context.options.json {
        return context.print_json(&json!({
            "file": arguments.output.display().to_string(),
            "method": arguments.method,
            "size": size,
            "hidden": built.mlp.hidden(),
            "parameters": built.mlp.parameters(),
            "facts": facts.set.len(),
            "stored": stored,
            "undecided": undecided,
            "not_stored": count(Certainty::NotStored),
            "smallest_margin": verified.smallest_margin(),
            "seconds": seconds,
        }));
    }
    context.print(&format!(
        "wrote {}: {}, size {size}, {} hidden units, {} parameters ({:.1} a fact), {seconds:.1} s\n{stored} of {} facts stored, {undecided} undecided, smallest margin {:.3e}\n",
        arguments.output.display(),
        arguments.method,
        built.mlp.hidden(),
        built.mlp.parameters(),
        built.mlp.parameters() as f64 / facts.set.len() as f64,
        facts.set.len(),
        verified.smallest_margin()
    ))
}
