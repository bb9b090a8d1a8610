//! Facts of an MLP changed in its output matrix alone.

use ndarray::{Array2, ArrayView2, Axis};

use super::Edit;
use super::alpha_edit::alpha_edit;
use super::clip::clip;
use super::least_change::least_change;
use super::memit::memit;
use super::rome::rome;
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::mlp::network::Mlp;
use crate::num::statistics::median;

/// How the output matrix is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InPlace {
    /// The weight λ of the preserved facts together; without one a hundredth of their number: an altered fact counts as a
    /// hundred of them.
    Memit {
        lambda: Option<f64>,
    },
    Rome,
    /// Directions are free where the preserved activations have less than this share of their squares.
    AlphaEdit {
        tolerance: f64,
    },
}

/// The root mean square length of activations that AlphaEdit is given. Its formula adds the identity to `K₁K₁ᵀP`, and so means
/// something else at every scale; at this one the identity costs a single altered fact about 1 % of its residual.
const LENGTH: f64 = 10.0;

/// Changes the output matrix of an MLP that stores `facts`, so that the fact of key i gets the value j for every edit (i, j).
///
/// The residual of a fact is the [`least_change`] that decodes to the new value by the median margin of the stored facts;
/// `clip_share` holds it to a share of the output.
///
/// # Errors
/// As the methods; and when no fact is stored, a new value cannot be decoded, or AlphaEdit has no room.
pub fn edit_in_place(
    mlp: &Mlp,
    facts: &FactSet,
    edits: &[(usize, usize)],
    method: InPlace,
    clip_share: Option<f64>,
) -> Result<Mlp> {
    let (altered, targets): (Vec<usize>, Vec<usize>) = edits.iter().copied().unzip();
    let preserved: Vec<usize> = (0..facts.len()).filter(|fact| !altered.contains(fact)).collect();
    let activations = |keys: &[usize]| mlp.hidden_units(facts.keys.select(Axis(0), keys).view(), 0..mlp.hidden());
    let (kept, changed) = (activations(&preserved), activations(&altered));
    let outputs = mlp.forward(facts.keys.select(Axis(0), &altered).view());
    let mut residuals = least_change(outputs.view(), facts.values.view(), &targets, usual_margin(mlp, facts)?)?;
    if let Some(share) = clip_share {
        clip(&mut residuals, changed.dot(&mlp.down().t()).view(), share);
    }
    let edit = Edit { preserved: kept.view(), altered: changed.view(), residuals: residuals.view() };
    let update = match method {
        InPlace::Memit { lambda } => memit(&edit, lambda.unwrap_or(preserved.len() as f64 / 100.0))?,
        InPlace::Rome => rome(&edit)?,
        InPlace::AlphaEdit { tolerance } => at_one_scale(&edit, tolerance)?,
    };
    Ok(mlp.clone().with_update(&update))
}

/// The median margin of the facts that are stored.
fn usual_margin(mlp: &Mlp, facts: &FactSet) -> Result<f64> {
    let mut margins = mlp.margins(facts);
    margins.retain(|margin| *margin > 0.0 && margin.is_finite());
    if margins.is_empty() {
        return Err(Error::input("the MLP stores none of its facts")
            .fix("give the keys, values and facts that it was built for, or build one for the new facts"));
    }
    Ok(median(&margins))
}

/// AlphaEdit of activations brought to [`LENGTH`], with a tolerance relative to the squares of the preserved ones.
fn at_one_scale(edit: &Edit, tolerance: f64) -> Result<Array2<f64>> {
    let square = |table: ArrayView2<f64>| table.iter().map(|entry| entry * entry).sum::<f64>();
    let facts = (edit.preserved.nrows() + edit.altered.nrows()) as f64;
    let scale = LENGTH / ((square(edit.preserved) + square(edit.altered)) / facts).sqrt();
    let (preserved, altered) = (&edit.preserved * scale, &edit.altered * scale);
    let total = if preserved.is_empty() { 1.0 } else { square(preserved.view()) };
    let scaled = Edit { preserved: preserved.view(), altered: altered.view(), residuals: edit.residuals };
    let found = alpha_edit(&scaled, tolerance * total)?;
    if found.null_dimensions == 0 {
        return Err(Error::failure(format!(
            "AlphaEdit has no room: in every direction the facts that are to stay have a share of {tolerance} or more"
        ))
        .fix("raise --tolerance, or edit by another method"));
    }
    Ok(found.update * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decoding::stored;
    use crate::facts::embeddings::{Kind, draw};
    use crate::methods::Method;
    use crate::methods::family::Ground;
    use crate::rng::StreamName;

    const METHODS: [InPlace; 3] =
        [InPlace::Memit { lambda: None }, InPlace::Rome, InPlace::AlphaEdit { tolerance: 1e-2 }];

    /// An MLP of `size` Hebbian features that stores `count` facts.
    fn storing(count: usize, size: usize) -> (Mlp, FactSet) {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, count, 16, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, (0..count).map(|key| (key + 3) % count).collect()).unwrap();
        let mlp = Method::HebbianWhitened.family(&Ground::new(&facts, 0), 0).unwrap().build(size).unwrap().mlp;
        assert_eq!(stored(&mlp.margins(&facts)), count);
        (mlp, facts)
    }

    /// Number of altered facts that are stored, and of the others.
    fn after(edited: &Mlp, facts: &FactSet, edits: &[(usize, usize)]) -> (usize, usize) {
        let mut facts = facts.clone();
        edits.iter().for_each(|(fact, value)| facts.map[*fact] = *value);
        let margins = edited.margins(&facts);
        let altered = edits.iter().filter(|(fact, _)| margins[*fact] > 0.0).count();
        (altered, stored(&margins) - altered)
    }

    #[test]
    fn one_fact_of_a_roomy_mlp_is_changed_and_no_other() {
        // ROME needs more preserved facts than hidden units, the others can do with fewer.
        for (method, size) in METHODS.into_iter().zip([120, 90, 120]) {
            let (mlp, facts) = storing(100, size);
            let edits = [(7, 50)];
            let edited = edit_in_place(&mlp, &facts, &edits, method, None).unwrap();
            assert_eq!(after(&edited, &facts, &edits), (1, 99), "{method:?}");
        }
    }

    #[test]
    fn the_scale_of_keys_and_values_does_not_matter() {
        for (method, size) in METHODS.into_iter().zip([120, 90, 120]) {
            let (mlp, facts) = storing(100, size);
            let edits = [(7, 50), (90, 2)];
            let scaled = FactSet { values: &facts.values * 1e-3, ..facts.clone() };
            let small = mlp.clone().then(&(Array2::eye(16) * 1e5));
            let wanted = edit_in_place(&mlp, &facts, &edits, method, None).unwrap();
            let found = edit_in_place(&small, &scaled, &edits, method, None).unwrap();
            let off = (found.down() - wanted.down() * 1e5).iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!(off < 1e-5 * 1e5 * mlp.down().iter().fold(0.0f64, |a, b| a.max(b.abs())), "{method:?}: {off:e}");
        }
    }

    #[test]
    fn clipped_residuals_change_less() {
        let (mlp, facts) = storing(100, 100);
        let size = |clip| {
            let edited = edit_in_place(&mlp, &facts, &[(7, 50)], InPlace::Memit { lambda: None }, clip).unwrap();
            (edited.down() - mlp.down()).iter().map(|entry| entry * entry).sum::<f64>()
        };
        assert!(size(Some(0.1)) < 0.1 * size(None));
    }

    #[test]
    fn an_mlp_without_room_is_told() {
        let (mlp, facts) = storing(100, 90);
        let error = edit_in_place(&mlp, &facts, &[(7, 50)], InPlace::AlphaEdit { tolerance: 1e-12 }, None).unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
    }
}
