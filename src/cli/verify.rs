//! `factsmith verify`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use super::fact_inputs::FactOptions;
use super::verify_facts::verify_facts;
use crate::error::{Error, Result};
use crate::pipeline::progress::count;
use crate::pipeline::verify::{Sample, verify};

/// Verify every fact of an MLP, or a sample of the stored cells
///
/// With an MLP, as `factsmith build` writes it: computes the margin of every fact and the bound of its rounding error. A fact is
/// stored when its margin exceeds the bound, not stored when it is below the negative bound, undecided in between. The exit
/// code is 0 when every fact is stored, else 1.
///
/// Without an MLP: computes a sample of the stored cells again and compares them with the store, bit for bit. Changes nothing.
/// The exit code is 1 when a cell is not what it was.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith verify mlp.safetensors --keys keys.npy --values values.npy
  factsmith verify mlp.safetensors --keys k.npy --values v.npy --facts map.csv --key-names names.txt --json
  factsmith verify
  factsmith verify --stage decodability --sample 100
  factsmith verify --seed 7 --threads 1 --json")]
pub struct Arguments {
    /// The MLP whose facts are verified
    mlp: Option<PathBuf>,
    #[command(flatten)]
    facts: FactOptions,
    /// How many of the weakest facts are listed
    #[arg(long, value_name = "N", default_value_t = 5)]
    worst: usize,
    /// Cells to compute again
    #[arg(long, default_value_t = 10, value_name = "N")]
    sample: usize,
    /// Chooses the sample; the same seed chooses the same cells
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    seed: u64,
    /// Only cells of this stage; may be given several times
    #[arg(long, value_name = "NAME")]
    stage: Vec<String>,
    /// Tell no progress
    #[arg(long, short)]
    quiet: bool,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    if let Some(mlp) = &arguments.mlp {
        return verify_facts(mlp, &arguments.facts, arguments.worst, context);
    }
    if arguments.facts.is_given() {
        return Err(Error::input("facts without an MLP to verify").fix("name the file: factsmith verify MLP --keys …"));
    }
    if arguments.sample == 0 {
        return Err(Error::input("a sample of 0 cells verifies nothing").fix("give --sample a number from 1 on"));
    }
    let store = context.store()?;
    let plan = context.plan(&store, &arguments.stage)?;
    let Arguments { sample: cells, seed, quiet, .. } = *arguments;
    let verified = verify(&plan, &store, &Sample { cells, seed, threads: context.threads(), quiet })?;
    if verified.stored == 0 {
        return Err(Error::input(format!("no cell of profile {} is stored, so none can be verified", plan.profile))
            .at(context.options.store.display())
            .fix(format!("factsmith run --profile {}, or name another store with --store DIR", plan.profile)));
    }
    if context.options.json {
        let differences: Vec<serde_json::Value> = verified
            .differences
            .iter()
            .map(|cell| {
                let params: serde_json::Value = serde_json::from_str(&cell.params).unwrap_or_default();
                json!({
                    "stage": cell.stage,
                    "key": cell.key.to_string(),
                    "params": params,
                    "seed": cell.seed,
                    "difference": cell.what,
                })
            })
            .collect();
        context.print_json(&json!({
            "profile": plan.profile.name(),
            "stored": verified.stored,
            "computed": verified.cells,
            "differences": differences,
        }))?;
    } else {
        let lines = verified.differences.iter().map(|cell| {
            let (stage, key) = (&cell.stage, cell.key.short());
            format!("stage '{stage}', cell {key}, params {}, seed {}: {}\n", cell.params, cell.seed, cell.what)
        });
        let (cells, differ) = (verified.cells, verified.differences.len());
        let verdict = if differ == 0 { "all are equal bit for bit".to_owned() } else { format!("{differ} differ") };
        let text = format!("{} of {} computed again: {verdict}\n", cells, count(verified.stored, "stored cell"));
        context.print(&(lines.collect::<String>() + &text))?;
    }
    Ok(u8::from(!verified.differences.is_empty()))
}
