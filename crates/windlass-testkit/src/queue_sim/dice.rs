//! A small seeded generator, so that a simulated day can be lived again.

/// SplitMix64: enough chance for a simulation, and no dependency.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Evenly from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        let high = u32::try_from(self.roll() >> 32).expect("half of 64 bits");
        f64::from(high) / (f64::from(u32::MAX) + 1.0)
    }

    pub fn happens(&mut self, chance: f64) -> bool {
        chance > 0.0 && self.unit() < chance
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.roll() % n.max(1)
    }
}

/// Also names commits: the same changes in the same order on the same base are the same commit.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
