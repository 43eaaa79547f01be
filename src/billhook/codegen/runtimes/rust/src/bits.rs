//! Checksums, and masks of bits.

/// Returns as many ones.
pub(crate) fn mask(width: u32) -> u32 {
    1_u32.checked_shl(width).map_or(u32::MAX, |next| next - 1)
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
    fn the_checksum_is_that_of_zip_files() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn masks_have_as_many_ones() {
        assert_eq!([0, 1, 31, 32].map(mask), [0, 1, u32::MAX >> 1, u32::MAX]);
    }
}
