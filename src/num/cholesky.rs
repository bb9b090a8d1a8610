//! A small Cholesky factor that grows and shrinks by one row at a time.
//!
//! Active-set methods add and drop one constraint a step. Factorising anew costs `k³/3`; an update costs `k²`.

/// The lower Cholesky factor of a growing Gram matrix `Q = L·Lᵀ`.
///
/// Rows are stored one after the other, each with one entry beyond the diagonal, which removing a point needs. Memory grows
/// with the size, not with the capacity: thousands of factors of a few rows live at a time.
#[derive(Debug, Clone)]
pub struct GrowingCholesky {
    capacity: usize,
    size: usize,
    lower: Vec<f64>,
}

/// Where a row starts: those before it hold 2, 3, 4, … entries.
fn start(row: usize) -> usize {
    row * (row + 3) / 2
}

impl GrowingCholesky {
    /// An empty factor with room for `capacity` rows.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity, size: 0, lower: Vec::new() }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether another row fits.
    pub fn is_full(&self) -> bool {
        self.size == self.capacity
    }

    pub fn clear(&mut self) {
        self.size = 0;
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.lower[start(index)..=start(index) + index]
    }

    /// Appends a row and column to `Q`: `cross[s]` is the new point's product with point `s`, `square` with itself.
    ///
    /// Returns false and changes nothing when the new point depends on the present ones: its squared distance to their span
    /// is below `tolerance · square`.
    pub fn append(&mut self, cross: &[f64], square: f64, tolerance: f64) -> bool {
        let size = self.size;
        debug_assert!(cross.len() == size && size < self.capacity);
        self.lower.resize(start(size + 1).max(self.lower.len()), 0.0);
        let (head, tail) = self.lower.split_at_mut(start(size));
        let new = &mut tail[..=size];
        let mut left_over = square;
        for index in 0..size {
            let row = &head[start(index)..=start(index) + index];
            let value = (cross[index] - dot(&row[..index], &new[..index])) / row[index];
            new[index] = value;
            left_over -= value * value;
        }
        if left_over <= tolerance * square {
            return false;
        }
        new[size] = left_over.sqrt();
        self.size += 1;
        true
    }

    /// Removes point `index`: deletes its row and restores the triangle by Givens rotations.
    pub fn remove(&mut self, index: usize) {
        debug_assert!(index < self.size);
        for row in index..self.size - 1 {
            let from = start(row + 1);
            self.lower.copy_within(from..from + row + 2, start(row));
        }
        self.size -= 1;
        for pivot in index..self.size {
            let diagonal = self.lower[start(pivot) + pivot];
            let beyond = self.lower[start(pivot) + pivot + 1];
            let length = diagonal.hypot(beyond);
            let (cosine, sine) = (diagonal / length, beyond / length);
            self.lower[start(pivot) + pivot] = length;
            for row in pivot + 1..self.size {
                let at = start(row) + pivot;
                let (left, right) = (self.lower[at], self.lower[at + 1]);
                self.lower[at] = cosine * left + sine * right;
                self.lower[at + 1] = cosine * right - sine * left;
            }
        }
    }

    /// Solves `Q·x = b` in place.
    pub fn solve(&self, b: &mut [f64]) {
        debug_assert_eq!(b.len(), self.size);
        for index in 0..self.size {
            let row = self.row(index);
            b[index] = (b[index] - dot(&row[..index], &b[..index])) / row[index];
        }
        for index in (0..self.size).rev() {
            let row = self.row(index);
            let value = b[index] / row[index];
            b[index] = value;
            for (earlier, factor) in b[..index].iter_mut().zip(&row[..index]) {
                *earlier -= value * factor;
            }
        }
    }
}

/// A dot product in eight fixed lanes: the same sum on every machine, and one the compiler can vectorise.
pub fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (left_chunks, right_chunks) = (left.chunks_exact(8), right.chunks_exact(8));
    let tail: f64 = left_chunks.remainder().iter().zip(right_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in left_chunks.zip(right_chunks) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7])) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram(points: &[Vec<f64>]) -> Vec<Vec<f64>> {
        points.iter().map(|a| points.iter().map(|b| dot(a, b)).collect()).collect()
    }

    fn points(count: usize) -> Vec<Vec<f64>> {
        (0..count).map(|i| (0..count + 3).map(|j| ((i * i * 7 + j * j * i * 13 + j) as f64).sin()).collect()).collect()
    }

    fn check(factor: &GrowingCholesky, points: &[Vec<f64>]) {
        let gram = gram(points);
        let truth: Vec<f64> = (0..points.len()).map(|i| 1.0 + i as f64).collect();
        let mut b: Vec<f64> = gram.iter().map(|row| dot(row, &truth)).collect();
        factor.solve(&mut b);
        for (found, wanted) in b.iter().zip(&truth) {
            assert!((found - wanted).abs() < 1e-7, "{b:?}");
        }
    }

    #[test]
    fn appending_and_removing_keep_the_factor_right() {
        let all = points(9);
        let mut factor = GrowingCholesky::with_capacity(9);
        for (index, point) in all.iter().enumerate() {
            let cross: Vec<f64> = all[..index].iter().map(|other| dot(other, point)).collect();
            assert!(factor.append(&cross, dot(point, point), 1e-12));
        }
        check(&factor, &all);
        for gone in [8, 0, 3] {
            let mut left = all.clone();
            let mut shrunk = factor.clone();
            shrunk.remove(gone);
            left.remove(gone);
            check(&shrunk, &left);
        }
    }

    #[test]
    fn a_dependent_point_is_refused() {
        let mut factor = GrowingCholesky::with_capacity(3);
        assert!(factor.append(&[], 1.0, 1e-12));
        assert!(!factor.append(&[1.0], 1.0, 1e-12), "the same point twice");
        assert_eq!(factor.size(), 1);
    }
}
