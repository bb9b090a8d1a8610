//! Axes: scale, range, ticks and their labels.

/// One axis. Values outside the range are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub label: String,
    pub logarithmic: bool,
    pub low: f64,
    pub high: f64,
    /// Names in place of numbers: name i stands at i.
    pub names: Vec<String>,
}

impl Axis {
    /// An axis of names, the first at the top of a vertical axis.
    pub fn named(label: &str, names: Vec<String>) -> Self {
        let last = names.len() as f64 - 1.0;
        Self { label: label.to_owned(), logarithmic: false, low: -0.7, high: last + 0.7, names }
    }

    /// A linear axis over a range.
    pub fn linear(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.to_owned(), logarithmic: false, low, high, names: Vec::new() }
    }

    /// A logarithmic axis over a range.
    pub fn logarithmic(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.to_owned(), logarithmic: true, low, high, names: Vec::new() }
    }

    /// A logarithmic axis that holds all values with some room at both ends; `None` without a positive value.
    pub fn logarithmic_around(label: &str, values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        (high > 0.0).then(|| {
            let room = (high / low).powf(0.06).max(1.15);
            Self::logarithmic(label, low / room, high * room)
        })
    }

    /// Where a value stands on the drawn line.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Places of the ticks.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match (self.names.is_empty(), self.logarithmic) {
            (false, _) => (0..self.names.len()).map(|place| place as f64).collect(),
            (true, true) => self.logarithmic_ticks(),
            (true, false) => self.linear_ticks(),
        }
    }

    fn logarithmic_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.0 {
            &[1.0]
        } else if decades > 1.3 {
            &[1.0, 3.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|value| self.holds(*value))
            .map(f64::log10)
            .collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
        let step = step.unwrap_or(power);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|tick| tick as f64 * step).take_while(|value| *value <= self.high + 1e-9 * step).collect()
    }

    /// The label of a tick at a place.
    pub(super) fn tick_label(&self, place: f64) -> String {
        if let Some(name) = self.names.get(place.round() as usize) {
            return name.clone();
        }
        number(if self.logarithmic { 10f64.powf(place) } else { place })
    }
}

/// A number for people: `0.05`, `30`, `4,000`, `2M`.
pub(super) fn number(value: f64) -> String {
    let rounded = format!("{value:.6}").parse::<f64>().unwrap_or(value);
    if rounded >= 1e6 {
        return format!("{}M", (rounded / 1e5).round() / 10.0);
    }
    if rounded < 1000.0 {
        let text = format!("{rounded:.4}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return if text == "-0" { "0".to_owned() } else { text.to_owned() };
    }
    let digits = format!("{}", rounded.round() as u64);
    let (head, tail) = digits.split_at(digits.len() - 3);
    format!("{head},{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        let texts: Vec<String> = [0.05, 1.0, 30.0, 4000.0, 200_000.0, 3e6, 0.1 + 0.2, 0.0].map(number).into();
        assert_eq!(texts, ["0.05", "1", "30", "4,000", "200,000", "3M", "0.3", "0"]);
    }

    #[test]
    fn ticks_stay_inside() {
        for axis in [Axis::logarithmic("x", 0.03, 0.7), Axis::logarithmic("x", 900.0, 4e6), Axis::linear("x", 0.0, 1.0)]
        {
            let ticks = axis.ticks();
            assert!(ticks.len() >= 3, "{ticks:?}");
            assert!(ticks.iter().all(|tick| *tick >= axis.place(axis.low) && *tick <= axis.place(axis.high) + 1e-9));
        }
    }

    #[test]
    fn an_axis_around_nothing_is_none() {
        assert_eq!(Axis::logarithmic_around("x", [0.0, f64::NAN].into_iter()), None);
    }
}
