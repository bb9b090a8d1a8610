//! Matrix products: ndarray's, to the bit, on kernels that keep more of the product in registers.
//!
//! Both libraries sum an entry in the order of its terms, with fused multiplications, whichever vector instructions the
//! processor has. ndarray's kernels (the matrixmultiply crate) add sums of [`DEPTH`] terms to the table; those of the gemm
//! crate take longer sums, sum a table that is held backwards from its end, have other ways for few entries, single rows and very
//! short sums, and round factors otherwise. So products are cut at the same depth here, and what would be rounded otherwise
//! stays with ndarray.
//! `benches/products.rs` compares the two.

use gemm::Parallelism;
use ndarray::linalg::general_mat_mul as of_ndarray;
use ndarray::{Array2, ArrayRef2, ArrayView2, ArrayViewMut2, Axis, LinalgScalar, Slice};

/// Terms of a sum that are added to the table at once.
pub const DEPTH: usize = 256;

/// Tables of so few entries stay with ndarray, and sums of so few terms.
const FEW_ENTRIES: usize = 256;
const FEW_TERMS: usize = 2;

/// Entries of a matrix: `f32` or `f64`.
pub trait Entry: LinalgScalar + PartialEq {
    /// Whether products with it are exact.
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
    let is_table = c.len() > FEW_ENTRIES && c.nrows() > 1 && c.ncols() > 1 && a.ncols() > 0;
    let is_forward =
        [a.strides(), b.strides(), c.strides()].iter().all(|strides| strides.iter().all(|step| *step >= 0));
    let fits = a.ncols() == b.nrows() && (a.nrows(), b.ncols()) == c.dim();
    if !(is_exact && is_table && is_forward && fits) {
        return of_ndarray(alpha, a, b, beta, c);
    }
    let mut beta = beta;
    for start in (0..a.ncols()).step_by(DEPTH) {
        let terms = Slice::from(start..(start + DEPTH).min(a.ncols()));
        add(alpha, a.slice_axis(Axis(1), terms), b.slice_axis(Axis(0), terms), beta, c.view_mut());
        beta = A::one();
    }
}

/// `a·b` for `a (m×k)` and `b (k×n)`, in rows.
pub fn product<A: Entry>(a: &ArrayRef2<A>, b: &ArrayRef2<A>) -> Array2<A> {
    let mut product = Array2::zeros((a.nrows(), b.ncols()));
    general_mat_mul(A::one(), a, b, A::zero(), &mut product);
    product
}

/// `c ← α·a·b + β·c` for at most [`DEPTH`] terms a sum.
fn add<A: Entry>(alpha: A, a: ArrayView2<A>, b: ArrayView2<A>, beta: A, mut c: ArrayViewMut2<A>) {
    if a.ncols() <= FEW_TERMS {
        return of_ndarray(alpha, &a, &b, beta, &mut c);
    }
    let ((rows, terms), columns) = (a.dim(), b.ncols());
    let (of_a, of_b, of_c) = (strides(a.strides()), strides(b.strides()), strides(c.strides()));
    let reads = !beta.is_zero();
    // SAFETY: the pointers and strides are those of three tables of these shapes, of which `c` is borrowed for writing; the
    // entries are f32 or f64, which the function takes.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            terms,
            c.as_mut_ptr(),
            of_c[1],
            of_c[0],
            reads,
            a.as_ptr(),
            of_a[1],
            of_a[0],
            b.as_ptr(),
            of_b[1],
            of_b[0],
            beta,
            alpha,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

fn strides(of: &[isize]) -> [isize; 2] {
    [of[0], of[1]]
}

#[cfg(test)]
mod tests {
    use ndarray::s;
    use proptest::prelude::*;

    use super::*;
    use crate::rng::{Rng, StreamName};
    use rand::RngExt;

    /// A table in rows or columns, within a larger one, or backwards.
    fn drawn(rng: &mut Rng, rows: usize, columns: usize, layout: u8) -> Array2<f64> {
        let mut draw = |shape| Array2::from_shape_simple_fn(shape, || rng.random::<f64>() - 0.5);
        match layout {
            0 => draw((rows, columns)),
            1 => draw((columns, rows)).reversed_axes(),
            2 => draw((rows + 3, columns + 5)).slice_move(s![2..rows + 2, 1..columns + 1]),
            3 => draw((rows, columns)).slice_move(s![..;-1, ..]),
            _ => draw((rows, columns)).slice_move(s![.., ..;-1]),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn bits_are_those_of_ndarray(
            rows in 0..70usize, columns in 0..70usize, terms in prop_oneof![0..4usize, 4..600usize], seed: u64,
            alpha in prop::sample::select(vec![1.0, -1.0, 0.25, 1.0 / 3.0, 0.0]),
            beta in prop::sample::select(vec![0.0, 1.0, 0.5]),
            layouts in [0..5u8, 0..5u8, 0..5u8],
        ) {
            let mut rng = StreamName::new("test").with(seed).rng();
            let a = drawn(&mut rng, rows, terms, layouts[0]);
            let b = drawn(&mut rng, terms, columns, layouts[1]);
            let before = drawn(&mut rng, rows, columns, layouts[2]);
            let (mut expected, mut found) = (before.clone(), before.clone());
            of_ndarray(alpha, &a, &b, beta, &mut expected);
            general_mat_mul(alpha, &a, &b, beta, &mut found);
            prop_assert!(expected.iter().zip(&found).all(|(x, y)| x.to_bits() == y.to_bits()));

            let narrow = |table: &Array2<f64>| table.mapv(|x| x as f32);
            let (mut expected, mut found) = (narrow(&before), narrow(&before));
            of_ndarray(alpha as f32, &narrow(&a), &narrow(&b), beta as f32, &mut expected);
            general_mat_mul(alpha as f32, &narrow(&a), &narrow(&b), beta as f32, &mut found);
            prop_assert!(expected.iter().zip(&found).all(|(x, y)| x.to_bits() == y.to_bits()));
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
    #[should_panic]
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
