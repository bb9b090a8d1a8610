//! How well an edit did (2607.10034; 2512.00207, A.3.4).
//!
//! *Efficacy*: altered facts whose new object follows the sentence that the edit was made with; *paraphrase*: the same after the
//! other sentences; *specificity*: preserved facts whose object still follows. (2512.00207 swaps the names efficacy and
//! specificity against their use elsewhere; the score is the same.)

use super::task::EditTask;

/// Shares of right answers; `None` where there is nobody to ask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    pub efficacy: Option<f64>,
    pub paraphrase: Option<f64>,
    pub specificity: Option<f64>,
    /// Preserved facts after the other sentences; not part of a score.
    pub specificity_paraphrase: Option<f64>,
}

impl Accuracies {
    /// From the token predicted after every sentence (facts × templates, fact by fact) and the object of every fact after the
    /// edit, over the facts that `counts` picks.
    pub fn new(task: &EditTask, predicted: &[usize], objects: &[usize], counts: impl Fn(usize) -> bool) -> Self {
        let templates = predicted.len() / task.map.len();
        let share = |facts: std::ops::Range<usize>, shown: bool| {
            let (mut asked, mut right) = (0, 0);
            for fact in facts.filter(|fact| counts(*fact)) {
                for template in (0..templates).filter(|template| (*template == task.shown[fact]) == shown) {
                    asked += 1;
                    right += usize::from(predicted[fact * templates + template] == objects[fact]);
                }
            }
            (asked > 0).then(|| f64::from(right as u32) / f64::from(asked as u32))
        };
        Self {
            efficacy: share(task.altered(), true),
            paraphrase: share(task.altered(), false),
            specificity: share(task.preserved(), true),
            specificity_paraphrase: share(task.preserved(), false),
        }
    }

    fn scored(&self) -> impl Iterator<Item = f64> {
        [self.efficacy, self.paraphrase, self.specificity].into_iter().flatten()
    }

    /// The harmonic mean of efficacy, paraphrase and specificity (2512.00207, A.3.4); 0 if one is 0.
    pub fn harmonic(&self) -> f64 {
        let inverse: f64 = self.scored().map(|share| 1.0 / share).sum();
        self.scored().count() as f64 / inverse
    }

    /// Their geometric mean (2512.00207, Fig 4).
    pub fn geometric(&self) -> f64 {
        self.scored().product::<f64>().powf(1.0 / self.scored().count() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_scores_are_those_of_a_small_case() {
        // Facts 0 and 1 stay, 2 and 3 exchange objects; three sentences each, edited by the first.
        let task = EditTask {
            map: vec![0, 1, 3, 2],
            first: 2,
            shown: vec![0, 0, 0, 0],
            chooses: vec![true, false, true, false],
        };
        let objects = [10, 11, 13, 12];
        let predicted = [10, 10, 9, 11, 11, 11, 13, 13, 12, 13, 12, 12];
        let all = Accuracies::new(&task, &predicted, &objects, |_| true);
        let wanted = Accuracies {
            efficacy: Some(0.5),
            paraphrase: Some(0.75),
            specificity: Some(1.0),
            specificity_paraphrase: Some(0.75),
        };
        assert_eq!(all, wanted);
        assert!((all.harmonic() - 3.0 / (2.0 + 4.0 / 3.0 + 1.0)).abs() < 1e-12);
        assert!((all.geometric() - 0.375f64.cbrt()).abs() < 1e-12);
        let half = Accuracies::new(&task, &predicted, &objects, |fact| task.chooses[fact]);
        assert_eq!((half.efficacy, half.paraphrase, half.specificity), (Some(1.0), Some(0.5), Some(1.0)));
        assert_eq!(Accuracies { efficacy: Some(0.0), ..all }.harmonic(), 0.0);
        let whole = EditTask { first: 0, ..task };
        let without = Accuracies::new(&whole, &predicted, &objects, |_| true);
        assert_eq!(without.specificity, None);
        assert!(without.harmonic() > 0.0);
    }
}
