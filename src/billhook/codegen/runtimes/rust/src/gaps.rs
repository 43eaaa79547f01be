//! The table of tests as gaps: for each feature how many tests ask for it, then the gap before each.

use crate::bits::Bits;
use crate::codes::MISSING;
use crate::layout::{Layout, Missing};

/// A test of the table.
pub(crate) struct GapTest {
    pub(crate) feature: u32,
    key: u32,
}

/// The tests, ascending by feature and key; `None` where the bits are no such table.
pub(crate) struct Gaps<'a> {
    bits: Bits<'a>,
    layout: &'a Layout,
    at: u32,
    end: u32,
    feature: u32,
    n_left: u32,
    low_bits: u32,
    next_key: u32,
}

impl<'a> Gaps<'a> {
    pub(crate) fn new(bits: Bits<'a>, layout: &'a Layout) -> Gaps<'a> {
        Gaps {
            bits,
            layout,
            at: layout.pairs_at,
            end: layout.pairs_at + layout.ask_bits,
            feature: 0,
            n_left: 0,
            low_bits: 0,
            next_key: 0,
        }
    }

    /// Returns the next test; each feature has one at least.
    pub(crate) fn next_test(&mut self) -> Option<GapTest> {
        if self.n_left == 0 {
            if self.next_key > 0 {
                self.feature += 1;
            }
            let many = self.number(self.layout.many_bits)? + 1;
            self.n_left = many;
            self.low_bits = self.layout.gap_bits.saturating_sub(32 - many.leading_zeros());
            self.next_key = 0;
        }
        let key = self.next_key + self.number(self.low_bits)?;
        if key >> self.layout.key_bits > 0 {
            return None;
        }
        self.next_key = key + 1;
        self.n_left -= 1;
        Some(GapTest { feature: self.feature, key })
    }

    /// Whether the test that came last is the last of its feature.
    pub(crate) fn ends_feature(&self) -> bool {
        self.n_left == 0
    }

    /// Returns the next number: as many ones as its high bits say, a zero, and its low bits, highest first.
    fn number(&mut self, low_bits: u32) -> Option<u32> {
        let high = self.bits.ones(self.at, self.end);
        // Keys have 17 bits at most, and a feature no more tests than keys.
        if high >> 17 > 0 || self.end - self.at - high < 1 + low_bits {
            return None;
        }
        let low = self.bits.number(self.at + high + 1, low_bits);
        self.at += high + 1 + low_bits;
        // Of 0 bits, all that is left of them is 0.
        let low = low.reverse_bits().checked_shr(32 - low_bits).unwrap_or(0);
        let number = u64::from(high) << low_bits | u64::from(low);
        u32::try_from(number).ok().filter(|number| number >> 17 == 0)
    }
}

impl GapTest {
    /// Whether a value with this code goes to the right.
    pub(crate) fn goes_right(&self, code: u16, layout: &Layout) -> bool {
        let is_split = layout.missing == Missing::Split;
        let threshold = self.key >> u32::from(is_split);
        goes_right(code, threshold, layout, is_split && self.key & 1 == 1)
    }
}

/// Whether a value with this code goes to the right at a threshold with that; `left` says where missing values go.
pub(crate) fn goes_right(code: u16, threshold: u32, layout: &Layout, left: bool) -> bool {
    if code == MISSING {
        !(left || layout.missing == Missing::Left)
    } else {
        u32::from(code) > threshold
    }
}
