//! # Write drain
//! Decides whether a channel serves reads or writes, from the requests that wait at the start of a cycle.
//! Writes are served from the cycle in which `high` of them wait until at most `low` wait, and after `idle`
//! cycles without a waiting read. In all other cycles, reads are served.

use super::policy::Requests;

/// Thresholds of the write drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Number of waiting writes at which the channel starts to serve writes.
    pub high: usize,
    /// Number of waiting writes at which the channel serves reads again.
    pub low: usize,
    /// Number of cycles without a waiting read after which writes are served in any case.
    pub idle: u64,
}

/// Reference model of the write drain.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    marks: Watermarks,
    /// Set when the number of waiting writes reaches `high`, and cleared when it falls to `low`.
    is_draining: bool,
    /// Cycle that follows the latest cycle in which a read waited.
    quiet_from: u64,
}

impl Drain {
    /// Creates the write drain of a channel in which no request waits.
    pub(super) fn new(marks: Watermarks) -> Self {
        Self { marks, is_draining: false, quiet_from: 0 }
    }

    /// Selects the kind of request that is served in `cycle`: true for writes, false for reads, `None` for
    /// neither. Must be called for every cycle.
    pub(super) fn select(&mut self, cycle: u64, waiting: &Requests) -> Option<bool> {
        let Watermarks { high, low, idle } = self.marks;
        let writes = waiting.values().filter(|request| request.write).count();
        let has_reads = writes < waiting.len();
        if has_reads {
            self.quiet_from = cycle + 1;
        }
        self.is_draining = writes > low && (self.is_draining || writes >= high);
        match (self.is_draining, has_reads) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => (cycle >= self.quiet_from + idle).then_some(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::BankId;
    use super::super::policy::Waiting;
    use super::*;

    /// Returns `reads` reads and `writes` writes that wait.
    fn waiting(reads: u64, writes: u64) -> Requests {
        let bank = BankId { group: 0, bank: 0 };
        let request = |number| Waiting { number, sm: None, write: number >= reads, bank, row: 0, accept: 0 };
        (0..reads + writes).map(|number| (number, request(number))).collect()
    }

    #[test]
    fn writes_are_served_between_the_watermarks() {
        let mut drain = Drain::new(Watermarks { high: 3, low: 1, idle: 5 });
        let turns: Vec<_> =
            (0..).zip([2, 3, 2, 1, 2]).map(|(cycle, writes)| drain.select(cycle, &waiting(1, writes))).collect();
        assert_eq!(turns, [Some(false), Some(true), Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn a_few_writes_are_served_after_the_idle_time() {
        let mut drain = Drain::new(Watermarks { high: 3, low: 1, idle: 2 });
        assert_eq!(drain.select(0, &waiting(1, 1)), Some(false));
        let turns: Vec<_> = (1..5).map(|cycle| drain.select(cycle, &waiting(0, 1))).collect();
        assert_eq!(turns, [None, None, Some(true), Some(true)]);
    }
}
