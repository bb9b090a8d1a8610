//! The language model on one core: a training step against the products that no implementation avoids, what an edited model
//! costs to evaluate, and one whole setting of an edit against the reference's (2607.10034; a run of one MEMIT setting at 256 facts,
//! 26 of them altered, 8 sentences each, d = 128 took it 26 s of processor time, its evaluation alone 1.63 s for a quarter of
//! the sentences evaluated here).

mod timing;

use factsmith::language::batch::all_pairs;
use factsmith::language::corpus::Corpus;
use factsmith::language::editing::task::EditTask;
use factsmith::language::editing::weight_edits;
use factsmith::language::model::{Model, ROWS, uniform_embeddings};
use factsmith::language::recipe::Recipe;
use factsmith::language::training::Settings;
use factsmith::language::{films, templates};
use factsmith::mlp::frozen::FrozenMlp;
use factsmith::num::adam::Adam;
use factsmith::num::products::general_mat_mul;
use factsmith::rng::StreamName;
use ndarray::Array2;
use timing::best_of;

const BATCH: usize = 32;
/// Positions of a batch of 32 sentences: all before the subjects once, and 4.25 a sentence from there on.
const POSITIONS: usize = 79 + 136;

/// Seconds of the largest products of a step: logits, projections, router and fact expert, there and back.
fn products(dimension: usize, hidden: usize, vocabulary: usize) -> f64 {
    let table = |rows, columns| Array2::<f32>::ones((rows, columns));
    let (mut rows, mut logits, heads) =
        (table(POSITIONS, dimension), table(POSITIONS, vocabulary), table(vocabulary, dimension));
    let (tokens, square, mut projected) =
        (table(140 + BATCH, dimension), table(dimension, dimension), table(140 + BATCH, dimension));
    let (mut weights, mut units, unit_weights) =
        (table(dimension, dimension), table(POSITIONS, 3 * hidden), table(3 * hidden, dimension));
    best_of(20, || {
        general_mat_mul(1.0, &rows, &heads.t(), 0.0, &mut logits);
        general_mat_mul(1.0, &logits, &heads, 0.0, &mut rows);
        for _ in 0..4 {
            general_mat_mul(1.0, &tokens, &square, 0.0, &mut projected);
            general_mat_mul(1.0, &tokens, &square, 0.0, &mut projected);
            general_mat_mul(1.0, &tokens.t(), &projected, 0.0, &mut weights);
        }
        for _ in 0..2 {
            general_mat_mul(1.0, &rows, &unit_weights.t(), 0.0, &mut units);
        }
        rows.fill(1.0);
    })
}

fn step(facts: usize, dimension: usize, hidden: usize) {
    let relation = films::one_per_director().unwrap().first(facts).unwrap();
    let corpus = Corpus::new(&relation, &templates::films().unwrap()).unwrap();
    let mut rng = StreamName::new("bench").rng();
    let vocabulary = corpus.tokens.len();
    let embeddings = uniform_embeddings(vocabulary, dimension, &mut rng);
    let pairs: Vec<_> = all_pairs(&corpus).into_iter().step_by(facts / 2 + 1).take(BATCH).collect();
    let mut model = Model::new(corpus, &embeddings, &mut rng).unwrap();
    let weights =
        |rows, columns| factsmith::facts::embeddings::gaussian((rows, columns), &mut StreamName::new("w").rng());
    let mlp = factsmith::mlp::gated::GatedMlp {
        gate: weights(hidden, dimension),
        gate_bias: None,
        up: weights(hidden, dimension),
        down: weights(dimension, hidden),
        activation: factsmith::mlp::gated::Activation::Silu,
    };
    let mlp = FrozenMlp::new(&mlp.into());
    let (mut pass, mut adam) = (mlp.pass(ROWS), Adam::new(model.parameters.len()));
    let own = best_of(20, || {
        model.step(&mlp, &mut pass, &pairs);
        adam.step(&mut model.parameters, &model.gradient, 1e-5);
    });
    let alone = products(dimension, hidden, vocabulary);
    println!("{facts:>5} {dimension:>4} {hidden:>4} {:>11.2} {:>14.2} {:>15.2}", own * 1e3, alone * 1e3, own / alone);
}

fn main() {
    println!("    F    d    h   ms a step   its products   step/products");
    for (facts, dimension, hidden) in [(256, 128, 32), (1024, 128, 64), (1024, 256, 64)] {
        step(facts, dimension, hidden);
    }
    println!("\n    F    d    h   s objects   s other tokens   s a setting of an edit, 10 % altered");
    for (facts, dimension, hidden) in [(256, 128, 64), (1024, 128, 64), (1024, 256, 64)] {
        let training = Settings { learning_rate: 1e-3, most_steps: 1, ..Settings::default() };
        let recipe = Recipe { dimension, hidden, mlp_steps: 100, training, seed: 0 };
        let relation = films::one_per_director().unwrap().first(facts).unwrap();
        let study = recipe.make(&relation, &templates::films().unwrap()).unwrap().study;
        let objects = best_of(3, || drop(std::hint::black_box(study.predicted(&study.mlp))));
        let others = best_of(3, || drop(std::hint::black_box(vec![study.cross_entropy(&study.mlp)])));
        let mut rng = StreamName::new("edit").rng();
        let task = EditTask::exchange(&study.facts.map, facts / 10, study.templates(), &mut rng).unwrap();
        let mut settings = 0;
        let all = best_of(1, || {
            settings = 0;
            weight_edits::all(
                &study,
                &task,
                |_| true,
                |edited| {
                    study.predicted(&study.mlp.clone().with_down(edited.down));
                    settings += 1;
                    Ok(())
                },
            )
            .unwrap();
        });
        println!(
            "{facts:>5} {dimension:>4} {hidden:>4} {objects:>11.3} {others:>16.3}   {:.3} ({settings} settings in {all:.1} s)",
            all / f64::from(settings)
        );
    }
}
