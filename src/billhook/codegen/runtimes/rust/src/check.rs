//! What is checked once about the numbers, so that no walk leaves them.

use crate::sections::{
    BASES, BEGINS, CATEGORIES, CODES, COLUMNS, FACTORS, FEATURES, KEYS, KINDS, LEAVES, LOWS, MISSING, NUMBERS,
    SCALES, SHIFTS, SIZES, TESTED, TREES, TURNS, VALUES, WEIGHTS,
};
use crate::{Error, Model};

// Of a symmetric tree.
const MOST_LEVELS: u32 = 16;
// Bits of projections, and what their sums have to fit.
const WEIGHT_BITS: u32 = 8;
const TURN_BITS: u32 = 5;
const LARGEST_SUM: u64 = i32::MAX as u64;

impl Model<'_> {
    /// Returns an error unless every number that is an index, or drives a loop, is one that can be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let number = |which, index| self.sections.number(which, index);
        let count = |which| self.sections.count(which);
        let n_numbers = [
            (KINDS, count(FEATURES)),
            (BEGINS, count(SHIFTS)),
            (SCALES, count(SHIFTS)),
            (COLUMNS, count(TREES)),
            (CODES, count(TESTED)),
            (FACTORS, self.n_scores),
        ];
        check(n_numbers.iter().all(|(which, n)| count(*which) == *n), "how many numbers its sections have")?;
        let narrow = [(CODES, 16), (SHIFTS, 8), (VALUES, 16), (FACTORS, 8), (CATEGORIES, 8)];
        check(
            narrow.iter().all(|(which, most)| self.sections.width(*which) <= *most),
            "its numbers have too many bits",
        )?;
        check(self.sections.width(BASES) == 32, "its bases")?;
        check(self.scale > 0.0 && self.scale.is_finite() && self.base.is_finite(), "its scale or base")?;
        let mut feature = 0_u64;
        for k in 0..count(FEATURES) {
            feature += u64::from(number(FEATURES, k));
            check(feature < u64::from(self.n_features), "a feature is beyond the last")?;
            let kind = number(KINDS, k);
            check(kind < count(SHIFTS), "how the values of a feature become codes")?;
            if let Some(table) = [KEYS, CATEGORIES].get(number(SHIFTS, kind) as usize) {
                check(self.n_projections() == 0, "it has projections of ranks or categories")?;
                let end = u64::from(number(BEGINS, kind)) + u64::from(number(SCALES, kind));
                check(end <= u64::from(count(*table)), "its thresholds, or categories")?;
            }
        }
        self.check_projections()?;
        self.check_trees()?;
        let tests = (0..count(TESTED)).all(|test| (number(TESTED, test) as usize) < self.scratch_len());
        check(tests, "a test is of a feature that there is not")?;
        let numbers = (0..count(NUMBERS)).all(|k| number(NUMBERS, k) < count(TESTED));
        let missing = self.n_projections() > 0 || [0, count(TESTED)].contains(&count(MISSING));
        check(numbers && missing, "a split has a test that there is not")?;
        let n_rows = count(VALUES).checked_div(self.n_values).unwrap_or(0);
        let leaves = (0..count(LEAVES)).all(|leaf| number(LEAVES, leaf) < n_rows);
        let n_leaves = if count(LEAVES) > 0 { count(LEAVES) } else { n_rows };
        check(leaves && n_leaves == self.n_leaves(), "a leaf has values that there are not")
    }

    fn check_projections(&self) -> Result<(), Error> {
        let (n, n_features) = (self.n_projections(), self.sections.count(FEATURES));
        if n == 0 {
            return Ok(());
        }
        let n_weights = u64::from(n) * u64::from(n_features);
        let counts = self.sections.count(LOWS) == n && u64::from(self.sections.count(WEIGHTS)) == n_weights;
        check(counts, "how many numbers its projections have")?;
        let widths = [WEIGHTS, LOWS].iter().all(|which| self.sections.width(*which) > 0)
            && self.sections.width(WEIGHTS) <= WEIGHT_BITS
            && self.sections.width(TURNS) <= TURN_BITS;
        check(widths, "the numbers of its projections have too many bits, or none")?;
        for projection in 0..n {
            let first = projection * n_features;
            let weights = (first..first + n_features).map(|k| self.sections.signed(WEIGHTS, k).unsigned_abs());
            // Up to 2^7 each, and no section has 2^32 numbers.
            let sum: u64 = weights.sum();
            let low = self.sections.signed(LOWS, projection).unsigned_abs();
            let largest = sum * u64::from(self.highest_code()) + low;
            check(sum > 0 && largest <= LARGEST_SUM, "a projection has no sum, or one that is too large")?;
        }
        Ok(())
    }

    fn check_trees(&self) -> Result<(), Error> {
        let (mut n_splits, mut n_asking) = (0_u64, 0_u64);
        for tree in 0..self.sections.count(TREES) {
            let n = self.sections.number(TREES, tree);
            n_splits += u64::from(n);
            let n_levels = 32 - n.leading_zeros();
            n_asking += u64::from(if self.is_symmetric() { n_levels } else { n });
            if self.is_symmetric() {
                check(n & n.wrapping_add(1) == 0 && n_levels <= MOST_LEVELS, "a symmetric tree")?;
            }
            let column = self.sections.number(COLUMNS, tree);
            check(column <= self.n_scores - self.n_values, "a tree adds to a score that there is not")?;
        }
        let asked = [NUMBERS, TESTED].map(|which| self.sections.count(which));
        let n_asked = if asked[0] > 0 { asked[0] } else { asked[1] };
        check(n_splits == u64::from(self.sections.count(SIZES)), "its trees have other splits")?;
        check(n_asking == u64::from(n_asked), "its splits have other tests")
    }

    /// Returns how many leaves all trees have.
    pub(crate) fn n_leaves(&self) -> u32 {
        self.sections.count(SIZES).saturating_add(self.sections.count(TREES))
    }
}

/// Returns an error unless something is as it should be.
pub(crate) fn check(is_right: bool, what: &'static str) -> Result<(), Error> {
    if is_right {
        Ok(())
    } else {
        Err(Error::Invalid(what))
    }
}
