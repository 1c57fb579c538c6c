//! # Order of port uses within a cycle
//! Checks that the ports of a component are used in a fixed order. A hardware block calls the functions of
//! its components in program order, and a later call sees the effects of earlier ones. In hardware, all the
//! calls happen in the same cycle, through one physical port each, in an order fixed by the wiring. A
//! component states that order in its header and owns a [`PortOrder`], which rejects any other order and a
//! second use of a port. Checks are compiled in with debug assertions only, and start when the owner first
//! calls [`PortOrder::at`].

/// Record of which port of a component was the last one used in the current cycle.
#[derive(Clone, Debug)]
pub struct PortOrder {
    #[cfg(debug_assertions)]
    ports: &'static [&'static str],
    /// Tick of the current cycle, and one plus the number of the port used last in this cycle; 0 if no port
    /// was used yet.
    #[cfg(debug_assertions)]
    now: Option<(u64, usize)>,
}

impl PortOrder {
    /// Creates the record for a component whose ports are listed in their order of use.
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

    /// Starts the cycle at `tick`, unless that cycle has already started.
    #[inline(always)]
    pub fn at(&mut self, tick: u64) {
        #[cfg(debug_assertions)]
        if self.now.is_none_or(|(then, _)| then != tick) {
            self.now = Some((tick, 0));
        }
        #[cfg(not(debug_assertions))]
        let _ = tick;
    }

    /// Uses port number `port`. This function permits several uses of the port in one cycle, because the
    /// number stands for several identical hardware ports. Within a cycle, ports must be used in ascending
    /// order of their numbers.
    ///
    /// # Panics
    /// Panics if a port with a higher number was already used in this cycle.
    #[inline(always)]
    pub fn take_again(&mut self, port: usize) {
        #[cfg(debug_assertions)]
        if let Some((_, next_port)) = &mut self.now
            && *next_port == port + 1
        {
            *next_port = port;
        }
        self.take(port);
    }

    /// Uses port number `port`, counted from 0.
    ///
    /// # Panics
    /// Panics if this port or one with a higher number was already used in this cycle.
    #[inline(always)]
    pub fn take(&mut self, port: usize) {
        #[cfg(debug_assertions)]
        if let Some((tick, next_port)) = &mut self.now {
            if port < *next_port {
                breach(*tick, self.ports, port, *next_port - 1);
            }
            *next_port = port + 1;
        }
        #[cfg(not(debug_assertions))]
        let _ = port;
    }
}

#[cfg(debug_assertions)]
#[cold]
fn breach(tick: u64, ports: &[&str], port: usize, last: usize) -> ! {
    let (port, last, order) = (ports[port], ports[last], ports.join(", "));
    panic!("tick {tick}: `{port}` after `{last}`, expected each of {order} at most once per cycle, in this order")
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    const PORTS: &[&str] = &["fill", "pop", "access"];

    #[test]
    fn ports_may_be_left_out_and_are_free_again_in_the_next_cycle() {
        let mut turn = PortOrder::new(PORTS);
        turn.at(1);
        [0, 2].into_iter().for_each(|port| turn.take(port));
        turn.at(2);
        [1, 2].into_iter().for_each(|port| turn.take(port));
    }

    #[test]
    fn nobody_is_refused_before_the_time_is_told() {
        let mut turn = PortOrder::new(PORTS);
        [2, 0, 0].into_iter().for_each(|port| turn.take(port));
    }

    #[test]
    #[should_panic(expected = "tick 7: `pop` after `pop`, expected each of fill, pop, access at most once per cycle")]
    fn a_port_is_there_once_a_cycle() {
        let mut turn = PortOrder::new(PORTS);
        turn.at(7);
        turn.take(1);
        turn.at(7);
        turn.take(1);
    }

    #[test]
    #[should_panic(expected = "tick 7: `pop` after `access`")]
    fn a_port_for_several_things_may_be_used_again_but_not_after_a_later_one() {
        let mut turn = PortOrder::new(PORTS);
        turn.at(7);
        [1, 1, 2].into_iter().for_each(|port| turn.take_again(port));
        turn.take_again(1);
    }

    #[test]
    #[should_panic(expected = "tick 7: `fill` after `access`")]
    fn a_port_cannot_see_what_a_later_one_did() {
        let mut turn = PortOrder::new(PORTS);
        turn.at(7);
        turn.take(2);
        turn.take(0);
    }
}
