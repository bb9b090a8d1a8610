//! The encoder–decoder construction (2512.00207, algorithm 1): an exact encoder to short codes, a linear decoder from them.

use ndarray::Array2;

use super::encoder_gadget::fit;
use super::network::Mlp;
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::rng::Rng;

/// A built MLP and how exact its encoder is.
#[derive(Debug, Clone)]
pub struct Constructed {
    pub mlp: Mlp,
    /// Relative residual of the encoder on the keys.
    pub relative_residual: f64,
}

/// Stacks one gated gadget per code entry under the decoder `D` (d×m): key i is encoded as `Dᵀu_f(i)` and decoded as
/// `D·Dᵀu_f(i)`. `outputs` (n×d) holds the wanted output per value, usually U*. Hidden size `m·⌈(1+slack)F/d⌉`.
///
/// # Errors
/// When shapes do not fit or the encoder's system is singular to working precision.
pub fn with_decoder(
    facts: &FactSet,
    outputs: &Array2<f64>,
    decoder: &Array2<f64>,
    slack: f64,
    rng: &mut Rng,
) -> Result<Constructed> {
    if outputs.dim() != facts.values.dim() || decoder.nrows() != facts.dimension() {
        return Err(Error::failure(format!(
            "outputs {:?} and decoder {:?} do not fit values {:?}",
            outputs.dim(),
            decoder.dim(),
            facts.values.dim()
        )));
    }
    let codes = facts.by_key(&outputs.dot(decoder));
    let gadgets = fit(&facts.keys, codes.view(), slack, rng)?;
    Ok(Constructed { mlp: gadgets.under(decoder).into(), relative_residual: gadgets.relative_residual })
}

/// The construction without compression, for `m ≥ d`: the encoder puts out U* itself and the decoder is the identity.
///
/// ```
/// use factsmith::facts::decodability::{Cores, decodability};
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::facts::fact_set::{FactSet, random_bijection};
/// use factsmith::mlp::encoder_decoder::direct;
/// use factsmith::rng::StreamName;
/// let mut rng = StreamName::new("doc").rng();
/// let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
/// let best = decodability(&table, Cores::One).unwrap();
/// let facts = FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap();
/// let built = direct(&facts, &best.outputs, 0.0, &mut rng).unwrap();
/// assert_eq!(built.mlp.parameters(), 3 * 64 * 16);
/// assert!(built.mlp.margins(&facts).iter().all(|margin| *margin > 0.0));
/// ```
pub fn direct(facts: &FactSet, outputs: &Array2<f64>, slack: f64, rng: &mut Rng) -> Result<Constructed> {
    with_decoder(facts, outputs, &Array2::eye(facts.dimension()), slack, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::conditioning::log_affine_spectrum;
    use crate::facts::decodability::{Cores, decodability};
    use crate::facts::decoding::accuracy;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;
    use crate::facts::fact_set::random_many_to_one;
    use crate::facts::whitening::Whitening;
    use crate::mlp::johnson_lindenstrauss::NestedDecoder;
    use crate::rng::StreamName;

    #[test]
    fn a_large_enough_decoder_stores_every_fact() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 256, 32, &mut rng).unwrap();
        let best = decodability(&table, Cores::One).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(256, &mut rng)).unwrap();
        let decoder = NestedDecoder::new(32, StreamName::new("decoder")).matrix(80);
        let built = with_decoder(&facts, &best.outputs, &decoder, 0.0, &mut rng).unwrap();
        assert_eq!(built.mlp.hidden(), 80 * 8);
        assert_eq!(accuracy(&built.mlp.margins(&facts)), 1.0);
    }

    #[test]
    fn several_keys_may_share_a_value() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Sphere, 90, 16, &mut rng).unwrap();
        let values = draw(Kind::Sphere, 20, 16, &mut rng).unwrap();
        let best = decodability(&values, Cores::One).unwrap();
        let facts = FactSet::new(keys, values, random_many_to_one(90, 20, &mut rng)).unwrap();
        let built = direct(&facts, &best.outputs, 0.25, &mut rng).unwrap();
        assert_eq!(accuracy(&built.mlp.margins(&facts)), 1.0);
    }

    /// Spec f.10: scores need `⟨W·g', v⟩`. Folding the inverse, as the text says, loses the facts.
    #[test]
    fn whitening_is_undone_by_its_own_map_and_not_by_the_inverse() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let values = log_affine_spectrum(&keys, 100.0).unwrap();
        let facts = FactSet::new(keys, values.clone(), random_bijection(64, &mut rng)).unwrap();
        let whitening = Whitening::fit(&values, 1.0).unwrap();
        let white = FactSet { values: whitening.apply(&values), ..facts.clone() };
        let best = decodability(&white.values, Cores::One).unwrap();
        let decoder = NestedDecoder::new(16, StreamName::new("decoder")).matrix(64);
        let built = with_decoder(&white, &best.outputs, &decoder, 0.0, &mut rng).unwrap();
        assert_eq!(accuracy(&built.mlp.margins(&white)), 1.0);
        let by_map = built.mlp.clone().fold_value_whitening(&whitening);
        assert_eq!(accuracy(&by_map.margins(&facts)), 1.0);
        let text = Whitening { map: whitening.inverse.clone(), inverse: whitening.map.clone() };
        let by_inverse = built.mlp.fold_value_whitening(&text);
        assert!(accuracy(&by_inverse.margins(&facts)) < 0.5);
    }

    #[test]
    fn key_whitening_folds_exactly() {
        let mut rng = StreamName::new("test").rng();
        let keys = log_affine_spectrum(&draw(Kind::Sphere, 64, 16, &mut rng).unwrap(), 50.0).unwrap();
        let values = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let facts = FactSet::new(keys.clone(), values, random_bijection(64, &mut rng)).unwrap();
        let whitening = Whitening::fit(&keys, 1.0).unwrap();
        let white = FactSet { keys: whitening.apply(&keys), ..facts.clone() };
        let best = decodability(&facts.values, Cores::One).unwrap();
        let built = direct(&white, &best.outputs, 0.0, &mut rng).unwrap();
        let folded = built.mlp.clone().fold_key_whitening(&whitening);
        let difference = folded.forward(facts.keys.view()) - built.mlp.forward(white.keys.view());
        assert!(difference.iter().all(|x| x.abs() < 1e-8));
    }
}
