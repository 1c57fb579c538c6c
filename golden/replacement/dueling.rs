//! # Set dueling
//! Two policies compete (Qureshi et al., ISCA 2007). Each has leader sets that always use it. All other sets
//! use the policy with fewer misses in its leader sets.

/// State of set dueling between two policies.
#[derive(Clone, Copy, Debug)]
pub struct Duel {
    sets: usize,
    /// Number of misses in leader sets of the first policy minus number of misses in leader sets of the
    /// second. Saturates at -512 and 511.
    balance: i32,
}

impl Duel {
    /// Creates the state of set dueling for a cache with `sets` sets.
    pub fn new(sets: usize) -> Self {
        Self { sets, balance: 0 }
    }

    /// Counts a miss in a set if this is a leader set. Returns true if the set uses the first policy.
    pub fn first_leads(&mut self, set: usize) -> bool {
        let turn = set % (self.sets / 2);
        if turn == 0 {
            self.balance = (self.balance + 1).min(511);
            true
        } else if turn == self.sets / 4 {
            self.balance = (self.balance - 1).max(-512);
            false
        } else {
            self.balance < 0
        }
    }
}
