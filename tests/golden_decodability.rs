//! Decodability against reference values: tables of the official implementation, solved by an independent certified
//! min-norm-point solver (columns: lower and upper bound of ρ_i, number of active points).

use std::path::{Path, PathBuf};

use factsmith::facts::decodability::{Certificate, Cores, achieved_margins, decodability};
use factsmith::facts::files::read_table;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/decodability");
    let mut tables: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with("_V.npy"))
        .collect();
    tables.sort();
    assert!(tables.len() >= 10);
    tables
}

fn reference(table: &Path) -> Vec<(f64, f64)> {
    let path = table.to_string_lossy().replace("_V.npy", "_rho.csv");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let lower = cells.len() - 3;
            (cells[lower].parse().unwrap(), cells[lower + 1].parse().unwrap())
        })
        .collect()
}

#[test]
fn every_rho_agrees_with_the_reference() {
    for table in cases() {
        let values = read_table(&table).unwrap();
        let found = decodability(&values, Cores::All).unwrap();
        let reference = reference(&table);
        assert_eq!(found.certificates.len(), reference.len());
        for (index, (certificate, (lower, upper))) in found.certificates.iter().zip(&reference).enumerate() {
            let name = format!("{} value {index}", table.display());
            assert!((certificate.lower - lower).abs() < 1e-8, "{name}: {} against {lower}", certificate.lower);
            assert!((certificate.upper - upper).abs() < 1e-8, "{name}: {} against {upper}", certificate.upper);
        }
        assert!(found.worst_gap() <= Certificate::TIGHT, "{}: gap {}", table.display(), found.worst_gap());
        let achieved = achieved_margins(values.view(), found.outputs.view());
        for (certificate, margin) in found.certificates.iter().zip(&achieved) {
            assert!((certificate.lower - margin).abs() < 1e-11, "the output achieves what the certificate says");
        }
    }
}
