//! A few hundred simulated days of the merge queue: the rules hold, and the figures are what we promise.

use windlass_core::queue::Policy;
use windlass_testkit::queue_sim::{Arrivals, Day, Storms, Weather, live};

fn calm(policy: Policy, slots: usize) -> Weather {
    let arrivals = Arrivals::Saturated { outstanding: 32 };
    Weather { policy, slots, bad: 0.05, flake: 0.0, arrivals, length: 24, storms: Storms::default() }
}

fn days(weather: &Weather, seeds: std::ops::Range<u64>) -> Vec<Day> {
    let day = |seed| {
        let day = live(weather, seed);
        assert_eq!(day.broken, [], "seed {seed} of {weather:?}");
        day
    };
    seeds.map(day).collect()
}

#[test]
fn all_policies_keep_the_rules_in_calm_weather() {
    for policy in Policy::ALL {
        for slots in [1, 2, 4, 8] {
            let days = days(&calm(policy, slots), 0..3);
            assert!(days.iter().all(|day| day.landed > 0), "{policy:?} on {slots}");
        }
    }
}

#[test]
fn the_ladder_keeps_the_rules_in_storms() {
    let storms = Storms { broken: 0.02, pushed: 0.05, withdrawn: 0.1, fronted: 0.2 };
    for (slots, seeds) in [(1, 0..60), (2, 0..40), (4, 0..20), (8, 0..10)] {
        for (bad, flake) in [(0.05, 0.02), (0.2, 0.0)] {
            days(&Weather { bad, flake, storms, length: 16, ..calm(Policy::Ladder, slots) }, seeds.clone());
        }
    }
}

#[test]
fn the_ladder_keeps_the_rules_with_open_arrivals() {
    for (slots, per_test) in [(1, 1.5), (2, 3.0), (4, 6.0)] {
        let arrivals = Arrivals::Open { per_test };
        days(&Weather { arrivals, flake: 0.02, ..calm(Policy::Ladder, slots) }, 0..10);
    }
}

/// Far below the benchmark's goals, so that few seeds are enough; a lost optimisation still shows.
#[test]
fn the_ladder_lands_several_times_what_a_chain_does() {
    let landed =
        |policy, slots| -> usize { days(&calm(policy, slots), 100..106).iter().map(|day| day.landed).sum() };
    for slots in [1, 2, 4, 8] {
        let (ladder, chain) = (landed(Policy::Ladder, slots), landed(Policy::Chain, slots));
        assert!(ladder > 2 * chain, "{ladder} and {chain} on {slots} slots");
    }
}

#[test]
fn the_same_seed_is_the_same_day() {
    let weather = Weather { flake: 0.02, ..calm(Policy::Ladder, 4) };
    let (one, two) = (live(&weather, 7), live(&weather, 7));
    assert_eq!((one.landed, one.tests, one.waits), (two.landed, two.tests, two.waits));
}
