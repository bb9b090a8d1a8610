//! Building and evaluating constructions on one core, in processor seconds: ratios to the reference's processor seconds for a
//! capacity probe of the same shapes (fact set, construction, evaluation; 1 thread of a 2-core machine).
//!
//! `cargo bench --bench constructions -- gadget` adds the gadget encoder at F = 4096, d = 128.

use factsmith::capacity::smallest_size;
use factsmith::facts::embeddings::{Kind, draw};
use factsmith::facts::fact_set::{FactSet, random_bijection};
use factsmith::methods::METHODS;
use factsmith::methods::family::Ground;
use factsmith::mlp::encoder_gadget;
use factsmith::mlp::gated::GatedMlp;
use factsmith::mlp::hebbian::{Features, RIDGE, raw_readout, ridge_readout};
use factsmith::mlp::hebbian_fitted;
use factsmith::mlp::network::Mlp;
use factsmith::mlp::ntk::{NestedNtk, Settings};
use factsmith::paper::fact_sets::spherical_fact_set;
use factsmith::rng::StreamName;
use rustix::time::{ClockId, clock_gettime};

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn best_of(repeats: usize, mut work: impl FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let start = processor_seconds();
        work();
        processor_seconds() - start
    };
    (0..repeats).map(|_| once(&mut work)).fold(f64::INFINITY, f64::min)
}

fn facts(count: usize, dimension: usize) -> FactSet {
    let mut rng = StreamName::new("bench").rng();
    let table = draw(Kind::Sphere, count, dimension, &mut rng).unwrap();
    FactSet::new(table.clone(), table, random_bijection(count, &mut rng)).unwrap()
}

fn build(method: &str, facts: &FactSet, size: usize) -> GatedMlp {
    let mut rng = StreamName::new("features").rng();
    let features = |rng: &mut _| Features::random(size, facts.dimension(), rng);
    match method {
        "hebbian" => {
            let features = features(&mut rng);
            let readout = raw_readout(&features, facts);
            features.with_readout(readout)
        }
        "hebbian_whitened" => {
            let features = features(&mut rng);
            let readout = ridge_readout(&features, facts, RIDGE).unwrap();
            features.with_readout(readout)
        }
        "hebbian_fitted" => {
            let fitted = hebbian_fitted::fit(facts, size, RIDGE, &mut rng).unwrap();
            fitted.mlp
        }
        _ => NestedNtk::new(facts, &facts.values, Settings::default(), StreamName::new("ntk")).into_mlp(size),
    }
}

fn peak_memory_mb() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

/// The smallest MLP of every method for one fact set, and the processor seconds of building it once its size is known.
fn every_method(count: usize, dimension: usize) {
    println!("\nevery method, F = {count}, d = {dimension}: smallest size, parameters, seconds of building it");
    let facts = spherical_fact_set(dimension, count, 0).unwrap();
    for about in METHODS {
        let ground = Ground::new(&facts, 0);
        let mut family = about.method.family(&ground, 2000).unwrap();
        let found = smallest_size(family.sizes(), count, |size| family.stored(size)).unwrap();
        let Some(size) = found.size else {
            println!("  {:<32} stores {} of {count} at most", about.title, found.best());
            continue;
        };
        let start = processor_seconds();
        let ground = Ground::new(&facts, 0);
        let built = about.method.family(&ground, 2000).unwrap().build(size).unwrap();
        let seconds = processor_seconds() - start;
        println!("  {:<32} {size:>6} {:>9} {seconds:>10.4}", about.title, built.mlp.parameters());
    }
}

fn main() {
    // As the program does.
    factsmith::memory::keep_freed();
    println!("    F    d     m method             accuracy   seconds  reference  ratio   peak MB so far");
    for (count, dimension, size, method, reference) in [
        (1024, 64, 64, "hebbian", Some(0.016)),
        (1024, 64, 64, "hebbian_whitened", Some(0.0157)),
        (1024, 64, 64, "ntk", Some(0.00956)),
        (1024, 64, 64, "hebbian_fitted", Some(0.18)),
        (1024, 64, 256, "hebbian_fitted", Some(0.31)),
        (4096, 128, 2048, "hebbian", Some(1.32)),
        (4096, 128, 2048, "hebbian_whitened", Some(2.42)),
        (4096, 128, 2048, "ntk", Some(0.884)),
        (16384, 128, 2048, "hebbian", Some(9.99)),
        (16384, 128, 2048, "hebbian_whitened", Some(12.7)),
        (16384, 128, 2048, "ntk", Some(5.43)),
    ] {
        let mut accuracy = 0.0;
        let seconds = best_of(if count > 4096 { 3 } else { 15 }, || {
            let facts = facts(count, dimension);
            let mlp: Mlp = build(method, &facts, size).into();
            accuracy = mlp.stored(&facts) as f64 / count as f64;
        });
        let (reference, ratio) = reference.map_or(("-".to_owned(), "-".to_owned()), |reference: f64| {
            (format!("{reference}"), format!("{:.1}x", reference / seconds))
        });
        println!(
            "{count:>5} {dimension:>4} {size:>5} {method:<18} {accuracy:>8.4} {seconds:>9.4} {reference:>10} {ratio:>6} {:>8.0}",
            peak_memory_mb()
        );
    }
    every_method(256, 32);
    if std::env::args().any(|argument| argument == "gadget") {
        let facts = facts(4096, 128);
        let outputs = draw(Kind::Gaussian, 4096, 48, &mut StreamName::new("codes").rng()).unwrap();
        let seconds = best_of(1, || {
            let found =
                encoder_gadget::fit(&facts.keys, outputs.view(), 0.0, &mut StreamName::new("gates").rng()).unwrap();
            println!("gadget encoder, F = 4096, d = 128, m = 48: relative residual {:.1e}", found.relative_residual);
        });
        println!("  {seconds:.1} s, peak {:.0} MB", peak_memory_mb());
    }
}
