//! Table with one value for each unordered pair of distinct items.

/// Symmetric table of values for pairs `(i, j)`, without the diagonal `i == j`.
#[derive(Clone, Debug, PartialEq)]
pub struct Triangle<T> {
    /// Values of the pairs; pair `(i, j)` with `i < j` is at index `j * (j - 1) / 2 + i`.
    values: Vec<T>,
}

impl<T: Copy> Triangle<T> {
    /// Creates a table for `count` items, and calls `value` for each pair `(i, j)` with `i < j`.
    #[must_use]
    pub fn new(count: usize, value: impl FnMut((usize, usize)) -> T) -> Self {
        Self { values: Self::pairs(count).map(value).collect() }
    }

    /// Returns all pairs `(i, j)` with `i < j < count`, sorted by `j` and then by `i`.
    pub fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..count).flat_map(|j| (0..j).map(move |i| (i, j)))
    }

    /// Creates a table from values in the order of [`Triangle::pairs`]. Returns `None` if there is not one
    /// value for each pair.
    #[must_use]
    pub fn from_values(count: usize, values: Vec<T>) -> Option<Self> {
        let table = Self { values };
        table.is_for(count).then_some(table)
    }

    /// True if the table has one value for each pair of `count` items.
    #[must_use]
    pub fn is_for(&self, count: usize) -> bool {
        self.values.len() == count * count.saturating_sub(1) / 2
    }

    /// Returns the value of a pair; the order of `i` and `j` does not matter.
    ///
    /// # Panics
    /// Panics if `i` and `j` are equal, or if the table has no item `i` or `j`.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> T {
        self.values[Self::at(i, j)]
    }

    /// Sets the value of a pair; the order of `i` and `j` does not matter.
    ///
    /// # Panics
    /// Panics if `i` and `j` are equal, or if the table has no item `i` or `j`.
    pub fn set(&mut self, i: usize, j: usize, value: T) {
        self.values[Self::at(i, j)] = value;
    }

    fn at(i: usize, j: usize) -> usize {
        assert_ne!(i, j, "a pair of equal elements");
        let (i, j) = (i.min(j), i.max(j));
        j * (j - 1) / 2 + i
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_value_in_either_order() {
        let table = Triangle::new(4, |(i, j)| 10 * i + j);
        for (i, j) in Triangle::<usize>::pairs(4) {
            assert_eq!((table.get(i, j), table.get(j, i)), (10 * i + j, 10 * i + j));
        }
        assert_eq!(Triangle::<usize>::pairs(4).count(), 6);
    }

    #[test]
    fn values_that_are_not_one_a_pair_make_no_table() {
        assert_eq!(Triangle::from_values(3, vec![1, 2]), None);
        assert_eq!(Triangle::from_values(3, vec![1, 2, 3]), Some(Triangle::new(3, |(i, j)| i + j)));
        assert_eq!(Triangle::<u8>::from_values(0, Vec::new()), Some(Triangle::new(0, |_| 0)));
    }
}
