//! `factsmith measure` from the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use factsmith::table::Table;
use ndarray::Array2;
use serde_json::Value;

use super::fixtures::*;

struct Output {
    code: u8,
    out: String,
}

fn measure(arguments: &[&str]) -> Output {
    let mut out = Vec::new();
    let words = ["factsmith", "measure"].iter().chain(arguments).map(OsString::from);
    let code = factsmith::cli::run(words, &[], &mut out);
    Output { code, out: String::from_utf8(out).unwrap() }
}

fn json(arguments: &[&str]) -> Value {
    let output = measure(&[arguments, &["--json"]].concat());
    assert_eq!(output.code, 0);
    serde_json::from_str(&output.out).unwrap()
}

/// The corners of a simplex in eight dimensions, a copy of the second, the centre of four, and a close twin of the third.
fn values() -> Array2<f64> {
    let mut table = Array2::zeros((11, 8));
    for corner in 0..8 {
        table[[corner, corner]] = 1.0;
    }
    table[[8, 1]] = 1.0;
    table.slice_mut(ndarray::s![9, ..4]).fill(0.25);
    table[[10, 2]] = 1.0;
    table[[10, 3]] = 2f64.powi(-10);
    table
}

fn write(folder: &Path, name: &str, bytes: Vec<u8>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn equal_undecodable_and_close_values_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "values.npy", npy(&values(), F64, false, false));
    let names = write(folder.path(), "names.txt", b"a\nb\nc\nd\ne\nf\ng\nh\nb again\nmiddle\nc near\n".to_vec());
    let text = measure(&[&file, "--names", &names]).out;
    for line in [
        "values            11 rows in 8 dimensions",
        "undecodable       3 values: no output decodes to them",
        "                  1 'b'; 8 'b again'; 9 'middle'\n",
        "value 9 'middle', amid the others\n",
        "value 1 'b', equal to value 8 'b again'\n",
        "equal             1 value equal to an earlier one\n                  values 1 'b' and 8 'b again'\n",
        "near-duplicates   1 pair closer than",
        "                  values 2 'c' and 10 'c near' at 9.77e-4\n",
        "predicted size    parameters to store one fact per decodable value (F = 8, d = 8)",
    ] {
        assert!(text.contains(line), "{line}\nnot in\n{text}");
    }
    let report = json(&[&file]);
    assert_eq!(report["undecodable"], serde_json::json!([1, 8, 9]));
    assert_eq!(report["duplicates"], serde_json::json!([[8, 1]]));
    assert_eq!(report["near_duplicates"][0]["pair"], serde_json::json!([2, 10]));
    assert_eq!((&report["rho"], &report["rank"]), (&Value::from(0.0), &Value::from(8)));
    assert!(report["decodable_rho"].as_f64().unwrap() > 0.0);
}

#[test]
fn numbers_are_those_of_the_definition() {
    let folder = tempfile::tempdir().unwrap();
    let report = json(&[&write(folder.path(), "simplex.csv", separated(&Array2::eye(10), ","))]);
    // Known for a simplex of ten corners: see the tests of facts/decodability.rs.
    let rho = (5.0f64 / 9.0).sqrt();
    for key in ["rho", "rho_upper", "rho_mean", "whitened_rho", "decodable_rho"] {
        assert!((report[key].as_f64().unwrap() - rho).abs() < 1e-9, "{key}: {}", report[key]);
    }
    assert!((report["whitening_size_factor"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert_eq!((&report["coherence"], &report["condition_number"]), (&Value::from(0.0), &Value::from(1.0)));
    assert_eq!(report["predicted_parameters"][1]["low"], Value::from(300.0));
    assert_eq!((&report["complete"], &report["anchors"]), (&Value::from(true), &Value::from(10)));
}

#[test]
fn rows_keep_their_numbers_when_some_are_picked() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "values.npy", npy(&values(), F64, false, true));
    let report = json(&[&file, "--rows", "1,7..9", "--worst", "1"]);
    assert_eq!((&report["values"], &report["rows_in_file"]), (&Value::from(3), &Value::from(11)));
    assert_eq!(report["duplicates"], serde_json::json!([[8, 1]]));
    assert_eq!((&report["worst"][0]["value"], &report["worst"][0]["rival"]), (&Value::from(1), &Value::from(8)));
    let report = json(&[&file, "--sample", "3", "--seed", "1", "--anchors", "2"]);
    assert_eq!((&report["values"], &report["anchors"]), (&Value::from(3), &Value::from(2)));
    assert_eq!(report["complete"], Value::from(false));
}

#[test]
fn files_hold_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "values.npy", npy(&values(), F64, false, false));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (rows, plot) = (path("rho.parquet"), path("rho.svg"));
    assert_eq!(measure(&[&file, "--parquet", &rows, "--plot", &plot]).code, 0);
    let table = Table::read_parquet(&PathBuf::from(rows)).unwrap();
    assert_eq!(table.height(), 11);
    let row = table.row(8);
    assert_eq!((row.int("value").unwrap(), row.int("rival").unwrap()), (Some(8), Some(1)));
    assert_eq!((row.float("rho_i").unwrap(), table.row(9).int("rival").unwrap()), (Some(0.0), None));
    let third = table.row(2);
    assert!(third.float("upper").unwrap() >= third.float("lower").unwrap());
    assert_eq!(
        (third.int("nearest").unwrap(), third.float("nearest_distance").unwrap()),
        (Some(10), Some(2f64.powi(-10)))
    );
    assert!(std::fs::read_to_string(plot).unwrap().contains("whitened"));
}

#[test]
fn keys_that_an_encoder_cannot_tell_apart_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "values.npy", npy(&values(), F64, false, false));
    let mut keys = table(11, 8);
    let good = write(folder.path(), "good.npy", npy(&keys, F64, false, false));
    assert_eq!(json(&[&file, "--keys", &good])["keys"]["encoder_singular"], Value::from(false));
    let twin = keys.row(2).to_owned();
    keys.row_mut(6).assign(&twin);
    keys.row_mut(3).fill(0.0);
    let bad = write(folder.path(), "bad.npy", npy(&keys, F64, false, false));
    let text = measure(&[&file, "--keys", &bad]).out;
    assert!(text.contains("keys 2 and 6\n"), "{text}");
    assert!(text.contains("encoder's system  singular") && text.contains("zero keys: 3\n"), "{text}");
    let narrow = write(folder.path(), "narrow.npy", npy(&table(11, 3), F64, false, false));
    assert_eq!(measure(&[&file, "--keys", &narrow]).code, 2);
}

#[test]
fn faulty_requests_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "values.npy", npy(&values(), F64, false, false));
    let plot = folder.path().join("rho.pdf").display().to_string();
    let rows = folder.path().join("rho.parquet").display().to_string();
    for arguments in [
        &["--plot", &plot, "--parquet", &rows][..],
        &["--rows", "5-7", "--parquet", &rows],
        &["--sample", "12", "--parquet", &rows],
        &["--anchors", "0", "--parquet", &rows],
        &["--names", &file, "--parquet", &rows],
    ] {
        let output = measure(&[&[&file[..]], arguments].concat());
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{arguments:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
