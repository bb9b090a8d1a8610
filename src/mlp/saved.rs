//! MLPs in `.safetensors` files.
//!
//! Tensors, row by row: gated `gate` (H×d), `up` (H×d), `down` (d×H), and `gate_bias` (H) where there is one; plain `weights`
//! (H×d), `down` (d×H), and `bias` (H), `output_bias` (d) where there are. 64- or 32-bit floats. The metadata entry `factsmith`
//! is JSON: `format` (1), `architecture`, `activation`, and `made`, whatever says how the MLP was made.

use std::collections::HashMap;
use std::path::Path;

use ndarray::{Array1, Array2};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gated::{Activation, GatedMlp};
use super::network::Mlp;
use super::plain::PlainMlp;
use crate::durable;
use crate::error::{Error, Result};

/// The version of this layout.
const FORMAT: u32 = 1;
/// The metadata entry.
const ENTRY: &str = "factsmith";

/// Precision of the numbers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    Single,
    Double,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    architecture: String,
    activation: Activation,
    made: Value,
}

/// Writes an MLP; the file is there whole or not at all. `made` says how to make it again.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, mlp: &Mlp, precision: Precision, made: &Value) -> Result<()> {
    let tensors = named_tensors(mlp);
    check_numbers(&tensors, precision)?;
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, _, entries)| to_bytes(entries, precision)).collect();
    let dtype = if precision == Precision::Double { Dtype::F64 } else { Dtype::F32 };
    let views: Vec<(&str, TensorView)> = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, shape, _), bytes)| {
            (*name, TensorView::new(dtype, shape.clone(), bytes).expect("bytes of this shape"))
        })
        .collect();
    let (architecture, activation) = match mlp {
        Mlp::Gated(mlp) => ("gated", mlp.activation),
        Mlp::Plain(mlp) => ("plain", mlp.activation),
    };
    let header = Header { format: FORMAT, architecture: architecture.to_owned(), activation, made: made.clone() };
    let header = serde_json::to_string(&header)
        .map_err(|error| Error::failure(format!("cannot write the metadata: {error}")))?;
    let metadata = HashMap::from([(ENTRY.to_owned(), header)]);
    let file = safetensors::serialize(views, Some(metadata))
        .map_err(|error| Error::failure(format!("cannot write '{}': {error}", path.display())))?;
    durable::replace(path, |out| std::io::Write::write_all(out, &file))
}

/// Every weight has to be a number in the precision of the file.
fn check_numbers(tensors: &[Named], precision: Precision) -> Result<()> {
    let is_lost = |entry: &f64| !entry.is_finite() || precision == Precision::Single && !(*entry as f32).is_finite();
    match tensors.iter().find(|(_, _, entries)| entries.iter().any(is_lost)) {
        Some((name, ..)) => {
            Err(Error::failure(format!("a weight of '{name}' is no number in {precision:?} precision"))
                .fix("use double precision, or keys and values of lengths around 1"))
        }
        None => Ok(()),
    }
}

type Named<'a> = (&'static str, Vec<usize>, Vec<f64>);

fn named_tensors(mlp: &Mlp) -> Vec<Named<'_>> {
    let matrices = mlp
        .matrices()
        .into_iter()
        .map(|(name, matrix)| (name, matrix.shape().to_vec(), matrix.iter().copied().collect()));
    let biases = match mlp {
        Mlp::Gated(mlp) => vec![("gate_bias", &mlp.gate_bias)],
        Mlp::Plain(mlp) => vec![("bias", &mlp.bias), ("output_bias", &mlp.output_bias)],
    };
    let biases =
        biases.into_iter().filter_map(|(name, bias)| bias.as_ref().map(|bias| (name, vec![bias.len()], bias.to_vec())));
    matrices.chain(biases).collect()
}

fn to_bytes(entries: &[f64], precision: Precision) -> Vec<u8> {
    match precision {
        Precision::Double => entries.iter().flat_map(|entry| entry.to_le_bytes()).collect(),
        Precision::Single => entries.iter().flat_map(|entry| (*entry as f32).to_le_bytes()).collect(),
    }
}

/// Reads an MLP that [`write()`] wrote, with how it was made.
///
/// # Errors
/// When the file is missing, damaged, no MLP of this program or one of a newer version, or its tensors do not fit each other.
pub fn read(path: &Path) -> Result<(Mlp, Value)> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut durable::open_plain(path)?, &mut bytes)
        .map_err(|error| Error::io("read", path, &error))?;
    parse(&bytes).map_err(|error| error.at(path.display()))
}

fn parse(bytes: &[u8]) -> Result<(Mlp, Value)> {
    let foreign = |what: String| Error::input(what).fix("give a .safetensors file that factsmith wrote");
    let damaged = |error: safetensors::SafeTensorError| foreign(format!("not a .safetensors file: {error}"));
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let entry = metadata.metadata().as_ref().and_then(|entries| entries.get(ENTRY));
    let entry = entry.ok_or_else(|| foreign("the file says nothing about an MLP".to_owned()))?;
    let header: Header =
        serde_json::from_str(entry).map_err(|error| foreign(format!("the metadata cannot be read: {error}")))?;
    if header.format > FORMAT {
        return Err(Error::input(format!("the file has format {}, this factsmith knows {FORMAT}", header.format))
            .fix("use a newer factsmith"));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let mlp = match header.architecture.as_str() {
        "gated" => Mlp::Gated(GatedMlp {
            gate: matrix(&tensors, "gate")?,
            gate_bias: vector(&tensors, "gate_bias")?,
            up: matrix(&tensors, "up")?,
            down: matrix(&tensors, "down")?,
            activation: header.activation,
        }),
        "plain" => Mlp::Plain(PlainMlp {
            weights: matrix(&tensors, "weights")?,
            bias: vector(&tensors, "bias")?,
            down: matrix(&tensors, "down")?,
            output_bias: vector(&tensors, "output_bias")?,
            activation: header.activation,
        }),
        other => return Err(crate::error::unknown("architecture", other, ["gated", "plain"])),
    };
    check_names(&tensors, &mlp)?;
    check_shapes(&mlp)?;
    Ok((mlp, header.made))
}

fn entries(tensors: &SafeTensors, name: &str) -> Result<Option<(Vec<usize>, Vec<f64>)>> {
    let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
    let bytes = tensor.data();
    let entries: Vec<f64> = match tensor.dtype() {
        Dtype::F64 => bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect(),
        Dtype::F32 => bytes.as_chunks::<4>().0.iter().map(|chunk| f64::from(f32::from_le_bytes(*chunk))).collect(),
        other => return Err(Error::input(format!("tensor '{name}' holds {other:?}")).fix("save it as F32 or F64")),
    };
    if let Some(place) = entries.iter().position(|entry| !entry.is_finite()) {
        return Err(
            Error::input(format!("entry {place} of tensor '{name}' is {}", entries[place])).fix("make the MLP again")
        );
    }
    Ok(Some((tensor.shape().to_vec(), entries)))
}

fn matrix(tensors: &SafeTensors, name: &str) -> Result<Array2<f64>> {
    let (shape, entries) =
        entries(tensors, name)?.ok_or_else(|| Error::input(format!("tensor '{name}' is missing")))?;
    match shape[..] {
        [rows, columns] => Array2::from_shape_vec((rows, columns), entries)
            .map_err(|error| Error::input(format!("tensor '{name}' cannot be read: {error}"))),
        _ => Err(Error::input(format!("tensor '{name}' has the shape {shape:?} and should have two axes"))),
    }
}

fn vector(tensors: &SafeTensors, name: &str) -> Result<Option<Array1<f64>>> {
    match entries(tensors, name)? {
        Some((shape, entries)) if shape.len() == 1 => Ok(Some(Array1::from_vec(entries))),
        Some((shape, _)) => {
            Err(Error::input(format!("tensor '{name}' has the shape {shape:?} and should have one axis")))
        }
        None => Ok(None),
    }
}

/// Every tensor has to be one of the MLP's.
fn check_names(tensors: &SafeTensors, mlp: &Mlp) -> Result<()> {
    let known: Vec<&str> = named_tensors(mlp).iter().map(|(name, ..)| *name).collect();
    match tensors.names().into_iter().find(|name| !known.contains(name)) {
        Some(name) => Err(Error::input(format!("tensor '{name}' is none of such an MLP's"))
            .fix("give a .safetensors file that factsmith wrote")),
        None => Ok(()),
    }
}

/// Every matrix and bias has to fit the H×d input weights.
fn check_shapes(mlp: &Mlp) -> Result<()> {
    let (hidden, dimension) = mlp.matrices()[0].1.dim();
    if hidden == 0 || dimension == 0 {
        return Err(Error::input(format!("an MLP of {hidden} hidden units in {dimension} dimensions"))
            .fix("give a .safetensors file that factsmith wrote"));
    }
    for (name, shape, _) in named_tensors(mlp) {
        let wanted = match name {
            "down" => vec![shape[0], hidden],
            "gate_bias" | "bias" => vec![hidden],
            "output_bias" => vec![mlp.down().nrows()],
            _ => vec![hidden, dimension],
        };
        if shape != wanted {
            return Err(Error::input(format!("tensor '{name}' has the shape {shape:?} and should have {wanted:?}"))
                .fix("give a .safetensors file that factsmith wrote"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    fn mlps() -> [Mlp; 2] {
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let gated = GatedMlp {
            gate: table(9, 4),
            gate_bias: None,
            up: table(9, 4),
            down: table(4, 9),
            activation: Activation::Silu,
        };
        let (bias, output_bias) = (Some(table(1, 9).row(0).to_owned()), Some(table(1, 4).row(0).to_owned()));
        let plain =
            PlainMlp { weights: table(9, 4), bias, down: table(4, 9), output_bias, activation: Activation::Relu };
        [gated.into(), plain.into()]
    }

    #[test]
    fn what_was_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlp.safetensors");
        let made = serde_json::json!({ "method": "naive", "seed": 3 });
        for mlp in mlps() {
            write(&path, &mlp, Precision::Double, &made).unwrap();
            let first = std::fs::read(&path).unwrap();
            let (back, how) = read(&path).unwrap();
            assert_eq!((format!("{back:?}"), how), (format!("{mlp:?}"), made.clone()));
            write(&path, &back, Precision::Double, &made).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), first, "the same MLP gives the same bytes");
            write(&path, &mlp, Precision::Single, &made).unwrap();
            let (back, _) = read(&path).unwrap();
            assert!((back.down() - mlp.down()).iter().all(|x| x.abs() < 1e-6));
        }
    }

    #[test]
    fn damaged_files_are_errors_and_no_panics() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlp.safetensors");
        let [gated, _] = mlps();
        write(&path, &gated, Precision::Double, &Value::Null).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]).unwrap_err().exit_code(), 2);
        }
        for place in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x21;
            let _ = parse(&flipped);
        }
        let mut text = whole.clone();
        let at = text.windows(9).position(|window| window == b"\"gate\":{\"").unwrap();
        text[at + 1] = b'x';
        assert!(parse(&text).unwrap_err().to_string().contains("'gate' is missing"));
        let mut other = whole.clone();
        let at = other.windows(5).position(|window| window == b"gated").unwrap();
        other[at..at + 5].copy_from_slice(b"plain");
        assert_eq!(parse(&other).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_tensor_that_the_mlp_does_not_have_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlp.safetensors");
        let [gated, _] = mlps();
        write(&path, &gated, Precision::Double, &Value::Null).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&whole).unwrap();
        let tensors = SafeTensors::deserialize(&whole).unwrap();
        let bytes = [0; 8];
        let extra = ("output_bias".to_owned(), TensorView::new(Dtype::F64, vec![1], &bytes).unwrap());
        let more = safetensors::serialize(tensors.tensors().into_iter().chain([extra]), metadata.metadata().clone());
        let error = parse(&more.unwrap()).unwrap_err();
        assert!(error.to_string().contains("'output_bias'"), "{error}");
    }

    #[test]
    fn weights_that_are_no_numbers_in_the_file_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlp.safetensors");
        let [gated, _] = mlps();
        let Mlp::Gated(mut large) = gated else { unreachable!() };
        large.up[[0, 0]] = 1e200;
        let large = Mlp::from(large);
        assert!(write(&path, &large, Precision::Single, &Value::Null).is_err() && !path.exists());
        assert!(write(&path, &large, Precision::Double, &Value::Null).is_ok());
    }

    #[test]
    fn tensors_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlp.safetensors");
        let [gated, _] = mlps();
        let Mlp::Gated(mut wrong) = gated else { unreachable!() };
        wrong.up = Array2::zeros((8, 4));
        write(&path, &wrong.into(), Precision::Double, &Value::Null).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("'up' has the shape [8, 4] and should have [9, 4]"));
        assert_eq!(read(&folder.path().join("none.safetensors")).unwrap_err().exit_code(), 2);
    }
}
