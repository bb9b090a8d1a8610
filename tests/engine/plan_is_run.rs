//! What `plan` lists is what `run` computes.

use std::collections::BTreeSet;

use factsmith::pipeline::budget::Budget;
use factsmith::pipeline::experiment::Experiment;
use factsmith::pipeline::plan::Plan;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::synthetic::Synthetic;
use super::workspace::Workspace;

/// Stages over three experiments, whose grids overlap, with figures that read some of them.
fn pipeline() -> impl Strategy<Value = String> {
    let stage = (0..EXPERIMENTS.len(), proptest::collection::vec(grid(), 0..3));
    let figures = proptest::collection::vec(subsequence(vec![0, 1, 2], 1..3), 0..3);
    (proptest::collection::vec(stage, 3), figures).prop_map(|(stages, figures)| {
        let mut text = String::new();
        for (number, (experiment, grids)) in stages.into_iter().enumerate() {
            let experiment = EXPERIMENTS[experiment];
            text.push_str(&format!("[stage.s{number}]\ntitle = \"T\"\nexperiment = \"{experiment}\"\n"));
            grids.iter().for_each(|grid| text.push_str(&format!("[[stage.s{number}.smoke]]\n{grid}")));
        }
        for (number, stages) in figures.into_iter().enumerate() {
            let names: Vec<String> = stages.into_iter().map(|stage| format!("s{stage}")).collect();
            text.push_str(&format!("[figure.f{number}]\ntitle = \"F\"\nstages = {names:?}\n"));
        }
        text
    })
}

const EXPERIMENTS: [&str; 3] = ["one", "two", "three"];

fn grid() -> impl Strategy<Value = String> {
    let floats = subsequence(vec!["0.5", "1", "1.0", "2e0"], 1..4);
    let words = subsequence(vec!["good", "fine", "bad"], 1..3);
    (1..4_u64, floats, subsequence(vec![1, 2, 3], 1..3), words).prop_map(|(seeds, floats, ints, words)| {
        format!("seeds = {seeds}\nfloat = [{}]\nint = {ints:?}\nword = {words:?}\n", floats.join(", "))
    })
}

fn listed(plan: &Plan) -> Vec<String> {
    let name = |(stage, cell): &(&factsmith::pipeline::plan::PlannedStage, &factsmith::pipeline::plan::Cell)| {
        format!("{} {} {}", stage.experiment.name(), cell.point.json, cell.seed)
    };
    let mut cells: Vec<String> = plan.missing().iter().map(name).collect();
    cells.sort();
    cells
}

/// A share of the predicted time, and the claims of two stages.
fn some_budget() -> impl Strategy<Value = Option<(f64, usize, usize)>> {
    proptest::option::of((0.0..1.2, 0..3_usize, 0..3_usize))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_run_computes_exactly_the_cells_that_the_plan_lists(
        before in pipeline(), now in pipeline(), only in subsequence(vec!["s0", "s1", "s2"], 0..3),
        threads in 1..4_usize, budget in some_budget()
    ) {
        let own = EXPERIMENTS.map(|name| Synthetic::new(name, 1));
        let experiments: Vec<&dyn Experiment> = own.iter().map(|one| one as &dyn Experiment).collect();
        let computed = || {
            let mut all: Vec<String> = own.iter().flat_map(Synthetic::take_computed).collect();
            all.sort();
            all
        };
        let only: Vec<String> = only.into_iter().map(str::to_owned).collect();
        let workspace = Workspace::new();
        workspace.pipeline(&before);
        workspace.run_with(&experiments, &only, threads, None).unwrap();
        computed();

        workspace.pipeline(&now);
        let mut plan = workspace.plan_with(&experiments, &only);
        let budget = budget.map(|(share, first, second)| Budget {
            seconds: share * plan.missing_time().seconds,
            threads: 1,
            claims: [("s0".to_owned(), first), ("s2".to_owned(), second)].into(),
        });
        if let Some(budget) = &budget {
            budget.apply(&mut plan);
        }
        let planned = listed(&plan);
        let outcome = workspace.run_with(&experiments, &only, threads, budget.as_ref()).unwrap();
        prop_assert_eq!(computed(), planned.clone());

        // What failed is all that is left, but for what a budget left out.
        let bad: BTreeSet<&String> = planned.iter().filter(|cell| cell.contains("bad")).collect();
        prop_assert_eq!(outcome.failures.is_empty(), bad.is_empty());
        let mut after = workspace.plan_with(&experiments, &only);
        for cell in after.stages.iter_mut().zip(&plan.stages).flat_map(|(new, old)| new.cells.iter_mut().zip(&old.cells)) {
            cell.0.left_out = cell.1.left_out;
        }
        let left = listed(&after);
        prop_assert_eq!(left.iter().collect::<BTreeSet<_>>(), bad);
    }
}
