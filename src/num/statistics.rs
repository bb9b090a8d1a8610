//! Small statistics: straight-line fits, means, prediction intervals.

use ndarray::ArrayView2;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A straight line fitted by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    pub slope: f64,
    pub intercept: f64,
    /// Coefficient of determination `R² = 1 − SS_residual/SS_total`.
    pub r_squared: f64,
}

/// Fits `y = slope·x + intercept`; `None` with fewer than three points or without spread in `x` or `y`.
///
/// ```
/// use factsmith::num::statistics::fit_line;
/// let line = fit_line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
/// assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
/// ```
pub fn fit_line(points: &[(f64, f64)]) -> Option<Line> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let sum = |term: fn(f64, f64) -> f64| points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    if xx <= 0.0 || yy <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    Some(Line { slope, intercept: mean_y - slope * mean_x, r_squared: xy * xy / (xx * yy) })
}

/// Spearman's rank correlation, equal values sharing their mean rank; `None` with fewer than three points or when one of the
/// two does not vary.
///
/// ```
/// use factsmith::num::statistics::rank_correlation;
/// assert_eq!(rank_correlation(&[(1.0, 8.0), (2.0, 4.0), (30.0, 1.0)]), Some(-1.0));
/// assert_eq!(rank_correlation(&[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]), None);
/// ```
pub fn rank_correlation(points: &[(f64, f64)]) -> Option<f64> {
    let of = |coordinate: fn(&(f64, f64)) -> f64| ranks(&points.iter().map(coordinate).collect::<Vec<_>>());
    let ranked: Vec<(f64, f64)> = of(|point| point.0).into_iter().zip(of(|point| point.1)).collect();
    let line = fit_line(&ranked)?;
    Some(line.slope.signum() * line.r_squared.sqrt())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|value| is(**value)).count() as f64;
    values.iter().map(|own| count(&|value| value < *own) + 0.5 * count(&|value| value == *own)).collect()
}

/// The largest absolute entry of a table.
pub fn largest_magnitude(table: ArrayView2<f64>) -> f64 {
    table.iter().fold(0.0, |largest, entry| largest.max(entry.abs()))
}

/// Every value once, ascending.
pub fn distinct(values: impl IntoIterator<Item = i64>) -> Vec<i64> {
    values.into_iter().collect::<std::collections::BTreeSet<i64>>().into_iter().collect()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Median; the mean of the middle two for an even count.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

/// The value below which a share of the values lies, linear between neighbours: 0 gives the smallest, 1 the largest.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Interval in which one further run falls with 95 % probability: `mean ± t·s·√(1 + 1/n)`; `None` with fewer than two values.
///
/// A paper's number is usually one run, so it is compared with this and not with a confidence interval of the mean
/// (Spence and Stanley 2016).
pub fn prediction_interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let quantile = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(0.975);
    let half = quantile * (variance * (1.0 + 1.0 / count)).sqrt();
    Some((mean - half, mean + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_squared_is_low_for_noise_and_lines_need_spread() {
        let line = fit_line(&[(0.0, 1.0), (1.0, -1.0), (2.0, 1.0), (3.0, -1.0)]).unwrap();
        assert!((line.r_squared - 0.2).abs() < 1e-12, "{line:?}");
        assert_eq!(fit_line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(fit_line(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn quantiles_are_linear_between_values() {
        let values = [4.0, 1.0, 2.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&values, share)), [1.0, 1.5, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_prediction_interval_of_three_values() {
        // mean 2, s = 1, t(2) = 4.3027: 2 ± 4.3027·√(4/3).
        let (low, high) = prediction_interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!((high - 6.9683).abs() < 1e-3 && (low + 2.9683).abs() < 1e-3, "{low} {high}");
        assert_eq!(prediction_interval(&[1.0]), None);
    }
}
