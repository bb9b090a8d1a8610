//! Tables of vectors from files.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ndarray::{Array2, ArrayView2};
use ndarray_npy::{ReadNpyError, ReadNpyExt};

use crate::error::{Error, Result};

/// Reads a two-dimensional `.npy` table of 64- or 32-bit floats in C or Fortran order, checked by [`check_table`].
///
/// # Errors
/// When the file is missing, not a `.npy` table of floats with two axes, shorter than its header promises, empty, or holds
/// a number that is not finite.
pub fn read_npy(path: &Path) -> Result<Array2<f64>> {
    let table = match read_typed::<f64>(path)? {
        Ok(table) => table,
        Err(ReadNpyError::WrongDescriptor(_)) => match read_typed::<f32>(path)? {
            Ok(table) => table.mapv(f64::from),
            Err(error) => return Err(unreadable(path, &error)),
        },
        Err(error) => return Err(unreadable(path, &error)),
    };
    check_table(&path.display().to_string(), table.view())?;
    Ok(table.as_standard_layout().into_owned())
}

fn read_typed<T: ndarray_npy::ReadableElement>(path: &Path) -> Result<std::result::Result<Array2<T>, ReadNpyError>> {
    let file = File::open(path).map_err(|error| Error::io("open", path, &error))?;
    let bytes = file.metadata().map_err(|error| Error::io("open", path, &error))?;
    if bytes.is_dir() {
        return Err(Error::input(format!("'{}' is a folder", path.display())).fix("give a .npy file"));
    }
    if let Some(promised) = promised_bytes(path)?
        && promised > bytes.len()
    {
        return Err(Error::input(format!("'{}' promises {promised} bytes and holds {}", path.display(), bytes.len()))
            .fix("the file is cut off: copy or save it again"));
    }
    // A damaged header must be an error of this file, never a panic of the reader.
    std::panic::catch_unwind(|| Array2::<T>::read_npy(BufReader::new(file)))
        .map_err(|_| Error::input(format!("'{}' has a damaged .npy header", path.display())).fix("save the file again"))
}

/// Bytes that the header's shape and element size stand for, so that a false header cannot claim memory.
fn promised_bytes(path: &Path) -> Result<Option<u64>> {
    use std::io::Read;
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(4096).read_to_end(&mut head))
        .map_err(|error| Error::io("read", path, &error))?;
    let text = String::from_utf8_lossy(&head);
    let Some(shape) = text.split("'shape':").nth(1).and_then(|rest| rest.split(['(', ')']).nth(1)) else {
        return Ok(None);
    };
    let quoted = text.split("'descr':").nth(1).and_then(|rest| rest.split('\'').nth(1)).unwrap_or_default();
    let Some(mut count) = quoted.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse::<u64>().ok() else {
        return Ok(None);
    };
    for extent in shape.split(',').map(str::trim).filter(|extent| !extent.is_empty()) {
        let Ok(extent) = extent.parse::<u64>() else { return Ok(None) };
        count = count.saturating_mul(extent);
    }
    Ok(Some(count))
}

fn unreadable(path: &Path, error: &ReadNpyError) -> Error {
    Error::input(format!("'{}' is not a readable table: {error}", path.display()))
        .fix("save a two-dimensional float array, for example numpy.save('values.npy', values.astype('float64'))")
}

/// Checks that a table has rows and columns and that every number is finite; `name` says which table it is.
pub fn check_table(name: &str, table: ArrayView2<f64>) -> Result<()> {
    if table.nrows() == 0 || table.ncols() == 0 {
        return Err(Error::input(format!(
            "{name}: the table has {} rows and {} columns",
            table.nrows(),
            table.ncols()
        ))
        .fix("give at least one row and one column"));
    }
    match table.indexed_iter().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some(((row, column), value)) => {
            let rows = table.rows().into_iter().filter(|row| row.iter().any(|value| !value.is_finite())).count();
            Err(Error::input(format!("{name}: the number at row {row}, column {column} is {value} ({rows} such rows)"))
                .fix("remove or repair these rows"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array3, array};
    use ndarray_npy::write_npy;

    fn in_folder(test: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        test(folder.path());
    }

    #[test]
    fn both_float_widths_and_both_orders_are_read() {
        in_folder(|folder| {
            let table = array![[1.0, 2.0], [3.0, 4.5]];
            write_npy(folder.join("c.npy"), &table).unwrap();
            write_npy(folder.join("f.npy"), &table.t().to_owned().reversed_axes()).unwrap();
            write_npy(folder.join("single.npy"), &table.mapv(|x| x as f32)).unwrap();
            for name in ["c.npy", "f.npy", "single.npy"] {
                assert_eq!(read_npy(&folder.join(name)).unwrap(), table, "{name}");
            }
        });
    }

    #[test]
    fn bad_tables_say_what_and_where() {
        in_folder(|folder| {
            let path = folder.join("bad.npy");
            let message = || read_npy(&path).unwrap_err().to_string();
            assert!(message().contains("cannot open"));
            write_npy(&path, &Array1::<f64>::zeros(3)).unwrap();
            assert!(message().contains("bad.npy"));
            write_npy(&path, &Array3::<f64>::zeros((2, 2, 2))).unwrap();
            assert!(message().contains("bad.npy"));
            write_npy(&path, &array![[1_i64, 2], [3, 4]]).unwrap();
            assert!(message().contains("float"));
            write_npy(&path, &Array2::<f64>::zeros((0, 4))).unwrap();
            assert!(message().contains("0 rows"));
            write_npy(&path, &array![[1.0, 2.0], [f64::NAN, 1.0]]).unwrap();
            assert!(message().contains("row 1, column 0 is NaN"));
            std::fs::write(&path, b"not an array").unwrap();
            assert!(message().contains("bad.npy"));
        });
    }

    #[test]
    fn a_file_cut_anywhere_or_promising_too_much_is_an_error() {
        in_folder(|folder| {
            let path = folder.join("whole.npy");
            write_npy(&path, &Array2::<f64>::ones((8, 8))).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            for length in 0..bytes.len() {
                std::fs::write(&path, &bytes[..length]).unwrap();
                assert_eq!(read_npy(&path).unwrap_err().exit_code(), 2, "cut at {length}");
            }
            let huge = String::from_utf8_lossy(&bytes[..128]).replace("(8, 8)", "(8999999999999, 8)");
            let mut forged = bytes[..10].to_vec();
            forged.extend_from_slice(&huge.as_bytes()[huge.find('{').unwrap()..]);
            std::fs::write(&path, forged).unwrap();
            let error = read_npy(&path).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("promises"), "{error}");
        });
    }
}
