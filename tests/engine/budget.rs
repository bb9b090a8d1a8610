//! A run that is given a time.

use std::collections::BTreeMap;

use factsmith::pipeline::budget::Budget;
use factsmith::pipeline::explain::{TableReason, explain};
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::receipt::Receipt;
use factsmith::pipeline::results::{Results, TableState};
use factsmith::pipeline::run::TableOutcome;
use factsmith::pipeline::store::Store;

use super::synthetic::Synthetic;
use super::workspace::Workspace;

fn stage(name: &str, grid: &str) -> String {
    format!("[stage.{name}]\ntitle = \"T\"\nexperiment = \"x\"\n[[stage.{name}.smoke]]\n{grid}\n")
}

fn budget(seconds: f64, claims: &[(&str, usize)]) -> Budget {
    let claims: BTreeMap<String, usize> = claims.iter().map(|(stage, number)| ((*stage).to_owned(), *number)).collect();
    Budget { seconds, threads: 1, claims }
}

/// Stage, seconds and seed of the cells that would be computed.
fn chosen(plan: &Plan) -> Vec<(String, f64, u64)> {
    plan.missing().iter().map(|(stage, cell)| (stage.name.clone(), cell.time.seconds, cell.seed)).collect()
}

#[test]
fn stages_that_decide_most_per_second_come_first_and_complete_seeds_appear() {
    let experiment = Synthetic::new("x", 1);
    let workspace = Workspace::new();
    // 12, 20 and 3 seconds; 2 claims in 12 s are worth more than 3 in 20 s.
    workspace.pipeline(
        &(stage("free", "float = [1, 2]\nint = 1")
            + &stage("dear", "float = [4, 16]\nint = 2")
            + &stage("good", "seeds = 2\nfloat = [5, 1]\nint = 3")),
    );
    let within = |seconds| {
        let mut plan = workspace.plan_with(&[&experiment], &[]);
        budget(seconds, &[("dear", 3), ("good", 2)]).apply(&mut plan);
        chosen(&plan)
    };
    let cell = |stage: &str, seconds, seed| (stage.to_owned(), seconds, seed);
    assert_eq!(within(0.5), []);
    assert_eq!(within(1.5), [cell("good", 1.0, 0)]);
    assert_eq!(within(6.0), [cell("good", 5.0, 0), cell("good", 1.0, 0)], "seed 0 before the short cell of seed 1");
    assert_eq!(
        within(16.5),
        [cell("dear", 4.0, 0), cell("good", 5.0, 0), cell("good", 5.0, 1), cell("good", 1.0, 0), cell("good", 1.0, 1)]
    );
    assert_eq!(within(1000.0).len(), 8);
}

#[test]
fn a_cell_longer_than_the_time_is_left_out_however_many_threads_there_are() {
    let experiment = Synthetic::new("x", 1);
    let workspace = Workspace::new();
    workspace.pipeline(&stage("one", "float = [4, 16]\nint = 2"));
    let mut plan = workspace.plan_with(&[&experiment], &[]);
    Budget { threads: 64, ..budget(10.0, &[]) }.apply(&mut plan);
    assert_eq!(chosen(&plan), [("one".to_owned(), 4.0, 0)]);
}

#[test]
fn a_table_of_part_of_the_cells_has_the_complete_seeds_and_replaces_no_table_of_more() {
    let experiment = Synthetic::new("x", 1);
    let workspace = Workspace::new();
    workspace.pipeline(&stage("one", "seeds = 3\nfloat = [1, 2, 3]"));
    let run = |seconds: Option<f64>| {
        let budget = seconds.map(|seconds| budget(seconds, &[]));
        let outcome = workspace.run_with(&[&experiment], &[], 1, budget.as_ref()).unwrap();
        let stage = &outcome.stages[0];
        (stage.computed, stage.left, stage.table)
    };
    assert_eq!(run(Some(4.0)), (2, 7, TableOutcome::NotWritten), "seed 0 is not complete");
    assert!(!workspace.path("results/smoke/one.parquet").exists());
    // The cells take no time at all; the law is corrected by what was recorded, so only whole seconds would not fit.
    let experiment_seeds = |table: &factsmith::table::Table| -> Vec<i64> {
        table.rows().map(|row| row.int("seed").unwrap().unwrap()).collect()
    };
    let mut plan = workspace.plan_with(&[&experiment], &[]);
    let needed: f64 = plan.missing_time().seconds;
    budget(0.5 * needed, &[]).apply(&mut plan);
    assert!(!plan.stages[0].table_cells().is_empty() && plan.stages[0].left_out() > 0);
    let (computed, left_out, table) = run(Some(0.5 * needed));
    assert!(computed > 0 && left_out > 0 && table == TableOutcome::Written);
    let seeds = experiment_seeds(&workspace.table("one"));
    assert!(seeds.len() % 3 == 0 && !seeds.is_empty() && seeds.len() < 9, "{seeds:?}");
    assert_eq!(state(&workspace, &experiment), (TableState::Partial, TableReason::Partial));
    let before = workspace.snapshot();
    assert_eq!(run(Some(1e-12)).2, TableOutcome::Unchanged);
    assert_eq!(workspace.snapshot(), before);
    assert_eq!(run(None).1, 0);
    assert_eq!(state(&workspace, &experiment), (TableState::Current, TableReason::Current));
    assert_eq!(workspace.table("one").height(), 9);
    workspace.pipeline(&stage("one", "seeds = 3\nfloat = [1, 2, 3, 4]"));
    assert_eq!(run(Some(1e-12)).2, TableOutcome::NotWritten);
    assert_eq!(workspace.table("one").height(), 9);
    assert_eq!(state(&workspace, &experiment), (TableState::Stale, TableReason::OtherCells));
}

/// How `status` and `explain` see the table of the only stage.
fn state(workspace: &Workspace, experiment: &Synthetic) -> (TableState, TableReason) {
    let plan = workspace.plan_with(&[experiment], &[]);
    let manifest = Manifest::read(&workspace.path("pipeline.toml")).unwrap();
    let store = Store::read(&workspace.path("store")).unwrap();
    let results = Results::new(&workspace.path("results"), Profile::Smoke);
    let explained = explain(&manifest, &[experiment], &plan, &store, &results).unwrap();
    (results.state(&plan.stages[0], &Receipt::read(&results.receipt_path())), explained[0].table)
}
