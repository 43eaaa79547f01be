//! The exponential function, which `core` does not have.

const LOG2_E: f64 = core::f64::consts::LOG2_E;
// The logarithm of 2 in two parts: the product of the first with a whole number up to 2^11 is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const TERMS: u32 = 13;

/// Returns e^x, to about 15 digits; what is below 10^-307 is 0.
pub(crate) fn exp(x: f64) -> f64 {
    if x > 709.7 {
        return f64::INFINITY;
    }
    if x < -708.0 {
        return 0.0;
    }
    let whole = (x * LOG2_E + if x < 0.0 { -0.5 } else { 0.5 }) as i64;
    let rest = x - whole as f64 * LN_2_HIGH - whole as f64 * LN_2_LOW;
    let power = (1..=TERMS).rev().fold(1.0, |sum, k| 1.0 + sum * rest / f64::from(k));
    // 2^1024 is none, and e^709.7 is a number.
    let half = whole / 2;
    power * two_to(half) * two_to(whole - half)
}

/// Returns 2^x.
pub(crate) fn exp2(x: f64) -> f64 {
    exp(x * core::f64::consts::LN_2)
}

/// Returns 2^k for a whole number, -1022 <= k <= 1023.
fn two_to(k: i64) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn the_exponential_function_is_that_of_the_standard_library() {
        for k in -7_070..7_097 {
            let x = f64::from(k) * 0.1 + 0.0123;
            let expected = x.exp();
            assert!((exp(x) - expected).abs() <= 1e-14 * expected, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(800.0), f64::INFINITY);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp(-800.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(f64::NAN).is_nan());
        assert!((exp2(-3.0) - 0.125).abs() < 1e-15);
    }
}
