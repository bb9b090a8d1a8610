//! Faulty grids of the project's own experiments: the line of the key, and the near miss.

use std::ffi::OsString;
use std::process::Command;

/// Values of the stage `decodability`, the first on line 5.
const GRID: [(&str, &str); 5] = [
    ("dimension", "16"),
    ("facts_per_d2", "0.25"),
    ("kappa", "[1.0, 10.0]"),
    ("alpha", "0.0"),
    ("spectrum", "\"log_affine\""),
];

/// What `plan` says when a parameter has this value instead.
fn said(name: &str, value: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let lines = GRID.map(|(own, usual)| format!("{own} = {}\n", if own == name { value } else { usual }));
    let head = "[stage.rho]\ntitle = \"T\"\nexperiment = \"decodability\"\n[[stage.rho.laptop]]\n";
    std::fs::write(folder.path().join("pipeline.toml"), head.to_owned() + &lines.concat()).unwrap();
    let program: OsString = env!("CARGO_BIN_EXE_factsmith").into();
    let output = Command::new(program).arg("plan").current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_value_out_of_range_has_the_line_of_its_key() {
    for (name, value, line) in [("kappa", "[1.0, 0.5]", 7), ("kappa", "1e9", 7), ("alpha", "1.5", 8)] {
        let error = said(name, value);
        assert!(error.contains(&format!("\n  where: pipeline.toml:{line}\n  fix: ")), "{error}");
    }
}

#[test]
fn a_misspelt_choice_names_the_near_miss() {
    assert_eq!(
        said("spectrum", "\"log_afine\""),
        "error: unknown 'spectrum' 'log_afine'\n  where: pipeline.toml:9\n  fix: did you mean 'log_affine'?\n"
    );
}
