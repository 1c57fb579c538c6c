//! Replacement policies that the benches of all stores draw, and their twins.

#[cfg(test)]
use golden::replacement::Replacement;
use rtl::replacement::ReplacementConfig;
use rtl::replacement::bip::Bip;
use rtl::replacement::brrip::Brrip;
use rtl::replacement::dip::Dip;
use rtl::replacement::drrip::Drrip;
use rtl::replacement::lip::Lip;
use rtl::replacement::lru::Lru;
use rtl::replacement::random::Random as RandomVictim;
use rtl::replacement::ship::{ShipConfig, Signature};
use rtl::replacement::srrip::Srrip;
use rtl::replacement::tree_plru::TreePlru;
#[cfg(test)]
use warpsieve::check::l1::policy;

use crate::kit::Random;

/// Returns the policies of a store of `sets` sets, LRU first. Policies with leader sets need eight sets.
pub fn policies(sets: u32, has_pc: bool) -> Vec<ReplacementConfig> {
    let ship = |signature| ShipConfig { signature, bits: 6 }.into();
    let mut policies: Vec<ReplacementConfig> = vec![
        Lru {}.into(),
        Srrip {}.into(),
        Brrip {}.into(),
        ship(Signature::Region),
        Lip {}.into(),
        Bip {}.into(),
        TreePlru {}.into(),
        RandomVictim {}.into(),
    ];
    if has_pc {
        policies.push(ship(Signature::Pc));
    }
    if sets >= 8 {
        policies.extend([Drrip {}.into(), Dip {}.into()]);
    }
    policies
}

/// Draws LRU in half of the cases, and another policy in the others.
pub fn draw(random: &mut Random, sets: u32, has_pc: bool) -> ReplacementConfig {
    let policies = policies(sets, has_pc);
    let drawn = random.below(2 * policies.len() as u64) as usize;
    policies.get(drawn).unwrap_or(&policies[0]).clone()
}

/// Returns the twin of a policy.
///
/// # Panics
/// If it has none.
#[cfg(test)]
pub fn twin(config: &ReplacementConfig, sets: u32, ways: u32) -> Box<dyn Replacement> {
    policy(config, sets, ways).unwrap_or_else(|reason| panic!("{reason}"))
}
