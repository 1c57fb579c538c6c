//! # Set dueling
//! Selects the better of two insertion policies (Qureshi et al., ISCA 2007, section 5). A few leader sets
//! always use one of the policies. A counter compares the misses in the leader sets of both policies, and all
//! other sets follow the policy with fewer misses. The paper dedicates 32 of 1024 sets to each policy. Here
//! each policy has two leader sets, which is the same fraction in a cache of 64 sets. The four leader sets
//! are evenly spaced over the cache.

use arbitrary_int::traits::Integer;
use arbitrary_int::u10;
use serde::{Deserialize, Serialize};

use super::StoreInfo;
use crate::config::Rules;
use crate::kernel::{Describe, FieldsExt, Logic, bits_of};

/// Type of the saturating counter that selects the policy with fewer misses.
type Selector = u10;

/// Smallest value of the counter at which the follower sets use the second policy.
const MIDDLE: Selector = Selector::new(Selector::MAX.value() / 2 + 1);

/// State of set dueling between two insertion policies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Duel {
    sets: u32,
    /// Saturating count of the misses in the first policy's leader sets minus those in the second policy's
    /// leader sets. The counter starts at `MIDDLE`.
    choice: Selector,
}

impl Duel {
    /// Creates the initial state of set dueling for a cache with `sets` sets.
    #[must_use]
    pub fn new(sets: u32) -> Self {
        Self { sets, choice: MIDDLE }
    }

    /// Updates the counter for a miss in `set`, if it is a leader set. Returns true if `set` uses the first
    /// policy.
    pub fn uses_first(&mut self, set: u32) -> bool {
        let (half, quarter) = (self.sets / 2, self.sets / 4);
        match set % half {
            0 => {
                self.choice = self.choice.saturating_add(Selector::new(1));
                true
            }
            place if place == quarter => {
                self.choice = self.choice.saturating_sub(Selector::new(1));
                false
            }
            _ => self.choice < MIDDLE,
        }
    }

    /// Adds to the hardware description: the counter.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { sets: _, choice } = self;
        to.bits("choice", *choice);
        to.logic("choice_step", Logic::Counter { width: bits_of::<Selector>() });
    }
}

/// Checks that a cache has enough sets for the leader sets of the policy `kind`.
pub fn validate(kind: &str, store: &StoreInfo, rules: &mut Rules) {
    rules.expect(
        store.sets >= 8,
        "kind",
        format!("{kind} with {} sets", store.sets),
        "8 sets or more",
        "each of the two policies has two leader sets, and the others follow",
    );
}
