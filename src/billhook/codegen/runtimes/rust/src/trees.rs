//! The walk down the trees.

use crate::codes::MISSING_CODE;
use crate::sections::{BASES, CODES, COLUMNS, FACTORS, LEAVES, MISSING, NUMBERS, SIZES, TESTED, TREES, VALUES};
use crate::Model;

impl Model<'_> {
    /// Writes what the trees add up to.
    pub(crate) fn add_trees(&self, codes: &[u16], scores: &mut [i32]) {
        for score in scores.iter_mut() {
            *score = 0;
        }
        let (mut first, mut split) = (0, 0);
        for tree in 0..self.sections.count(TREES) {
            let n = self.sections.number(TREES, tree);
            let leaf = first + tree + self.walk(codes, split, n);
            first += n;
            split += if self.is_symmetric() { 32 - n.leading_zeros() } else { n };
            let row = if self.sections.count(LEAVES) > 0 { self.sections.number(LEAVES, leaf) } else { leaf };
            let values = (0..self.n_values).map(|k| self.sections.number(VALUES, row * self.n_values + k));
            let column = self.sections.number(COLUMNS, tree) as usize;
            for (score, value) in scores.iter_mut().skip(column).zip(values) {
                *score = score.wrapping_add(value as i32);
            }
        }
        for (k, score) in (0..).zip(scores) {
            let factor = self.sections.number(FACTORS, k) as i32 + 1;
            *score = score.wrapping_mul(factor).wrapping_add(self.sections.number(BASES, k) as i32);
        }
    }

    /// Returns whether trees have half their splits on either side of each, and what a level asks stands once.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.sections.width(SIZES) == 0
    }

    /// Returns the leaf of a tree with `n` splits, which stand from one on: behind a split come those on its left,
    /// then those on its right.
    fn walk(&self, codes: &[u16], mut split: u32, mut n: u32) -> u32 {
        let mut leaf = 0;
        while n > 0 {
            n -= 1;
            let on_left = if self.is_symmetric() { n >> 1 } else { self.sections.number(SIZES, split).min(n) };
            if self.goes_right(codes, split) {
                leaf += on_left + 1;
                n -= on_left;
                split += if self.is_symmetric() { 0 } else { on_left };
            } else {
                n = on_left;
            }
            split += 1;
        }
        leaf
    }

    fn goes_right(&self, codes: &[u16], split: u32) -> bool {
        let test = if self.sections.count(NUMBERS) > 0 { self.sections.number(NUMBERS, split) } else { split };
        let feature = self.sections.number(TESTED, test) as usize;
        let code = codes.get(feature).copied().unwrap_or(0);
        if code == MISSING_CODE && self.sections.count(MISSING) > 0 {
            return self.sections.number(MISSING, test) > 0;
        }
        u32::from(code) > self.sections.number(CODES, test)
    }
}
