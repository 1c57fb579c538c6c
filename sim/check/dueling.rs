//! # Lockstep check of SM dueling against its golden model
//! SM dueling is set dueling with whole SMs: one leader SM has the decoupled L1D, another leader SM the
//! original L1D, and all other SMs use the mode of the better leader. The check replays the L1D accesses of
//! the two leaders in the golden model, which selects a mode. The mode takes effect after the latencies of
//! the leaders' reports and of the decision; from then on, every SM must be in this mode.

use std::collections::VecDeque;

use golden::l1::dueling::{Duel, Rules};
use rtl::l1::dueling::{DuelingConfig, Leaders, MarginOf};
use rtl::l1::watch::Watch;

/// Golden model of SM dueling, with which the mode of each SM is compared.
#[derive(Clone, Debug)]
pub struct DuelLockstep {
    rules: Rules,
    twin: Duel,
    modes: Vec<bool>,
    /// Accesses of the leader SMs that the dueling logic does not know yet, because their reports are in
    /// flight. Each has the arrival cycle of its report, the leader SM, and true for a miss.
    on_their_way: VecDeque<(u64, usize, bool)>,
    /// Latency of a leader's report to the dueling logic, and latency of the decision to the SMs, both in
    /// core cycles.
    delays: [u64; 2],
}

impl DuelLockstep {
    /// Creates the golden model of dueling among `num_sms` SMs, in its state before a kernel. `delays` holds
    /// the latency of a leader's report and the latency of the decision, both in core cycles.
    #[must_use]
    pub fn new(config: &DuelingConfig, num_sms: usize, delays: [u64; 2]) -> Self {
        let &DuelingConfig { leaders, interval, margin, margin_of, min_accesses } = config;
        let rules = Rules {
            interval: interval.into(),
            margin: margin.into(),
            in_points: margin_of == MarginOf::Points,
            min_accesses: min_accesses.into(),
            join_once: leaders == Leaders::JoinOnce,
        };
        let modes = (0..num_sms).map(|sm| sm != 0).collect();
        Self { rules, twin: Duel::new(rules), modes, on_their_way: VecDeque::new(), delays }
    }

    /// Advances the golden model to the state that determines the modes of the SMs in `cycle`. Must be called
    /// in each cycle before `step`.
    pub fn advance(&mut self, cycle: u64) {
        let [_, verdict] = self.delays;
        while let Some((heard, leader, missed)) =
            self.on_their_way.pop_front_if(|(heard, ..)| *heard + verdict <= cycle)
        {
            self.twin.record(heard, leader, missed);
        }
        self.twin.advance(cycle.saturating_sub(verdict));
    }

    /// Checks the mode of an SM after the edge of `cycle`.
    ///
    /// # Errors
    /// Fails if the SM is in a different mode than in the golden model.
    pub fn step(&mut self, cycle: u64, sm: usize, seen: &Watch) -> Result<(), String> {
        if let Some(original) = seen.original {
            self.modes[sm] = original;
        }
        if sm < 2 {
            let [news, _] = self.delays;
            self.on_their_way.extend(seen.accepted_loads().map(|(_, missed)| (cycle + news, sm, missed)));
        }
        let (is, expected) = (self.modes[sm], self.twin.is_original(sm));
        if is == expected {
            return Ok(());
        }
        let name = |original: bool| if original { "original" } else { "decoupled" };
        Err(format!("cycle {cycle}, sm{sm}.l1: in {} mode, the twin of the duel says {}", name(is), name(expected)))
    }

    /// Resets the golden model of dueling at the end of a kernel.
    pub fn restart(&mut self) {
        self.on_their_way.clear();
        self.modes.iter_mut().enumerate().for_each(|(sm, mode)| *mode = sm != 0);
        self.twin = Duel::new(self.rules);
    }
}

#[cfg(test)]
mod tests {
    use rtl::l1::mshr::Waiter;
    use rtl::l1::watch::Access;
    use rtl::replacement::priority::EvictionPriority;

    use super::*;

    const DUEL: DuelingConfig = DuelingConfig { leaders: Leaders::Pinned, min_accesses: 1, ..DuelingConfig::OFF };

    fn bypass() -> Watch {
        let waiter = Waiter { slot: 0, lanes: 1 };
        let priority = EvictionPriority::Normal;
        let bypass = Access::Bypass { line: 1, pc: 0, priority, warp: 0, waiter, chosen: true };
        Watch { access: Some(bypass), ..Watch::default() }
    }

    fn at(lockstep: &mut DuelLockstep, cycle: u64, sm: usize, seen: &Watch) -> Result<(), String> {
        lockstep.advance(cycle);
        lockstep.step(cycle, sm, seen)
    }

    #[test]
    fn followers_must_switch_in_the_cycle_after_the_verdict() {
        let mut lockstep = DuelLockstep::new(&DUEL, 3, [1, 1]);
        for sm in [0, 1] {
            at(&mut lockstep, 10, sm, &bypass()).unwrap();
        }
        at(&mut lockstep, 500, 2, &Watch::default()).unwrap();
        let error = at(&mut lockstep.clone(), 501, 2, &Watch::default()).unwrap_err();
        assert_eq!(error, "cycle 501, sm2.l1: in original mode, the twin of the duel says decoupled");
        at(&mut lockstep, 501, 2, &Watch { original: Some(false), ..Watch::default() }).unwrap();
    }

    #[test]
    fn followers_hear_of_a_verdict_when_it_has_come_to_them() {
        let mut lockstep = DuelLockstep::new(&DUEL, 3, [60, 4]);
        for sm in [0, 1] {
            at(&mut lockstep, 439, sm, &bypass()).unwrap();
        }
        at(&mut lockstep, 503, 2, &Watch::default()).unwrap();
        assert!(at(&mut lockstep.clone(), 504, 2, &Watch::default()).is_err());
        at(&mut lockstep, 504, 2, &Watch { original: Some(false), ..Watch::default() }).unwrap();
    }

    #[test]
    fn an_access_heard_of_at_the_end_of_an_interval_belongs_to_the_next() {
        let mut lockstep = DuelLockstep::new(&DUEL, 3, [1, 1]);
        at(&mut lockstep, 10, 0, &bypass()).unwrap();
        at(&mut lockstep, 499, 1, &bypass()).unwrap();
        at(&mut lockstep, 501, 2, &Watch::default()).unwrap();
        at(&mut lockstep, 600, 0, &bypass()).unwrap();
        assert!(at(&mut lockstep, 1001, 2, &Watch::default()).is_err());
    }

    #[test]
    fn an_sm_that_switches_unasked_is_reported() {
        let mut lockstep = DuelLockstep::new(&DUEL, 3, [1, 1]);
        assert!(at(&mut lockstep, 7, 2, &Watch { original: Some(false), ..Watch::default() }).is_err());
    }
}
