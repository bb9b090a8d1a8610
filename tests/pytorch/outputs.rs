//! The loader of docs/pytorch.md gives the outputs of the library.
//!
//! Needs a Python with numpy and safetensors (`FACTSMITH_PYTHON`, or `python3`); says SKIPPED where there is none.

use std::path::Path;
use std::process::Command;

use factsmith::facts::embeddings::{Kind, draw};
use factsmith::facts::fact_set::{FactSet, random_bijection};
use factsmith::methods::METHODS;
use factsmith::methods::family::Ground;
use factsmith::mlp::network::Mlp;
use factsmith::mlp::saved::{Precision, write};
use factsmith::mlp::{staircase, two_hot};
use factsmith::rng::StreamName;
use ndarray::Array2;

use super::loader::{ON_NUMPY, loader, python};

fn has_modules() -> bool {
    let found = Command::new(python()).args(["-c", "import numpy, safetensors"]).output();
    found.is_ok_and(|output| output.status.success())
}

/// Outputs that the loader gives for `inputs`.
fn by_python(mlp: &Mlp, inputs: &Array2<f64>, folder: &Path) -> Vec<f64> {
    let path = folder.join("mlp.safetensors");
    write(&path, mlp, Precision::Double, &serde_json::Value::Null).unwrap();
    let rows: Vec<Vec<f64>> = inputs.rows().into_iter().map(|row| row.to_vec()).collect();
    let program = format!(
        "{ON_NUMPY}\n{}\nx = np.array(json.loads(sys.argv[2]))\nprint(json.dumps(FactMlp(sys.argv[1])(x).ravel().tolist()))",
        loader()
    );
    let output = Command::new(python())
        .args(["-c", &program, &path.display().to_string(), &serde_json::to_string(&rows).unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_loader_gives_the_outputs_of_the_library() {
    assert!(loader().contains("class FactMlp"));
    if !has_modules() {
        eprintln!("SKIPPED: '{}' has no numpy or no safetensors", python());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut rng = StreamName::new("test").rng();
    let table = draw(Kind::Sphere, 24, 8, &mut rng).unwrap();
    let facts = FactSet::new(table.clone(), table.clone(), random_bijection(24, &mut rng)).unwrap();
    let ground = Ground::new(&facts, 0);
    let mut mlps: Vec<Mlp> = ["gradient_descent", "gradient_descent_bilinear", "silu_pairs_jl", "naive_unit_norm"]
        .into_iter()
        .map(|name| {
            let about = METHODS.iter().find(|about| about.name == name).unwrap();
            let mut family = about.method.family(&ground, 20).unwrap();
            let size = family.sizes().predicted;
            family.build(size).unwrap().mlp
        })
        .collect();
    mlps.push(staircase::fit(&table, table.view(), &mut rng).unwrap().mlp().into());
    let outputs = draw(Kind::Gaussian, 56, 8, &mut rng).unwrap();
    mlps.push(two_hot::plain(8, outputs.view()).unwrap().into());
    for mlp in mlps {
        let inputs = table.slice(ndarray::s![..5, ..]).to_owned();
        let (found, wanted) = (by_python(&mlp, &inputs, folder.path()), mlp.forward(inputs.view()));
        let largest = wanted.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9 * largest));
    }
}
