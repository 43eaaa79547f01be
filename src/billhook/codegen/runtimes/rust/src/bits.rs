//! Numbers of a few bits each, one after the other in bytes, lowest bit first.

/// Bytes that are read bit by bit; what is beyond them is 0.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a>(pub(crate) &'a [u8]);

impl Bits<'_> {
    /// Returns the number of up to 32 bits that begins at this bit.
    pub(crate) fn number(self, at: u32, width: u32) -> u32 {
        let (byte, shift) = ((at >> 3) as usize, at & 7);
        let mut number = self.word(byte) >> shift;
        if shift + width > 32 {
            number |= self.byte(byte + 4) << (32 - shift);
        }
        number & mask(width)
    }

    /// Returns how many of the bits from this one on are 1, before the first 0 or the end.
    pub(crate) fn ones(self, at: u32, end: u32) -> u32 {
        let mut found = 0;
        loop {
            let left = end - at - found;
            let run = self.number(at + found, left.min(32)).trailing_ones();
            found += run;
            if run < 32 {
                return found;
            }
        }
    }

    fn byte(self, at: usize) -> u32 {
        self.0.get(at).map_or(0, |byte| u32::from(*byte))
    }

    fn word(self, at: usize) -> u32 {
        if let Some([a, b, c, d]) = self.0.get(at..at + 4) {
            return u32::from_le_bytes([*a, *b, *c, *d]);
        }
        self.byte(at) | self.byte(at + 1) << 8 | self.byte(at + 2) << 16 | self.byte(at + 3) << 24
    }
}

/// Returns as many ones.
pub(crate) fn mask(width: u32) -> u32 {
    1_u32.checked_shl(width).map_or(u32::MAX, |next| next - 1)
}

/// Returns how many bits tell so many values apart; 0 for one value.
pub(crate) fn bits_for(n_values: u32) -> u32 {
    32 - n_values.saturating_sub(1).leading_zeros()
}

/// Returns the CRC-32 of bytes, as in zip files.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_read_from_any_bit() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC];
        let all = u64::from_le_bytes([0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0, 0]);
        for at in 0..60 {
            for width in 0..=32 {
                let expected = (all.checked_shr(at).unwrap_or(0) as u32) & mask(width);
                assert_eq!(Bits(&bytes).number(at, width), expected, "{width} bits at {at}");
            }
        }
    }

    #[test]
    fn ones_are_counted_up_to_the_end() {
        let bytes = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
        assert_eq!(Bits(&bytes).ones(0, 48), 47);
        assert_eq!(Bits(&bytes).ones(3, 40), 37);
        assert_eq!(Bits(&bytes).ones(47, 48), 0);
        assert_eq!(Bits(&bytes).ones(5, 5), 0);
        assert_eq!(Bits(&bytes).ones(0, 32), 32);
    }

    #[test]
    fn the_checksum_is_that_of_zip_files() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn values_are_told_apart() {
        assert_eq!([0, 1, 2, 3, 4, 5, 256, 257].map(bits_for), [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
