//! Several processes on shares of the cells of one store.

use super::child::{Running, factsmith, start};
use super::workspace::Workspace;

fn shard(workspace: &Workspace, share: &str) -> Running {
    let arguments = ["run", "--store", "store", "--results", "results", "--threads", "1", "--shard", share];
    start(&workspace.root, &arguments, &[])
}

fn slow(seeds: usize) -> (Workspace, String) {
    let whole = Workspace::new();
    let grid = format!("seeds = {seeds}\nd = [4, 8]\nkappa = 1\nfault = \"slow\"");
    whole.grid(&grid);
    whole.run();
    let workspace = Workspace::new();
    workspace.grid(&grid);
    (workspace, whole.table("margins").content_hash())
}

/// The number before a word in the text of a run.
fn number(text: &str, word: &str) -> usize {
    let words: Vec<&str> = text.split([' ', '(', ',', ')']).collect();
    words.windows(2).find(|pair| pair[1] == word).map_or(0, |pair| pair[0].parse().unwrap())
}

#[test]
fn shards_at_once_compute_each_cell_once_and_the_last_writes_the_table() {
    let (workspace, hash) = slow(30);
    let running: Vec<Running> = ["1/3", "2/3", "3/3"].map(|share| shard(&workspace, share)).into();
    let outputs: Vec<_> = running.into_iter().map(Running::wait).collect();
    for output in &outputs {
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(number(&output.out, "computed") > 5, "{}", output.out);
    }
    assert_eq!(outputs.iter().map(|output| number(&output.out, "computed")).sum::<usize>(), 60);
    let writers = outputs.iter().filter(|output| output.out.contains("wrote results/smoke/margins.parquet"));
    assert_eq!(writers.count(), 1);
    assert_eq!(workspace.copies(), 60);
    assert!(workspace.files("store/journal", "jsonl").is_empty());
    assert_eq!(workspace.table("margins").content_hash(), hash);
    assert_eq!(workspace.run().computed(), 0);
}

#[test]
fn shards_one_after_the_other_in_any_order_make_the_same_table() {
    for order in [["1/3", "2/3", "3/3"], ["3/3", "1/3", "2/3"], ["1/1", "1/1", "1/1"]] {
        let workspace = Workspace::new();
        let mut last = String::new();
        for share in order {
            last = shard(&workspace, share).wait().out;
        }
        assert!(last.contains("margins.parquet"), "{last}");
        let whole = Workspace::new();
        whole.run();
        for stage in ["margins", "other"] {
            assert_eq!(workspace.table(stage).content_hash(), whole.table(stage).content_hash());
        }
        assert_eq!(workspace.copies(), 9);
    }
}

#[test]
fn a_shard_alone_says_what_it_leaves_to_the_others() {
    let workspace = Workspace::new();
    let output = shard(&workspace, "1/2").wait();
    let (computed, left) = (number(&output.out, "computed"), number(&output.out, "left"));
    assert_eq!((output.code, computed + left), (Some(0), 8), "{}", output.out);
    assert!(output.out.contains("results/smoke/margins.parquet is not written"), "{}", output.out);
    let output = factsmith(&workspace.root, &["run", "--shard", "3/2"]);
    assert_eq!(
        (output.code, output.err.as_str()),
        (Some(2), "error: '3/2' is not a shard\n  fix: --shard 2/3 computes the second of three shares of the cells\n")
    );
}

#[test]
fn a_killed_shard_loses_only_the_cells_in_flight_and_stops_no_other() {
    let (workspace, hash) = slow(40);
    let (killed, other) = (shard(&workspace, "1/2"), shard(&workspace, "2/2"));
    Workspace::until(|| workspace.files("store/journal", "jsonl").len() == 2 && workspace.stored() > 8);
    killed.signal("KILL");
    killed.wait();
    let before = workspace.stored();
    let output = other.wait();
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.contains("is not written"), "{}", output.out);
    assert!(workspace.stored() >= before);
    let again = shard(&workspace, "1/2").wait();
    assert!(again.out.contains("wrote results/smoke/margins.parquet"), "{}{}", again.out, again.err);
    assert_eq!(workspace.copies(), 80);
    assert_eq!(workspace.table("margins").content_hash(), hash);
}

#[test]
fn a_run_of_everything_waits_for_shards_and_names_one() {
    let (workspace, hash) = slow(20);
    let first = shard(&workspace, "1/2");
    Workspace::until(|| !workspace.files("store/journal", "jsonl").is_empty());
    let all = start(&workspace.root, &["run", "--store", "store", "--results", "results"], &[]).wait();
    assert_eq!(first.wait().code, Some(0));
    assert!(all.err.starts_with("waiting for shards, the last of which is process "), "{}", all.err);
    assert_eq!(workspace.copies(), 40);
    assert_eq!(workspace.table("margins").content_hash(), hash);
}
