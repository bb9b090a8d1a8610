//! The arrows of ARCHITECTURE.md: a layer uses only what is below it.

use std::path::{Path, PathBuf};

/// From the top down; layers of one line know nothing of each other.
const LAYERS: [&[&str]; 14] = [
    &["cli"],
    &["claims", "figures"],
    &["paper"],
    &["language"],
    &["edit", "transformer"],
    &["methods"],
    &["capacity"],
    &["mlp"],
    &["facts"],
    &["num"],
    &["pipeline", "notebook"],
    &["rng", "table"],
    &["durable", "memory"],
    &["error"],
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn level(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

#[test]
fn arrows_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 40);
    for file in files {
        let relative = file.strip_prefix(&root).unwrap().with_extension("");
        let own = relative.iter().next().unwrap().to_string_lossy().into_owned();
        if ["lib", "main"].contains(&own.as_str()) {
            continue;
        }
        let own_level = level(&own).unwrap_or_else(|| panic!("{own} has no layer"));
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for used in code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| line.split("crate::").skip(1))
        {
            let module: String = used.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            let Some(used_level) = level(&module) else { continue };
            assert!(
                module == own || used_level > own_level,
                "{}: {own} (layer {own_level}) uses {module} (layer {used_level})",
                file.display()
            );
        }
    }
}

#[test]
fn the_engine_knows_no_maths() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pipeline");
    let mut files = Vec::new();
    sources(&root, &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for module in ["num", "facts", "mlp", "capacity", "paper", "ndarray"] {
            let used = text.contains(&format!("crate::{module}")) || text.contains(&format!("use {module}"));
            assert!(!used, "{} uses {module}", file.display());
        }
    }
}

/// What a cell depends on is in its key: parameters, the files they name, and code.
#[test]
fn experiments_read_nothing_but_their_parameters() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for layer in ["paper", "methods", "mlp", "transformer", "language", "facts", "num"] {
        sources(&root.join(layer), &mut files);
    }
    // These read and write files that they are given.
    let given = ["facts/files", "mlp/saved.rs", "language/templates.rs"];
    files.retain(|file| given.iter().all(|given| !file.starts_with(root.join(given))));
    assert!(files.len() > 60);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in ["std::fs", "std::env", "std::time", "std::process", "File::open", "SystemTime", "Instant"] {
            assert!(!code.contains(word), "{} uses {word}", file.display());
        }
    }
}

/// No number of a result is computed by polars, whose sums may come in any order.
#[test]
fn polars_reads_and_writes_files_and_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let uses = |file: &PathBuf| std::fs::read_to_string(file).unwrap().contains("polars::");
    files.retain(uses);
    files.sort();
    assert_eq!(files, ["facts/files/parquet.rs", "table.rs"].map(|file| root.join(file)));
}
