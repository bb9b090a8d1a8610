//! What is computed again, and what is not.

use factsmith::pipeline::receipt::Receipt;
use factsmith::pipeline::run::TableOutcome;
use factsmith::table::Table;

use super::workspace::{PIPELINE, Workspace};

#[test]
fn a_table_has_parameters_seed_and_rows_in_plan_order() {
    let workspace = Workspace::new();
    workspace.run();
    let table = workspace.table("margins");
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["d", "fault", "kappa", "seed", "anchor", "margin"]);
    let cells: Vec<(i64, f64, i64)> = table
        .rows()
        .step_by(3)
        .map(|row| {
            (row.int("d").unwrap().unwrap(), row.float("kappa").unwrap().unwrap(), row.int("seed").unwrap().unwrap())
        })
        .collect();
    let product = [4, 8].iter().flat_map(|d| [1.0, 10.0].map(|kappa| (*d, kappa)));
    assert_eq!(cells, product.flat_map(|(d, kappa)| [(d, kappa, 0), (d, kappa, 1)]).collect::<Vec<_>>());
}

#[test]
fn a_second_run_computes_nothing_and_touches_no_file() {
    let workspace = Workspace::new();
    let first = workspace.run();
    assert_eq!(first.stages.iter().map(|stage| stage.computed).sum::<usize>(), 10);
    let before = workspace.snapshot();
    let second = workspace.run();
    assert_eq!(second.computed(), 0);
    assert!(second.stages.iter().all(|stage| stage.table == TableOutcome::Unchanged));
    assert_eq!(workspace.snapshot(), before);
}

#[test]
fn equal_cells_of_two_stages_and_of_two_grids_are_one_cell() {
    let workspace = Workspace::new();
    workspace.run();
    // d=4, kappa=10, seed 0 is in both stages: 8 + 2 - 1.
    assert_eq!(workspace.copies(), 9);
    workspace.grid("d = [4, 8]\nkappa = 1\n[[stage.margins.smoke]]\nd = [8, 16]\nkappa = 1.0");
    assert_eq!(workspace.run().stages[0].cells, 3);
}

#[test]
fn adding_a_grid_point_computes_only_that_point() {
    let workspace = Workspace::new();
    workspace.grid("d = [4, 8]\nkappa = 1");
    assert_eq!(workspace.run().computed(), 2);
    workspace.grid("d = [4, 6, 8]\nkappa = 1");
    let outcome = workspace.run();
    assert_eq!(outcome.computed(), 1);
    assert_eq!(outcome.stages[0].table, TableOutcome::Written);
    workspace.grid("d = [4, 8]\nkappa = 1");
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").height(), 6);
}

#[test]
fn looks_of_the_manifest_are_not_in_any_key() {
    let workspace = Workspace::new();
    workspace.run();
    let before = workspace.snapshot();
    let commented =
        PIPELINE.replace("d = [4, 8]", "  d=[ 4, # four\n 8 ]  ").replace("kappa = [10, 100]", "kappa = [10.0, 1e2]");
    let reordered = commented.replace("experiment = \"toy\"\n\n[[stage.margins", "\n[[stage.margins");
    let reordered = reordered.replace("title = \"Margins\"\n\n", "experiment = \"toy\"\ntitle = \"Margins\"\n\n");
    for text in [commented.clone(), reordered, commented.replace('\n', "\r\n")] {
        workspace.pipeline(&text);
        assert_eq!(workspace.run().computed(), 0, "{text}");
    }
    workspace.pipeline(PIPELINE);
    assert_eq!(workspace.snapshot().len(), before.len());
    assert_eq!(workspace.copies(), 9);
}

#[test]
fn results_do_not_depend_on_threads() {
    let hashes = [1, 2, 8].map(|threads| {
        let workspace = Workspace::new();
        workspace.try_run(threads).unwrap();
        [workspace.table("margins").content_hash(), workspace.table("other").content_hash()]
    });
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}

#[test]
fn a_failed_cell_stops_no_other_and_keeps_the_old_table() {
    for (fault, reason) in [
        ("panic", "panicked at "),
        ("error", "the toy gave up"),
        ("nan", "column 'margin' of row 0 is not a finite number"),
    ] {
        let workspace = Workspace::new();
        workspace.grid("d = 4\nkappa = 1");
        workspace.run();
        let old = workspace.table("margins").content_hash();
        workspace.grid(&format!("d = [4, 8]\nkappa = 1\nfault = [\"none\", \"{fault}\"]"));
        let outcome = workspace.run();
        assert_eq!((outcome.stages[0].computed, outcome.stages[0].failed), (1, 2), "{fault}");
        assert_eq!(outcome.stages[0].table, TableOutcome::NotWritten);
        assert_eq!(workspace.table("margins").content_hash(), old);
        assert_eq!(workspace.copies(), 2);
        assert!(outcome.failures.iter().all(|failure| failure.cell.is_some()), "no try at a table without its cells");
        let error = outcome.error().unwrap();
        assert_eq!(error.exit_code(), 1);
        let params = format!(", params {{\"d\":4,\"fault\":\"{fault}\",\"kappa\":1.0}}, seed 0: ");
        assert!(error.to_string().contains("first: stage 'margins', cell "), "{error}");
        assert!(error.to_string().contains(&params), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn a_cell_without_rows_is_a_finished_cell() {
    let workspace = Workspace::new();
    workspace.grid("d = 4\nkappa = 1\nfault = [\"empty\", \"none\"]");
    assert_eq!(workspace.run().computed(), 2);
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").height(), 3);
    workspace.grid("d = 4\nkappa = 1\nfault = \"empty\"");
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").height(), 0);
}

#[test]
fn a_stale_or_lost_table_or_receipt_is_made_again_from_the_store() {
    let workspace = Workspace::new();
    workspace.run();
    let hash = workspace.table("margins").content_hash();
    let path = workspace.path("results/smoke/margins.parquet");
    Table::default().write_parquet(&path).ok();
    std::fs::write(&path, "foreign").unwrap();
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").content_hash(), hash);
    let receipt = workspace.path("results/smoke/receipt.json");
    std::fs::remove_file(&receipt).unwrap();
    let written = path.metadata().unwrap().modified().unwrap();
    assert_eq!(workspace.run().computed(), 0);
    assert!(receipt.exists());
    assert_eq!(path.metadata().unwrap().modified().unwrap(), written);
}

#[test]
fn predictions_learn_from_what_was_recorded() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 3\nd = 4\nkappa = 1\nfault = \"slow\"");
    assert!((workspace.missing_seconds() - 12.0).abs() < 1e-9, "the law of the toy is d seconds");
    workspace.run();
    workspace.grid("d = 8\nkappa = 1");
    let predicted = workspace.missing_seconds();
    // The recorded cells took 30 ms and a little more, where the law said 4 s; d = 8 costs twice as much.
    assert!((0.06..2.0).contains(&predicted), "{predicted}");
}

#[test]
fn file_times_mean_nothing() {
    let workspace = Workspace::new();
    workspace.run();
    let far = std::time::SystemTime::now() + std::time::Duration::from_secs(400_000_000);
    for (times, path) in workspace.snapshot().into_keys().enumerate() {
        let time = if times % 2 == 0 { std::time::UNIX_EPOCH } else { far };
        std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let before = workspace.snapshot();
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.snapshot(), before);
}

#[test]
fn any_folder_name_will_do() {
    let workspace = Workspace::named("a b 'c' \"d\" ünï # $x");
    workspace.run();
    assert_eq!(workspace.run().computed(), 0);
    assert_eq!(workspace.table("margins").height(), 24);
}

#[test]
fn a_table_whose_cells_are_gone_is_not_the_end_of_the_work() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 2\nd = [4, 8]\nkappa = 1");
    workspace.run();
    let hash = workspace.table("margins").content_hash();
    std::fs::remove_dir_all(workspace.path("store/cells")).unwrap();
    let outcome = workspace.run();
    assert_eq!((outcome.computed(), outcome.stages[0].table), (4, TableOutcome::Unchanged));
    assert_eq!((workspace.copies(), workspace.table("margins").content_hash()), (4, hash));
}

#[test]
fn a_stage_is_finished_whatever_happens_to_the_next_one() {
    let workspace = Workspace::new();
    let stage = |name: &str, lines: &str| {
        format!("[stage.{name}]\ntitle = \"T\"\nexperiment = \"toy\"\n[[stage.{name}.smoke]]\n{lines}\n")
    };
    let bad = stage("bad", "d = 8\nkappa = 1\nfault = \"error\"");
    workspace.pipeline(&(stage("good", "d = 4\nkappa = 1") + &bad));
    let outcome = workspace.run();
    let tables: Vec<TableOutcome> = outcome.stages.iter().map(|stage| stage.table).collect();
    assert_eq!((tables, outcome.failures.len()), (vec![TableOutcome::Written, TableOutcome::NotWritten], 1));
    let receipt = Receipt::read(&workspace.path("results/smoke/receipt.json"));
    assert_eq!(receipt.stages.keys().collect::<Vec<_>>(), ["good"]);
    let again = workspace.run();
    assert_eq!((again.computed(), again.stages[0].table), (1, TableOutcome::Unchanged), "the failed cell only");
}
