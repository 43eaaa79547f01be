//! From the values of features to codes, whole numbers that compare with the codes of thresholds as the values do.

use crate::bits::mask;
use crate::layout::Missing;
use crate::Model;

/// The code of a missing value; no other is as high.
pub(crate) const MISSING: u16 = u16::MAX;
const INFINITY: u32 = 0x7F80_0000;
const SIGN: u32 = 1 << 31;
const MOST_CODE: u32 = 0xFFFE;
const MOST_FINE: i64 = 0xFFFF;
// Shifts up to this are those of steps that have as many floats each; higher ones, of steps of the same length.
const MOST_KEY_SHIFT: u32 = 33;

/// How the values of a feature become codes by steps.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) shift: u32,
    pub(crate) offset: i64,
    scale: u32,
    bits: u32,
}

impl Steps {
    /// Whether the shift and the offset are such as a model can have.
    pub(crate) fn are_valid(&self) -> bool {
        (5..=255).contains(&self.shift) && self.offset.abs() < 1 << 28
    }

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
            scale => (fine * u64::from(scale)) >> (31 - self.bits),
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

/// The places in the sections about features, which go on with each feature.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// The next bit of the map of features in use.
    map: u32,
    /// The first threshold of the next feature.
    pub(crate) threshold: u32,
    /// The first category of the next feature.
    pub(crate) category: u32,
}

impl Places {
    pub(crate) const START: Places = Places { map: 0, threshold: 0, category: 0 };
}

impl Model<'_> {
    /// Writes the code of each feature in use.
    pub(crate) fn find_codes(&self, row: &[f32], codes: &mut [u16]) {
        let mut places = Places::START;
        for (k, code) in (0..self.layout.n_used).zip(codes) {
            let feature = self.next_feature(k, &mut places);
            let bits = row.get(feature as usize).map_or(0, |x| x.to_bits());
            *code = self.next_code(k, bits, &mut places);
        }
    }

    /// Returns the number, among all, of feature `k` of those in use.
    pub(crate) fn next_feature(&self, k: u32, places: &mut Places) -> u32 {
        let layout = &self.layout;
        if layout.id_bits == 0 {
            return k;
        }
        if !layout.has_map {
            return self.bits.number(layout.features_at + k * layout.id_bits, layout.id_bits);
        }
        while places.map < layout.n_features && self.bits.number(layout.features_at + places.map, 1) == 0 {
            places.map += 1;
        }
        places.map += 1;
        places.map - 1
    }

    fn next_code(&self, k: u32, mut bits: u32, places: &mut Places) -> u16 {
        let layout = &self.layout;
        if bits & !SIGN > INFINITY {
            if layout.missing == Missing::None {
                bits = bits & SIGN | INFINITY;
            } else {
                bits = f32::NAN.to_bits();
            }
        }
        let is_missing = bits & !SIGN > INFINITY;
        let code = if k >= layout.n_ordered {
            let n = self.n_categories_of(k);
            let first = places.category;
            places.category += n;
            self.code_of_category(bits, first, n)
        } else if layout.has_ranks {
            let n = self.n_thresholds_of(k);
            let first = places.threshold;
            places.threshold += n;
            self.rank(ordered(bits), first, n)
        } else {
            self.steps_of(self.grid_of(k)).code(bits)
        };
        if is_missing {
            MISSING
        } else {
            code
        }
    }

    /// Returns how many categories a categorical feature has.
    pub(crate) fn n_categories_of(&self, k: u32) -> u32 {
        let layout = &self.layout;
        self.bits.number(layout.sizes_at + (k - layout.n_ordered) * layout.size_bits, layout.size_bits)
    }

    /// Returns how many thresholds a feature has.
    pub(crate) fn n_thresholds_of(&self, k: u32) -> u32 {
        self.bits.number(self.layout.grids_at + k * self.layout.count_bits, self.layout.count_bits)
    }

    /// Returns the number of the steps of a feature.
    pub(crate) fn grid_of(&self, k: u32) -> u32 {
        match self.layout.n_grids {
            0 => k,
            _ => self.bits.number(self.layout.steps_at + k * self.layout.grid_bits, self.layout.grid_bits),
        }
    }

    /// Returns the steps with this number.
    pub(crate) fn steps_of(&self, grid: u32) -> Steps {
        let layout = &self.layout;
        let at = layout.grids_at + grid * (layout.shift_bits + layout.offset_bits + layout.scale_bits);
        let offset_at = at + layout.shift_bits;
        let scale_at = offset_at + layout.offset_bits;
        Steps {
            shift: layout.shift + self.bits.number(at, layout.shift_bits),
            offset: i64::from(layout.offset) + i64::from(self.bits.number(offset_at, layout.offset_bits)),
            scale: layout.scale + self.bits.number(scale_at, layout.scale_bits),
            bits: layout.code_bits,
        }
    }

    /// Returns how many of the `n` thresholds from `first` on lie below a number.
    fn rank(&self, key: u32, first: u32, n: u32) -> u16 {
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.bits.number(self.layout.thresholds_at + 32 * (first + middle), 32) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.min(MOST_CODE) as u16
    }

    /// Returns the code of the category that a number is, cut off towards zero; the highest if it is in no set.
    fn code_of_category(&self, bits: u32, first: u32, n: u32) -> u16 {
        let layout = &self.layout;
        let power = bits >> 23 & 0xFF;
        let category = if power < 127 {
            0
        } else if power > 142 || bits & SIGN != 0 {
            u32::MAX
        } else {
            (bits & 0x7F_FFFF | 1 << 23) >> (150 - power)
        };
        if category >= n {
            return mask(layout.category_bits) as u16;
        }
        let at = layout.categories_at + (first + category) * layout.category_bits;
        self.bits.number(at, layout.category_bits) as u16
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
