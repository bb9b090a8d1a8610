//! A folder of facts, and the program run in it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use factsmith::facts::embeddings::{Kind, draw};
use factsmith::paper::experiments;
use factsmith::rng::StreamName;
use ndarray::Array2;

/// A folder with keys, values, a map and names.
pub struct Own {
    folder: tempfile::TempDir,
}

impl Own {
    /// 40 keys and 25 values in 8 dimensions; key i has value i mod 25.
    pub fn new() -> Self {
        let own = Self { folder: tempfile::Builder::new().prefix("own facts #1 ").tempdir().unwrap() };
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows| draw(Kind::Sphere, rows, 8, &mut rng).unwrap();
        own.write("keys.csv", &csv(&table(40)));
        own.write("values.csv", &csv(&table(25)));
        own.write("map.csv", &(0..40).map(|key| format!("{key},{}\n", key % 25)).collect::<String>());
        own.write("names.txt", &(0..40).map(|key| format!("key {key}\n")).collect::<String>());
        own
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs a command whose words in capitals stand for files: exit code and what was printed.
    pub fn run(&self, line: &str) -> (u8, String) {
        let mut out = Vec::new();
        let name = std::iter::once(OsString::from("factsmith"));
        let code = factsmith::cli::run(name.chain(self.words(line)), &experiments(), &mut out);
        (code, String::from_utf8(out).unwrap())
    }

    /// Runs a command as a process of its own.
    pub fn process(&self, line: &str) -> std::process::Output {
        Command::new(env!("CARGO_BIN_EXE_factsmith")).args(self.words(line)).output().unwrap()
    }

    /// The error of a command that has to be refused.
    pub fn complaint(&self, line: &str) -> String {
        let output = self.process(line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        error
    }

    fn words(&self, line: &str) -> impl Iterator<Item = OsString> {
        line.split_whitespace().map(|word| match word.split_once('/') {
            Some(("OWN", name)) => self.path(name).into_os_string(),
            _ => OsString::from(word),
        })
    }
}

fn csv(table: &Array2<f64>) -> String {
    let line = |row: ndarray::ArrayView1<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    table.rows().into_iter().map(line).collect()
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

pub const FACTS: &str = "--keys OWN/keys.csv --values OWN/values.csv --facts OWN/map.csv";
