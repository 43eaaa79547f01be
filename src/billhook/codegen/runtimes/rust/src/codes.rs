//! From the values of features to codes, whole numbers that compare with the codes of thresholds as the values do.

use crate::bits::mask;
use crate::sections::{BEGINS, CATEGORIES, CODES, FEATURES, KEYS, KINDS, LOWS, SCALES, SHIFTS, TURNS, WEIGHTS};
use crate::{Model, NO_MISSING};

/// The code of a missing value; no other is as high.
pub(crate) const MISSING_CODE: u16 = u16::MAX;
const INFINITY: u32 = 0x7F80_0000;
const SIGN: u32 = 1 << 31;
const MOST_CODE: u32 = 0xFFFE;
const MOST_FINE: i64 = 0xFFFF;
// Shifts up to this are those of steps that have as many floats each; higher ones, of steps of the same length.
const MOST_KEY_SHIFT: u32 = 33;

/// How the values of a feature become codes by steps.
#[derive(Clone, Copy)]
struct Steps {
    shift: u32,
    offset: i64,
    scale: u32,
    bits: u32,
}

impl Steps {
    /// Returns floor((ceil(x 2^p) - offset) scale / 2^(31 - bits)), where the shift is 150 - p, of a number.
    fn code(&self, bits: u32) -> u16 {
        let whole = if self.shift <= MOST_KEY_SHIFT {
            i64::from(ordered(bits).checked_shr(self.shift).unwrap_or(0))
        } else {
            scaled(bits, self.shift)
        };
        // Not by `clamp`, which panics if its limits are in the wrong order, and is not always inlined.
        #[allow(clippy::manual_clamp)]
        let fine = (whole - self.offset).max(0).min(MOST_FINE) as u64;
        let code = match self.scale {
            0 => fine,
            scale => (fine * u64::from(scale)) >> (31 - self.bits.min(16)),
        };
        code.min(u64::from(mask(self.bits).min(MOST_CODE))) as u16
    }
}

/// Returns ceil(x 2^p) of a float with these bits, or a number beyond all codes if it is infinite or as large.
fn scaled(bits: u32, shift: u32) -> i64 {
    let power = bits >> 23 & 0xFF;
    let mantissa = i64::from(bits & 0x7F_FFFF | u32::from(power > 0) << 23);
    // Of minus the number, so that a shift to the right, which rounds down, rounds the number up.
    let minus = if bits & SIGN == 0 { -mantissa } else { mantissa };
    let moved = if power == 0xFF {
        minus << 16
    } else if power < shift {
        minus >> (shift - power).min(31)
    } else {
        minus << (power - shift).min(16)
    };
    -moved
}

/// Returns a whole number in the order of the floats; -0.0 counts as 0.0.
fn ordered(bits: u32) -> u32 {
    if bits & SIGN == 0 || bits == SIGN {
        bits | SIGN
    } else {
        !bits
    }
}

impl Model<'_> {
    /// Writes the code of each feature in use, and of each projection behind them.
    pub(crate) fn find_codes(&self, row: &[f32], codes: &mut [u16]) {
        let mut feature = 0_u32;
        for (k, code) in (0..self.sections.count(FEATURES)).zip(codes.iter_mut()) {
            feature = feature.wrapping_add(self.sections.number(FEATURES, k));
            let bits = row.get(feature as usize).map_or(0, |x| x.to_bits());
            *code = self.code_of(bits, self.sections.number(KINDS, k));
        }
        for k in 0..self.n_projections() {
            let code = self.projected(k, codes);
            if let Some(place) = codes.get_mut((self.sections.count(FEATURES) + k) as usize) {
                *place = code;
            }
        }
    }

    /// Returns the highest code that the value of a feature may have, by steps, or a projection.
    pub(crate) fn highest_code(&self) -> u32 {
        mask(self.sections.width(CODES)).min(MOST_CODE)
    }

    /// Returns the code of a projection: a sum of codes times weights, shifted down, less the lowest, cut off at both
    /// ends.
    fn projected(&self, projection: u32, codes: &[u16]) -> u16 {
        let n = self.sections.count(FEATURES);
        let products = (0..n).zip(codes).map(|(k, code)| {
            let weight = self.sections.signed(WEIGHTS, projection * n + k) as i32;
            weight.wrapping_mul(i32::from(*code))
        });
        let sum = products.fold(0_i32, i32::wrapping_add);
        let turned = i64::from(sum >> (self.sections.number(TURNS, projection) & 31));
        let code = turned - self.sections.signed(LOWS, projection);
        code.max(0).min(i64::from(self.highest_code())) as u16
    }

    fn code_of(&self, mut bits: u32, kind: u32) -> u16 {
        if bits & !SIGN > INFINITY {
            if self.flags & NO_MISSING == 0 {
                return MISSING_CODE;
            }
            bits = bits & SIGN | INFINITY;
        }
        let (begin, n) = (self.sections.number(BEGINS, kind), self.sections.number(SCALES, kind));
        match self.sections.number(SHIFTS, kind) {
            0 => self.rank(ordered(bits), begin, n),
            1 => self.code_of_category(bits, begin, n),
            shift => Steps { shift, offset: i64::from(begin as i32), scale: n, bits: self.sections.width(CODES) }
                .code(bits),
        }
    }

    /// Returns how many of the `n` thresholds from `first` on lie below a number.
    fn rank(&self, key: u32, first: u32, n: u32) -> u16 {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sections.number(KEYS, first + middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.min(MOST_CODE) as u16
    }

    /// Returns the code of the category that a number is, cut off towards zero; the highest if it is in no set.
    fn code_of_category(&self, bits: u32, first: u32, n: u32) -> u16 {
        let power = bits >> 23 & 0xFF;
        let category = if power < 127 {
            0
        } else if power > 142 || bits & SIGN != 0 {
            u32::MAX
        } else {
            (bits & 0x7F_FFFF | 1 << 23) >> (150 - power)
        };
        if category >= n {
            return mask(self.sections.width(CATEGORIES)) as u16;
        }
        self.sections.number(CATEGORIES, first + category) as u16
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn floats_are_scaled_and_rounded_up() {
        for k in -4000..4000 {
            let x = k as f32 * 0.37;
            for power in -8..12 {
                let expected = (f64::from(x) * 2_f64.powi(power)).ceil() as i64;
                assert_eq!(scaled(x.to_bits(), (150 - power) as u32), expected, "{x} 2^{power}");
            }
        }
        assert_eq!(scaled(1e-45_f32.to_bits(), 150), 1);
        assert_eq!(scaled((-1e-45_f32).to_bits(), 150), 0);
        for shift in [34, 150, 255] {
            assert!(scaled(f32::INFINITY.to_bits(), shift) > 1 << 30);
            assert!(scaled(f32::NEG_INFINITY.to_bits(), shift) < -(1 << 30));
        }
        assert!(scaled(f32::MAX.to_bits(), 150) > 1 << 30);
    }

    #[test]
    fn floats_are_ordered() {
        let ascending = [f32::NEG_INFINITY, -2.0, -1e-45, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY];
        let keys = ascending.map(|x| ordered(x.to_bits()));
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(ordered((-0.0_f32).to_bits()), ordered(0.0_f32.to_bits()));
    }
}
