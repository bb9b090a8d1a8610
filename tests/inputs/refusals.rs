//! What is wrong with a file is said in one error with exit code 2.

use factsmith::error::Error;
use factsmith::facts::files::rows::Pick;
use factsmith::facts::files::{Format, TableFile};
use ndarray::Array2;

use super::fixtures::*;

fn failure(format: Format, bytes: Vec<u8>, member: Option<&str>) -> Error {
    let read = TableFile::from_bytes(format, bytes, member).and_then(|file| file.pick(&Pick::all()));
    read.expect_err("the file is faulty")
}

#[track_caller]
fn refused(format: Format, bytes: Vec<u8>, member: Option<&str>, expected: &str) {
    let error = failure(format, bytes, member);
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn arrays_of_another_rank_or_type() {
    for (descr, shape, expected) in [
        ("<f8", "(6,)", "1 axis (6)"),
        ("<f8", "(2, 3, 1)", "3 axes (2 × 3 × 1)"),
        ("<f8", "()", "0 axes"),
        ("<i8", "(2, 3)", "type 'i8'"),
        ("|b1", "(2, 3)", "type 'b1'"),
        ("<c16", "(2, 3)", "type 'c16'"),
        ("<f8", "(0, 3)", "0 rows and 3 columns"),
        ("<f8", "(3, 0)", "3 rows and 0 columns"),
        ("<f8", "(3, -1)", "no readable shape"),
    ] {
        let bytes = [npy_header(descr, false, shape), vec![0; 200]].concat();
        refused(Format::Npy, bytes, None, expected);
    }
    refused(Format::Safetensors, safetensors("x", "I32", "[2,1]", &[0; 8]), None, "type 'I32'");
    refused(Format::Safetensors, safetensors("x", "F32", "[2]", &[0; 8]), None, "1 axis (2)");
}

#[test]
fn pickled_arrays_are_never_loaded() {
    let bytes = [npy_header("|O", false, "(3,)"), b"\x80\x04K\x01.".to_vec()].concat();
    refused(Format::Npy, bytes.clone(), None, "pickled");
    refused(Format::Npz, zip(&[("a.npy", &bytes)], zip::CompressionMethod::Stored), None, "pickled");
}

#[test]
fn headers_that_promise_more_than_the_file_holds() {
    for shape in ["(8999999999999, 8)", "(18446744073709551615, 18446744073709551615)", "(5, 2)"] {
        let bytes = [npy_header("<f8", false, shape), vec![0; 64]].concat();
        refused(Format::Npy, bytes, None, "promises");
    }
    refused(Format::Safetensors, safetensors("x", "F64", "[8999999999999,8]", &[0; 64]), None, "not a readable");
    refused(Format::Safetensors, [&u64::MAX.to_le_bytes()[..], b"{}"].concat(), None, "promises");
}

#[test]
fn zip_bombs_are_not_inflated() {
    let zeros = npy(&Array2::zeros((4000, 100)), F64, false, false);
    refused(Format::Npz, zip(&[("a.npy", &zeros)], zip::CompressionMethod::Deflated), None, "promises");
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let table = table(6, 3);
    let array = npy(&table, F32, false, false);
    let files = [
        (Format::Npz, zip(&[("a.npy", &array)], zip::CompressionMethod::Deflated)),
        (Format::Npz, zip(&[("a.npy", &array)], zip::CompressionMethod::Stored)),
        (Format::Safetensors, safetensors("x", "F64", "[6,3]", &words(&table, F64.encode))),
        (Format::Parquet, parquet_list(&table, 4)),
        (Format::Npy, array),
    ];
    for (format, bytes) in files {
        for length in 0..bytes.len() {
            assert_eq!(failure(format, bytes[..length].to_vec(), None).exit_code(), 2, "{format:?} cut at {length}");
        }
    }
}

#[test]
fn rows_that_are_not_finite_are_named_as_rows_of_the_file() {
    let mut table = table(400, 3);
    for row in [7, 9, 300] {
        table[[row, 1]] = f64::NAN;
    }
    let file = TableFile::from_bytes(Format::Npy, npy(&table, F64, false, false), None).unwrap();
    let error = file.pick(&Pick::all()).unwrap_err().to_string();
    assert!(error.contains("row 7, column 1 is NaN") && error.contains("rows 7, 9, 300"), "{error}");
    let error = file.read(&[1, 300]).unwrap_err().to_string();
    assert!(error.contains("row 300, column 1 is NaN"), "{error}");
    assert!(file.read(&[1, 299]).is_ok());
    refused(Format::Csv, b"1,2\n3,inf\n".to_vec(), None, "row 1, column 1 is inf");
}

#[test]
fn text_that_is_no_table() {
    refused(Format::Csv, b"1,2\n3\n".to_vec(), None, "line 2: 1 cells, where line 1 has 2");
    refused(Format::Csv, b"1,2\n3,x4\n".to_vec(), None, "line 2, column 1: 'x4' is not a number");
    refused(Format::Csv, b",0,1\n0,3,4\n".to_vec(), None, "line 1, column 0: '' is not a number");
    refused(Format::Csv, b"1;2\n3;4\n".to_vec(), None, "is not a number");
    refused(Format::Csv, b"".to_vec(), None, "0 rows");
    refused(Format::Csv, b"x,y\n".to_vec(), None, "0 rows");
}

#[test]
fn parquet_that_is_no_table() {
    use polars::prelude::*;
    let write = |columns: Vec<Series>| {
        let mut frame = DataFrame::new(2, columns.into_iter().map(Column::from).collect()).unwrap();
        let mut bytes = Vec::new();
        ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
        bytes
    };
    let list = |vectors: [&[f64]; 2]| vectors.map(|vector| Series::new("".into(), vector)).to_vec();
    let text = Series::new("word".into(), ["a", "b"]);
    refused(Format::Parquet, write(vec![text]), None, "column 'word' does not hold numbers");
    let uneven = Series::new("v".into(), list([&[1.0, 2.0, 3.0], &[4.0]]));
    refused(Format::Parquet, write(vec![uneven]), None, "row 0: a vector of 3 numbers among vectors of 2");
    let missing = Series::new("x".into(), [Some(1.0), None]);
    refused(Format::Parquet, write(vec![missing]), None, "row 1: a number is missing");
    let (one, two) = (list([&[1.0], &[2.0]]), list([&[3.0], &[4.0]]));
    let bytes = write(vec![Series::new("keys".into(), one), Series::new("values".into(), two)]);
    refused(Format::Parquet, bytes.clone(), None, "the file holds 2 list columns");
    refused(Format::Parquet, bytes.clone(), Some("value"), "did you mean 'values'?");
    assert!(TableFile::from_bytes(Format::Parquet, bytes, Some("values")).is_ok());
}

#[test]
fn members_that_are_not_there_or_not_named() {
    let array = npy(&table(4, 3), F32, false, false);
    let archive = zip(&[("keys.npy", &array), ("values.npy", &array)], zip::CompressionMethod::Stored);
    refused(Format::Npz, archive.clone(), Some("vales"), "did you mean 'values'?");
    refused(Format::Npz, archive, None, "name one as FILE:keys; there are keys, values");
    refused(Format::Npz, zip(&[("a.txt", b"x")], zip::CompressionMethod::Stored), None, "holds no .npy array");
    refused(Format::Npy, array, Some("x"), "leave out ':x'");
    refused(
        Format::Safetensors,
        safetensors("embed", "F32", "[1,1]", &[0; 4]),
        Some("embeds"),
        "did you mean 'embed'?",
    );
}

#[test]
fn paths_that_lead_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path| {
        let source = path.display().to_string().parse().unwrap();
        TableFile::open(&source).err().unwrap().to_string()
    };
    assert!(open(&folder.path().join("none.npy")).contains("check the path"));
    let error = open(&folder.path().join("values.safetensor"));
    assert!(error.contains("unknown file extension 'safetensor'"), "{error}");
    assert!(error.contains("did you mean 'safetensors'?"), "{error}");
    std::fs::create_dir(folder.path().join("folder.npy")).unwrap();
    assert!(open(&folder.path().join("folder.npy")).contains("is a folder"));
}

#[test]
fn rows_that_cannot_be_picked() {
    let file = TableFile::from_bytes(Format::Csv, separated(&table(10, 2), ","), None).unwrap();
    for (list, expected) in [
        ("3..11", "there is no row 10"),
        ("0..18446744073709551615", "the table has 10 rows"),
        ("1..4,3", "row 3 is named twice"),
        ("4..4", "is not a row"),
        ("x", "is not a row"),
        ("", "is not a row"),
        ("18446744073709551615", "is not a row"),
    ] {
        let error = list.parse().and_then(|rows| file.pick(&Pick { rows: Some(rows), sample: None })).unwrap_err();
        assert!(error.to_string().contains(expected), "{list}: {error}");
    }
    for count in [0, 11] {
        let error = file.pick(&Pick { rows: None, sample: Some((count, 0)) }).unwrap_err();
        assert!(error.to_string().contains("a sample of"), "{error}");
    }
}

#[test]
fn quotes_that_are_never_closed() {
    for text in ["1,2\n3,\"4\n5,6\n", "a,\"b\n1,2\n", "\"1\n2\n3\n"] {
        let error = failure(Format::Csv, text.as_bytes().to_vec(), None);
        assert_eq!(error.exit_code(), 2);
    }
    refused(Format::Csv, b"1\n\"2\n3\n".to_vec(), None, "line 2: a quote is opened and never closed");
    let map = b"key,value\n0,1\n1,\"2\n2,3\n".to_vec();
    use factsmith::facts::files::fact_map::{FactMap, Side};
    let error = FactMap::from_bytes(map, Format::Csv, Side::keys(9, None), Side::values(9, None)).unwrap_err();
    assert!(error.to_string().contains("line 3: a quote is opened and never closed"), "{error}");
}
