//! `factsmith language` on facts of one's own, with good and bad input.

use std::process::{Command, Output};

/// A folder with facts, edits and templates.
struct Own {
    folder: tempfile::TempDir,
}

impl Own {
    fn new() -> Self {
        let own = Self { folder: tempfile::Builder::new().prefix("own words #1 ").tempdir().unwrap() };
        let facts: String = (0..16).map(|number| format!("\"City, {number}\",Land {number}\n")).collect();
        own.write("facts.csv", &format!("city,country\n{facts}"));
        own.write("set.csv", "city,country\n\"City, 3\",Land 9\n\"City, 9\",Land 3\n");
        own.write("templates.txt", "The country of {subject} is {object}\nWhere is {subject}? It lies in {object}\n");
        own
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs the command; `line` goes before what is usual.
    fn run(&self, line: &str) -> Output {
        const USUAL: [(&str, &str); 7] = [
            ("--facts", "facts.csv"),
            ("--subject", "city"),
            ("--object", "country"),
            ("--templates", "templates.txt"),
            ("--dimension", "24"),
            ("--hidden", "24"),
            ("--learning-rate", "0.005"),
        ];
        let words: Vec<&str> = line.split_whitespace().collect();
        let usual = USUAL.into_iter().filter(|(name, _)| !words.contains(name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_factsmith"));
        command.arg("language").args(usual.flat_map(|(name, value)| [name, value])).args(&words);
        command.current_dir(self.folder.path()).output().unwrap()
    }

    fn json(&self, line: &str) -> serde_json::Value {
        let output = self.run(&format!("{line} --json"));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What an error says, for a command that has to end with exit code 2.
    fn error(&self, line: &str) -> String {
        let output = self.run(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(output.stdout.is_empty() && !text.contains("panic"), "{line}: {text}");
        text
    }
}

#[test]
fn facts_are_recalled_and_changed_by_a_swap() {
    let own = Own::new();
    let found = own.json("--set set.csv");
    assert_eq!(found["facts"], 16);
    assert!(found["recall"].as_f64().unwrap() > 0.95, "{found}");
    assert_eq!(found["edit"]["efficacy"], 1.0, "{found}");
    assert!(found["edit"]["specificity"].as_f64().unwrap() > 0.8, "{found}");
    let text = String::from_utf8(own.run("--set set.csv --method memit").stdout).unwrap();
    assert!(text.contains("edited by memit (") && text.contains("efficacy"), "{text}");
}

#[test]
fn the_same_command_gives_the_same_numbers() {
    let own = Own::new();
    let run = |seed: u32| own.json(&format!("--steps 40 --seed {seed}"));
    assert_eq!(run(1), run(1));
    assert_ne!(run(1)["recall"], run(2)["recall"]);
}

#[test]
fn bad_input_is_one_error_that_names_the_place_and_the_way_out() {
    let own = Own::new();
    own.write("unknown.csv", "city,country\n\"City, 33\",Land 1\n");
    own.write("nowhere.csv", "city,country\n\"City, 3\",Land 77\n");
    own.write("same.csv", "city,country\n\"City, 3\",Land 3\n");
    own.write("twice.csv", "city,country\n\"City, 3\",Land 4\n\"City, 3\",Land 5\n");
    own.write("slotless.txt", "The country is {object}\n");
    own.write("shared.csv", "city,country\na,x\nb,x\n");
    for (line, wanted) in [
        ("--set unknown.csv", "City, 3"),
        ("--set nowhere.csv", "Land 7"),
        ("--set same.csv", "already"),
        ("--set twice.csv", "twice.csv"),
        ("--set set.csv --method memmit", "memit"),
        ("--templates slotless.txt", "slotless.txt"),
        ("--facts shared.csv --distinct-objects", "shared.csv"),
        ("--object land", "country"),
        ("--count 17", "16"),
        ("--count 0", "0"),
        ("--dimension 0", "dimension"),
        ("--dimension 100000000", "GiB"),
        ("--hidden 18446744073709551615", "GiB"),
        ("--hidden 0", "0"),
        ("--steps 0", "step"),
        ("--learning-rate inf", "learning rate"),
        ("--set set.csv --method rome", "ROME"),
    ] {
        let text = own.error(line);
        assert!(text.contains(wanted) && text.contains("fix:"), "{line}: {text}");
    }
}

/// Rounding may decide the shares, so they are not compared.
#[test]
fn the_documented_example_says_what_is_documented() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/language.md")).unwrap();
    let console = text.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let printed = |command: &str| -> Vec<&str> {
        let after = console.split(&format!("$ {command}")).nth(1).unwrap_or_else(|| panic!("no {command}"));
        after.lines().skip(1).take_while(|line| !line.starts_with('$')).collect()
    };
    let own = Own::new();
    for file in ["books.csv", "new.csv"] {
        own.write(file, &printed(&format!("cat {file}")).join("\n"));
    }
    let words = "language --facts books.csv --subject book --object author --set new.csv";
    let output = Command::new(env!("CARGO_BIN_EXE_factsmith"))
        .args(words.split(' '))
        .current_dir(own.folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found = String::from_utf8(output.stdout).unwrap();
    let without_numbers = |line: &str| line.replace(|letter: char| letter.is_ascii_digit(), "");
    let of = |lines: &[&str]| lines.iter().map(|line| without_numbers(line)).collect::<Vec<_>>();
    assert_eq!(of(&found.lines().collect::<Vec<_>>()), of(&printed(&format!("factsmith {words}"))));
    assert!(found.starts_with("book → author: 10 facts, an MLP of 1536 parameters"), "{found}");
}
