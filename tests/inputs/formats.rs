//! Every format gives the numbers that were written.

use factsmith::facts::files::rows::Pick;
use factsmith::facts::files::{Format, Source, TableFile, read_table};
use ndarray::{Array2, Axis};

use super::fixtures::*;

#[track_caller]
fn holds(format: Format, bytes: Vec<u8>, member: Option<&str>, expected: &Array2<f64>) {
    let file = TableFile::from_bytes(format, bytes, member).unwrap();
    assert_eq!((file.rows(), file.columns()), expected.dim());
    assert_eq!(file.pick(&Pick::all()).unwrap().table, expected);
    let last = expected.nrows() - 1;
    let scattered = [last, 0, 1, 2, last / 2, 1];
    assert_eq!(file.read(&scattered).unwrap(), expected.select(Axis(0), &scattered));
}

#[test]
fn npy_of_every_float_byte_order_and_axis_order() {
    let table = table(40, 3);
    for element in [F16, F32, F64] {
        for big_endian in [false, true] {
            for by_columns in [false, true] {
                holds(Format::Npy, npy(&table, element, big_endian, by_columns), None, &table);
            }
        }
    }
}

#[test]
fn rows_far_apart_in_a_large_file_are_found() {
    // More bytes than are read at a time, in both orders.
    let table = table(300_000, 2);
    let rows = [299_999, 0, 150_000, 150_001, 7];
    for by_columns in [false, true] {
        let file = TableFile::from_bytes(Format::Npy, npy(&table, F32, false, by_columns), None).unwrap();
        assert_eq!(file.read(&rows).unwrap(), table.select(Axis(0), &rows));
        assert_eq!(file.pick(&Pick::all()).unwrap().table, table);
    }
}

#[test]
fn npy_of_versions_1_2_and_3() {
    let table = table(4, 3);
    let first = npy(&table, F32, false, false);
    for version in [2, 3] {
        let mut bytes = first[..6].to_vec();
        bytes.extend([version, 0, first[8], first[9], 0, 0]);
        bytes.extend(&first[10..]);
        holds(Format::Npy, bytes, None, &table);
    }
}

#[test]
fn npz_stored_and_compressed_by_member_name() {
    let (keys, values) = (table(5, 3), table(40, 4));
    let arrays = [npy(&keys, F64, false, false), npy(&values, F32, false, true)];
    let files = [("keys.npy", &arrays[0][..]), ("values.npy", &arrays[1][..])];
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        holds(Format::Npz, zip(&files, method), Some("values"), &values);
        holds(Format::Npz, zip(&files, method), Some("keys.npy"), &keys);
        holds(Format::Npz, zip(&files[1..], method), None, &values);
    }
}

#[test]
fn safetensors_of_every_float() {
    let table = table(40, 3);
    let bf16 = |x: f64| half::bf16::from_f64(x).to_le_bytes().to_vec();
    for (dtype, data) in [
        ("F16", words(&table, F16.encode)),
        ("BF16", words(&table, bf16)),
        ("F32", words(&table, F32.encode)),
        ("F64", words(&table, F64.encode)),
    ] {
        let bytes = safetensors("embed.weight", dtype, "[40,3]", &data);
        holds(Format::Safetensors, bytes.clone(), Some("embed.weight"), &table);
        holds(Format::Safetensors, bytes, None, &table);
    }
}

#[test]
fn parquet_of_columns_and_of_lists_in_several_row_groups() {
    let table = table(100, 5);
    holds(Format::Parquet, parquet_columns(&table), None, &table);
    for rows_per_group in [7, 1000] {
        holds(Format::Parquet, parquet_list(&table, rows_per_group), None, &table);
        holds(Format::Parquet, parquet_list(&table, rows_per_group), Some("vector"), &table);
    }
}

#[test]
fn text_with_and_without_a_header() {
    let table = table(40, 3);
    holds(Format::Csv, separated(&table, ","), None, &table);
    holds(Format::Csv, separated(&table, " , "), None, &table);
    holds(Format::Tsv, separated(&table, "\t"), None, &table);
    for header in ["x,y,z\n", "0,1,2\n"] {
        let bytes = [header.as_bytes(), &separated(&table, ",")].concat();
        holds(Format::Csv, bytes, None, &table);
    }
}

#[test]
fn a_path_with_a_colon_names_a_member_and_a_file_with_a_colon_is_itself() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(4, 3);
    let path = folder.path().join("a.npz");
    std::fs::write(&path, zip(&[("v.npy", &npy(&table, F64, false, false))], zip::CompressionMethod::Stored)).unwrap();
    let read = |text: String| {
        let source: Source = text.parse().unwrap();
        TableFile::open(&source).unwrap().pick(&Pick::all()).unwrap().table
    };
    assert_eq!(read(format!("{}:v", path.display())), table);
    assert_eq!(read(path.display().to_string()), table);
    let odd = folder.path().join("b.npz:c.npy");
    std::fs::write(&odd, npy(&table, F64, false, false)).unwrap();
    assert_eq!(read(odd.display().to_string()), table);
    assert_eq!(read_table(&odd).unwrap(), table);
}

#[test]
fn a_sample_depends_on_its_seed_alone_and_says_its_rows() {
    let table = table(500, 2);
    let file = TableFile::from_bytes(Format::Npy, npy(&table, F64, false, false), None).unwrap();
    let sample = |seed| file.pick(&Pick { rows: Some("100..400".parse().unwrap()), sample: Some((50, seed)) }).unwrap();
    let (one, again, other) = (sample(1), sample(1), sample(2));
    assert_eq!((&one.rows, &one.table), (&again.rows, &again.table));
    assert_ne!(one.rows, other.rows);
    assert_eq!(one.table, table.select(Axis(0), &one.rows));
    assert!(one.rows.is_sorted() && one.rows.iter().all(|row| (100..400).contains(row)));
    let mut distinct = one.rows.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 50);
}

#[test]
fn a_parquet_file_holds_vectors_and_their_names() {
    let table = ndarray::array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("words.parquet");
    std::fs::write(&path, parquet_named_vectors(&table, &["one", "two", "three"])).unwrap();
    assert_eq!(factsmith::facts::files::read_table(&path).unwrap(), table);
    for source in [path.display().to_string(), format!("{}:name", path.display())] {
        let names = factsmith::facts::files::names::Names::read(&source.parse().unwrap(), 3).unwrap();
        assert_eq!((names.of(0), names.row("three").unwrap()), (Some("one"), 2));
    }
}
