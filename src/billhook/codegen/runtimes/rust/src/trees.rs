//! The walk down the trees.

use crate::bits::{bits_for, mask};
use crate::gaps::{goes_right, Gaps};
use crate::layout::{Missing, MOST_AT_ONCE};
use crate::Model;

/// What a split asks.
pub(crate) struct Test {
    pub(crate) feature: u32,
    threshold: u32,
    left: bool,
}

/// How many splits, or levels, a tree has, and the column that it adds to.
pub(crate) struct Tree {
    pub(crate) size: u32,
    pub(crate) column: u32,
}

impl Model<'_> {
    /// Answers all tests of a table of gaps, a bit each: a 1 sends the row to the right.
    pub(crate) fn answer(&self, codes: &[u16], answers: &mut [u16]) {
        let mut gaps = Gaps::new(self.bits, &self.layout);
        let mut n_left = self.layout.n_pairs;
        for word in answers {
            *word = 0;
            for bit in 0..n_left.min(16) {
                if let Some(test) = gaps.next_test() {
                    let code = codes.get(test.feature as usize).copied().unwrap_or(0);
                    *word |= u16::from(test.goes_right(code, &self.layout)) << bit;
                }
            }
            n_left = n_left.saturating_sub(16);
        }
    }

    /// Writes what the trees add up to.
    pub(crate) fn add_trees(&self, codes: &[u16], answers: &[u16], scores: &mut [i32]) {
        let layout = &self.layout;
        for score in scores.iter_mut() {
            *score = 0;
        }
        let (mut split, mut leaf) = (0, 0);
        for number in 0..layout.n_trees {
            let tree = self.tree(number);
            let found = leaf
                + if layout.is_symmetric {
                    self.walk_levels(split, tree.size, codes, answers)
                } else {
                    self.walk(split, tree.size, codes, answers)
                };
            let column = tree.column as usize;
            let n_values = layout.n_values as usize;
            let mut at = self.leaf_at(found);
            for score in scores.iter_mut().skip(column).take(n_values) {
                let value = self.bits.number(at, layout.leaf_bits);
                *score = score.wrapping_add(value as i32);
                at += layout.leaf_bits;
            }
            split += tree.size;
            leaf += if layout.is_symmetric { 1 << tree.size } else { tree.size + 1 };
        }
        for (c, score) in (0..).zip(scores.iter_mut()) {
            if layout.has_factors {
                *score = score.wrapping_mul(self.factor(c) as i32);
            }
            let more = self.bits.number(layout.base_at + c * layout.base_bits, layout.base_bits);
            *score = score.wrapping_add(layout.base).wrapping_add(more as i32);
        }
    }

    /// Returns how many splits, or levels, a tree has, and its column.
    pub(crate) fn tree(&self, number: u32) -> Tree {
        let layout = &self.layout;
        let at = layout.trees_at + number * (layout.tree_bits + layout.column_bits);
        Tree {
            size: layout.least_inner + self.bits.number(at, layout.tree_bits),
            column: self.bits.number(at + layout.tree_bits, layout.column_bits),
        }
    }

    /// Returns what the values of a column are times.
    pub(crate) fn factor(&self, column: u32) -> u32 {
        self.bits.number(self.layout.factors_at + 8 * column, 8)
    }

    /// Returns the number of the entry that a leaf has, where there is a table.
    pub(crate) fn entry(&self, leaf: u32) -> u32 {
        self.bits.number(self.layout.leaves_at + leaf * self.layout.entry_bits, self.layout.entry_bits)
    }

    fn leaf_at(&self, leaf: u32) -> u32 {
        let layout = &self.layout;
        match layout.n_entries {
            0 => layout.leaves_at + leaf * layout.entry_bits,
            _ => layout.table_at + self.entry(leaf) * layout.n_values * layout.leaf_bits,
        }
    }

    /// Returns the leaf, of a tree whose first split is this, that a row comes to.
    ///
    /// The k-th 1 among the shapes of a tree's splits leads to its split k + 1, the k-th 0 to its leaf k.
    fn walk(&self, first: u32, n_splits: u32, codes: &[u16], answers: &[u16]) -> u32 {
        if n_splits == 0 {
            return 0;
        }
        let shapes = self.layout.shapes_at + 2 * first;
        let (mut shape, mut ones, mut split) = (0, 0, 0);
        loop {
            let to = 2 * split + u32::from(self.is_right(first + split, codes, answers));
            while to - shape >= 32 {
                ones += self.bits.number(shapes + shape, 32).count_ones();
                shape += 32;
            }
            let bits = self.bits.number(shapes + shape, to - shape + 1);
            ones += bits.count_ones();
            if bits >> (to - shape) == 0 {
                return to - ones;
            }
            shape = to + 1;
            split = ones;
        }
    }

    /// Returns the leaf of a tree of so many levels: the answers to its tests are the bits of its number.
    fn walk_levels(&self, first: u32, n_levels: u32, codes: &[u16], answers: &[u16]) -> u32 {
        (0..n_levels).fold(0, |leaf, level| 2 * leaf + u32::from(self.is_right(first + level, codes, answers)))
    }

    fn is_right(&self, split: u32, codes: &[u16], answers: &[u16]) -> bool {
        let layout = &self.layout;
        if layout.ask_bits > 0 {
            let number = self.test_number(split);
            return answers.get((number >> 4) as usize).map_or(false, |word| word >> (number & 15) & 1 == 1);
        }
        let test = if layout.n_pairs > 0 { self.pair(self.test_number(split)) } else { self.test(split) };
        let code = codes.get(test.feature as usize).copied().unwrap_or(0);
        goes_right(code, test.threshold, layout, test.left)
    }

    /// Returns the number of the pair that a split has, or its test as one number of few bits.
    pub(crate) fn test_number(&self, split: u32) -> u32 {
        let layout = &self.layout;
        match layout.group_size {
            0 => self.bits.number(layout.tests_at + split * layout.pair_bits, layout.pair_bits),
            size => {
                let low_bits = layout.pair_bits - bits_for(layout.radix);
                let (group, place) = (split / size, split % size);
                let at = layout.tests_at + group * (layout.digit_bits + size * low_bits);
                // It is not 0, which the compiler does not know.
                let radix = layout.radix.max(1);
                let digits = self.bits.number(at, layout.digit_bits);
                let digit = (0..place).fold(digits, |digits, _| digits / radix) % radix;
                digit << low_bits | self.bits.number(at + layout.digit_bits + place * low_bits, low_bits)
            }
        }
    }

    /// Returns what a split asks, where there is no table.
    pub(crate) fn test(&self, split: u32) -> Test {
        match self.layout.group_size {
            0 => self.test_at(self.layout.tests_at + split * self.layout.test_bits),
            _ => self.test_of(self.test_number(split)),
        }
    }

    /// Returns a test of the table.
    pub(crate) fn pair(&self, number: u32) -> Test {
        self.test_at(self.layout.pairs_at + number * self.layout.test_bits)
    }

    fn test_at(&self, at: u32) -> Test {
        let layout = &self.layout;
        if layout.test_bits <= MOST_AT_ONCE {
            return self.test_of(self.bits.number(at, layout.test_bits));
        }
        let feature_at = at + layout.code_bits;
        let left_at = feature_at + layout.feature_bits;
        Test {
            threshold: self.bits.number(at, layout.code_bits),
            feature: self.bits.number(feature_at, layout.feature_bits),
            left: layout.missing == Missing::Split && self.bits.number(left_at, 1) == 1,
        }
    }

    fn test_of(&self, number: u32) -> Test {
        let layout = &self.layout;
        let rest = number >> layout.code_bits;
        Test {
            threshold: number & mask(layout.code_bits),
            feature: rest & mask(layout.feature_bits),
            left: rest >> layout.feature_bits & 1 == 1,
        }
    }
}
