//! `--budget`: what fits into a given time, and what that leaves open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Context;
use crate::claims::{self, Claim};
use crate::error::Result;
use crate::pipeline::budget::Budget;
use crate::pipeline::progress::count;

/// The options of a run that is given a time.
#[derive(clap::Args)]
pub struct Arguments {
    /// Only what fits into this time, by prediction: 90s, 30m, 2h
    ///
    /// Stages that decide most claims per predicted second come first; in a stage one seed after the other, the shortest
    /// cells first. A stage that does not get all its cells has a table of its complete seeds.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    budget: Option<Duration>,
    /// The file of claims that a budget is spent on
    #[arg(long, value_name = "FILE", default_value = "claims.toml")]
    claims: PathBuf,
}

impl Arguments {
    /// The budget that was given, with the number of claims that each stage decides in this profile.
    pub fn budget(&self, context: &Context) -> Result<Option<Budget>> {
        let Some(time) = self.budget else { return Ok(None) };
        let mut claims = BTreeMap::new();
        for claim in self.decidable(context)? {
            *claims.entry(claim.stage).or_insert(0) += 1;
        }
        Ok(Some(Budget { seconds: time.as_secs_f64(), threads: context.threads(), claims }))
    }

    /// The claims that this profile can decide; none when the usual file of claims is not there.
    pub fn decidable(&self, context: &Context) -> Result<Vec<Claim>> {
        if self.claims == Path::new("claims.toml") && !self.claims.exists() {
            return Ok(Vec::new());
        }
        let profile = context.profile()?;
        let is_decidable = |claim: &Claim| claim.decided_from.parse().is_ok_and(|needed| profile >= needed);
        Ok(claims::read(&self.claims)?.into_iter().filter(is_decidable).collect())
    }

    /// What the stages that are not complete leave open; `is_open` says it of one claim.
    pub fn left_open(
        &self,
        context: &Context,
        stages: &[(String, usize)],
        is_open: impl Fn(&Claim) -> Result<bool>,
    ) -> Result<Vec<LeftOpen>> {
        let mut all = Vec::new();
        if self.budget.is_none() {
            return Ok(all);
        }
        let decidable = self.decidable(context)?;
        for (stage, cells) in stages.iter().filter(|(_, left_out)| *left_out > 0) {
            let mut left = LeftOpen { stage: stage.clone(), cells: *cells, ..LeftOpen::default() };
            for claim in decidable.iter().filter(|claim| claim.stage == *stage) {
                let list = if is_open(claim)? { &mut left.inconclusive } else { &mut left.from_part };
                list.push(claim.id.clone());
            }
            all.push(left);
        }
        Ok(all)
    }
}

/// A stage that does not get all its cells.
#[derive(Debug, Default, serde::Serialize)]
pub struct LeftOpen {
    pub stage: String,
    /// How many cells are left out.
    pub cells: usize,
    /// Claims that stay inconclusive.
    pub inconclusive: Vec<String>,
    /// Claims that are decided, but not from all cells.
    pub from_part: Vec<String>,
}

/// The same for people.
pub fn text(all: &[LeftOpen]) -> String {
    let mut text = String::new();
    for left in all {
        text.push_str(&format!("left out: {} of {}\n", count(left.cells, "cell"), left.stage));
        for (what, claims) in
            [("claims from part of the cells", &left.from_part), ("claims that stay inconclusive", &left.inconclusive)]
        {
            if !claims.is_empty() {
                text.push_str(&format!("  {what}: {}\n", claims.join(", ")));
            }
        }
    }
    text
}
