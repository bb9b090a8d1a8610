//! Editing facts in place: closed-form updates of an MLP's output matrix that change some outputs and spare others.
//!
//! All of them add an update U (d×h) to the output matrix `W_down`, so that the outputs of the *altered* facts change by given
//! residuals and those of the *preserved* facts change little (2607.10034 and its released code; [`memit`]: 2210.07229, [`alpha_edit`]:
//! 2410.02355, [`rome`]: 2202.05262). They differ in what "little" means. Facts are given by the hidden activations of their
//! keys, the inputs of the output matrix; biases stay as they are.

pub mod alpha_edit;
pub mod clip;
pub mod in_place;
pub mod least_change;
pub mod memit;
pub mod rome;

use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result};
use crate::num::products::product;

/// What an edit is to do: N₀ preserved and N₁ altered facts, h hidden units, d outputs.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a> {
    /// Hidden activations of the preserved facts, N₀×h.
    pub preserved: ArrayView2<'a, f64>,
    /// Hidden activations of the altered facts, N₁×h.
    pub altered: ArrayView2<'a, f64>,
    /// What the output of each altered fact is to change by, N₁×d.
    pub residuals: ArrayView2<'a, f64>,
}

impl Edit<'_> {
    /// Number of hidden units h.
    fn hidden(&self) -> usize {
        self.altered.ncols()
    }

    /// The shapes have to fit and every number has to be finite.
    fn check(&self) -> Result<()> {
        let ((altered, hidden), residuals) = (self.altered.dim(), self.residuals.nrows());
        if altered == 0 || hidden == 0 || self.residuals.ncols() == 0 {
            return Err(Error::input("an edit that alters nothing").fix("alter at least one fact"));
        }
        if residuals != altered {
            return Err(Error::input(format!("{residuals} residuals for {altered} altered facts"))
                .fix("give one residual for each altered fact"));
        }
        if self.preserved.ncols() != hidden && self.preserved.nrows() > 0 {
            return Err(Error::input(format!(
                "preserved facts have {} activations, altered facts {hidden}",
                self.preserved.ncols()
            ))
            .fix("give the activations of one MLP"));
        }
        for (what, table) in
            [("preserved fact", self.preserved), ("altered fact", self.altered), ("residual", self.residuals)]
        {
            if let Some(((row, _), value)) = table.indexed_iter().find(|(_, value)| !value.is_finite()) {
                return Err(Error::input(format!("{what} {row} holds {value}"))
                    .fix("leave it out, or repair what it came from"));
            }
        }
        Ok(())
    }
}

/// `KᵀK` (h×h) of activations (N×h): the sum of `k·kᵀ` over the facts.
fn second_moments(activations: ArrayView2<f64>) -> Result<Array2<f64>> {
    let moments = product(&activations.t(), &activations);
    if moments.iter().all(|entry| entry.is_finite()) {
        return Ok(moments);
    }
    Err(Error::input("squares of hidden activations overflow").fix("scale the keys to lengths around 1"))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2, Axis};

    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    /// Activations and residuals for tests.
    pub struct Drawn {
        pub preserved: Array2<f64>,
        pub altered: Array2<f64>,
        pub residuals: Array2<f64>,
    }

    impl Drawn {
        pub fn new(preserved: usize, altered: usize, hidden: usize) -> Self {
            let mut rng = StreamName::new("test").rng();
            let mut table = |rows: usize, columns| {
                let drawn = draw(Kind::Gaussian, rows.max(1), columns, &mut rng).unwrap();
                drawn.slice(ndarray::s![..rows, ..]).to_owned()
            };
            Self { preserved: table(preserved, hidden), altered: table(altered, hidden), residuals: table(altered, 5) }
        }

        pub fn edit(&self) -> Edit<'_> {
            let Self { preserved, altered, residuals } = self;
            Edit { preserved: preserved.view(), altered: altered.view(), residuals: residuals.view() }
        }
    }

    /// The inverse by Gauss–Jordan elimination with pivots: the plain way, next to the library's.
    pub fn inverse(matrix: &Array2<f64>) -> Array2<f64> {
        let size = matrix.nrows();
        let mut work = ndarray::concatenate(Axis(1), &[matrix.view(), Array2::eye(size).view()]).unwrap();
        for column in 0..size {
            let larger = |a: &usize, b: &usize| work[[*a, column]].abs().total_cmp(&work[[*b, column]].abs());
            let pivot = (column..size).max_by(larger).unwrap();
            for place in 0..2 * size {
                work.swap([column, place], [pivot, place]);
            }
            let row = work.row(column).mapv(|entry| entry / work[[column, column]]);
            for other in (0..size).filter(|other| *other != column) {
                let factor = work[[other, column]];
                work.row_mut(other).scaled_add(-factor, &row);
            }
            work.row_mut(column).assign(&row);
        }
        work.slice(ndarray::s![.., size..]).to_owned()
    }

    /// The largest difference, relative to the largest entry of `wanted`.
    pub fn difference(found: ArrayView2<f64>, wanted: ArrayView2<f64>) -> f64 {
        let largest = |table: &Array2<f64>| table.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        largest(&(&found - &wanted)) / largest(&wanted.to_owned())
    }

    #[test]
    fn edits_that_do_not_fit_together_are_refused() {
        let (drawn, other) = (Drawn::new(9, 3, 6), Drawn::new(9, 4, 7));
        let mut broken = Drawn::new(9, 3, 6);
        broken.altered[[2, 1]] = f64::NAN;
        for (edit, wanted) in [
            (Edit { residuals: other.residuals.view(), ..drawn.edit() }, "4 residuals for 3 altered facts"),
            (Edit { preserved: other.preserved.view(), ..drawn.edit() }, "have 7 activations, altered facts 6"),
            (broken.edit(), "altered fact 2 holds NaN"),
            (Drawn::new(9, 0, 6).edit(), "alters nothing"),
        ] {
            for error in [
                memit::memit(&edit, 1.0).unwrap_err(),
                alpha_edit::alpha_edit(&edit, 1.0).unwrap_err(),
                rome::rome(&edit).unwrap_err(),
            ] {
                assert!(error.to_string().contains(wanted), "{error}");
                assert_eq!(error.exit_code(), 2);
            }
        }
    }

    #[test]
    fn activations_whose_squares_overflow_are_refused() {
        let mut drawn = Drawn::new(9, 3, 6);
        drawn.preserved[[0, 0]] = 1e200;
        assert!(memit::memit(&drawn.edit(), 1.0).unwrap_err().to_string().contains("overflow"));
        assert!(rome::rome(&drawn.edit()).unwrap_err().to_string().contains("overflow"));
        assert!(alpha_edit::alpha_edit(&drawn.edit(), 1.0).unwrap_err().to_string().contains("overflow"));
    }
}
