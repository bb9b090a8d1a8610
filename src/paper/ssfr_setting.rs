//! One setting of Synthetic Sequential Factual Recall: embeddings, two fact sets on them, and a transformer to train.

use ndarray::{Array2, s};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::facts::conditioning::log_affine_spectrum;
use crate::facts::embeddings::{gaussian, normalise_rows};
use crate::facts::fact_set::{FactSet, random_bijection};
use crate::facts::whitening::Whitening;
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::network::Mlp;
use crate::rng::StreamName;
use crate::transformer::evaluation::{Usability, evaluate};
use crate::transformer::model::{Design, Model};
use crate::transformer::task::{Junk, Task};
use crate::transformer::training::{self, Trained, train};

/// What is changed back about the transformer, one thing at a time (2512.00207, §5.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing: the model of the paper.
    #[default]
    None,
    /// Residual connections around attention and MLP.
    Residuals,
    /// W_V and W_O are trained.
    TrainedValues,
    /// The norm before the MLP has a trained gain.
    TrainedNorm,
    /// The transformer reads other embeddings than those the MLP was made for.
    UntiedEmbeddings,
    /// No positional encoding.
    NoPositions,
}

impl Change {
    fn design(self) -> Design {
        Design {
            rotary: self != Self::NoPositions,
            attention_residual: self == Self::Residuals,
            mlp_residual: self == Self::Residuals,
            trains_values: self == Self::TrainedValues,
            trains_norm: self == Self::TrainedNorm,
            unit_output: false,
        }
    }
}

/// What identifies a setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub dimension: usize,
    pub facts: usize,
    /// Condition number of the embeddings; 1: as drawn.
    pub kappa: f64,
    pub junk_tokens: usize,
    pub change: Change,
    pub seed: u64,
}

/// Facts as the transformer has them, and as the MLP is made for them.
pub struct Facts {
    pub raw: FactSet,
    /// The raw facts with whitened keys and values; the raw ones themselves without whitening.
    pub coded: FactSet,
    whitenings: Option<(Whitening, Whitening)>,
}

impl Facts {
    /// The MLP for the raw facts, given one for the coded.
    pub fn fold(&self, mlp: Mlp) -> Mlp {
        match &self.whitenings {
            Some((keys, values)) => mlp.fold_value_whitening(values).fold_key_whitening(keys),
            None => mlp,
        }
    }
}

/// A trained transformer and how it uses both MLPs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub trained: Trained,
    /// With the MLP that it was trained around.
    pub own: Usability,
    /// With the MLP of other facts in its place.
    pub other: Usability,
}

impl Setting {
    fn stream(&self, purpose: &str) -> StreamName {
        StreamName::new(purpose).with(self.dimension as u64).with(self.facts as u64).with(self.seed)
    }

    /// Embeddings of keys and values, from a standard normal (A.2.2).
    pub fn tokens(&self) -> Result<Array2<f64>> {
        let table = gaussian((self.facts, self.dimension), &mut self.stream("token embeddings").rng());
        if self.kappa == 1.0 { Ok(table) } else { log_affine_spectrum(&table, self.kappa) }
    }

    /// The fact set of a name: keys on the unit sphere, values as they are, a random bijection.
    pub fn facts(&self, tokens: &Array2<f64>, name: &str, alpha: f64) -> Result<Facts> {
        let mut keys = tokens.clone();
        normalise_rows(&mut keys);
        let map = random_bijection(self.facts, &mut self.stream(name).rng());
        let raw = FactSet::new(keys, tokens.clone(), map)?;
        if alpha == 0.0 {
            return Ok(Facts { coded: raw.clone(), raw, whitenings: None });
        }
        let (keys, values) = (Whitening::fit(&raw.keys, alpha)?, Whitening::fit(&raw.values, alpha)?);
        let coded = FactSet::new(keys.apply(&raw.keys), values.apply(&raw.values), raw.map.clone())?;
        Ok(Facts { raw, coded, whitenings: Some((keys, values)) })
    }

    /// Trains a transformer around one MLP and puts the other in its place.
    pub fn outcome(
        &self,
        tokens: &Array2<f64>,
        settings: training::Settings,
        (own_facts, own): (&FactSet, &Mlp),
        (other_facts, other): (&FactSet, &Mlp),
    ) -> Result<Outcome> {
        let mut model = self.model(tokens)?;
        let (own, other) = (FrozenMlp::new(own), FrozenMlp::new(other));
        let trained = train(&mut model, &own, &own_facts.map, settings, &mut self.stream("batches").rng())?;
        Ok(Outcome {
            trained,
            own: evaluate(&mut model, &own, &own_facts.map),
            other: evaluate(&mut model, &other, &other_facts.map),
        })
    }

    fn model(&self, tokens: &Array2<f64>) -> Result<Model> {
        let junk = Junk { tokens: self.junk_tokens, ..Junk::default() };
        let mut task = Task::new(tokens, &junk, &mut self.stream("task").with(self.junk_tokens as u64).rng())?;
        if self.change == Change::UntiedEmbeddings {
            let others = gaussian(tokens.dim(), &mut self.stream("untied embeddings").rng());
            task.inputs.slice_mut(s![..self.facts, ..]).assign(&others);
        }
        Ok(Model::new(task, self.change.design(), &mut self.stream("attention").rng()))
    }
}
