//! Many cells.

use std::time::Instant;

use super::synthetic::Synthetic;
use super::workspace::Workspace;

/// A stage with so many values of one parameter.
fn many(workspace: &Workspace, values: usize, seeds: usize) {
    let floats: Vec<String> = (0..values).map(|value| format!("{value}.5")).collect();
    let list = floats.join(", ");
    workspace.pipeline(&format!(
        "[stage.many]\ntitle = \"T\"\nexperiment = \"x\"\n[[stage.many.smoke]]\nseeds = {seeds}\nfloat = [{list}]\n"
    ));
}

/// The bench measures how fast; this would take minutes if the time grew with the square of the number.
#[test]
fn a_plan_of_many_cells_takes_time_in_proportion_to_their_number() {
    let (experiment, workspace) = (Synthetic::new("x", 1), Workspace::new());
    many(&workspace, 10_000, 10);
    let started = Instant::now();
    assert_eq!(workspace.plan_with(&[&experiment], &[]).missing().len(), 100_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn one_more_cell_is_added_to_thousands_without_writing_them_again() {
    let (experiment, workspace) = (Synthetic::new("x", 1), Workspace::new());
    many(&workspace, 3_000, 1);
    assert_eq!(workspace.run_with(&[&experiment], &[], 2, None).unwrap().computed(), 3_000);
    let before = workspace.snapshot();
    let old = workspace.files("store/cells", "parquet");
    assert!(old.len() <= 2, "thousands of cells are in {} files", old.len());
    many(&workspace, 3_001, 1);
    assert_eq!(workspace.run_with(&[&experiment], &[], 2, None).unwrap().computed(), 1);
    let after = workspace.snapshot();
    assert!(old.iter().all(|path| before[path] == after[path]));
    let new: Vec<_> =
        workspace.files("store/cells", "parquet").into_iter().filter(|path| !old.contains(path)).collect();
    let size = |path: &std::path::PathBuf| after[path].0.len();
    assert_eq!(new.len(), 1);
    assert!(20 * size(&new[0]) < old.iter().map(size).sum(), "{} bytes for a cell", size(&new[0]));
}
