//! What `--json` prints.

use serde_json::{Value, json};

use super::Findings;
use crate::cli::inputs::Input;
use crate::facts::measurement::{SHARES, quantiles};
use crate::facts::size_prediction::Prediction;
use crate::facts::survey::Survey;

pub fn report(findings: &Findings) -> Value {
    let Findings { values, found, .. } = findings;
    let (rows, dimension) = values.picked.table.dim();
    let weakest = &found.plain.certificates[found.plain.weakest];
    let mut report = json!({
        "file": values.source.to_string(),
        "rows_in_file": values.total,
        "values": rows,
        "dimension": dimension,
        "anchors": found.anchors.len(),
        "complete": found.is_complete(),
        "rho": found.plain.rho,
        "rho_upper": weakest.upper.max(weakest.lower),
        "rho_mean": found.plain.mean(),
        "rho_quantiles": distribution(&found.rho()),
        "weakest": values.row(found.anchors[found.plain.weakest]),
        "rival": findings.rival(weakest).map(|rival| values.row(rival)),
        "worst": worst(findings),
        "worst_relative_gap": found.plain.worst_gap(),
        "loose_certificates": found.plain.loose(),
        "undecodable": undecodable(findings),
        "decodable_rho": found.decodable_rho(),
        "whitened_rho": found.whitened.as_ref().map(|whitened| whitened.rho),
        "whitened_decodable_rho": found.whitened_decodable_rho(),
        "whitened_rho_quantiles": found.whitened_rho().map(|rho| distribution(&rho)),
        "whitening_size_factor": found.whitening_factor(),
        "predicted_parameters": predicted(&found.predictions()),
        "predicted_parameters_whitened": predicted(&found.whitened_predictions()),
        "keys": findings.keys.as_ref().map(|(keys, survey)| keys_report(keys, survey)),
    });
    // Both are objects; the geometry stands beside ρ.
    if let (Value::Object(report), Value::Object(geometry)) = (&mut report, geometry(values, &found.survey)) {
        report.extend(geometry);
    }
    report
}

fn distribution(rho: &[f64]) -> Value {
    SHARES.iter().zip(quantiles(rho)).map(|(share, rho)| json!({ "share": share, "rho_i": rho })).collect()
}

fn worst(findings: &Findings) -> Value {
    let Findings { values, found, .. } = findings;
    let entry = |place: usize| {
        let certificate = &found.plain.certificates[place];
        let (value, rival) = (found.anchors[place], findings.rival(certificate));
        json!({
            "value": values.row(value),
            "name": values.name(value),
            "rho_i": certificate.lower,
            "rival": rival.map(|rival| values.row(rival)),
            "rival_name": rival.and_then(|rival| values.name(rival)),
        })
    };
    found.weakest(findings.worst).into_iter().map(entry).collect()
}

fn undecodable(findings: &Findings) -> Value {
    let Findings { values, found, .. } = findings;
    let certificates = found.anchors.iter().zip(&found.plain.certificates);
    let places = certificates.filter(|(_, certificate)| certificate.is_zero()).map(|(value, _)| values.row(*value));
    places.collect()
}

/// What is told of values and keys alike.
fn geometry(input: &Input, survey: &Survey) -> Value {
    let finite = |number: f64| number.is_finite().then_some(number);
    let row = |place: usize| input.row(place);
    json!({
        "coherence": survey.coherence,
        "coherent_pair": survey.coherent.map(|(one, other)| [row(one), row(other)]),
        "condition_number": finite(survey.spectrum.condition_number()),
        "rank": survey.spectrum.rank,
        "effective_dimension": finite(survey.spectrum.effective_dimension()),
        "first_direction_share": finite(survey.spectrum.first_share()),
        "directions_for_90_percent": survey.spectrum.directions_for(0.9),
        "singular_values": survey.spectrum.values,
        "duplicates": survey.equal.iter().map(|(one, twin)| [row(*one), row(*twin)]).collect::<Vec<_>>(),
        "near_duplicates": survey.close.iter().map(|(one, other, distance)| {
            json!({ "pair": [row(*one), row(*other)], "distance": distance })
        }).collect::<Value>(),
        "zero_rows": survey.zero.iter().map(|place| row(*place)).collect::<Vec<_>>(),
    })
}

fn keys_report(keys: &Input, survey: &Survey) -> Value {
    let mut report = geometry(keys, survey);
    report["file"] = keys.source.to_string().into();
    report["rows_in_file"] = keys.total.into();
    report["keys"] = keys.picked.table.nrows().into();
    report["encoder_singular"] = survey.is_singular_for_an_encoder().into();
    report
}

fn predicted(predictions: &[Prediction]) -> Value {
    let entry = |prediction: &Prediction| {
        json!({
            "construction": prediction.construction,
            "formula": prediction.formula,
            "low": prediction.parameters.low,
            "high": prediction.parameters.high,
        })
    };
    predictions.iter().map(entry).collect()
}
