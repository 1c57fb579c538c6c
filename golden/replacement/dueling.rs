//! # Set dueling
//! Decides which of two policies a set uses, by the misses in leader sets (Qureshi et al., ISCA 2007).

/// Duel between two policies.
#[derive(Clone, Copy, Debug)]
pub struct Duel {
    sets: usize,
    /// Misses in leader sets of the first policy minus misses in those of the second, saturating at -512 and
    /// 511.
    balance: i32,
}

impl Duel {
    /// Creates a duel in a store of `sets` sets.
    pub fn new(sets: usize) -> Self {
        Self { sets, balance: 0 }
    }

    /// Counts a miss in a set. Returns true if the set uses the first policy.
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
