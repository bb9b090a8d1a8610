//! The exact output of the commands, in particular for what people get wrong.

use super::child::factsmith;
use super::workspace::Workspace;

#[track_caller]
fn refused(pipeline: &str, arguments: &[&str], expected: &str) {
    let workspace = Workspace::new();
    workspace.pipeline(pipeline);
    let before = workspace.snapshot();
    for command in ["plan", "run", "status"] {
        let output = factsmith(&workspace.root, &[&[command], arguments].concat());
        assert_eq!(output.err, expected);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    }
    assert_eq!(workspace.snapshot(), before);
}

const STAGE: &str = "[stage.margins]\ntitle = \"Margins\"\nexperiment = \"toy\"\n";

fn grid(lines: &str) -> String {
    format!("{STAGE}[[stage.margins.smoke]]\n{lines}\n")
}

#[test]
fn a_run_says_what_it_did_and_a_second_that_nothing_was_to_do() {
    let workspace = Workspace::new();
    let plan = factsmith(&workspace.root, &["plan", "--threads", "1"]);
    assert_eq!(
        plan.out,
        "profile smoke\n\
         stage    cells  cached  missing                    core time\n\
         margins      8       0        8  about 48 s (4.7 s to 8 min)\n\
         other        2       0        2  about 8.0 s (0.7 s to 85 s)\n\
         9 cells to compute, about 52 s (5.1 s to 9 min) on 1 thread\n\
         memory: about 43 MB (22 MB to 86 MB)\n"
    );
    let run = factsmith(&workspace.root, &["run", "--threads", "1"]);
    assert_eq!(
        run.out,
        "margins: 8 cells (8 computed, 0 cached), wrote results/smoke/margins.parquet\n\
         other: 2 cells (2 computed, 0 cached), wrote results/smoke/other.parquet\n"
    );
    assert_eq!(run.code, Some(0));
    assert!(run.err.starts_with("computing 9 cells on 1 thread, about 52 s\n9 cells in "), "{}", run.err);
    assert!(!run.err.contains('\r'));
    let again = factsmith(&workspace.root, &["run"]);
    assert_eq!(
        again.out,
        "margins: 8 cells (0 computed, 8 cached), results/smoke/margins.parquet is unchanged\n\
         other: 2 cells (0 computed, 2 cached), results/smoke/other.parquet is unchanged\n"
    );
    assert_eq!((again.code, again.err.as_str()), (Some(0), ""));
    let status = factsmith(&workspace.root, &["status"]);
    assert_eq!(
        status.out,
        "profile smoke\n\
         stage    cells  cached    table\n\
         margins      8       8  current\n\
         other        2       2  current\n"
    );
    assert!(factsmith(&workspace.root, &["plan"]).out.ends_with("nothing to compute\n"));
}

#[test]
fn json_is_all_there_is_on_standard_output() {
    let workspace = Workspace::new();
    for arguments in [["plan", "--json"], ["run", "--json"], ["status", "--json"]] {
        let output = factsmith(&workspace.root, &arguments);
        let json: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        assert_eq!(json["profile"], "smoke");
        assert_eq!(json["stages"][0]["stage"], "margins");
        assert_eq!(json["stages"][0]["cells"], 8);
    }
}

#[test]
fn the_last_line_of_a_failed_run_is_its_first_failure() {
    let workspace = Workspace::new();
    workspace.pipeline(&grid("d = [4, 8]\nkappa = 1\nfault = [\"none\", \"error\"]"));
    let run = factsmith(&workspace.root, &["run", "--threads", "1"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.out,
        "margins: 4 cells (2 computed, 0 cached, 2 failed), results/smoke/margins.parquet is not written\n"
    );
    assert_eq!(
        run.err.lines().last().unwrap(),
        "error: 2 failures, first: stage 'margins', cell 515f5e33bb30, params {\"d\":4,\"fault\":\"error\",\"kappa\":1.0}, seed 0: \
         the toy gave up"
    );
}

#[test]
fn a_stage_without_the_profile_says_so() {
    let workspace = Workspace::new();
    let run = factsmith(&workspace.root, &["run", "--profile", "paper", "--stage", "other"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "other: no cells in profile paper\n"));
}

#[test]
fn an_unknown_profile_names_the_near_miss() {
    let workspace = Workspace::new();
    let output = factsmith(&workspace.root, &["plan", "--profile", "lapptop"]);
    assert_eq!(output.code, Some(2));
    assert_eq!(output.err, "error: unknown profile 'lapptop'\n  fix: did you mean 'laptop'?\n");
    refused(
        &grid("d = 4\nkappa = 1").replace("smoke", "smokes"),
        &[],
        "error: unknown profile or key 'smokes'\n  where: pipeline.toml:4\n  fix: did you mean 'smoke'?\n",
    );
}

#[test]
fn an_unknown_stage_names_the_near_miss() {
    refused(
        &grid("d = 4\nkappa = 1"),
        &["--stage", "margin"],
        "error: unknown stage 'margin'\n  fix: did you mean 'margins'?\n",
    );
    refused(
        &(grid("d = 4\nkappa = 1") + "[figure.one]\ntitle = \"One\"\nstages = [\n  \"marginz\"]\n"),
        &[],
        "error: unknown stage 'marginz'\n  where: pipeline.toml:10\n  fix: did you mean 'margins'?\n",
    );
}

#[test]
fn unknown_words_in_the_manifest_have_a_line_and_a_near_miss() {
    let text = grid("d = 4\nkappa = 1");
    let cases = [
        (text.replace("[stage", "[stages").replace("[[stage.", "[[stages."), "key 'stages'", 1, "stage"),
        (text.replace("title", "titel"), "key 'titel'", 2, "title"),
        (text.replace("\"toy\"", "\"toys\""), "experiment 'toys'", 3, "toy"),
        (text.replace("kappa", "kapa"), "parameter 'kapa'", 6, "kappa"),
    ];
    for (text, what, line, near) in cases {
        refused(
            &text,
            &[],
            &format!("error: unknown {what}\n  where: pipeline.toml:{line}\n  fix: did you mean '{near}'?\n"),
        );
    }
}

#[test]
fn faulty_values_have_a_line_and_advice() {
    let cases = [
        ("d = []\nkappa = 1", 5, "parameter 'd' is an empty list, so its grid has no cells"),
        ("seeds = 0\nd = 4", 5, "seeds is 0, not a whole number from 1 to 1000000"),
        ("d = 4\nkappa = [1, 0.5]", 6, "'kappa' is 0.5"),
        ("kappa = 1\nfault = \"pannic\"\nd = 4", 6, "unknown 'fault' 'pannic'"),
        ("d = 4\nkappa = \"big\"", 6, "parameter 'kappa': invalid type: string \"big\", expected f64"),
        ("d = 4", 4, "missing field `kappa`"),
        ("d = 4.0\nkappa = 1", 5, "parameter 'd': invalid type: floating point `4.0`, expected usize"),
        ("d = 4\nkappa = nan", 6, "parameter 'kappa' is not a finite number"),
    ];
    for (lines, line, what) in cases {
        let workspace = Workspace::new();
        workspace.pipeline(&grid(lines));
        let output = factsmith(&workspace.root, &["plan"]);
        assert_eq!(output.code, Some(2));
        let start = format!("error: {what}\n  where: pipeline.toml:{line}\n  fix: ");
        assert!(output.err.starts_with(&start), "{}", output.err);
    }
}

#[test]
fn a_misspelt_word_of_a_parameter_names_the_near_miss() {
    refused(
        &grid("d = 4\nkappa = 1\nfault = \"pannic\""),
        &[],
        "error: unknown 'fault' 'pannic'\n  where: pipeline.toml:7\n  fix: did you mean 'panic'?\n",
    );
    refused(
        &grid("d = 4\nkappa = 1\nfault = \"xyz\""),
        &[],
        "error: unknown 'fault' 'xyz'\n  where: pipeline.toml:7\n  \
         fix: use one of: none, panic, error, nan, abort, slow, long, empty, flaky, drift\n",
    );
}

#[test]
fn clashing_names_are_refused() {
    let text = grid("d = 4\nkappa = 1");
    refused(
        &format!("{text}{STAGE}"),
        &[],
        "error: duplicate key\n  where: pipeline.toml:7\n  \
         fix: 'margins' is already there on line 1; rename one of the two, or merge them\n",
    );
    refused(
        &text.replace("d = 4", "d = 4 # first\nd=8"),
        &[],
        "error: duplicate key\n  where: pipeline.toml:6\n  \
         fix: 'd' is already there on line 5; rename one of the two, or merge them\n",
    );
    refused(
        &format!("{text}{}", STAGE.replace("stage.margins", "stage.Margins")),
        &[],
        "error: stage 'Margins' differs from 'margins' only in case\n  where: pipeline.toml:7\n  \
         fix: rename one of them (the other is on line 1): some disks can't tell them apart\n",
    );
    refused(
        &text.replace("stage.margins", "stage.\"a/b\""),
        &[],
        "error: stage 'a/b' is not a plain name\n  where: pipeline.toml:1\n  \
         fix: use ASCII letters, digits, _ and -, with a letter or digit first\n",
    );
}

#[test]
fn broken_toml_and_no_toml_are_refused() {
    let workspace = Workspace::new();
    workspace.pipeline("[stage.margins\n");
    let output = factsmith(&workspace.root, &["plan"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("where: pipeline.toml:1"), "{}", output.err);
    let output = factsmith(&workspace.root, &["plan", "--manifest", "nowhere.toml"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.starts_with("error: cannot read the pipeline 'nowhere.toml': "), "{}", output.err);
}

#[test]
fn two_results_folders_are_compared() {
    let workspace = Workspace::new();
    factsmith(&workspace.root, &["run", "--results", "one"]);
    factsmith(&workspace.root, &["run", "--results", "two"]);
    let output = factsmith(&workspace.root, &["compare", "one", "two"]);
    assert_eq!(
        (output.code, output.out.as_str()),
        (Some(0), "smoke/margins.parquet: identical bit for bit\nsmoke/other.parquet: identical bit for bit\n")
    );
    std::fs::remove_file(workspace.path("two/smoke/other.parquet")).unwrap();
    let output = factsmith(&workspace.root, &["compare", "one", "two"]);
    assert_eq!(output.code, Some(1));
    assert!(output.out.ends_with("smoke/other.parquet: missing in the second folder\n"));
    assert_eq!(factsmith(&workspace.root, &["compare", "one", "three"]).code, Some(2));
}

#[test]
fn completions_and_help_are_there_for_every_command() {
    let workspace = Workspace::new();
    assert!(factsmith(&workspace.root, &["completions", "bash"]).out.contains("_factsmith"));
    let program = env!("CARGO_BIN_EXE_factsmith");
    for command in
        ["plan", "explain", "run", "status", "compare", "rules", "completions", "graph", "export", "man", "claims"]
    {
        let help = std::process::Command::new(program).args([command, "--help"]).output().unwrap();
        assert!(help.status.success());
        assert!(String::from_utf8(help.stdout).unwrap().contains("Examples:"), "{command}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let program = env!("CARGO_BIN_EXE_factsmith");
    let mut child = Command::new(program)
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

#[test]
fn a_file_in_the_place_of_a_folder_is_refused_before_anything_is_computed() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("file"), "text").unwrap();
    for option in ["--store", "--results"] {
        for (path, command) in [("file", "run"), ("file/below", "run"), ("file", "status"), ("file", "claims")] {
            let output = factsmith(&workspace.root, &[command, option, path]);
            assert_eq!(output.code, Some(2), "{option} {path}");
            let fix = format!("name a folder, or a path where one can be made: {option} DIR");
            assert_eq!(output.err, format!("error: 'file' is not a folder\n  where: {option}\n  fix: {fix}\n"));
        }
    }
    assert_eq!((workspace.path(".factsmith").exists(), workspace.path("results").exists()), (false, false));
}

#[test]
fn progress_without_a_terminal_is_plain_lines() {
    let workspace = Workspace::new();
    let output = factsmith(&workspace.root, &["run"]);
    assert!(output.err.starts_with("computing 9 cells on ") && output.err.contains("9 cells in "), "{}", output.err);
    assert!(!output.err.contains(['\r', '\u{1b}']), "{:?}", output.err);
}
