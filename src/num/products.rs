//! Matrix products with the bits of ndarray's own, on kernels that keep more of the product in registers.
//!
//! Both libraries sum an entry in the order of its terms, in one sum. ndarray's kernels (the matrixmultiply crate) add sums of
//! [`DEPTH`] terms to the table; those of the gemm crate take longer sums, sum from the end where a factor is held backwards,
//! have other ways for few entries, single rows and very short sums, and round multiples of a product otherwise. So products
//! are cut at the same depth here, and what gemm would round otherwise stays with ndarray. What may differ are the sign of a
//! zero, which number a NaN holds, and multiples of a product (`α` not ±1) beyond the range of normal numbers.
//! `benches/products.rs` compares the two.

use std::sync::LazyLock;

use gemm::Parallelism;
use gemm_common::cache::CACHE_INFO;
use ndarray::linalg::general_mat_mul as of_ndarray;
use ndarray::{Array2, ArrayRef2, ArrayView2, ArrayViewMut2, Axis, LinalgScalar};

use crate::memory::levels_of_cache;

/// Terms of a sum that are added to the table at once.
pub const DEPTH: usize = 256;

/// Rows or columns of the table that are made at once: gemm holds a copy of what they are made of.
const LINES: usize = 1024;

/// Tables of so few entries stay with ndarray, and sums of so few terms.
const FEW_ENTRIES: usize = 256;
const FEW_TERMS: usize = 2;

/// Entries of a matrix: `f32` or `f64`.
pub trait Entry: LinalgScalar + PartialEq {
    /// Whether a product with it is exact, within the range of normal numbers.
    fn is_power_of_two(self) -> bool;
}

impl Entry for f32 {
    fn is_power_of_two(self) -> bool {
        self.is_normal() && self.to_bits().trailing_zeros() >= f32::MANTISSA_DIGITS - 1
    }
}

impl Entry for f64 {
    fn is_power_of_two(self) -> bool {
        self.is_normal() && self.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1
    }
}

/// `c ← α·a·b + β·c`, with the bits of [`ndarray::linalg::general_mat_mul`].
///
/// Shapes: `a (m×k)`, `b (k×n)`, `c (m×n)`.
///
/// # Panics
/// When the shapes do not fit each other.
///
/// ```
/// use factsmith::num::products::general_mat_mul;
/// use ndarray::array;
/// let mut c = array![[1.0, 0.0]];
/// general_mat_mul(1.0, &array![[2.0, 3.0]], &array![[1.0, 0.0], [0.0, 1.0]], 1.0, &mut c);
/// assert_eq!(c, array![[3.0, 3.0]]);
/// ```
pub fn general_mat_mul<A: Entry>(alpha: A, a: &ArrayRef2<A>, b: &ArrayRef2<A>, beta: A, c: &mut ArrayRef2<A>) {
    let is_exact = alpha.is_power_of_two() && (beta.is_zero() || beta.is_one());
    let is_forward =
        [a.strides(), b.strides(), c.strides()].iter().all(|strides| strides.iter().all(|step| *step >= 0));
    let fits = a.ncols() == b.nrows() && (a.nrows(), b.ncols()) == c.dim() && a.ncols() > 0;
    if !(is_exact && is_forward && fits && *GEMM_RUNS) {
        return of_ndarray(alpha, a, b, beta, c);
    }
    let (a, b) = (a.view(), b.view());
    if c.strides()[0] >= c.strides()[1] {
        for (a, c) in a.axis_chunks_iter(Axis(0), LINES).zip(c.axis_chunks_iter_mut(Axis(0), LINES)) {
            add_in_depth(alpha, a, b, beta, c);
        }
    } else {
        for (b, c) in b.axis_chunks_iter(Axis(1), LINES).zip(c.axis_chunks_iter_mut(Axis(1), LINES)) {
            add_in_depth(alpha, a, b, beta, c);
        }
    }
}

/// Whether gemm does its work on this processor. Version 0.19 ends in a panic where there are fused multiplications without
/// AVX2, or a fourth level of cache, and divides by zero where the second level is small; without vectors it is slow.
static GEMM_RUNS: LazyLock<bool> =
    LazyLock::new(|| has_vectors() && levels_of_cache() <= 3 && CACHE_INFO[1].cache_bytes >= SECOND_LEVEL);

/// Bytes of the second level of cache that are enough for any kernel.
const SECOND_LEVEL: usize = 128 << 10;

#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> bool {
    cfg!(target_arch = "aarch64")
}

/// `a·b` for `a (m×k)` and `b (k×n)`, in rows.
pub fn product<A: Entry>(a: &ArrayRef2<A>, b: &ArrayRef2<A>) -> Array2<A> {
    let mut product = Array2::zeros((a.nrows(), b.ncols()));
    general_mat_mul(A::one(), a, b, A::zero(), &mut product);
    product
}

/// `c ← α·a·b + β·c`, [`DEPTH`] terms of a sum at a time.
fn add_in_depth<A: Entry>(alpha: A, a: ArrayView2<A>, b: ArrayView2<A>, beta: A, mut c: ArrayViewMut2<A>) {
    let mut beta = beta;
    for (a, b) in a.axis_chunks_iter(Axis(1), DEPTH).zip(b.axis_chunks_iter(Axis(0), DEPTH)) {
        add(alpha, a, b, beta, c.view_mut());
        beta = A::one();
    }
}

/// `c ← α·a·b + β·c` for at most [`DEPTH`] terms a sum and [`LINES`] rows or columns.
fn add<A: Entry>(alpha: A, a: ArrayView2<A>, b: ArrayView2<A>, beta: A, mut c: ArrayViewMut2<A>) {
    let is_line = c.nrows() == 1 || c.ncols() == 1;
    if is_line || c.len() <= FEW_ENTRIES || a.ncols() <= FEW_TERMS {
        return of_ndarray(alpha, &a, &b, beta, &mut c);
    }
    let ((rows, terms), columns) = (a.dim(), b.ncols());
    let reads = !beta.is_zero();
    // SAFETY: the pointers and strides are those of three tables of these shapes, of which `c` is borrowed for writing; the
    // entries are f32 or f64, which the function takes.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            terms,
            c.as_mut_ptr(),
            c.strides()[1],
            c.strides()[0],
            reads,
            a.as_ptr(),
            a.strides()[1],
            a.strides()[0],
            b.as_ptr(),
            b.strides()[1],
            b.strides()[0],
            beta,
            alpha,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;
    use proptest::prelude::*;

    use super::*;
    use crate::rng::{Rng, StreamName};
    use rand::RngExt;

    #[derive(Debug, Clone, Copy)]
    struct Case {
        rows: usize,
        terms: usize,
        columns: usize,
        alpha: f64,
        beta: f64,
        /// Of `a`, `b` and `c`.
        layouts: [u8; 3],
        /// An entry of `a`.
        odd: f64,
        seed: u64,
    }

    /// A table in rows or columns, within a larger one, or backwards.
    fn drawn<A: Entry>(rng: &mut Rng, rows: usize, columns: usize, layout: u8, number: fn(f64) -> A) -> Array2<A> {
        let mut draw = |shape| Array2::from_shape_simple_fn(shape, || number(rng.random::<f64>() - 0.5));
        match layout {
            0 => draw((rows, columns)),
            1 => draw((columns, rows)).reversed_axes(),
            2 => draw((rows + 3, columns + 5)).slice_move(s![2..rows + 2, 1..columns + 1]),
            3 => draw((rows, columns)).slice_move(s![..;-1, ..]),
            _ => draw((rows, columns)).slice_move(s![.., ..;-1]),
        }
    }

    /// Both products, but for signs of zeros and payloads of NaNs.
    fn are_equal<A: Entry>(case: Case, number: fn(f64) -> A) -> bool {
        let Case { rows, terms, columns, layouts, .. } = case;
        let mut rng = StreamName::new("test").with(case.seed).rng();
        let mut a = drawn(&mut rng, rows, terms, layouts[0].min(4), number);
        if let Some(entry) = a.first_mut() {
            *entry = number(case.odd);
        }
        let b = drawn(&mut rng, terms, columns, layouts[1].min(4), number);
        // One row, or one column, again and again.
        let (row, column) = (drawn(&mut rng, 1, terms, 0, number), drawn(&mut rng, terms, 1, 0, number));
        let a = if layouts[0] == 5 { row.broadcast(a.dim()).unwrap() } else { a.view() };
        let b = if layouts[1] == 5 { column.broadcast(b.dim()).unwrap() } else { b.view() };
        let mut expected = drawn(&mut rng, rows, columns, layouts[2], number);
        let mut found = expected.clone();
        of_ndarray(number(case.alpha), &a, &b, number(case.beta), &mut expected);
        general_mat_mul(number(case.alpha), &a, &b, number(case.beta), &mut found);
        #[allow(clippy::eq_op)]
        expected.iter().zip(&found).all(|(x, y)| x == y || (x != x && y != y))
    }

    /// Few, one, and as many as one block and a few.
    fn lines() -> impl Strategy<Value = usize> {
        prop_oneof![7 => 0..70usize, 1 => Just(1usize), 2 => LINES..LINES + 70]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn bits_are_those_of_ndarray(
            rows in lines(), columns in lines(), terms in prop_oneof![0..4usize, 4..600usize], seed: u64,
            alpha in prop::sample::select(vec![1.0, -1.0, 0.25, 1.0 / 3.0, 0.0]),
            beta in prop::sample::select(vec![0.0, 1.0, 0.5]),
            layouts in [0..6u8, 0..6u8, 0..5u8],
            odd in prop::sample::select(vec![0.0, 1.0, f64::INFINITY, f64::NAN]),
        ) {
            let case = Case { rows, terms, columns, alpha, beta, layouts, odd, seed };
            prop_assert!(are_equal(case, |number| number), "double precision");
            prop_assert!(are_equal(case, |number| number as f32), "single precision");
        }
    }

    #[test]
    fn single_lines_have_the_bits_of_ndarray() {
        for (rows, columns) in [(1, 300), (300, 1), (LINES + 1, 300), (300, LINES + 1)] {
            for (of_b, of_c) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let layouts = [0, of_b, of_c];
                let case = Case { rows, terms: 100, columns, alpha: 1.0, beta: 0.0, layouts, odd: 1.0, seed: 0 };
                assert!(are_equal(case, |number| number) && are_equal(case, |number| number as f32), "{case:?}");
            }
        }
    }

    #[test]
    fn powers_of_two() {
        assert!(
            [1.0, -1.0, 0.5, 4096.0, -0.125].iter().all(|x: &f64| x.is_power_of_two() && (*x as f32).is_power_of_two())
        );
        for other in [0.0, 3.0, 0.1, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(!other.is_power_of_two() && !(other as f32).is_power_of_two(), "{other}");
        }
    }

    #[test]
    #[should_panic(expected = "not compatible")]
    fn shapes_that_do_not_fit_are_refused() {
        general_mat_mul(
            1.0,
            &Array2::zeros((40, 5)),
            &Array2::zeros((6, 40)),
            0.0,
            &mut Array2::<f64>::zeros((40, 40)),
        );
    }

    #[test]
    fn what_is_overwritten_is_not_read() {
        let mut c = Array2::from_elem((40, 40), f64::NAN);
        general_mat_mul(1.0, &Array2::ones((40, 300)), &Array2::ones((300, 40)), 0.0, &mut c);
        assert!(c.iter().all(|x| *x == 300.0));
    }
}
