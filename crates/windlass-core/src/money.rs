//! Money: millionths of a dollar, which add up without loss; dollars only where others speak of them.

/// More than anybody spends, and little enough that a float holds it.
const MOST_USD: f64 = 1e9;

/// What others say in dollars. No sum is none, and neither is one below nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
pub fn micro_usd(usd: f64) -> u64 {
    (usd.clamp(0.0, MOST_USD) * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "sums of money are far below what a float holds")]
pub fn usd(micro_usd: u64) -> f64 {
    micro_usd as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_come_back_as_they_went() {
        assert_eq!((micro_usd(0.0123), usd(12_300)), (12_300, 0.0123));
        assert_eq!([f64::NAN, -1.0].map(micro_usd), [0, 0]);
        assert_eq!(micro_usd(f64::INFINITY), 1_000_000_000_000_000);
    }
}
