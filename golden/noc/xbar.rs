//! # Crossbar scoreboard
//! Checks the messages that enter and leave a network. For each source, destination and message class, every
//! message must arrive once, unchanged and in the order sent. Messages on different routes or of different
//! classes may arrive in any order.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Debug};

/// Message classes. Each class has its own buffers in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Request from an SM to a memory partition.
    Request,
    /// Request from a sharing tracker to the SM whose L1 is to supply a line.
    Forward,
    /// Reply to the SM that made the request.
    Reply,
    /// Acknowledgment that a line has been invalidated.
    InvalidateAck,
}

/// Route of a message: its source, destination and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Input port at which the message enters the network.
    pub source: usize,
    /// Output port at which the message must leave the network.
    pub destination: usize,
    /// Class of the message.
    pub class: Class,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} from {} to {}", self.class, self.source, self.destination)
    }
}

/// Violation of the delivery rules by the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation<P> {
    /// A message arrived before `passed` older messages of the same route.
    Reordered {
        /// Source, destination and class with which the message arrived.
        route: Route,
        /// Message that overtook older ones.
        payload: P,
        /// Number of older messages that it overtook.
        passed: usize,
    },
    /// A message arrived on a route that differs from the one on which it was sent.
    Misrouted {
        /// Source, destination and class with which the message arrived.
        route: Route,
        /// Source, destination and class with which the message was sent.
        sent_on: Route,
        /// Message that arrived on the wrong route.
        payload: P,
    },
    /// A message arrived twice, although it was sent once.
    Duplicated {
        /// Source, destination and class with which the message arrived.
        route: Route,
        /// Message that arrived twice.
        payload: P,
    },
    /// A message arrived that was never sent. Either the network created it, or it corrupted another message.
    Unknown {
        /// Source, destination and class with which the message arrived.
        route: Route,
        /// Message that was never sent.
        payload: P,
        /// Message that should arrive next on this route; `None` if no message is in flight on it.
        expected: Option<P>,
    },
    /// A message was sent but never arrived.
    Lost {
        /// Source, destination and class with which the message was sent.
        route: Route,
        /// Message that never arrived.
        payload: P,
    },
}

impl<P: Debug> fmt::Display for Violation<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Reordered { route, payload, passed } => {
                write!(f, "{route}: {payload:?} overtook {passed} older messages")
            }
            Violation::Misrouted { route, sent_on, payload } => {
                write!(f, "{route}: {payload:?} arrived, but was sent as {sent_on}")
            }
            Violation::Duplicated { route, payload } => {
                write!(f, "{route}: {payload:?} arrived a second time")
            }
            Violation::Unknown { route, payload, expected: Some(expected) } => {
                write!(f, "{route}: {payload:?} arrived, expected {expected:?}")
            }
            Violation::Unknown { route, payload, expected: None } => {
                write!(f, "{route}: {payload:?} arrived, but nothing is in flight")
            }
            Violation::Lost { route, payload } => {
                write!(f, "{route}: {payload:?} was sent and never arrived")
            }
        }
    }
}

/// Number of delivered messages that are recorded per route, to distinguish a duplicate from a message that
/// was never sent.
const REMEMBERED: usize = 64;

#[derive(Clone, Debug)]
struct Traffic<P> {
    under_way: VecDeque<P>,
    delivered: VecDeque<P>,
}

/// Scoreboard of one network. Messages are compared by their whole payload; a serial number in the payload
/// distinguishes messages that are otherwise equal.
#[derive(Clone, Debug)]
pub struct Scoreboard<P> {
    routes: BTreeMap<Route, Traffic<P>>,
}

impl<P> Default for Scoreboard<P> {
    fn default() -> Self {
        Scoreboard { routes: BTreeMap::new() }
    }
}

impl<P: Clone + PartialEq> Scoreboard<P> {
    /// Creates the scoreboard of a network in which no message is in flight.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that the network accepted a message with this payload.
    pub fn send(&mut self, route: Route, payload: P) {
        self.traffic(route).under_way.push_back(payload);
    }

    /// Checks that the network delivered a message with this payload correctly.
    ///
    /// # Errors
    /// Returns the violation if the message was not delivered correctly. A message that arrives out of order
    /// or on the wrong route no longer counts as in flight, so that each error is reported once.
    pub fn receive(&mut self, route: Route, payload: &P) -> Result<(), Violation<P>> {
        let payload = payload.clone();
        if let Some(passed) = self.take(route, &payload) {
            let delivered = &mut self.traffic(route).delivered;
            delivered.push_back(payload.clone());
            if delivered.len() > REMEMBERED {
                delivered.pop_front();
            }
            return match passed {
                0 => Ok(()),
                _ => Err(Violation::Reordered { route, payload, passed }),
            };
        }
        if self.traffic(route).delivered.contains(&payload) {
            return Err(Violation::Duplicated { route, payload });
        }
        let others: Vec<Route> = self.routes.keys().copied().collect();
        match others.into_iter().find(|other| self.take(*other, &payload).is_some()) {
            Some(sent_on) => Err(Violation::Misrouted { route, sent_on, payload }),
            None => {
                let expected = self.traffic(route).under_way.front().cloned();
                Err(Violation::Unknown { route, payload, expected })
            }
        }
    }

    /// Returns the number of messages in flight.
    pub fn under_way(&self) -> usize {
        self.routes.values().map(|traffic| traffic.under_way.len()).sum()
    }

    /// Ends the run, and returns a violation for every message that is still in flight.
    pub fn finish(self) -> Vec<Violation<P>> {
        let lost = |(route, traffic): (Route, Traffic<P>)| {
            traffic.under_way.into_iter().map(move |payload| Violation::Lost { route, payload })
        };
        self.routes.into_iter().flat_map(lost).collect()
    }

    fn traffic(&mut self, route: Route) -> &mut Traffic<P> {
        let empty = || Traffic { under_way: VecDeque::new(), delivered: VecDeque::new() };
        self.routes.entry(route).or_insert_with(empty)
    }

    /// Removes a message from those in flight on a route. Returns the number of older messages in flight on
    /// that route, or `None` if no such message is in flight.
    fn take(&mut self, route: Route, payload: &P) -> Option<usize> {
        let under_way = &mut self.traffic(route).under_way;
        let place = under_way.iter().position(|sent| sent == payload)?;
        under_way.remove(place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: Route = Route { source: 0, destination: 1, class: Class::Request };
    const B: Route = Route { source: 2, destination: 1, class: Class::Request };

    fn with(sent: &[(Route, u32)]) -> Scoreboard<u32> {
        let mut board = Scoreboard::new();
        sent.iter().for_each(|(route, payload)| board.send(*route, *payload));
        board
    }

    #[test]
    fn messages_of_one_route_in_their_order_are_right() {
        let mut board = with(&[(A, 1), (A, 2)]);
        assert_eq!(board.receive(A, &1), Ok(()));
        assert_eq!(board.receive(A, &2), Ok(()));
        assert_eq!(board.finish(), []);
    }

    #[test]
    fn an_overtaking_message_is_reported_with_the_number_it_passed() {
        let mut board = with(&[(A, 1), (A, 2), (A, 3)]);
        let violation = Violation::Reordered { route: A, payload: 3, passed: 2 };
        assert_eq!(board.receive(A, &3), Err(violation));
        assert_eq!(board.receive(A, &1), Ok(()));
    }

    #[test]
    fn classes_between_the_same_ports_may_overtake_each_other() {
        let reply = Route { class: Class::Reply, ..A };
        let mut board = with(&[(A, 1), (reply, 2)]);
        assert_eq!(board.receive(reply, &2), Ok(()));
        assert_eq!(board.receive(A, &1), Ok(()));
    }

    #[test]
    fn a_second_arrival_is_a_duplicate() {
        let mut board = with(&[(A, 1)]);
        assert_eq!(board.receive(A, &1), Ok(()));
        assert_eq!(board.receive(A, &1), Err(Violation::Duplicated { route: A, payload: 1 }));
    }

    #[test]
    fn a_message_at_the_wrong_port_is_reported_with_the_route_it_was_sent_on() {
        let mut board = with(&[(A, 1)]);
        let violation = Violation::Misrouted { route: B, sent_on: A, payload: 1 };
        assert_eq!(board.receive(B, &1), Err(violation));
        assert_eq!(board.under_way(), 0);
    }

    #[test]
    fn a_changed_message_is_reported_beside_the_expected_one() {
        let mut board = with(&[(A, 1)]);
        let violation = board.receive(A, &9).unwrap_err();
        assert_eq!(violation.to_string(), "Request from 0 to 1: 9 arrived, expected 1");
    }

    #[test]
    fn what_never_arrives_is_lost() {
        let board = with(&[(B, 4), (A, 1)]);
        let lost: Vec<String> = board.finish().iter().map(Violation::to_string).collect();
        assert_eq!(
            lost,
            ["Request from 0 to 1: 1 was sent and never arrived", "Request from 2 to 1: 4 was sent and never arrived"]
        );
    }

    proptest! {
        #[test]
        fn any_interleaving_of_routes_that_keeps_each_in_order_is_right(
            routes in prop::collection::vec(0usize..4, 1..80),
            order in prop::collection::vec(any::<prop::sample::Index>(), 80),
        ) {
            let mut board = Scoreboard::new();
            let mut queues = vec![VecDeque::new(); 4];
            let at = |source| Route { source, ..A };
            for (serial, &source) in routes.iter().enumerate() {
                board.send(at(source), serial);
                queues[source].push_back(serial);
            }
            for pick in order.iter().take(routes.len()) {
                let ready: Vec<usize> = (0..4).filter(|&source| !queues[source].is_empty()).collect();
                let source = ready[pick.index(ready.len())];
                let serial = queues[source].pop_front().unwrap();
                prop_assert_eq!(board.receive(at(source), &serial), Ok(()));
            }
            prop_assert_eq!(board.finish(), vec![]);
        }
    }
}
