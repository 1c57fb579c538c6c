//! Unit tests of MSHR entries and their waiters.

use super::*;
use crate::kernel::{Edge, Wake};

fn mshr() -> Mshr {
    let waiter = WaiterShape { sm_bits: 4, line_bytes: 128, operand_bytes: 128 };
    let shape = MshrShape {
        entries: 2,
        merges: 2,
        bursts: 2,
        by_burst: false,
        line_bits: 25,
        sets: 64,
        ways: 16,
        waiter,
        requester_bits: None,
    };
    Mshr::new("l2.mshr", shape)
}

fn request(ticket: u64) -> Request {
    Request { ticket, line: 77, ..Request::default() }
}

#[test]
fn waiters_leave_in_their_order_and_the_last_one_frees_the_entry() {
    let (mut wake, mut mshr) = (Wake::new(&[1]), mshr());
    mshr.allocate(&Edge::new(1, 1, &mut wake), (0, 0b11), (5, 3), &request(10));
    mshr.merge(&Edge::new(2, 2, &mut wake), (0, 0b11), &request(11));
    assert!(!mshr.has_room(0));
    mshr.arrive(&Edge::new(3, 3, &mut wake), 0, 1);
    assert!(!mshr.is_ready());
    mshr.arrive(&Edge::new(4, 4, &mut wake), 0, 0);
    let next = |mshr: &Mshr, tick| mshr.waiter(&Edge::new(tick, tick, &mut Wake::new(&[1]))).map(|(_, w)| w.ticket);
    assert_eq!(next(&mshr, 5), Some(10));
    assert!(mshr.pop_waiter(&Edge::new(5, 5, &mut wake), false).is_none());
    assert_eq!((next(&mshr, 6), mshr.find(77)), (Some(11), Some(0)));
    let freed = mshr.pop_waiter(&Edge::new(6, 6, &mut wake), true).unwrap();
    assert_eq!((freed.set, freed.way, freed.dirty), (5, 3, true));
    assert_eq!((mshr.find(77), mshr.is_empty()), (None, true));
}

#[test]
fn a_waiter_of_some_bursts_is_served_when_these_are_here_and_holds_up_those_behind_it() {
    let waiter = WaiterShape { sm_bits: 4, line_bytes: 128, operand_bytes: 128 };
    let shape = MshrShape {
        entries: 2,
        merges: 4,
        bursts: 4,
        by_burst: true,
        line_bits: 25,
        sets: 64,
        ways: 16,
        waiter,
        requester_bits: None,
    };
    let (mut wake, mut mshr) = (Wake::new(&[1]), Mshr::new("l2.mshr", shape));
    let next = |mshr: &Mshr, tick| mshr.waiter(&Edge::new(tick, tick, &mut Wake::new(&[1]))).map(|(_, w)| w.ticket);
    mshr.allocate(&Edge::new(1, 1, &mut wake), (0, 0b0001), (5, 3), &request(10));
    // Bursts that the three waiters need: burst 0 for the first, bursts 0 and 2 for the second, and none for
    // the third.
    mshr.merge(&Edge::new(2, 2, &mut wake), (0, 0b0101), &request(11));
    mshr.merge(&Edge::new(3, 3, &mut wake), (0, 0), &request(12));
    assert_eq!(mshr.entry(0).asked, 0b0101);
    mshr.arrive(&Edge::new(4, 4, &mut wake), 0, 0);
    assert_eq!(next(&mshr, 5), Some(10));
    assert!(mshr.pop_waiter(&Edge::new(5, 5, &mut wake), false).is_none());
    assert!(!mshr.is_ready(), "request 11 lacks burst 2");
    mshr.arrive(&Edge::new(6, 6, &mut wake), 0, 2);
    assert_eq!(next(&mshr, 7), Some(11));
    assert!(mshr.pop_waiter(&Edge::new(7, 7, &mut wake), false).is_none());
    assert_eq!(next(&mshr, 8), Some(12));
    let freed = mshr.pop_waiter(&Edge::new(8, 8, &mut wake), true).unwrap();
    assert_eq!((freed.arrived, freed.dirty, mshr.is_empty()), (0b0101, true, true));
}

#[test]
#[should_panic(expected = "cycle 3, l2.mshr: burst 1 of entry 0 was not requested")]
fn a_burst_that_nobody_asked_for_is_a_breach() {
    let (mut wake, mut mshr) = (Wake::new(&[1]), mshr());
    mshr.allocate(&Edge::new(1, 1, &mut wake), (0, 0b01), (5, 3), &request(10));
    mshr.arrive(&Edge::new(3, 3, &mut wake), 0, 1);
}

#[test]
fn entries_beyond_a_word_of_64_are_taken_found_and_freed() {
    let waiter = WaiterShape { sm_bits: 4, line_bytes: 64, operand_bytes: 64 };
    let shape = MshrShape {
        entries: 128,
        merges: 1,
        bursts: 1,
        by_burst: false,
        line_bits: 26,
        sets: 64,
        ways: 16,
        waiter,
        requester_bits: None,
    };
    let (mut wake, mut mshr) = (Wake::new(&[1]), Mshr::new("l2.mshr", shape));
    for line in 0..128 {
        let entry = mshr.free().unwrap();
        let asked = Request { line, ..Request::default() };
        mshr.allocate(&Edge::new(line, line, &mut wake), (entry, 1), (0, 0), &asked);
    }
    assert_eq!((mshr.free(), mshr.find(100), mshr.find(128)), (None, Some(100), None));
    mshr.arrive(&Edge::new(200, 200, &mut wake), 100, 0);
    assert_eq!(mshr.pop_waiter(&Edge::new(201, 201, &mut wake), false).map(|freed| freed.line), Some(100));
    assert_eq!((mshr.free(), mshr.find(100)), (Some(100), None));
}

#[test]
#[should_panic(expected = "cycle 4, l2.mshr: burst 1 of entry 0 arrived twice")]
fn a_burst_that_arrives_twice_is_a_breach() {
    let (mut wake, mut mshr) = (Wake::new(&[1]), mshr());
    mshr.allocate(&Edge::new(1, 1, &mut wake), (0, 0b11), (5, 3), &request(10));
    mshr.arrive(&Edge::new(3, 3, &mut wake), 0, 1);
    mshr.arrive(&Edge::new(4, 4, &mut wake), 0, 1);
}

#[test]
#[should_panic(expected = "cycle 4, l2.mshr: data for entry 1, which awaits no data")]
fn data_that_nobody_asked_for_are_a_breach() {
    mshr().arrive(&Edge::new(4, 4, &mut Wake::new(&[1])), 1, 0);
}

#[test]
fn a_prefetch_leaves_without_a_waiter_unless_an_access_merges_before_its_turn() {
    let (mut wake, mut mshr) = (Wake::new(&[1]), mshr());
    for entry in [0, 1] {
        mshr.prefetch(&Edge::new(1, 1, &mut wake), (entry, 0b11), (5, entry), (77 + u64::from(entry), 3));
        assert_eq!(mshr.entry(entry).requester, 4);
    }
    assert_eq!((mshr.find(78), mshr.free()), (Some(1), None));
    for (tick, entry, burst) in [(2, 0, 0), (3, 0, 1), (4, 1, 1)] {
        mshr.arrive(&Edge::new(tick, tick, &mut wake), entry, burst);
    }
    assert!(mshr.is_ready() && mshr.waiter(&Edge::new(5, 5, &mut wake)).is_none());
    // An access may merge with a prefetch before or after the last burst has arrived.
    mshr.merge(&Edge::new(5, 5, &mut wake), (1, 0b11), &request(10));
    assert_eq!(mshr.pop_prefetch().map(|freed| (freed.line, freed.way)), Some((77, 0)));
    assert_eq!((mshr.find(77), mshr.is_ready(), mshr.pop_prefetch().is_none()), (None, false, true));
    mshr.arrive(&Edge::new(6, 6, &mut wake), 1, 0);
    mshr.merge(&Edge::new(7, 7, &mut wake), (1, 0b11), &request(11));
    assert!(mshr.pop_prefetch().is_none());
    for (tick, ticket) in [(8, 10), (9, 11)] {
        assert_eq!(mshr.waiter(&Edge::new(tick, tick, &mut wake)).map(|(_, waiter)| waiter.ticket), Some(ticket));
        mshr.pop_waiter(&Edge::new(tick, tick, &mut wake), false);
    }
    assert!(mshr.is_empty());
}
