//! The report for people.

use super::Findings;
use crate::cli::digits::significant;
use crate::cli::inputs::Input;
use crate::facts::decodability::Certificate;
use crate::facts::measurement::{SHARES, quantiles};
use crate::facts::size_prediction::Prediction;
use crate::facts::survey::{CLOSE, Survey};

pub fn text(findings: &Findings) -> String {
    let mut lines = Lines(String::new());
    lines.input("values", &findings.values);
    decodability(&mut lines, findings);
    weakest(&mut lines, findings);
    whitening(&mut lines, findings);
    geometry(&mut lines, "value", &findings.values, &findings.found.survey);
    sizes(&mut lines, findings);
    if let Some((keys, survey)) = &findings.keys {
        lines.input("keys", keys);
        geometry(&mut lines, "key", keys, survey);
        encoder(&mut lines, keys, survey);
    }
    lines.0
}

/// Lines of a heading and what it says; further lines under one heading have an empty one.
struct Lines(String);

impl Lines {
    fn add(&mut self, heading: &str, line: &str) {
        self.0.push_str(format!("{heading:<18}{line}").trim_end());
        self.0.push('\n');
    }

    fn input(&mut self, heading: &str, input: &Input) {
        let (rows, dimension) = input.picked.table.dim();
        let of = if rows < input.total { format!("{rows} of {} rows", input.total) } else { format!("{rows} rows") };
        self.add(heading, &format!("{of} in {dimension} dimensions, {}", input.source));
    }
}

/// Six digits, whatever the size.
fn plain(value: f64) -> String {
    if value == 0.0 || value >= 1e-3 { format!("{value:.6}") } else { format!("{value:.5e}") }
}

/// A value and what its output is taken for when it is taken for another.
fn value_and_rival(findings: &Findings, place: usize) -> String {
    let certificate = &findings.found.plain.certificates[place];
    let value = findings.values.label(findings.found.anchors[place]);
    match findings.rival(certificate).map(|rival| findings.values.label(rival)) {
        None => format!("value {value}, amid the others"),
        Some(twin) if certificate.duplicate.is_some() => format!("value {value}, equal to value {twin}"),
        Some(rival) => format!("value {value}, most easily taken for value {rival}"),
    }
}

fn decodability(lines: &mut Lines, findings: &Findings) {
    let Findings { values, found, .. } = findings;
    let weakest = &found.plain.certificates[found.plain.weakest];
    let at_most = if found.is_complete() { "" } else { "at most " };
    let (rho, pair) = (plain(found.plain.rho), value_and_rival(findings, found.plain.weakest));
    lines.add("decodability ρ", &format!("{at_most}{rho}  ({pair})"));
    if !found.is_complete() {
        let (count, rows) = (found.anchors.len(), values.picked.rows.len());
        let seed = findings.seed;
        lines.add(
            "",
            &format!("the smallest ρ_i of {count} of the {rows} values, drawn with seed {seed}; --anchors all for ρ"),
        );
    }
    lines.add(
        "certificate",
        &format!(
            "{} is at least {:.11e} and at most {:.11e}; largest relative gap of any value {:.1e}",
            if found.is_complete() { "ρ" } else { "this ρ_i" },
            weakest.lower,
            weakest.upper.max(weakest.lower),
            found.plain.worst_gap()
        ),
    );
    if found.plain.loose() > 0 {
        let what = "have a ρ_i too small to be certified to a relative gap of";
        lines.add(
            "loose",
            &format!("{} values {what} {:.0e} in double precision", found.plain.loose(), Certificate::TIGHT),
        );
    }
    lines.add("ρ_i", &format!("mean {}; {}", plain(found.plain.mean()), distribution(&found.rho())));
}

fn distribution(rho: &[f64]) -> String {
    let words = SHARES.iter().zip(quantiles(rho)).map(|(share, rho)| match *share {
        0.0 => format!("smallest {}", significant(rho, 4)),
        0.5 => format!("median {}", significant(rho, 4)),
        1.0 => format!("largest {}", significant(rho, 4)),
        share => format!("{:.0} % {}", 100.0 * share, significant(rho, 4)),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn weakest(lines: &mut Lines, findings: &Findings) {
    let Findings { values, found, .. } = findings;
    let mut heading = "weakest values";
    for place in found.weakest(findings.worst) {
        let rho = plain(found.plain.certificates[place].lower);
        lines.add(heading, &format!("ρ_i {rho}  {}", value_and_rival(findings, place)));
        heading = "";
    }
    let zero = found.plain.certificates.iter().zip(&found.anchors).filter(|(certificate, _)| certificate.is_zero());
    let zero: Vec<String> = zero.map(|(_, value)| values.label(*value)).collect();
    if !zero.is_empty() {
        lines.add(
            "undecodable",
            &format!("{}: no output decodes to them, whatever the MLP (ρ_i = 0)", counted(zero.len(), "value")),
        );
        lines.add("", &listed(&zero));
    }
}

fn whitening(lines: &mut Lines, findings: &Findings) {
    let found = &findings.found;
    let Some(whitened) = &found.whitened else {
        return lines.add("whitening", "not possible: all values are zero");
    };
    let change = format!("ρ {} becomes {}", plain(found.plain.rho), plain(whitened.rho));
    lines.add("whitening", &change);
    let (Some(factor), Some(before), Some(after)) =
        (found.whitening_factor(), found.decodable_rho(), found.whitened_decodable_rho())
    else {
        return;
    };
    let whose = format!("smallest ρ_i above 0: {} becomes {}; ", plain(before), plain(after));
    let whose = if before == found.plain.rho && after == whitened.rho { "" } else { &whose };
    lines
        .add("", &format!("{whose}predicted size of a JL construction × {} (it goes as 1/ρ²)", significant(factor, 3)));
}

fn geometry(lines: &mut Lines, noun: &str, input: &Input, survey: &Survey) {
    let pair = |one: usize, other: usize| format!("{noun}s {} and {}", input.label(one), input.label(other));
    let of = survey.coherent.map_or_else(String::new, |(one, other)| format!("  ({})", pair(one, other)));
    lines.add("coherence", &format!("{:.6}{of}", survey.coherence));
    let spectrum = &survey.spectrum;
    let condition = spectrum.condition_number();
    let condition = if condition.is_finite() {
        format!("{condition:.3}")
    } else {
        "infinite: the table has not full rank".to_owned()
    };
    lines.add("condition number", &condition);
    if spectrum.rank > 0 {
        lines.add(
            "spectrum",
            &format!(
                "rank {} of {}; the first direction holds {:.1} %, {} hold 90 %; effective dimension {:.1}",
                spectrum.rank,
                spectrum.values.len(),
                100.0 * spectrum.first_share(),
                spectrum.directions_for(0.9),
                spectrum.effective_dimension()
            ),
        );
    }
    if !survey.equal.is_empty() {
        let pairs: Vec<String> = survey.equal.iter().map(|(one, twin)| pair(*twin, *one)).collect();
        lines.add("equal", &format!("{} equal to an earlier one", counted(pairs.len(), noun)));
        lines.add("", &listed(&pairs));
    }
    if !survey.close.is_empty() {
        let close = |(one, other, distance): &(usize, usize, f64)| format!("{} at {distance:.2e}", pair(*one, *other));
        let pairs: Vec<String> = survey.close.iter().map(close).collect();
        let what = format!("closer than {CLOSE} of the median distance to the nearest {noun}");
        lines.add("near-duplicates", &format!("{} {what}", counted(pairs.len(), "pair")));
        lines.add("", &listed(&pairs));
    }
}

fn sizes(lines: &mut Lines, findings: &Findings) {
    let found = &findings.found;
    let dimension = findings.values.picked.table.ncols();
    let predictions = found.predictions();
    if predictions.is_empty() {
        return lines.add("predicted size", "none: no MLP stores facts whose values cannot be decoded");
    }
    let whitened = found.whitened_predictions();
    let values = if found.plain.undecodable() > 0 { "decodable value" } else { "value" };
    lines.add(
        "predicted size",
        &format!(
            "parameters to store one fact per {values} (F = {}, d = {dimension}); a guide, not a measurement",
            found.decodable()
        ),
    );
    let width = predictions.iter().map(|prediction| prediction.construction.len()).max().unwrap_or(0);
    for (place, prediction) in predictions.iter().enumerate() {
        let after = whitened.get(place).filter(|after| after.parameters != prediction.parameters);
        let after = after.map_or_else(String::new, |after| format!("; whitened {}", range(after)));
        let Prediction { construction, formula, .. } = prediction;
        lines.add("", &format!("{construction:<width$}  {}{after}  ({formula})", range(prediction)));
    }
}

fn range(prediction: &Prediction) -> String {
    let (low, high) = (grouped(prediction.parameters.low), grouped(prediction.parameters.high));
    if low == high { low } else { format!("{low} to {high}") }
}

fn encoder(lines: &mut Lines, keys: &Input, survey: &Survey) {
    let verdict = if survey.is_singular_for_an_encoder() {
        "singular: an encoder needs keys that differ from each other and from zero"
    } else {
        "not singular: no two keys are equal, none is zero"
    };
    lines.add("encoder's system", verdict);
    if !survey.zero.is_empty() {
        let zero: Vec<String> = survey.zero.iter().map(|place| keys.label(*place)).collect();
        lines.add("", &format!("zero keys: {}", listed(&zero)));
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// How many items a line lists.
const LISTED: usize = 5;

fn listed(items: &[String]) -> String {
    let more = if items.len() > LISTED { format!("; and {} more", items.len() - LISTED) } else { String::new() };
    items[..items.len().min(LISTED)].join("; ") + &more
}

/// Whole numbers with a comma every three digits; four digits from a billion on.
fn grouped(number: f64) -> String {
    if number >= 1e9 {
        return format!("{number:.3e}");
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
