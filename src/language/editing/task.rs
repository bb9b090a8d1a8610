//! Which facts are altered, to what, and how it is asked whether the edit worked (2607.10034 and its released code).

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::rng::Rng;

/// An edit of some facts: the last ones get each other's objects.
#[derive(Debug, Clone)]
pub struct EditTask {
    /// The value of each fact after the edit.
    pub map: Vec<usize>,
    /// The first of the altered facts: those before it are preserved.
    pub first: usize,
    /// The template whose sentence the edit is made with, per fact; the others are paraphrases.
    pub shown: Vec<usize>,
    /// Facts whose answers choose hyper-parameters, about half; the others report.
    pub chooses: Vec<bool>,
}

impl EditTask {
    /// The last facts get each other's values; where every fact has a value of its own, none keeps it. `map` names the value of
    /// every fact before.
    ///
    /// # Errors
    /// When fewer than two facts, or more than there are, are to be altered.
    pub fn exchange(map: &[usize], altered: usize, templates: usize, rng: &mut Rng) -> Result<Self> {
        let facts = map.len();
        if altered < 2 || altered > facts {
            return Err(Error::input(format!("an edit of {altered} of {facts} facts"))
                .fix(format!("alter between 2 and {facts} facts: they exchange their objects")));
        }
        let first = facts - altered;
        let mut order: Vec<usize> = (first..facts).collect();
        order.shuffle(rng);
        let mut after = map.to_vec();
        for (place, fact) in order.iter().enumerate() {
            after[*fact] = map[order[(place + 1) % altered]];
        }
        Ok(Self::new(after, first, templates, rng))
    }

    /// Alters the facts from `first` on; `map` names the value of every fact after the edit.
    pub fn new(map: Vec<usize>, first: usize, templates: usize, rng: &mut Rng) -> Self {
        let facts = map.len();
        let shown = (0..facts).map(|_| rng.random_range(0..templates)).collect();
        let mut chooses = vec![false; facts];
        for range in [0..first, first..facts] {
            let mut members: Vec<usize> = range.collect();
            members.shuffle(rng);
            members.iter().take(members.len() / 2).for_each(|fact| chooses[*fact] = true);
        }
        Self { map, first, shown, chooses }
    }

    /// The altered facts.
    pub fn altered(&self) -> std::ops::Range<usize> {
        self.first..self.map.len()
    }

    /// The preserved facts.
    pub fn preserved(&self) -> std::ops::Range<usize> {
        0..self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamName;

    #[test]
    fn altered_facts_exchange_their_objects_and_the_others_keep_theirs() {
        let task = EditTask::exchange(&(0..40).collect::<Vec<_>>(), 9, 16, &mut StreamName::new("edit").rng()).unwrap();
        assert!(task.preserved().all(|fact| task.map[fact] == fact));
        assert!(task.altered().all(|fact| task.map[fact] != fact && task.map[fact] >= 31));
        let mut objects = task.map.clone();
        objects.sort_unstable();
        assert_eq!(objects, (0..40).collect::<Vec<_>>());
        let choosing = |facts: std::ops::Range<usize>| facts.filter(|fact| task.chooses[*fact]).count();
        assert_eq!((choosing(0..31), choosing(31..40)), (15, 4));
    }

    #[test]
    fn an_edit_of_nothing_or_of_too_much_is_refused() {
        for altered in [0, 1, 41] {
            let error = EditTask::exchange(&[0; 40], altered, 16, &mut StreamName::new("edit").rng()).unwrap_err();
            assert_eq!(error.exit_code(), 2);
        }
    }
}
