//! Widths and counts of a model, and where its sections begin.

use crate::bits::bits_for;
use crate::Error;

pub(crate) const N_FIELDS: usize = 32;
const N_SECTIONS: usize = 13;
// Bits that a number in a group, or one that is read in one go with others, has at most.
pub(crate) const MOST_AT_ONCE: u32 = 25;
const MOST_LEAVES_OF_LEVELS: u32 = 1 << 20;
pub(crate) const MOST_LEVELS: u32 = 16;
// Digits below the second, as many as the first, are one number.
const GROUPS: [(u32, u32); 4] = [(0, 0), (3, 5), (2, 11), (3, 6)];

const REGRESSION: u32 = 1 << 5;
const LAST_WINS: u32 = 1 << 6;
const RANKS: u32 = 1 << 8;
const MAP: u32 = 1 << 9;
const SYMMETRIC: u32 = 1 << 10;
const FACTORS: u32 = 1 << 11;
const ONE_SCORE: u32 = 1 << 12;
const ONE_VALUE: u32 = 1 << 13;
const ALL_FLAGS: u32 = (1 << 14) - 1;

/// What makes probabilities, or a number, of scores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Identity,
    Logistic,
    Softmax,
    Exp,
    Isolation,
}

/// Where rows with a missing value go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There are none: what is not a number is an infinity of its sign.
    None,
    Right,
    Left,
    /// Each test says it.
    Split,
}

/// Counts are those of the format; what ends in `_at` is a place in the data, in bits.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) link: Link,
    pub(crate) missing: Missing,
    pub(crate) is_regression: bool,
    pub(crate) last_wins: bool,
    pub(crate) has_ranks: bool,
    pub(crate) has_map: bool,
    pub(crate) is_symmetric: bool,
    pub(crate) has_factors: bool,
    pub(crate) n_features: u32,
    pub(crate) n_classes: u32,
    pub(crate) n_columns: u32,
    pub(crate) n_values: u32,
    pub(crate) n_trees: u32,
    pub(crate) n_inner: u32,
    pub(crate) n_leaves: u32,
    pub(crate) n_used: u32,
    pub(crate) n_ordered: u32,
    pub(crate) n_pairs: u32,
    pub(crate) n_entries: u32,
    pub(crate) n_grids: u32,
    pub(crate) n_thresholds: u32,
    pub(crate) n_categories: u32,
    pub(crate) least_inner: u32,
    pub(crate) base: i32,
    pub(crate) shift: u32,
    pub(crate) offset: i32,
    pub(crate) scale: u32,
    pub(crate) group_size: u32,
    pub(crate) radix: u32,
    pub(crate) id_bits: u32,
    pub(crate) feature_bits: u32,
    pub(crate) code_bits: u32,
    pub(crate) key_bits: u32,
    pub(crate) test_bits: u32,
    pub(crate) pair_bits: u32,
    pub(crate) tree_bits: u32,
    pub(crate) column_bits: u32,
    pub(crate) leaf_bits: u32,
    pub(crate) entry_bits: u32,
    pub(crate) base_bits: u32,
    pub(crate) shift_bits: u32,
    pub(crate) offset_bits: u32,
    pub(crate) scale_bits: u32,
    pub(crate) grid_bits: u32,
    pub(crate) count_bits: u32,
    pub(crate) size_bits: u32,
    pub(crate) category_bits: u32,
    pub(crate) digit_bits: u32,
    pub(crate) ask_bits: u32,
    pub(crate) gap_bits: u32,
    pub(crate) many_bits: u32,
    pub(crate) features_at: u32,
    pub(crate) grids_at: u32,
    pub(crate) thresholds_at: u32,
    pub(crate) steps_at: u32,
    pub(crate) sizes_at: u32,
    pub(crate) categories_at: u32,
    pub(crate) trees_at: u32,
    pub(crate) shapes_at: u32,
    pub(crate) tests_at: u32,
    pub(crate) pairs_at: u32,
    pub(crate) leaves_at: u32,
    pub(crate) table_at: u32,
    pub(crate) factors_at: u32,
    pub(crate) base_at: u32,
}

impl Layout {
    /// Returns the layout that the fields of a blob describe, if its data can have so many bytes.
    pub(crate) fn of(fields: &[u8], n_bytes: usize) -> Result<Layout, Error> {
        #[rustfmt::skip]
        let [
            flags, n_features, n_classes, n_trees, n_leaves, n_used, code_bits, tree_bits, least_inner, leaf_bits,
            base, base_bytes, n_pairs, n_entries, shift, offset, scale, shift_bytes, offset_bytes, scale_bytes,
            n_grids, group, ask_bits, gap_bits, many_bits, count_bits, n_thresholds, n_categorical, n_categories,
            category_bits, size_bits, n_levels,
        ] = read_fields(fields)?;
        let link = match flags & 7 {
            0 => Link::Identity,
            1 => Link::Logistic,
            2 => Link::Softmax,
            3 => Link::Exp,
            4 => Link::Isolation,
            _ => return Err(Error::Invalid("its kind is not known")),
        };
        check(flags <= ALL_FLAGS, "its kind is not known")?;
        let missing = match flags >> 3 & 3 {
            0 => Missing::None,
            1 => Missing::Right,
            2 => Missing::Left,
            _ => Missing::Split,
        };
        let has = |flag: u32| flags & flag != 0;
        let is_regression = has(REGRESSION);
        let links = if is_regression { [Link::Identity, Link::Exp].contains(&link) } else { link != Link::Exp };
        check(links, "its link")?;

        let counts = [n_features, n_trees, n_leaves, n_used, n_pairs, n_entries, n_grids, n_thresholds, least_inner];
        check(counts.iter().all(|n| *n <= 1 << 31), "a count")?;
        let widths = code_bits <= 16 && tree_bits <= 25 && (1..=16).contains(&leaf_bits) && base_bytes <= 4;
        let of_steps = shift_bytes <= 1 && offset_bytes <= 4 && scale_bytes <= 2 && shift <= 255 && scale <= 65_535;
        let of_tables =
            gap_bits <= 18 && many_bits <= 12 && count_bits <= 17 && category_bits <= 8 && size_bits <= 16;
        check(widths && of_steps && of_tables && n_categories <= 1 << 24, "a width")?;

        let most_classes = if is_regression {
            1
        } else if has(ONE_SCORE) {
            2
        } else {
            65_535
        };
        check((1..=most_classes).contains(&n_classes), "its classes")?;
        let n_columns = if has(ONE_SCORE) { 1 } else { n_classes };
        let n_values = if has(ONE_VALUE) { 1 } else { n_columns };
        check(!has(FACTORS) || n_columns > 1, "its factors")?;

        let n_inner = if has(SYMMETRIC) { n_levels } else { n_leaves.saturating_sub(n_trees) };
        check(n_trees >= 1 && n_trees <= n_inner.max(1) && n_used <= n_inner, "its trees")?;
        check(n_inner == 0 || n_used > 0, "its features")?;
        let leaves = if has(SYMMETRIC) {
            n_leaves <= MOST_LEAVES_OF_LEVELS && n_trees <= n_leaves / 2 && n_inner <= MOST_LEVELS * n_trees
        } else {
            n_leaves == n_inner + n_trees
        };
        check(leaves, "its leaves")?;
        check(n_pairs == 0 || (n_used..=n_inner).contains(&n_pairs), "its table of tests")?;
        check(n_entries <= n_leaves, "its table of leaves")?;
        let categories = n_categorical <= n_used && (n_categorical == 0) == (category_bits == 0);
        check(categories && !(has(MAP) && n_categorical > 0), "its categories")?;
        let n_ordered = n_used - n_categorical;

        let feature_bits = bits_for(n_used);
        let key_bits = code_bits + u32::from(missing == Missing::Split);
        let test_bits = feature_bits + key_bits;
        let pair_bits = if n_pairs > 0 { bits_for(n_pairs) } else { test_bits };
        let entry_bits = if n_entries > 0 { bits_for(n_entries) } else { n_values * leaf_bits };
        let column_bits = if n_values < n_columns { bits_for(n_columns) } else { 0 };
        let id_bits = if n_categorical > 0 {
            bits_for(n_features).max(1)
        } else if n_used < n_features {
            bits_for(n_features)
        } else {
            0
        };
        let (group_size, radix) = *GROUPS.get(group as usize).ok_or(Error::Invalid("its groups"))?;
        let digit_bits = bits_for(if group_size > 0 { radix.pow(group_size) } else { 1 });
        let groups = group_size == 0 || (pair_bits >= bits_for(radix) && pair_bits <= MOST_AT_ONCE);
        check(groups, "its groups")?;

        let step_bytes = shift_bytes + offset_bytes + scale_bytes;
        let grid_bits = bits_for(n_grids);
        let long = u64::from;
        let bytes = |bits: u64| (bits + 7) / 8;
        let count_bytes = bytes(long(n_ordered) * long(count_bits));
        let tests = match group_size {
            0 => long(n_inner) * long(pair_bits),
            _ => {
                let n_groups = (n_inner + group_size - 1) / group_size;
                long(n_groups) * long(digit_bits) + long(n_inner) * long(pair_bits - bits_for(radix))
            }
        };
        let bits: [u64; N_SECTIONS] = [
            if has(MAP) { long(n_features) } else { long(n_used) * long(id_bits) },
            if has(RANKS) {
                8 * (count_bytes + 4 * long(n_thresholds))
            } else {
                8 * long(if n_grids > 0 { n_grids } else { n_ordered }) * long(step_bytes)
            },
            long(n_ordered) * long(grid_bits),
            long(n_categorical) * long(size_bits),
            long(n_categories) * long(category_bits),
            long(n_trees) * long(tree_bits + column_bits),
            if has(SYMMETRIC) { 0 } else { 2 * long(n_inner) },
            tests,
            if ask_bits > 0 { long(ask_bits) } else { long(n_pairs) * long(test_bits) },
            long(n_leaves) * long(entry_bits),
            long(n_entries) * long(n_values * leaf_bits),
            if has(FACTORS) { 8 * long(n_columns) } else { 0 },
            (8 * long(base_bytes) * long(n_columns)).max(24),
        ];
        check(bits.iter().map(|bits| bytes(*bits)).sum::<u64>() == n_bytes as u64, "its length")?;
        // All of them are within the data, which has fewer than 2^32 bits.
        let mut end = 0;
        let starts = bits.map(|bits| {
            let start = end;
            end += 8 * bytes(bits) as u32;
            start
        });
        #[rustfmt::skip]
        let [
            features_at, grids_at, steps_at, sizes_at, categories_at, trees_at, shapes_at, tests_at, pairs_at,
            leaves_at, table_at, factors_at, base_at,
        ] = starts;

        Ok(Layout {
            link,
            missing,
            is_regression,
            last_wins: has(LAST_WINS),
            has_ranks: has(RANKS),
            has_map: has(MAP),
            is_symmetric: has(SYMMETRIC),
            has_factors: has(FACTORS),
            n_features,
            n_classes,
            n_columns,
            n_values,
            n_trees,
            n_inner,
            n_leaves,
            n_used,
            n_ordered,
            n_pairs,
            n_entries,
            n_grids,
            n_thresholds,
            n_categories,
            least_inner,
            base: with_sign(base),
            shift,
            offset: with_sign(offset),
            scale,
            group_size,
            radix,
            id_bits,
            feature_bits,
            code_bits,
            key_bits,
            test_bits,
            pair_bits,
            tree_bits,
            column_bits,
            leaf_bits,
            entry_bits,
            base_bits: 8 * base_bytes,
            shift_bits: 8 * shift_bytes,
            offset_bits: 8 * offset_bytes,
            scale_bits: 8 * scale_bytes,
            grid_bits,
            count_bits,
            size_bits,
            category_bits,
            digit_bits,
            ask_bits: if n_pairs > 0 { ask_bits } else { 0 },
            gap_bits,
            many_bits,
            features_at,
            grids_at,
            // Only where there are ranks is it a place.
            thresholds_at: if has(RANKS) { grids_at + 8 * count_bytes as u32 } else { 0 },
            steps_at,
            sizes_at,
            categories_at,
            trees_at,
            shapes_at,
            tests_at,
            pairs_at,
            leaves_at,
            table_at,
            factors_at,
            base_at,
        })
    }
}

/// Returns an error about a part of the model unless something holds.
pub(crate) fn check(holds: bool, part: &'static str) -> Result<(), Error> {
    if holds {
        Ok(())
    } else {
        Err(Error::Invalid(part))
    }
}

/// Returns the numbers that stand in groups of 7 bits, the lowest first; those that are left out are 0.
fn read_fields(bytes: &[u8]) -> Result<[u32; N_FIELDS], Error> {
    const WRONG: Error = Error::Invalid("its fields");
    let mut fields = [0; N_FIELDS];
    let mut places = fields.iter_mut();
    let (mut number, mut shift) = (0_u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if number > u64::from(u32::MAX) || shift > 35 {
            return Err(WRONG);
        }
        if byte & 0x80 == 0 {
            *places.next().ok_or(WRONG)? = number as u32;
            number = 0;
            shift = 0;
        }
    }
    if shift > 0 {
        return Err(WRONG);
    }
    Ok(fields)
}

/// Returns the number that a field is which may be negative.
fn with_sign(field: u32) -> i32 {
    let half = (field >> 1) as i32;
    if field & 1 == 1 {
        !half
    } else {
        half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_those_left_out_are_0() {
        let fields = read_fields(&[0x05, 0x80, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]).unwrap();
        assert_eq!(fields[..4], [5, 128, u32::MAX, 0]);
        assert!(read_fields(&[0x80]).is_err());
        assert!(read_fields(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F]).is_err());
        assert!(read_fields(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).is_err());
        assert!(read_fields(&[1; N_FIELDS]).is_ok());
        assert!(read_fields(&[1; N_FIELDS + 1]).is_err());
    }

    #[test]
    fn fields_with_a_sign_alternate() {
        assert_eq!([0, 1, 2, 3, u32::MAX - 1, u32::MAX].map(with_sign), [0, -1, 1, -2, i32::MAX, i32::MIN]);
    }
}
