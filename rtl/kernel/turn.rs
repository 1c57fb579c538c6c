//! # The order of ports within a cycle
//! A part is called by its block in program order, and a later call sees what an earlier one did. In hardware all of that
//! happens at once, through ports that are there once and in an order that is wired. A part states that order in its
//! header and holds one of these, which refuses any other and a second use of a port. It looks for that only in
//! builds with debug assertions, and only where its owner is told the time; elsewhere it is nothing at all.

/// Which port of a part was used last.
#[derive(Clone, Debug)]
pub struct Turn {
    #[cfg(debug_assertions)]
    ports: &'static [&'static str],
    /// The cycle, and the ports up to the one used last.
    #[cfg(debug_assertions)]
    now: Option<(u64, usize)>,
}

impl Turn {
    /// The ports of a part, in order.
    #[must_use]
    pub const fn new(ports: &'static [&'static str]) -> Self {
        #[cfg(not(debug_assertions))]
        let _ = ports;
        Self {
            #[cfg(debug_assertions)]
            ports,
            #[cfg(debug_assertions)]
            now: None,
        }
    }

    /// What follows happens in the cycle at this tick.
    #[inline(always)]
    pub fn at(&mut self, tick: u64) {
        #[cfg(debug_assertions)]
        if self.now.is_none_or(|(then, _)| then != tick) {
            self.now = Some((tick, 0));
        }
        #[cfg(not(debug_assertions))]
        let _ = tick;
    }

    /// Port `port` is used, perhaps again: it is there for each of several things at once.
    ///
    /// # Panics
    /// If a later one was used in this cycle.
    #[inline(always)]
    pub fn take_again(&mut self, port: usize) {
        #[cfg(debug_assertions)]
        if let Some((_, past)) = &mut self.now
            && *past == port + 1
        {
            *past = port;
        }
        self.take(port);
    }

    /// Port `port` is used, counted from 0.
    ///
    /// # Panics
    /// If it or a later one was used in this cycle.
    #[inline(always)]
    pub fn take(&mut self, port: usize) {
        #[cfg(debug_assertions)]
        if let Some((tick, past)) = &mut self.now {
            if port < *past {
                breach(*tick, self.ports, port, *past - 1);
            }
            *past = port + 1;
        }
        #[cfg(not(debug_assertions))]
        let _ = port;
    }
}

#[cfg(debug_assertions)]
#[cold]
fn breach(tick: u64, ports: &[&str], port: usize, last: usize) -> ! {
    let (port, last, order) = (ports[port], ports[last], ports.join(", "));
    panic!("tick {tick}: `{port}` after `{last}`, expected each of {order} at most once a cycle, in this order")
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    const PORTS: &[&str] = &["fill", "pop", "access"];

    #[test]
    fn ports_may_be_left_out_and_are_free_again_in_the_next_cycle() {
        let mut turn = Turn::new(PORTS);
        turn.at(1);
        [0, 2].into_iter().for_each(|port| turn.take(port));
        turn.at(2);
        [1, 2].into_iter().for_each(|port| turn.take(port));
    }

    #[test]
    fn nobody_is_refused_before_the_time_is_told() {
        let mut turn = Turn::new(PORTS);
        [2, 0, 0].into_iter().for_each(|port| turn.take(port));
    }

    #[test]
    #[should_panic(expected = "tick 7: `pop` after `pop`, expected each of fill, pop, access at most once a cycle")]
    fn a_port_is_there_once_a_cycle() {
        let mut turn = Turn::new(PORTS);
        turn.at(7);
        turn.take(1);
        turn.at(7);
        turn.take(1);
    }

    #[test]
    #[should_panic(expected = "tick 7: `pop` after `access`")]
    fn a_port_for_several_things_may_be_used_again_but_not_after_a_later_one() {
        let mut turn = Turn::new(PORTS);
        turn.at(7);
        [1, 1, 2].into_iter().for_each(|port| turn.take_again(port));
        turn.take_again(1);
    }

    #[test]
    #[should_panic(expected = "tick 7: `fill` after `access`")]
    fn a_port_cannot_see_what_a_later_one_did() {
        let mut turn = Turn::new(PORTS);
        turn.at(7);
        turn.take(2);
        turn.take(0);
    }
}
