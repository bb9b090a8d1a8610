//! Which cells are computed when there is not time for all.
//!
//! Stages come in the order of the claims they decide per predicted second of what they lack; those that decide none come
//! last, in the order of `pipeline.toml`. Within a stage it goes seed after seed, so that complete seeds appear, and the
//! shortest cells of a seed come first. A stage ends at its first cell that does not fit; the next one gets what is left.

use std::collections::{BTreeMap, HashSet};

use super::key::Key;
use super::plan::{Cell, Plan, PlannedStage};

/// How long a run may take, as far as that can be predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub seconds: f64,
    pub threads: usize,
    /// How many claims each stage decides.
    pub claims: BTreeMap<String, usize>,
}

impl Budget {
    /// Leaves out of the plan what does not fit.
    pub fn apply(&self, plan: &mut Plan) {
        let mut chosen: HashSet<Key> = HashSet::new();
        let mut left = self.seconds * self.threads as f64;
        for stage in self.in_order(&plan.stages) {
            for cell in in_order(stage) {
                if chosen.contains(&cell.key) {
                    continue;
                }
                if cell.time.seconds > left.min(self.seconds) {
                    break;
                }
                left -= cell.time.seconds;
                chosen.insert(cell.key);
            }
        }
        for cell in plan.stages.iter_mut().flat_map(|stage| &mut stage.cells) {
            cell.left_out = !cell.cached && !chosen.contains(&cell.key);
        }
    }

    fn in_order<'p, 'a>(&self, stages: &'p [PlannedStage<'a>]) -> Vec<&'p PlannedStage<'a>> {
        let worth = |stage: &PlannedStage| {
            let claims = self.claims.get(&stage.name).copied().unwrap_or(0);
            if claims == 0 { 0.0 } else { claims as f64 / stage.missing_time().seconds.max(1e-9) }
        };
        let mut rated: Vec<(f64, &PlannedStage)> = stages.iter().map(|stage| (worth(stage), stage)).collect();
        rated.sort_by(|a, b| b.0.total_cmp(&a.0));
        rated.into_iter().map(|(_, stage)| stage).collect()
    }
}

fn in_order<'p>(stage: &'p PlannedStage) -> Vec<&'p Cell> {
    let mut cells: Vec<&Cell> = stage.cells.iter().filter(|cell| !cell.cached).collect();
    cells.sort_by(|a, b| a.seed.cmp(&b.seed).then(a.time.seconds.total_cmp(&b.time.seconds)));
    cells
}
