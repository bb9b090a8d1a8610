//! Graph, export and manual pages, and that looking never waits and never writes.

use super::child::{factsmith, start};
use super::workspace::Workspace;

const FOLDERS: [&str; 4] = ["--store", "store", "--results", "results"];

fn said(workspace: &Workspace, words: &[&str]) -> String {
    let output = factsmith(&workspace.root, &[words, &FOLDERS].concat());
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words:?}");
    output.out
}

#[test]
fn the_graph_has_a_node_per_stage_whatever_the_number_of_cells() {
    let workspace = Workspace::new();
    assert_eq!(
        said(&workspace, &["graph"]),
        "stage margins: 8 cells, 0 cached\n  → figure fig1\n  → notebook 01_margins\n\
         stage other: 2 cells, 0 cached\n  → figure fig1\n"
    );
    assert_eq!(
        said(&workspace, &["graph", "--format", "dot", "--stage", "other"]),
        "digraph pipeline {\n  rankdir = LR\n  \
         \"stage other\" [shape = box, label = \"stage other:\\n2 cells, 0 cached\"]\n  \
         \"figure fig1\" [shape = ellipse, label = \"figure fig1\"]\n  \
         \"stage other\" -> \"figure fig1\"\n}\n"
    );
    assert_eq!(
        said(&workspace, &["graph", "--format", "mermaid", "--stage", "other"]),
        "flowchart LR\n  n0[\"stage other:<br>2 cells, 0 cached\"]\n  n1([\"figure fig1\"])\n  n0 --> n1\n"
    );
    let json: serde_json::Value = serde_json::from_str(&said(&workspace, &["graph", "--json"])).unwrap();
    assert_eq!(json["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(json["edges"].as_array().unwrap().len(), 3);
}

#[test]
fn an_exported_table_has_every_value_bit_for_bit() {
    use factsmith::table::Table;
    let workspace = Workspace::new();
    workspace.run();
    let table = workspace.table("margins");
    let csv = said(&workspace, &["export", "margins"]);
    assert!(csv.starts_with("d,fault,kappa,seed,anchor,margin\n4,none,1.0,0,0,"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&said(&workspace, &["export", "margins", "--json"])).unwrap();
    assert_eq!((csv.lines().count() - 1, json.as_array().unwrap().len()), (24, 24));
    for ((row, line), object) in table.rows().zip(csv.lines().skip(1)).zip(json.as_array().unwrap()) {
        let margin = row.float("margin").unwrap().unwrap().to_bits();
        assert_eq!(line.rsplit(',').next().unwrap().parse::<f64>().unwrap().to_bits(), margin);
        assert_eq!(object["margin"].as_f64().unwrap().to_bits(), margin);
        assert_eq!(object["d"].as_i64(), row.int("d").unwrap());
    }
    assert_eq!(said(&workspace, &["export", "margins", "--format", "parquet", "-o", "out/m.parquet"]), "");
    assert_eq!(Table::read_parquet(&workspace.path("out/m.parquet")).unwrap(), table);
}

#[test]
fn an_export_that_cannot_be_says_why() {
    let workspace = Workspace::new();
    let refused = |words: &[&str]| {
        let output = factsmith(&workspace.root, &[words, &FOLDERS].concat());
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
        output.err
    };
    assert_eq!(refused(&["export", "margin"]), "error: unknown stage 'margin'\n  fix: did you mean 'margins'?\n");
    assert!(refused(&["export", "margins"]).contains("fix: factsmith run --stage margins --profile smoke"));
    assert!(refused(&["export", "margins", "--format", "csv", "--json"]).contains("leave out --json"));
    workspace.run();
    for read in ["pipeline.toml", "results/smoke/margins.parquet"] {
        let before = std::fs::read(workspace.path(read)).unwrap();
        assert!(refused(&["export", "margins", "-o", read]).contains("is read and would be overwritten"));
        assert_eq!(std::fs::read(workspace.path(read)).unwrap(), before);
    }
}

#[test]
fn there_is_a_manual_page_for_the_program_and_each_command() {
    let workspace = Workspace::new();
    let all = factsmith(&workspace.root, &["man"]).out;
    for command in ["plan", "explain", "run", "status", "graph", "export"] {
        assert!(all.contains(&format!("factsmith\\-{command}(1)")), "{command}");
        let page = factsmith(&workspace.root, &["man", command]).out;
        assert!(page.contains(&format!(".TH factsmith-{command} 1")) && page.contains("Examples:"), "{command}");
    }
    let output = factsmith(&workspace.root, &["man", "rum"]);
    assert_eq!(output.err, "error: unknown command 'rum'\n  fix: did you mean 'run'?\n");
    assert_eq!(factsmith(&workspace.root, &["man", "--json"]).code, Some(2));
}

#[test]
fn rules_as_json_are_the_files_that_make_can_be_asked_for() {
    let workspace = Workspace::new();
    let json: serde_json::Value = serde_json::from_str(&said(&workspace, &["rules", "--json"])).unwrap();
    assert_eq!(json["tables"][0], "results/smoke/margins.parquet");
    assert_eq!(json["figures"], serde_json::json!(["$(FIGURES)/fig1.svg", "$(FIGURES)/fig1.png"]));
    assert_eq!(json["notebooks"][0], ".factsmith/stamps/smoke/01_margins.executed");
}

/// Folders that are not there.
const ELSEWHERE: &[&str] = &["--store", "no", "--results", "none"];

const LOOKING: [&[&str]; 6] =
    [&["status"], &["plan"], &["plan", "--budget", "1s"], &["explain"], &["graph"], &["rules"]];

#[test]
fn every_view_works_during_a_run_without_waiting_for_its_lock() {
    let workspace = Workspace::new();
    workspace.grid("seeds = 100\nd = 4\nkappa = 1\nfault = \"slow\"");
    let run = start(&workspace.root, &[&["run", "--threads", "1"], &FOLDERS[..]].concat(), &[]);
    let journal = workspace.path("store/journal");
    let is_running = || std::fs::read_dir(&journal).is_ok_and(|mut files| files.next().is_some());
    while !is_running() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for view in LOOKING {
        said(&workspace, view);
    }
    let status: serde_json::Value = serde_json::from_str(&said(&workspace, &["status", "--json"])).unwrap();
    assert!(is_running(), "the run is still at work");
    let cached = status["stages"][0]["cached"].as_u64().unwrap();
    assert!(cached > 0 && cached < 100, "{cached}");
    assert_eq!(run.wait().code, Some(0));
}

#[test]
fn no_view_writes_anything_and_a_read_only_checkout_will_do() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    workspace.run();
    let before = workspace.snapshot();
    let folders = ["store", "store/cells", "store/cells/toy", "store/journal", "results", "results/smoke", "."];
    let set = |mode| {
        for folder in folders {
            std::fs::set_permissions(workspace.path(folder), std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    for view in LOOKING {
        said(&workspace, view);
    }
    said(&workspace, &["export", "margins"]);
    // Without these folders as well.
    for view in LOOKING {
        let output = factsmith(&workspace.root, &[view, ELSEWHERE].concat());
        assert_eq!(output.code, Some(0), "{}", output.err);
    }
    set(0o755);
    assert_eq!(workspace.snapshot(), before);
}
