//! Numbers of a few bits each, the highest bit first, in sections that begin with a byte.

use crate::bits::mask;
use crate::check::check;
use crate::Error;

pub(crate) const FEATURES: usize = 0;
pub(crate) const KINDS: usize = 1;
pub(crate) const SHIFTS: usize = 2;
pub(crate) const BEGINS: usize = 3;
pub(crate) const SCALES: usize = 4;
pub(crate) const KEYS: usize = 5;
pub(crate) const CATEGORIES: usize = 6;
pub(crate) const TREES: usize = 7;
pub(crate) const COLUMNS: usize = 8;
pub(crate) const SIZES: usize = 9;
pub(crate) const NUMBERS: usize = 10;
pub(crate) const TESTED: usize = 11;
pub(crate) const CODES: usize = 12;
pub(crate) const MISSING: usize = 13;
pub(crate) const LEAVES: usize = 14;
pub(crate) const VALUES: usize = 15;
pub(crate) const FACTORS: usize = 16;
pub(crate) const BASES: usize = 17;
// Of projections, beside which there are no ranks, categories or missing values.
pub(crate) const LOWS: usize = KEYS;
pub(crate) const WEIGHTS: usize = CATEGORIES;
pub(crate) const TURNS: usize = MISSING;
const N_SECTIONS: usize = 18;
const WIDTH_BITS: u32 = 6;

#[derive(Clone, Copy, Default)]
struct Section {
    begin: usize,
    count: u32,
    width: u32,
}

impl Section {
    fn number(&self, data: &[u8], index: u32) -> u32 {
        if index >= self.count {
            return 0;
        }
        let bit = u64::from(index) * u64::from(self.width);
        let begin = self.begin + (bit >> 3) as usize;
        let word = (0..5).fold(0_u64, |word, k| word << 8 | data.get(begin + k).map_or(0, |byte| u64::from(*byte)));
        // Up to 7 bits before a number, and up to 32 of it.
        let behind = 40_u32.saturating_sub((bit & 7) as u32 + self.width);
        (word >> behind) as u32 & mask(self.width)
    }
}

/// All sections of a model. What is beyond them is 0.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    data: &'a [u8],
    all: [Section; N_SECTIONS],
}

impl<'a> Sections<'a> {
    /// Returns the sections that bytes are, where so many bits say how many numbers each has.
    pub(crate) fn of(data: &'a [u8], count_bits: u32) -> Result<Sections<'a>, Error> {
        let mut end = 0;
        let mut next = |count: u32, width: u32| {
            let section = Section { begin: end, count, width };
            // A number without bits stands beside others that have some.
            check(width <= 32 && count as usize <= data.len().saturating_mul(8), "its sections")?;
            end += ((u64::from(count) * u64::from(width) + 7) >> 3) as usize;
            check(end <= data.len(), "its sections are cut off")?;
            Ok(section)
        };
        let widths = next(N_SECTIONS as u32, WIDTH_BITS)?;
        let counts = next(N_SECTIONS as u32, count_bits)?;
        let mut all = [Section::default(); N_SECTIONS];
        for (k, section) in (0..).zip(all.iter_mut()) {
            *section = next(counts.number(data, k), widths.number(data, k))?;
        }
        check(end == data.len(), "there is something behind its sections")?;
        Ok(Sections { data, all })
    }

    /// Returns a number of a section.
    pub(crate) fn number(&self, which: usize, index: u32) -> u32 {
        self.all.get(which).map_or(0, |section| section.number(self.data, index))
    }

    /// Returns a number that may be negative, and is written as many higher as its highest bit says.
    pub(crate) fn signed(&self, which: usize, index: u32) -> i64 {
        i64::from(self.number(which, index)) - (1_i64.checked_shl(self.width(which)).unwrap_or(0) >> 1)
    }

    /// Returns how many numbers a section has.
    pub(crate) fn count(&self, which: usize) -> u32 {
        self.all.get(which).map_or(0, |section| section.count)
    }

    /// Returns how many bits each number of a section has.
    pub(crate) fn width(&self, which: usize) -> u32 {
        self.all.get(which).map_or(0, |section| section.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_read_from_any_bit() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0];
        let all = u64::from_be_bytes(bytes);
        for width in 1..=32 {
            let section = Section { begin: 0, count: 64 / width, width };
            for index in 0..section.count {
                let expected = (all << (index * width) >> (64 - width)) as u32;
                assert_eq!(section.number(&bytes, index), expected, "number {index} of {width} bits");
            }
            assert_eq!(section.number(&bytes, section.count), 0);
        }
    }
}
