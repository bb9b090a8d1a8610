//! The claims table of the README is the one that the published results give.

use std::ffi::OsString;

use factsmith::paper::experiments;

#[test]
fn the_claims_table_is_that_of_the_published_results() {
    let root = env!("CARGO_MANIFEST_DIR");
    let nowhere = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{root}/{name}");
    let results = nowhere.path().display().to_string();
    let arguments = [
        "factsmith",
        "claims",
        "--markdown",
        "--claims",
        &path("claims.toml"),
        "--manifest",
        &path("pipeline.toml"),
        "--results",
        &results,
    ]
    .map(OsString::from);
    let mut table = Vec::new();
    assert_eq!(factsmith::cli::run(arguments, &experiments(), &mut table), 0);
    let readme = std::fs::read_to_string(path("README.md")).unwrap();
    let block = readme.split("checked by tests/readme.rs -->\n").nth(1).unwrap();
    let block = block.split("<!-- end of claims -->").next().unwrap();
    assert_eq!(block.trim(), String::from_utf8(table).unwrap().trim(), "run `factsmith claims --markdown`");
}
