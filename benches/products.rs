//! Matrix products on one core: `num::products` against ndarray's own, with the same bits, in the shapes of the inner loops.

mod timing;

use factsmith::num::products::{Entry, general_mat_mul};
use ndarray::{Array2, ArrayView2};
use timing::best_of;

/// GFLOP/s of ndarray and of `num::products`.
fn rates<A: Entry>(a: ArrayView2<A>, b: ArrayView2<A>, beta: A) -> (f64, f64) {
    let mut c = Array2::<A>::zeros((a.nrows(), b.ncols()));
    let operations = 2e-9 * (c.len() * a.ncols()) as f64;
    // Calls that take some milliseconds together.
    let calls = (0.1 / operations).ceil() as usize;
    let mut rate = |product: &dyn Fn(&mut Array2<A>)| {
        operations * calls as f64 / best_of(100, || (0..calls).for_each(|_| product(std::hint::black_box(&mut c))))
    };
    let plain = rate(&|c| ndarray::linalg::general_mat_mul(A::one(), &a, &b, beta, c));
    (plain, rate(&|c| general_mat_mul(A::one(), &a, &b, beta, c)))
}

fn main() {
    println!("{:<46} {:>16} {:>8} {:>9} {:>6}", "", "rows×terms×cols", "ndarray", "products", "ratio");
    for (what, rows, terms, columns, [a, b], beta) in [
        ("units of a block of keys", 256, 128, 256, [false, true], 0.0),
        ("scores of a block of keys", 512, 128, 512, [false, true], 0.0),
        ("outputs of a block of units", 256, 256, 128, [false, false], 1.0),
        ("readout of a block of keys", 256, 256, 128, [true, false], 1.0),
        ("Gram matrix of a block of keys", 512, 256, 128, [true, false], 1.0),
        ("training step: units of all keys", 1024, 64, 256, [false, true], 0.0),
        ("training step: gradient of the weights", 256, 1024, 64, [true, false], 0.0),
        ("large", 1024, 1024, 1024, [false, false], 0.0),
    ] {
        // Operands are held transposed where the product is one of transposed tables.
        let table = |rows, columns, transposed| {
            let table = Array2::<f64>::ones(if transposed { (columns, rows) } else { (rows, columns) });
            if transposed { table.reversed_axes() } else { table }
        };
        let (a, b) = (table(rows, terms, a), table(terms, columns, b));
        let narrow = |table: &Array2<f64>| table.mapv(|entry| entry as f32);
        let shape = format!("{rows}×{terms}×{columns}");
        let show = |precision: &str, (plain, own): (f64, f64)| {
            let what = format!("{what}, {precision}");
            println!("{what:<46} {shape:>16} {plain:>8.1} {own:>9.1} {:>5.2}x", own / plain);
        };
        show("double", rates(a.view(), b.view(), beta));
        show("single", rates(narrow(&a).view(), narrow(&b).view(), beta as f32));
    }
    println!("GFLOP/s on one core");
}
