//! The claims table of the README is the one that the published results give.

use std::ffi::OsString;

use factsmith::paper::experiments;

/// What `factsmith claims` prints about the published results.
fn claims(words: &[&str]) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let nowhere = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{root}/{name}");
    let results = nowhere.path().display().to_string();
    let places = ["--claims", &path("claims.toml"), "--manifest", &path("pipeline.toml"), "--results", &results];
    let arguments = [&["factsmith", "claims"], words, &places].concat();
    let mut printed = Vec::new();
    assert_eq!(factsmith::cli::run(arguments.iter().map(OsString::from), &experiments(), &mut printed), 0);
    String::from_utf8(printed).unwrap()
}

#[test]
fn the_claims_table_is_that_of_the_published_results() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let block = readme.split("checked by tests/readme.rs -->\n").nth(1).unwrap();
    let block = block.split("<!-- end of claims -->").next().unwrap();
    assert_eq!(block.trim(), claims(&["--markdown"]).trim(), "run `factsmith claims --markdown`");
}

/// Of the paper profile, one stage is published, with some of its cells.
#[test]
fn claims_that_rest_on_a_part_of_their_cells_say_so() {
    let json: serde_json::Value = serde_json::from_str(&claims(&["--profile", "paper", "--json"])).unwrap();
    let part = &json["partial"]["ssfr"];
    assert!(part["cells"].as_u64().unwrap() < part["of"].as_u64().unwrap());
    let note = format!("Stage ssfr is there in part: {} of {} cells.", part["cells"], part["of"]);
    let decided = json["claims"].as_array().unwrap().iter().filter(|claim| !claim["value"].is_null()).count();
    assert!(decided > 3);
    assert_eq!(claims(&["--profile", "paper"]).matches(&note).count(), decided);
    assert!(claims(&["--profile", "paper", "--markdown"]).ends_with(&format!("{note}\n")));
    assert!(!claims(&[]).contains("in part"));
}
