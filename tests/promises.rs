//! Every test that docs/promises.md names is there.

use std::path::{Path, PathBuf};

/// `file: function` of each test that the text names.
fn named(text: &str) -> Vec<(&str, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|word| word.split_once(".rs: ")).collect()
}

fn is_test(root: &Path, file: &str, function: &str) -> bool {
    let places: [PathBuf; 2] = ["tests", "src"].map(|folder| root.join(folder).join(format!("{file}.rs")));
    let signature = format!("fn {function}(");
    places.iter().filter_map(|place| std::fs::read_to_string(place).ok()).any(|text| {
        let before = text.split(&signature).next().filter(|before| before.len() < text.len());
        before.is_some_and(|before| before.trim_end().ends_with(']') && before.contains("#[test]"))
    })
}

#[test]
fn every_promise_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/promises.md")).unwrap();
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise")).collect();
    assert!(rows.len() > 25);
    for row in rows {
        let tests = named(row);
        assert!(!tests.is_empty(), "no test: {row}");
        for (file, function) in tests {
            assert!(is_test(root, file, function), "{file}.rs has no test {function}");
        }
    }
    assert!(!is_test(root, "promises", "no_such_test") && !is_test(root, "promises", "named"));
}
