//! `factsmith verify MLP`: the facts of an MLP

use std::path::Path;

use serde_json::json;

use super::Context;
use super::fact_inputs::FactOptions;
use crate::error::Result;
use crate::mlp::saved;
use crate::mlp::verification::{Certainty, verify};

/// Says which facts the MLP in a file stores, each with its margin and the bound of its rounding error; the exit code is 0 when
/// every fact is stored, else 1.
pub fn verify_facts(file: &Path, facts: &FactOptions, worst: usize, context: &mut Context) -> Result<u8> {
    let (mlp, _) = saved::read(file)?;
    let facts = facts.read()?;
    facts.check_dimension(&mlp).map_err(|error| error.at(file.display()))?;
    let verified = verify(&mlp, &facts.set);
    let mut order: Vec<usize> = (0..facts.set.len()).collect();
    order.sort_by(|a, b| verified.margins[*a].total_cmp(&verified.margins[*b]));
    let worst = order.into_iter().take(worst);
    let counts =
        [Certainty::Stored, Certainty::Undecided, Certainty::NotStored].map(|certainty| verified.count(certainty));
    let named = |certainty| match certainty {
        Certainty::Stored => "stored",
        Certainty::Undecided => "undecided",
        Certainty::NotStored => "not stored",
    };
    if context.options.json {
        let worst: Vec<serde_json::Value> = worst
            .map(|fact| {
                json!({ "fact": facts.label(fact), "margin": verified.margins[fact], "bound": verified.bounds[fact], "is": named(verified.certainty(fact)) })
            })
            .collect();
        context.print_json(&json!({
            "facts": facts.set.len(),
            "stored": counts[0],
            "undecided": counts[1],
            "not_stored": counts[2],
            "smallest_margin": verified.smallest_margin(),
            "worst": worst,
        }))?;
    } else {
        let [stored, undecided, not_stored] = counts;
        let mut text =
            format!("{stored} of {} facts stored, {undecided} undecided, {not_stored} not stored\n", facts.set.len());
        for fact in worst {
            let (margin, bound) = (verified.margins[fact], verified.bounds[fact]);
            text.push_str(&format!(
                "  {:<12} margin {margin:>10.3e} ± {bound:.0e}  {}\n",
                named(verified.certainty(fact)),
                facts.label(fact)
            ));
        }
        context.print(&text)?;
    }
    Ok(u8::from(counts[0] < facts.set.len()))
}
