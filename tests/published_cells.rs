//! The cells that were computed at the size of the paper are those that `pipeline.toml` asks for: a run can go on from them.

use std::path::Path;
use std::process::Command;

#[test]
fn published_cells_put_into_a_store_are_not_computed_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = factsmith::table::Table::read_parquet(&root.join("published/paper/ssfr.parquet")).unwrap();
    let store = tempfile::tempdir().unwrap();
    let copied =
        Command::new("cp").arg("-r").arg(root.join("published/paper/cells")).arg(store.path()).status().unwrap();
    assert!(copied.success());
    let output = Command::new(env!("CARGO_BIN_EXE_factsmith"))
        .args(["plan", "--profile", "paper", "--json", "--store"])
        .arg(store.path())
        .arg("--manifest")
        .arg(root.join("pipeline.toml"))
        .output()
        .unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let stages = plan["stages"].as_array().unwrap();
    let ssfr = stages.iter().find(|stage| stage["stage"] == "ssfr").unwrap();
    assert_eq!(ssfr["cached"].as_u64(), Some(table.height() as u64), "{ssfr}");
}
