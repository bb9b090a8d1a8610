//! The claims table of the README is the one that the published results give; what `claims` says of other tables.

use std::ffi::OsString;
use std::path::Path;

use factsmith::paper::experiments;

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What `factsmith claims` prints about results, and the published ones of the folder of a manifest.
fn claims(manifest: &str, results: &Path, words: &[&str]) -> String {
    let results = results.display().to_string();
    let places = ["--claims", &path("claims.toml"), "--manifest", manifest, "--results", &results];
    let arguments = [&["factsmith", "claims"], words, &places].concat();
    let mut printed = Vec::new();
    assert_eq!(factsmith::cli::run(arguments.iter().map(OsString::from), &experiments(), &mut printed), 0);
    String::from_utf8(printed).unwrap()
}

#[test]
fn the_claims_table_is_that_of_the_published_results() {
    let nowhere = tempfile::tempdir().unwrap();
    let readme = std::fs::read_to_string(path("README.md")).unwrap();
    let block = readme.split("checked by tests/published_claims.rs -->\n").nth(1).unwrap();
    let block = block.split("<!-- end of claims -->").next().unwrap();
    let found = claims(&path("pipeline.toml"), nowhere.path(), &["--markdown"]);
    assert_eq!(block.trim(), found.trim(), "run `factsmith claims --markdown`");
}

/// A table of the laptop profile, of which the smoke profile has none of the cells.
#[test]
fn claims_name_the_tables_that_were_not_made_from_the_cells_of_the_profile() {
    let results = tempfile::tempdir().unwrap();
    let folder = results.path().join("smoke");
    std::fs::create_dir(&folder).unwrap();
    for file in ["random_decoders.parquet", "receipt.json"] {
        std::fs::copy(path(&format!("published/laptop/{file}")), folder.join(file)).unwrap();
    }
    let smoke =
        |manifest: &str, words: &[&str]| claims(manifest, results.path(), &[&["--profile", "smoke"], words].concat());
    let manifest = path("pipeline.toml");
    let json: serde_json::Value = serde_json::from_str(&smoke(&manifest, &["--json"])).unwrap();
    let own = |claim: &&serde_json::Value| claim["command"].as_str().unwrap().contains("--stage random_decoders ");
    let claims_of_stage = json["claims"].as_array().unwrap().iter().filter(own).count();
    assert!(claims_of_stage > 0);
    let table = &json["other_tables"]["random_decoders"];
    assert_eq!(json["other_tables"].as_object().unwrap().len(), 1);
    let (made_from, planned) = (&table["made_from"], &table["cells_of_profile"]);
    assert_ne!(made_from, planned);
    let note =
        format!("The table of stage random_decoders was made from {made_from} cells; the profile has {planned}.");
    assert_eq!(smoke(&manifest, &[]).matches(&note).count(), claims_of_stage);
    assert!(smoke(&manifest, &["--markdown"]).ends_with(&format!("\n\n{note}\n")));

    // A receipt of other tables says nothing, and a manifest that cannot be read does not hide the claims.
    std::fs::copy(path("published/paper/receipt.json"), folder.join("receipt.json")).unwrap();
    assert!(smoke(&manifest, &[]).contains("Nothing says which cells the table of stage random_decoders"));
    let broken = results.path().join("pipeline.toml");
    std::fs::write(&broken, "[stage").unwrap();
    assert!(!smoke(&broken.display().to_string(), &[]).contains("stage random_decoders was"));
}
