//! Unit tests of the states and sets of the Fetch and Replacement Cache (FRC).

use super::super::super::super::line::LineState;
use super::*;
use crate::kernel::{Edge, Wake, width_of};

fn frc(sets: u32, ways: u32) -> Frc {
    let shape = FrcShape {
        sets,
        ways,
        bank_sets: 64,
        bank_ways: 16,
        tag_bits: 17,
        line_bytes: 128,
        l1s: 15,
        acknowledged: false,
        binds_early: false,
        ports: (2, 1),
    };
    Frc::new("l2.frc", shape)
}

const CLEAN: Tag = Tag { tag: 3, state: LineState::Valid };

/// Returns a small FRC (fetch and replacement cache) after the first `steps` of three steps and a call of
/// `then`. The steps are the allocation, fill and swap of entry 0, for the line with tag 9 in set 5.
fn after(steps: u32, then: impl Fn(&mut Frc, &Edge<'_>)) -> Frc {
    let (mut wake, mut frc) = (Wake::new(&[1]), frc(1, 4));
    if steps > 0 {
        frc.allocate(&Edge::new(4, 4, &mut wake), 0, (5, 9), None, 77);
    }
    if steps > 1 {
        frc.fill(&Edge::new(5, 5, &mut wake), 0, true);
    }
    if steps > 2 {
        frc.take_swap();
        let old = Eviction { dirty: true, ..Eviction::default() };
        frc.exchange(&Edge::new(6, 6, &mut wake), 0, CLEAN, old);
    }
    then(&mut frc, &Edge::new(7, 7, &mut wake));
    frc
}

#[test]
fn a_line_is_found_in_the_set_of_the_low_index_bits_and_by_its_whole_address() {
    let (mut wake, mut frc) = (Wake::new(&[1]), frc(4, 8));
    frc.allocate(&Edge::new(1, 1, &mut wake), frc.number(0b1_0110, 3), (0b1_0110, 9), None, 0);
    assert_eq!(frc.find(0b1_0110, 9), Some(3));
    assert_eq!((frc.find(0b0_0110, 9), frc.find(0b1_0110, 8), frc.find(0b1_0111, 9)), (None, None, None));
    assert_eq!(frc.cell(frc.number(0b1_0110, 3)), (0b10, 3));
    assert!(frc.share(0b1_0110, 0b10) && !frc.share(0b1_0110, 0b11));
}

#[test]
fn the_line_that_gave_way_is_found_where_its_successor_was() {
    let frc = after(3, |_, _| {});
    assert_eq!((frc.find(5, 9), frc.find(5, 3)), (None, Some(0)));
    assert_eq!(frc.entry(0).state, FrcState::VictInv);
}

#[test]
fn an_entry_is_free_again_when_its_old_line_is_gone() {
    let frc = after(3, |frc, at| {
        frc.write_back(at, 0);
        frc.eviction_mut(0).dirty = false;
        frc.release(at, 0);
    });
    assert!(frc.is_empty());
    assert_eq!(frc.free(5), Some(0));
}

#[test]
fn a_data_memory_of_64_lines_has_their_width() {
    assert_eq!(frc(8, 8).data.spec().rows * frc(8, 8).data.spec().columns * width_of::<LineData>(&128), 64 * 1024);
}

#[test]
#[should_panic(expected = "cycle 7, l2.frc: entry 0 is allocated in state Fetch, expected Free")]
fn an_entry_allocated_twice_is_a_breach() {
    after(1, |frc, at| frc.allocate(at, 0, (5, 8), None, 0));
}

#[test]
#[should_panic(expected = "cycle 7, l2.frc: entry 1 is allocated for a line that another entry has")]
fn a_line_fetched_twice_is_a_breach() {
    after(1, |frc, at| frc.allocate(at, 1, (5, 9), None, 0));
}

#[test]
#[should_panic(expected = "cycle 7, l2.frc: entry 0 is filled in state Filled, expected Fetch")]
fn a_line_that_comes_twice_is_a_breach() {
    after(2, |frc, at| frc.fill(at, 0, false));
}

#[test]
#[should_panic(expected = "cycle 7, l2.frc: entry 0 is written in state VictInv, expected Filled")]
fn a_write_to_a_line_on_its_way_out_is_a_breach() {
    after(3, |frc, at| frc.mark_written(at, 0));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "tick 7: `access` after `access`")]
fn a_second_access_in_a_cycle_is_a_breach() {
    after(2, |frc, at| {
        frc.mark_written(at, 0);
        frc.allocate(at, 1, (5, 8), None, 0);
    });
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "tick 7: `access` after `exchange`")]
fn an_access_behind_the_exchange_of_its_cycle_is_a_breach() {
    after(2, |frc, at| {
        frc.take_swap();
        frc.exchange(at, 0, CLEAN, Eviction::default());
        frc.allocate(at, 1, (5, 8), None, 0);
    });
}

#[test]
#[should_panic(expected = "cycle 7, l2.frc: entry 0 is released as VictInv")]
fn an_entry_whose_dirty_line_is_lost_is_a_breach() {
    after(3, |frc, at| frc.release(at, 0));
}
