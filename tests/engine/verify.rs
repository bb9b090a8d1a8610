//! Stored cells computed again.

use super::child::{Output, start};
use super::workspace::Workspace;

fn verify(workspace: &Workspace, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let place = ["verify", "--quiet", "--store", "store", "--results", "results"];
    start(&workspace.root, &[&place, arguments].concat(), environment).wait()
}

const DRIFT: [(&str, &str); 1] = [("FACTSMITH_TEST_DRIFT", "1")];

fn some_drift() -> Workspace {
    let workspace = Workspace::new();
    workspace.grid("seeds = 10\nd = 4\nkappa = 1\nfault = [\"none\", \"drift\"]");
    workspace.run();
    workspace
}

#[test]
fn cells_that_are_what_they_were_pass_and_nothing_is_written() {
    let workspace = some_drift();
    let before = workspace.snapshot();
    for threads in ["1", "8"] {
        let output = verify(&workspace, &["--sample", "100", "--threads", threads], &[]);
        assert_eq!(output.out, "20 of 20 stored cells computed again: all are equal bit for bit\n");
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    }
    assert_eq!(workspace.snapshot(), before);
}

#[test]
fn a_cell_that_is_another_now_is_named_and_ends_with_exit_code_1() {
    let workspace = some_drift();
    let output = verify(&workspace, &["--sample", "100"], &DRIFT);
    assert_eq!(output.code, Some(1));
    assert!(output.out.ends_with("20 of 20 stored cells computed again: 10 differ\n"), "{}", output.out);
    let named: Vec<&str> = output.out.lines().filter(|line| line.starts_with("stage 'margins', cell ")).collect();
    assert_eq!(named.len(), 10);
    assert!(
        named
            .iter()
            .all(|line| line.contains("\"fault\":\"drift\"") && line.ends_with("3 rows are stored, 1 computed"))
    );
}

#[test]
fn a_seed_chooses_the_same_sample_every_time() {
    let workspace = some_drift();
    let sample = |seed| verify(&workspace, &["--json", "--sample", "10", "--seed", seed], &DRIFT).out;
    let samples = ["1", "2", "3", "4"].map(sample);
    assert_eq!(samples, ["1", "2", "3", "4"].map(sample));
    assert!(samples.iter().any(|other| *other != samples[0]));
}

#[test]
fn without_a_stored_cell_there_is_nothing_to_verify() {
    let workspace = Workspace::new();
    let output = verify(&workspace, &[], &[]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    let told = "error: no cell of profile smoke is stored, so none can be verified\n  where: store\n  \
                fix: factsmith run --profile smoke, or name another store with --store DIR\n";
    assert_eq!(output.err, told);
}
