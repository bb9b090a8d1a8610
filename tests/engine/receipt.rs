//! What is written beside the tables.

use factsmith::pipeline::receipt::Receipt;

use super::child::factsmith;
use super::workspace::Workspace;

#[test]
fn a_receipt_names_machine_toolchain_arithmetic_hashes_and_times() {
    let workspace = Workspace::new();
    let run = ["run", "--store", "store", "--results", "results", "--threads", "2"];
    assert_eq!(factsmith(&workspace.root, &run).code, Some(0));
    let path = workspace.path("results/smoke/receipt.json");
    let receipt = Receipt::read(&path);
    assert_eq!(receipt.factsmith, env!("CARGO_PKG_VERSION"));
    assert!(receipt.toolchain.starts_with("rustc 1."), "{}", receipt.toolchain);
    assert!(receipt.arithmetic.starts_with("OpenBLAS ") && receipt.arithmetic.contains(", kernel "));
    assert!(receipt.machine.cores > 0 && !receipt.machine.processor.is_empty());
    let stage = &receipt.stages["margins"];
    assert_eq!((stage.cells, stage.threads), (8, 2));
    assert_eq!(stage.content_hash, workspace.table("margins").content_hash());
    let file = std::fs::read(workspace.path("results/smoke/margins.parquet")).unwrap();
    assert_eq!(stage.file_hash, blake3::hash(&file).to_hex().as_str());
    assert!(stage.run_seconds > 0.0 && stage.cpu_seconds > 0.0 && stage.cell_seconds > 0.0);
    // A later run that computes nothing changes nothing, one that adds a stage keeps what is known of the others.
    let before = workspace.snapshot();
    assert_eq!(factsmith(&workspace.root, &run).code, Some(0));
    assert_eq!(workspace.snapshot(), before);
    workspace.pipeline(&(super::workspace::PIPELINE.to_owned() + MORE));
    assert_eq!(factsmith(&workspace.root, &run).code, Some(0));
    let later = Receipt::read(&path);
    assert_eq!(later.stages["margins"], receipt.stages["margins"]);
    assert_eq!(later.stages.len(), 3);
}

const MORE: &str = "
[stage.more]
title = \"More\"
experiment = \"toy\"
[[stage.more.smoke]]
d = 16
kappa = 1
";

#[test]
fn verdicts_enter_the_receipt_of_their_tables() {
    let workspace = Workspace::new();
    let root = env!("CARGO_MANIFEST_DIR");
    std::fs::copy(format!("{root}/claims.toml"), workspace.path("claims.toml")).unwrap();
    for stage in published(root) {
        let target = workspace.path("results/laptop").join(stage.file_name().unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&stage, target).unwrap();
    }
    let path = workspace.path("results/laptop/receipt.json");
    let old = Receipt::read(&path);
    assert!(!old.stages.is_empty() && old.claims.is_empty(), "receipts without checksum are read");
    let claims = ["claims", "--profile", "laptop", "--results", "results"];
    let output = factsmith(&workspace.root, &claims);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let receipt = Receipt::read(&path);
    assert!(!receipt.claims.is_empty());
    for (id, verdict) in &receipt.claims {
        assert!(output.out.contains(&format!("\n{id}: {verdict}\n")), "{id}");
    }
    assert_eq!((&receipt.machine, &receipt.stages), (&old.machine, &old.stages));
    let before = workspace.snapshot();
    factsmith(&workspace.root, &claims);
    assert_eq!(workspace.snapshot(), before);
}

fn published(root: &str) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(format!("{root}/published/laptop")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}
