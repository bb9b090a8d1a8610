//! Files of every format, put together byte by byte or by the library that defines the format.

use std::io::Write;

use factsmith::table::{Record, Table};
use ndarray::Array2;

/// A table whose numbers every float format holds exactly.
pub fn table(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(row, column)| ((row * 31 + column * 17) % 64) as f64 / 8.0 - 4.0)
}

/// A float format as NumPy names it, and its bytes for a number, the least significant first.
#[derive(Clone, Copy)]
pub struct Element {
    pub name: &'static str,
    pub encode: fn(f64) -> Vec<u8>,
}

pub const F16: Element = Element { name: "f2", encode: |x| half::f16::from_f64(x).to_le_bytes().to_vec() };
pub const F32: Element = Element { name: "f4", encode: |x| (x as f32).to_le_bytes().to_vec() };
pub const F64: Element = Element { name: "f8", encode: |x| x.to_le_bytes().to_vec() };

/// A `.npy` file as NumPy 2 writes it: version, header padded to a multiple of 64 bytes, numbers.
pub fn npy(table: &Array2<f64>, element: Element, big_endian: bool, by_columns: bool) -> Vec<u8> {
    let order = if big_endian { '>' } else { '<' };
    let (rows, columns) = table.dim();
    let header = npy_header(&format!("{order}{}", element.name), by_columns, &format!("({rows}, {columns})"));
    let mut bytes = header;
    let in_order: Vec<f64> =
        if by_columns { table.t().iter().copied().collect() } else { table.iter().copied().collect() };
    for number in in_order {
        let mut word = (element.encode)(number);
        if big_endian {
            word.reverse();
        }
        bytes.extend(word);
    }
    bytes
}

pub fn npy_header(descr: &str, by_columns: bool, shape: &str) -> Vec<u8> {
    let order = if by_columns { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// A zip archive of files.
pub fn zip(files: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A `.safetensors` file of one tensor: length of the header, header, numbers.
pub fn safetensors(name: &str, dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!(r#"{{"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{}]}}}}"#, data.len());
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The numbers of a table row after row.
pub fn words(table: &Array2<f64>, encode: impl Fn(f64) -> Vec<u8>) -> Vec<u8> {
    table.iter().flat_map(|number| encode(*number)).collect()
}

/// A Parquet file with a column for each column of the table.
pub fn parquet_columns(table: &Array2<f64>) -> Vec<u8> {
    let record = |row: ndarray::ArrayView1<f64>| {
        row.iter()
            .enumerate()
            .fold(Record::new(), |record, (column, number)| record.with(&format!("c{column}"), *number))
    };
    let records: Vec<Record> = table.rows().into_iter().map(record).collect();
    Table::from_records(&records).unwrap().to_parquet_bytes().unwrap()
}

/// A Parquet file with row numbers and a column `vector` of lists of single-precision numbers.
pub fn parquet_list(table: &Array2<f64>, rows_per_group: usize) -> Vec<u8> {
    use polars::prelude::*;
    let lists = table.rows().into_iter().map(|row| Series::new("".into(), row.mapv(|x| x as f32).to_vec()));
    let vectors = Series::new("vector".into(), lists.collect::<Vec<Series>>());
    let ids = Series::new("id".into(), (0..table.nrows() as i64).collect::<Vec<i64>>());
    let mut frame = DataFrame::new(table.nrows(), vec![ids.into(), vectors.into()]).unwrap();
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).with_row_group_size(Some(rows_per_group)).finish(&mut frame).unwrap();
    bytes
}

/// A Parquet file with a column `vector` of lists and a column `name` of texts.
pub fn parquet_named_vectors(table: &Array2<f64>, names: &[&str]) -> Vec<u8> {
    use polars::prelude::*;
    let lists = table.rows().into_iter().map(|row| Series::new("".into(), row.to_vec()));
    let vectors = Series::new("vector".into(), lists.collect::<Vec<Series>>());
    let names = Series::new("name".into(), names.to_vec());
    let mut frame = DataFrame::new(table.nrows(), vec![vectors.into(), names.into()]).unwrap();
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
    bytes
}

/// Numbers as text, a line per row.
pub fn separated(table: &Array2<f64>, delimiter: &str) -> Vec<u8> {
    let line =
        |row: ndarray::ArrayView1<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(delimiter) + "\n";
    table.rows().into_iter().map(line).collect::<String>().into_bytes()
}
