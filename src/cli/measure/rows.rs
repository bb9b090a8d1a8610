//! The table that `--parquet` writes: a row for each measured value.

use super::Findings;
use crate::error::Result;
use crate::table::{Record, Table};

pub fn table(findings: &Findings) -> Result<Table> {
    let Findings { values, found, .. } = findings;
    let whitened = found.whitened_rho();
    let name = |place: usize| values.name(place).map(str::to_owned);
    let record = |(place, &value): (usize, &usize)| {
        let certificate = &found.plain.certificates[place];
        let rival = findings.rival(certificate);
        let nearest = found.survey.nearest[value];
        Record::new()
            .with("value", values.row(value))
            .with("name", name(value))
            .with("rho_i", certificate.lower)
            .with("lower", certificate.lower)
            .with("upper", certificate.upper.max(certificate.lower))
            .with("rival", rival.map(|rival| values.row(rival)))
            .with("rival_name", rival.and_then(name))
            .with("active", certificate.active)
            .with("whitened_rho_i", whitened.as_ref().map(|rho| rho[place]))
            .with("nearest", values.row(nearest.row))
            .with("nearest_distance", nearest.distance)
    };
    Table::from_records(&found.anchors.iter().enumerate().map(record).collect::<Vec<Record>>())
}
