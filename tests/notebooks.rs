//! Notebooks executed by the real kernel.
//!
//! They need what `make setup` installs and take two minutes, so they run only when asked: `make test-notebooks`.
//! Otherwise they say that they were skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use factsmith::error::Error;
use factsmith::notebook::{Executed, Execution, execute};
use serde_json::{Value, json};

/// The project's tools, or a visible word that the test was skipped.
fn tools(test: &str) -> Option<PathBuf> {
    if std::env::var_os("FACTSMITH_NOTEBOOK_TESTS").is_some() {
        return Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools"));
    }
    // Past the capture of output: a skipped test must not look like a passed one.
    let word = format!("SKIPPED {test}: it needs the notebook kernel; run `make test-notebooks`\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), word.as_bytes());
    None
}

fn code(source: &str) -> Value {
    json!({"cell_type": "code", "id": format!("cell-{}", source.len()), "metadata": {}, "execution_count": null,
        "outputs": [], "source": source})
}

/// Executes a notebook of a prose cell and these code cells in `folder`.
fn run(tools: PathBuf, folder: &Path, cells: &[&str], limit: u64) -> Result<Executed, Error> {
    let mut all = vec![json!({"cell_type": "markdown", "id": "prose", "metadata": {}, "source": "A test."})];
    all.extend(cells.iter().map(|source| code(source)));
    let notebook = folder.join("test.ipynb");
    let content = json!({"nbformat": 4, "nbformat_minor": 5, "cells": all,
        "metadata": {"kernelspec": {"name": "rust", "display_name": "Rust", "language": "rust"}}});
    fs::write(&notebook, content.to_string()).unwrap();
    execute(&Execution {
        notebook,
        output: folder.join("out/test.ipynb"),
        tools,
        environment: vec![("FACTSMITH_TEST_WORD".into(), "heard".into())],
        cell_limit: Duration::from_secs(limit),
    })
}

/// A notebook whose third cell is `bad` fails, names that cell and says `why`; the output file isn't written.
fn fails(test: &str, bad: &str, why: &str, limit: u64) {
    let Some(tools) = tools(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let error = run(tools, folder.path(), &["let fine = 1;", bad, "println!(\"goes on\");"], limit).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(why), "{said}");
    assert!(said.contains("test.ipynb, cell 3: `"), "{said}");
    assert!(said.contains(bad.lines().next().unwrap()), "{said}");
    assert_eq!(error.exit_code(), 1);
    assert!(!folder.path().join("out/test.ipynb").exists());
}

#[test]
fn a_panic_fails_the_notebook() {
    fails("a panic", "let none: Option<i32> = None; none.unwrap();", "called `Option::unwrap()`", 300);
}

#[test]
fn the_error_of_a_question_mark_fails_the_notebook() {
    fails("a question mark", "\"four\".parse::<i32>()?;", "invalid digit found in string", 300);
}

#[test]
fn a_compile_error_fails_the_notebook() {
    fails("a compile error", "let number: i32 = \"four\";", "mismatched types", 300);
}

#[test]
fn the_death_of_the_process_fails_the_notebook() {
    fails("a dead process", "std::process::abort();", "signal: 6", 300);
}

#[test]
fn the_death_of_the_kernel_fails_the_notebook() {
    let kill = "std::process::Command::new(\"kill\").arg(\"-9\")\
        .arg(std::os::unix::process::parent_id().to_string()).status();";
    fails("a killed kernel", kill, "the notebook kernel died", 300);
}

#[test]
fn a_cell_without_end_fails_the_notebook() {
    fails("a cell without end", "loop { std::thread::yield_now(); }", "took longer than 15 s", 15);
}

#[test]
fn a_good_notebook_is_written_once_and_stays_the_same() {
    let Some(tools) = tools("a good notebook") else { return };
    let folder = tempfile::tempdir().unwrap();
    let cells = ["println!(\"{}\", std::env::var(\"FACTSMITH_TEST_WORD\").unwrap());"];
    let first = run(tools.clone(), folder.path(), &cells, 300).unwrap();
    assert_eq!((first.cells, first.changed), (1, true));
    let text = fs::read_to_string(folder.path().join("out/test.ipynb")).unwrap();
    assert!(text.contains("heard"), "{text}");
    assert!(!text.contains("iopub"), "{text}");
    assert!(!run(tools, folder.path(), &cells, 300).unwrap().changed);
}

/// The notebook of the project with a table of its own: prose, table, figure.
#[test]
fn the_first_notebook_runs_on_given_results() {
    let Some(tools) = tools("the first notebook") else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = folder.path().join("out.ipynb");
    let request = |results: &Path| Execution {
        notebook: root.join("notebooks/01_decodability.ipynb"),
        output: output.clone(),
        tools: tools.clone(),
        environment: vec![("FACTSMITH_RESULTS".into(), results.display().to_string())],
        cell_limit: Duration::from_secs(600),
    };
    execute(&request(&root.join("published/laptop"))).unwrap();
    let text = fs::read_to_string(&output).unwrap();
    assert!(text.contains("rho-predicts-constructed") && text.contains("<svg"), "{text}");

    let error = execute(&request(Path::new("/no/such/folder"))).unwrap_err().to_string();
    assert!(error.contains("/no/such/folder/decodability.parquet"), "{error}");
    assert!(error.contains("make reproduce"), "{error}");
    assert!(error.contains("01_decodability.ipynb, cell 4"), "{error}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text, "a failed run keeps the executed notebook");
}
