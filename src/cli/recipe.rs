//! How an MLP is built, as its file says it.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::methods::family::{Built, Family, Ground, refuse_beyond_memory, search};
use crate::methods::{METHODS, Method};
use crate::pipeline::progress::tell;

/// Everything but facts and size.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub method: Method,
    pub seed: u64,
    /// Steps of training, for the methods that train.
    pub steps: usize,
}

impl Recipe {
    /// Builds the MLP of a size, or the smallest that stores every fact; its size and itself.
    pub fn follow(&self, facts: &FactSet, size: Option<usize>) -> Result<(usize, Built)> {
        let ground = Ground::new(facts, self.seed);
        let mut family = self.method.family(&ground, self.steps)?;
        let size = match size {
            Some(size) => size,
            None => self.smallest(family.as_mut(), facts.len())?,
        };
        refuse_beyond_memory(&format!("an MLP of size {size}"), family.bytes(size))?;
        Ok((size, family.build(size)?))
    }

    fn smallest(&self, family: &mut dyn Family, count: usize) -> Result<usize> {
        tell(&format!("{}: searching from size {} on", self.method.about().title, family.sizes().predicted.max(1)));
        let found = search(family, count, |size, stored| tell(&format!("size {size}: {stored} of {count} facts")))?;
        found.size.ok_or_else(|| {
            let largest = found.probes.keys().next_back().copied().unwrap_or(0);
            Error::failure(format!(
                "{} stores at most {} of {count} facts at sizes up to {largest}",
                self.method.about().title,
                found.best()
            ))
            .fix(
                "bring keys and values to lengths around 1, use another method (factsmith methods), or leave facts out",
            )
        })
    }

    /// What the file of the MLP says.
    pub fn made(&self, size: usize, facts: usize) -> Value {
        json!({
            "factsmith": env!("CARGO_PKG_VERSION"),
            "method": self.method.about().name,
            "size": size,
            "seed": self.seed,
            "steps": self.method.is_trained().then_some(self.steps),
            "facts": facts,
        })
    }

    /// The recipe and the size that a file tells; where the MLP was edited since, those it was built by.
    ///
    /// # Errors
    /// When the file does not tell how the MLP was built.
    pub fn from_made(made: &Value) -> Result<(Self, usize)> {
        if let Some(earlier) = made.get("edited") {
            return Self::from_made(earlier);
        }
        let number = |name: &str| made.get(name).and_then(Value::as_u64);
        let method = made.get("method").and_then(Value::as_str);
        let about = method.and_then(|name| METHODS.iter().find(|about| about.name == name));
        match (about, number("size"), number("seed")) {
            (Some(about), Some(size), Some(seed)) => {
                let steps = number("steps").unwrap_or(0) as usize;
                Ok((Self { method: about.method, seed, steps }, size as usize))
            }
            _ => Err(Error::input("the file does not tell how the MLP was built, so it cannot be built again")
                .fix("edit it in place, with --method memit, rome or alpha_edit")),
        }
    }
}
