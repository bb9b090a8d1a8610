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

/// The rows of the tables of a document, each with tests that are there.
fn checked_rows(document: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs").join(document)).unwrap();
    let is_head = |line: &&str| line.starts_with("| promise") || line.starts_with("| nr");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && !is_head(line)).collect();
    for row in &rows {
        let tests = named(row);
        assert!(!tests.is_empty(), "no test: {row}");
        for (file, function) in tests {
            assert!(is_test(root, file, function), "{file}.rs has no test {function}");
        }
    }
    rows.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_promise_has_a_test() {
    assert!(checked_rows("promises.md").len() > 25);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!is_test(root, "promises", "no_such_test") && !is_test(root, "promises", "named"));
}

#[test]
fn every_trouble_is_listed_once_with_its_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/troubles.md")).unwrap();
    let number = |line: &str| line.split([' ', '|']).find(|word| !word.is_empty()).unwrap().parse::<usize>().unwrap();
    let mut numbers: Vec<usize> = checked_rows("troubles.md").iter().map(|row| number(row)).collect();
    numbers.extend(text.lines().filter_map(|line| line.strip_prefix("- ")).map(number));
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=81).collect::<Vec<_>>());
}
