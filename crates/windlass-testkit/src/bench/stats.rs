//! The few numbers that stand for many samples.

use std::time::Duration;

/// The middle sample; of an even number the lower one, so that it is one that was really measured.
pub fn median(samples: &[f64]) -> f64 {
    percentile(samples, 50.0)
}

/// The smallest sample that at least `percent` of all samples do not exceed. Of no samples: not a number.
pub fn percentile(samples: &[f64], percent: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * count(sorted.len())).ceil().max(1.0);
    let nth = sorted.iter().enumerate().find(|(at, _)| count(at + 1) >= rank);
    nth.map_or(f64::NAN, |(_, sample)| *sample)
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53 here")]
pub fn count(n: usize) -> f64 {
    n as f64
}
