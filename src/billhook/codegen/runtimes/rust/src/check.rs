//! What is checked once about the data, so that no walk leaves them.

use crate::codes::Places;
use crate::gaps::Gaps;
use crate::layout::{check, MOST_LEVELS};
use crate::{Error, Model};

impl Model<'_> {
    /// Returns an error unless every number that is an index, or drives a loop, is one that can be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.check_features()?;
        self.check_trees()?;
        self.check_tests()?;
        let layout = &self.layout;
        if layout.n_entries > 0 {
            let entries = (0..layout.n_leaves).all(|leaf| self.entry(leaf) < layout.n_entries);
            check(entries, "a leaf has an entry that there is not")?;
        }
        let factors = !layout.has_factors || (0..layout.n_columns).all(|column| self.factor(column) > 0);
        check(factors, "a factor is 0")
    }

    fn check_features(&self) -> Result<(), Error> {
        let layout = &self.layout;
        let mut places = Places::START;
        for k in 0..layout.n_used {
            let feature = self.next_feature(k, &mut places);
            check(feature < layout.n_features, "a feature is beyond the last")?;
            // The sums stay below 2^31 + 2^17.
            if k >= layout.n_ordered {
                places.category += self.n_categories_of(k);
                check(places.category <= layout.n_categories, "its categories")?;
            } else if layout.has_ranks {
                places.threshold += self.n_thresholds_of(k);
                check(places.threshold <= layout.n_thresholds, "its thresholds")?;
            } else {
                let grid = self.grid_of(k);
                check(layout.n_grids == 0 || grid < layout.n_grids, "its steps")?;
                check(self.steps_of(grid).are_valid(), "its steps")?;
            }
        }
        if layout.has_map && layout.id_bits > 0 {
            let after = self.next_feature(layout.n_used, &mut places);
            check(after == layout.n_features, "more features are in use than it says")?;
        }
        check(!layout.has_ranks || places.threshold == layout.n_thresholds, "its thresholds")?;
        check(layout.n_used == layout.n_ordered || places.category == layout.n_categories, "its categories")
    }

    fn check_trees(&self) -> Result<(), Error> {
        const SIZES: &str = "the sizes of its trees";
        let layout = &self.layout;
        let (mut n_tests, mut n_leaves) = (0_u32, 0_u32);
        for number in 0..layout.n_trees {
            let tree = self.tree(number);
            check(tree.column < layout.n_columns, "a tree adds to a column that there is not")?;
            check(tree.size > 0 || layout.n_inner == 0, SIZES)?;
            check(tree.size <= layout.n_inner - n_tests, SIZES)?;
            if layout.is_symmetric {
                check(tree.size <= MOST_LEVELS, SIZES)?;
                n_leaves += 1 << tree.size;
                check(n_leaves <= layout.n_leaves, SIZES)?;
            } else {
                self.check_shapes(n_tests, tree.size)?;
            }
            n_tests += tree.size;
        }
        check(n_tests == layout.n_inner && (!layout.is_symmetric || n_leaves == layout.n_leaves), SIZES)
    }

    /// Every split after the first is reached from one before it, and there is a way to each.
    fn check_shapes(&self, first: u32, n_splits: u32) -> Result<(), Error> {
        let mut ones = 0;
        for split in 0..n_splits {
            ones += self.bits.number(self.layout.shapes_at + 2 * (first + split), 2).count_ones();
            let is_last = split + 1 == n_splits;
            check(if is_last { ones == split } else { ones > split }, "the shapes of its trees")?;
        }
        Ok(())
    }

    fn check_tests(&self) -> Result<(), Error> {
        const FEATURE: &str = "a test is of a feature that is not in use";
        let layout = &self.layout;
        if layout.n_pairs == 0 {
            return check((0..layout.n_inner).all(|split| self.test(split).feature < layout.n_used), FEATURE);
        }
        let numbers = (0..layout.n_inner).all(|split| self.test_number(split) < layout.n_pairs);
        check(numbers, "a split has a test that there is not")?;
        if layout.ask_bits == 0 {
            return check((0..layout.n_pairs).all(|pair| self.pair(pair).feature < layout.n_used), FEATURE);
        }
        let mut gaps = Gaps::new(self.bits, layout);
        let mut last = None;
        for _ in 0..layout.n_pairs {
            last = Some(gaps.next_test().ok_or(Error::Invalid("its table of tests"))?.feature);
        }
        check(gaps.ends_feature() && last == layout.n_used.checked_sub(1), "its table of tests")
    }
}
