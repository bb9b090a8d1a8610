//! What is in the key of a cell, and what never is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use factsmith::pipeline::experiment::Experiment;
use factsmith::pipeline::key::{Key, canonical_json};
use factsmith::pipeline::manifest::Manifest;
use factsmith::pipeline::plan::Plan;
use factsmith::pipeline::profile::Profile;
use factsmith::pipeline::store::Store;
use proptest::prelude::*;

use super::child::start;
use super::synthetic::{Point, Synthetic};
use super::workspace::Workspace;

/// The canonical text of a point as it would stand in pipeline.toml.
fn canonical(lines: &str) -> Result<String, String> {
    let point: toml::Table = toml::from_str(lines).map_err(|error| error.to_string())?;
    let params = Synthetic::new("x", 1).canonical(&point).map_err(|error| error.to_string())?;
    Ok(canonical_json(&params))
}

#[test]
fn the_type_of_a_parameter_decides_and_not_how_a_number_is_written() {
    for (same, different) in [
        (&["0.1", "1e-1", "0.10", "+0.1", "1_0.0e-2"][..], "0.2"),
        (&["1", "1.0", "1e0", "10e-1", "0x1"], "1.0000000000000002"),
        (&["0", "0.0", "-0.0", "-0"], "5e-324"),
    ] {
        let of = |number: &str| canonical(&format!("float = {number}")).unwrap();
        assert_eq!(same.iter().map(|number| of(number)).collect::<BTreeSet<_>>().len(), 1, "{same:?}");
        assert_ne!(of(same[0]), of(different));
    }
    let of = |number: &str| canonical(&format!("float = 1\nint = {number}")).unwrap();
    assert_eq!(of("16"), of("0x10"));
    assert_ne!(canonical("float = 1\nword = \"1\"").unwrap(), canonical("float = 1\nint = 1").unwrap());
    let zeros = |list: &str| canonical(&format!("float = 1\nlist = {list}")).unwrap();
    assert_eq!(zeros("[0.0, 1]"), zeros("[-0.0, 1.0]"));
    assert_ne!(zeros("[0.0, 1]"), zeros("[1, 0.0]"));
}

#[test]
fn what_is_no_finite_number_of_its_type_is_refused() {
    for (lines, expected) in [
        ("float = nan", "parameter 'float' is not a finite number"),
        ("float = -inf", "parameter 'float' is not a finite number"),
        ("float = 1\nlist = [1.0, inf]", "parameter 'list' is not a finite number"),
        ("float = 1\nint = 1.0", "parameter 'int': invalid type: floating point `1.0`"),
        ("float = \"1\"", "parameter 'float': invalid type: string \"1\""),
        ("float = true", "parameter 'float': invalid type: boolean `true`"),
    ] {
        let error = canonical(lines).unwrap_err();
        assert!(error.starts_with(expected), "{lines}: {error}");
    }
}

#[test]
fn decimal_grids_do_not_drift() {
    let mut sum = 0.0;
    let mut drifted = 0;
    for tenth in 1..=100 {
        sum += 0.1;
        let written = format!("{}.{}", tenth / 10, tenth % 10);
        let text = canonical(&format!("float = {written}")).unwrap();
        assert!(text.starts_with(&format!("{{\"float\":{written},")), "{text}");
        drifted += usize::from(!text.starts_with(&format!("{{\"float\":{sum:?},")));
    }
    assert!(drifted > 50, "a grid made by adding would have other keys");
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |number| number.is_finite()),
        Just(0.0),
        Just(-0.0),
        Just(0.1),
        (-3_i64..3).prop_map(|number| number as f64),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    let list = proptest::collection::vec(float(), 0..3);
    (float(), any::<i64>(), ".{0,5}", any::<bool>(), list).prop_map(|(float, int, word, truth, list)| Point {
        float,
        int,
        word,
        truth,
        list,
    })
}

/// A point like another one in the fields whose bits are set.
fn mixed(one: &Point, other: &Point, fields: u8) -> Point {
    let from = |field: u8| if fields >> field & 1 == 1 { one } else { other };
    Point {
        float: from(0).float,
        int: from(1).int,
        word: from(2).word.clone(),
        truth: from(3).truth,
        list: from(4).list.clone(),
    }
}

fn key(point: &Point, seed: u64) -> Key {
    let written: toml::Table = toml::from_str(&toml::to_string(point).unwrap()).unwrap();
    let params = Synthetic::new("x", 1).canonical(&written).unwrap();
    Key::new("x", 1, &canonical_json(&params), seed)
}

proptest! {
    #[test]
    fn points_share_a_key_exactly_when_all_their_values_are_equal(
        one in point(), other in point(), fields in 0_u8..32, seeds in (0_u64..2, 0_u64..2)
    ) {
        let other = mixed(&one, &other, fields);
        // -0.0 == 0.0 here as in the key; no value is NaN.
        prop_assert_eq!(key(&one, seeds.0) == key(&other, seeds.1), one == other && seeds.0 == seeds.1);
    }

    #[test]
    fn a_number_survives_its_way_into_the_key_bit_for_bit(number in float()) {
        for written in [format!("{number:?}"), format!("{number:e}")] {
            let text = canonical(&format!("float = {written}")).unwrap();
            let back: Point = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.float.to_bits(), (number + 0.0).to_bits(), "{}", written);
        }
    }
}

/// Keys of a stage, whatever their order.
fn keys(text: &str, experiments: &[&dyn Experiment]) -> BTreeMap<String, BTreeSet<Key>> {
    let manifest = Manifest::parse(Path::new("pipeline.toml"), text).unwrap();
    let plan = Plan::new(&manifest, Profile::Smoke, experiments, &Store::default(), &[]).unwrap();
    let keys = |cells: &[factsmith::pipeline::plan::Cell]| cells.iter().map(|cell| cell.key).collect();
    plan.stages.iter().map(|stage| (stage.name.clone(), keys(&stage.cells))).collect()
}

/// Seeds, and the values of two parameters.
type Grid = (u64, Vec<f64>, Vec<i64>);

/// How a manifest is written: what may differ between two people's hands.
#[derive(Debug, Clone)]
struct Hand {
    reversed: bool,
    comments: bool,
    spaces: usize,
    crlf: bool,
    one_per_line: bool,
}

fn hand() -> impl Strategy<Value = Hand> {
    (any::<bool>(), any::<bool>(), 0..4_usize, any::<bool>(), any::<bool>()).prop_map(
        |(reversed, comments, spaces, crlf, one_per_line)| Hand { reversed, comments, spaces, crlf, one_per_line },
    )
}

impl Hand {
    fn write(&self, stages: &[Vec<Grid>]) -> String {
        let blocks = stages.iter().enumerate().map(|(number, grids)| self.stage(number, grids));
        let text = self.ordered(blocks.collect()).concat();
        if self.crlf { text.replace('\n', "\r\n") } else { text }
    }

    fn stage(&self, number: usize, grids: &[Grid]) -> String {
        let head = [format!("title = \"Stage {number}\""), "experiment = \"x\"".to_owned()];
        let mut text = format!("[stage.s{number}]\n{}", self.lines(head.into()));
        for (seeds, floats, ints) in grids {
            let floats: Vec<String> = floats.iter().map(|float| format!("{float:?}")).collect();
            let ints: Vec<String> = ints.iter().map(i64::to_string).collect();
            let lines = [
                format!("seeds = {seeds}"),
                format!("float = {}", self.list(&floats)),
                format!("int = {}", self.list(&ints)),
            ];
            text.push_str(&format!("[[stage.s{number}.smoke]]\n{}", self.lines(lines.into())));
        }
        text
    }

    fn lines(&self, lines: Vec<String>) -> String {
        let comment = if self.comments { " # a comment" } else { "" };
        let spaces = " ".repeat(self.spaces);
        let written = |line: String| {
            format!("{spaces}{}{spaces}{comment}\n", line.replacen(" = ", &format!("{spaces}={spaces}"), 1))
        };
        self.ordered(lines).into_iter().map(written).collect()
    }

    fn list(&self, words: &[String]) -> String {
        let between = if self.one_per_line { ",\n  " } else { "," };
        format!("[{}]", words.join(between))
    }

    fn ordered(&self, mut items: Vec<String>) -> Vec<String> {
        if self.reversed {
            items.reverse();
        }
        items
    }
}

proptest! {
    #[test]
    fn comments_spaces_order_and_line_ends_are_in_no_key(
        stages in proptest::collection::vec(proptest::collection::vec(
            (1..3_u64, proptest::collection::vec(float(), 1..3), proptest::collection::vec(any::<i64>(), 1..3)), 1..3), 1..3),
        one in hand(), other in hand()
    ) {
        let experiment = Synthetic::new("x", 1);
        let (first, second) = (keys(&one.write(&stages), &[&experiment]), keys(&other.write(&stages), &[&experiment]));
        prop_assert!(first.values().all(|keys| !keys.is_empty()));
        prop_assert_eq!(first, second);
    }
}

#[test]
fn a_new_version_of_an_experiment_changes_its_own_keys_and_no_others() {
    let stage = |name: &str| {
        format!(
            "[stage.{name}]\ntitle = \"T\"\nexperiment = \"{name}\"\n[[stage.{name}.smoke]]\nseeds = 2\nfloat = [1, 2]\n"
        )
    };
    let text = stage("one") + &stage("two");
    let with = |version| keys(&text, &[&Synthetic::new("one", version), &Synthetic::new("two", 1)]);
    let (old, new) = (with(1), with(2));
    assert!(old["one"].is_disjoint(&new["one"]));
    assert_eq!(old["two"], new["two"]);
}

#[test]
fn threads_folder_host_locale_and_time_zone_are_in_no_key_and_change_no_table() {
    let seen = [
        ("project", "1", &[("LC_ALL", "C"), ("TZ", "UTC")]),
        ("Ordner 'ü' #2", "8", &[("LC_ALL", "de_DE.UTF-8"), ("TZ", "Asia/Kathmandu")]),
        ("üç", "3", &[("LC_ALL", "tr_TR.UTF-8"), ("TZ", "America/St_Johns")]),
    ]
    .map(|(folder, threads, environment)| {
        let workspace = Workspace::named(folder);
        let call = |command: &[&str]| {
            let output = start(&workspace.root, &[command, &["--threads", threads]].concat(), environment).wait();
            assert_eq!(output.code, Some(0), "{}", output.err);
            output.out
        };
        let explained: serde_json::Value = serde_json::from_str(&call(&["explain", "--json"])).unwrap();
        let keys: Vec<String> = explained["stages"][0]["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["key"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(keys.len(), 8);
        call(&["run"]);
        (keys, workspace.table("margins").content_hash())
    });
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}
