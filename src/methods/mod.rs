//! Every way to make a fact-storing MLP, behind one interface: what it assumes, which size it has, how to search and build it.

pub mod codes;
pub mod encoded;
pub mod family;
pub mod features;
pub mod fixed;
pub mod trained;
pub mod wide;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use codes::{Direct, JohnsonLindenstrauss, TrainedCodes};
use encoded::{Encoded, Encoder};
use family::{Family, Ground};
use features::{FittedFeatures, RandomFeatures, WhitenedFeatures};
use fixed::Naive;
use trained::{GradientDescent, TrainedEncoder};
use wide::WideGadgets;

use crate::mlp::ntk;
use crate::mlp::trainable::Architecture;

/// A way to make an MLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    GradientDescent,
    GradientDescentRelu,
    GradientDescentBilinear,
    GadgetJl,
    GadgetJlWide,
    GadgetTrainedDecoder,
    GadgetDirect,
    TrainedEncoderJl,
    TrainedEncoderTrainedDecoder,
    TrainedEncoderDirect,
    StaircaseJl,
    StaircaseTrainedDecoder,
    StaircaseDirect,
    SiluPairsJl,
    ReluPairsJl,
    NaiveUnitNorm,
    NaiveGeneralPosition,
    Ntk,
    NtkMarginOptimal,
    NtkDegreeTwo,
    Hebbian,
    HebbianWhitened,
    HebbianFitted,
}

/// What a person chooses a method by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct About {
    pub method: Method,
    /// As `pipeline.toml` and the command line call it.
    pub name: &'static str,
    pub title: &'static str,
    /// What the size counts.
    pub size: &'static str,
    /// What keys and values have to be.
    pub assumptions: &'static str,
    /// Parameters as the number of facts grows.
    pub cost_law: &'static str,
    pub reference: &'static str,
}

const fn about(
    method: Method,
    name: &'static str,
    title: &'static str,
    size: &'static str,
    assumptions: &'static str,
    cost_law: &'static str,
    reference: &'static str,
) -> About {
    About { method, name, title, size, assumptions, cost_law, reference }
}

/// All methods, in the order in which they are listed.
pub const METHODS: &[About] = &[
    about(
        Method::GradientDescent,
        "gradient_descent",
        "gradient descent (SwiGLU)",
        "hidden units",
        "none",
        "about 0.5·F·log₂F",
        "2512.00207 A.1.3",
    ),
    about(
        Method::GradientDescentRelu,
        "gradient_descent_relu",
        "gradient descent (ReLU)",
        "hidden units",
        "none",
        "about 0.5·F·log₂F",
        "2512.00207 Fig 7",
    ),
    about(
        Method::GradientDescentBilinear,
        "gradient_descent_bilinear",
        "gradient descent (bilinear)",
        "hidden units",
        "none",
        "about 0.5·F·log₂F",
        "2607.10034",
    ),
    about(
        Method::GadgetJl,
        "gadget_jl",
        "gadget encoder, random decoder",
        "code length m",
        "keys in general position, ρ(V) > 0",
        "3·m·F, m = O(ρ⁻²·log F)",
        "2512.00207 alg. 1, 3, 4",
    ),
    about(
        Method::GadgetJlWide,
        "gadget_jl_wide",
        "gadget encoder with slack, random decoder",
        "units of a gadget",
        "keys in general position, ρ(V) > 0",
        "3·(1 + slack)·m·F, m = O(ρ⁻²·log F)",
        "2512.00207 alg. 1, 3, 4",
    ),
    about(
        Method::GadgetTrainedDecoder,
        "gadget_trained_decoder",
        "gadget encoder, trained decoder",
        "code length m",
        "keys in general position",
        "3·m·F",
        "2512.00207 §4.2",
    ),
    about(
        Method::GadgetDirect,
        "gadget_direct",
        "gadget encoder, U* itself",
        "code length m = d",
        "keys in general position, ρ(V) > 0",
        "3·d·F",
        "2512.00207 §4.1",
    ),
    about(
        Method::TrainedEncoderJl,
        "trained_encoder_jl",
        "trained encoder, random decoder",
        "hidden units",
        "ρ(V) > 0",
        "O(m·F), m = O(ρ⁻²·log F)",
        "2512.00207 §4.1, 4.4",
    ),
    about(
        Method::TrainedEncoderTrainedDecoder,
        "trained_encoder_trained_decoder",
        "trained encoder and decoder",
        "hidden units",
        "none",
        "O(m·F)",
        "2512.00207 §4.4",
    ),
    about(
        Method::TrainedEncoderDirect,
        "trained_encoder_direct",
        "trained encoder, U* itself",
        "hidden units",
        "ρ(V) > 0",
        "O(d·F)",
        "2512.00207 §4.1",
    ),
    about(
        Method::StaircaseJl,
        "staircase_jl",
        "staircase encoder, random decoder",
        "code length m",
        "keys in general position, ρ(V) > 0",
        "4·m·F, m = O(ρ⁻²·log F)",
        "2512.00207 alg. 1",
    ),
    about(
        Method::StaircaseTrainedDecoder,
        "staircase_trained_decoder",
        "staircase encoder, trained decoder",
        "code length m",
        "keys in general position",
        "4·m·F",
        "2512.00207 §4.2",
    ),
    about(
        Method::StaircaseDirect,
        "staircase_direct",
        "staircase encoder, U* itself",
        "code length m = d",
        "keys in general position, ρ(V) > 0",
        "4·d·F",
        "2512.00207 §4.1",
    ),
    about(
        Method::SiluPairsJl,
        "silu_pairs_jl",
        "SiLU pairs, random decoder",
        "code length m",
        "keys in general position, ρ(V) > 0",
        "5·m·F, m = O(ρ⁻²·log F)",
        "2512.00207 B.4.3",
    ),
    about(
        Method::ReluPairsJl,
        "relu_pairs_jl",
        "ReLU pairs, random decoder",
        "code length m",
        "keys in general position, ρ(V) > 0",
        "8/3·m·F, m = O(ρ⁻²·log F)",
        "2512.00207 B.4.3",
    ),
    about(
        Method::NaiveUnitNorm,
        "naive_unit_norm",
        "one unit per key",
        "hidden units = F",
        "keys of one norm, ρ(V) > 0",
        "2·d·F",
        "2512.00207 B.3.1",
    ),
    about(
        Method::NaiveGeneralPosition,
        "naive_general_position",
        "one unit per key, one direction",
        "hidden units = F",
        "keys in general position, ρ(V) > 0",
        "2·d·F",
        "2512.00207 B.3.1",
    ),
    about(
        Method::Ntk,
        "ntk",
        "NTK (Hermite degree 1)",
        "hidden units",
        "keys and values uniform on the sphere, F below about d²/4",
        "F·log¹²F proven",
        "2412.06538, 2512.00207 A.1.3",
    ),
    about(
        Method::NtkMarginOptimal,
        "ntk_margin_optimal",
        "NTK on U*",
        "hidden units",
        "keys uniform on the sphere, F below about d²/4",
        "F·log¹²F proven",
        "2512.00207 A.1.4",
    ),
    about(
        Method::NtkDegreeTwo,
        "ntk_degree_two",
        "NTK (Hermite degree 2)",
        "hidden units",
        "keys and values uniform on the sphere",
        "F·log¹²F proven",
        "2412.06538",
    ),
    about(
        Method::Hebbian,
        "hebbian",
        "Hebbian",
        "features",
        "keys and values near uniform, F below about d²/4",
        "O(F·log F) while F is well below d²",
        "2607.10034",
    ),
    about(
        Method::HebbianWhitened,
        "hebbian_whitened",
        "Hebbian, whitened readout",
        "features",
        "keys in general position",
        "about 60 to 95 parameters a fact",
        "2607.10034",
    ),
    about(
        Method::HebbianFitted,
        "hebbian_fitted",
        "Hebbian, data-dependent",
        "features",
        "keys in general position",
        "about 25 to 37 parameters a fact",
        "2607.10034",
    ),
];

impl Method {
    /// What the method is.
    pub fn about(self) -> &'static About {
        METHODS.iter().find(|about| about.method == self).expect("every method is in the list: a test asserts it")
    }

    /// Whether the method trains, for a number of steps.
    pub fn is_trained(self) -> bool {
        matches!(
            self,
            Self::GradientDescent
                | Self::GradientDescentRelu
                | Self::GradientDescentBilinear
                | Self::TrainedEncoderJl
                | Self::TrainedEncoderTrainedDecoder
                | Self::TrainedEncoderDirect
        )
    }

    /// Steps of training are there for the methods that train, and for no other.
    ///
    /// # Errors
    /// When they are not.
    pub fn check_steps(self, steps: usize) -> Result<()> {
        if self.is_trained() == (steps > 0) {
            return Ok(());
        }
        Err(Error::input(format!("{steps} steps for '{}'", self.about().name))
            .fix("give 'steps' for the methods that train, and for no other"))
    }

    /// The MLPs of this method for one fact set, by size. `steps` are those of training; methods that do not train ignore them.
    ///
    /// # Errors
    /// When the fact set is not one for the method, as with equal keys.
    pub fn family<'a>(self, ground: &'a Ground<'a>, steps: usize) -> Result<Box<dyn Family + 'a>> {
        let trained_codes = || Ok(Box::new(TrainedCodes::new(ground)) as Box<dyn codes::Codes>);
        let random_codes = || JohnsonLindenstrauss::new(ground).map(|codes| Box::new(codes) as Box<dyn codes::Codes>);
        let direct = || Direct::new(ground).map(|codes| Box::new(codes) as Box<dyn codes::Codes>);
        Ok(match self {
            Self::GradientDescent => Box::new(GradientDescent::new(ground, Architecture::SwiGlu, steps)),
            Self::GradientDescentRelu => Box::new(GradientDescent::new(ground, Architecture::Relu, steps)),
            Self::GradientDescentBilinear => Box::new(GradientDescent::new(ground, Architecture::Bilinear, steps)),
            Self::GadgetJl => Box::new(Encoded::new(ground, Encoder::Gadget, random_codes()?)),
            Self::GadgetJlWide => Box::new(WideGadgets::new(ground, random_codes()?)?),
            Self::GadgetTrainedDecoder => Box::new(Encoded::new(ground, Encoder::Gadget, trained_codes()?)),
            Self::GadgetDirect => Box::new(Encoded::new(ground, Encoder::Gadget, direct()?)),
            Self::TrainedEncoderJl => Box::new(TrainedEncoder::new(ground, random_codes()?, steps)?),
            Self::TrainedEncoderTrainedDecoder => Box::new(TrainedEncoder::new(ground, trained_codes()?, steps)?),
            Self::TrainedEncoderDirect => Box::new(TrainedEncoder::new(ground, direct()?, steps)?),
            Self::StaircaseJl => Box::new(Encoded::new(ground, Encoder::Staircase, random_codes()?)),
            Self::StaircaseTrainedDecoder => Box::new(Encoded::new(ground, Encoder::Staircase, trained_codes()?)),
            Self::StaircaseDirect => Box::new(Encoded::new(ground, Encoder::Staircase, direct()?)),
            Self::SiluPairsJl => Box::new(Encoded::new(ground, Encoder::SiluPairs, random_codes()?)),
            Self::ReluPairsJl => Box::new(Encoded::new(ground, Encoder::ReluPairs, random_codes()?)),
            Self::NaiveUnitNorm => Box::new(Naive { ground, one_norm: true }),
            Self::NaiveGeneralPosition => Box::new(Naive { ground, one_norm: false }),
            Self::Ntk => Box::new(RandomFeatures::ntk(ground, &ground.facts.values, ntk::Settings::default())),
            Self::NtkMarginOptimal => {
                Box::new(RandomFeatures::ntk(ground, ground.outputs()?, ntk::Settings::default()))
            }
            Self::NtkDegreeTwo => {
                let settings = ntk::Settings { degree: 2, ..ntk::Settings::default() };
                Box::new(RandomFeatures::ntk(ground, &ground.facts.values, settings))
            }
            Self::Hebbian => Box::new(RandomFeatures::hebbian(ground)),
            Self::HebbianWhitened => Box::new(WhitenedFeatures { ground }),
            Self::HebbianFitted => Box::new(FittedFeatures { ground, built: None }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::{FactSet, random_bijection};
    use crate::mlp::verification::{Certainty, verify};
    use crate::rng::StreamName;

    #[test]
    fn names_are_those_of_the_files() {
        for about in METHODS {
            assert_eq!(serde_json::to_value(about.method).unwrap(), about.name);
            assert_eq!(about.method.about(), about);
        }
        let names: std::collections::BTreeSet<&str> = METHODS.iter().map(|about| about.name).collect();
        assert_eq!(names.len(), 23, "add the method to the list");
    }

    /// Every method, at the size its search finds, stores 32 facts in 16 dimensions beyond rounding.
    #[test]
    fn every_method_stores_a_small_fact_set() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 32, 16, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(32, &mut rng)).unwrap();
        for about in METHODS {
            let ground = Ground::new(&facts, 1);
            let mut family = about.method.family(&ground, 1000).unwrap();
            let found = family::search(family.as_mut(), 32, |_, _| {}).unwrap();
            let size = found.size.unwrap_or_else(|| panic!("{}: {:?}", about.name, found.probes));
            let built = family.build(size).unwrap();
            let verified = verify(&built.mlp, &facts);
            assert_eq!(verified.count(Certainty::Stored), 32, "{}", about.name);
            assert!(built.work > 0.0 && built.relative_residual.unwrap_or(0.0) < 1e-3, "{}", about.name);
        }
    }
}
