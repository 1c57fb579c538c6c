//! # Cycle tables of an L1D with several lookups per cycle
//! Runs scripts of the form that `cycles.rs` explains, on a sectored cache. Lookups in the same cycle appear
//! in the same row of the table, joined by `+`.
//!
//! | testpoint                                                             | test                                 |
//! |-----------------------------------------------------------------------|--------------------------------------|
//! | hits of one load in different banks share a cycle and a single reply  | `four_lines_*`, `with_two_lookups_*` |
//! | of two lines in the same bank, the second starts a new cycle          | `of_two_lines_*`                     |
//! | a miss or a hit-pending load starts a new cycle, which hits may share | `a_miss_*`, `a_load_that_waits_*`    |
//! | a reservation fail at the head of the queue stalls the hits behind it | `a_refused_*`                        |
//! | a line that is written back occupies all banks                        | `a_miss_that_writes_back_*`          |
//! | a line evicted by a miss in the same cycle does not hit               | `a_line_that_gives_way_*`            |
//! | two instructions do not share a cycle                                 | `hits_of_two_*`                      |
//! | a queue accepts only those lines of a load that it has room for       | `a_load_enters_*`                    |
//! | stores and bypassed loads proceed at one per cycle                    | `stores_*`, `loads_past_*`           |

use rtl::l1::config::{Fetch, L1Config, LsuConfig};

use super::cycles::Act::{Answer, Lanes, LocalLoad, LocalStore, Sector, StoreLanes, UncachedLanes};
use super::cycles::{Act, LSU, expect_from};
use super::rig::l1;

/// Returns an L1D configuration with four lookups per cycle, and with enough ways for all lines of a test.
pub(super) fn wide() -> L1Config {
    L1Config { fetch: Fetch::Sectors, lookups: 4, ways: 8, mshr_entries: 8, miss_queue: 8, ..l1() }
}

/// Loads the sectors `here` into the cache, each given as its line and its number in the line. Then runs the
/// script, and compares its events from cycle 40 on with a cycle table.
pub(super) fn expect(l1: &L1Config, here: &[(u64, u64)], script: &[(u64, Act)], table: &str) {
    expect_of(&LSU, l1, here, script, table);
}

fn expect_of(lsu: &LsuConfig, l1: &L1Config, here: &[(u64, u64)], script: &[(u64, Act)], table: &str) {
    let loads = (3..).zip(here).map(|(cycle, &(line, sector))| (cycle, Sector(line, sector)));
    let answers = (20..).zip(here).map(|(cycle, &(line, _))| (cycle, Answer(line, 0x10 * line as u8)));
    let whole: Vec<_> = loads.chain(answers).chain(script.iter().copied()).collect();
    expect_from(40, (l1, lsu), &whole, table);
}

/// Sectors to load, each given as its line and its number within the line. No two of them are in the same
/// line or in the same bank.
const DIAGONAL: &[(u64, u64)] = &[(5, 0), (6, 1), (7, 2), (8, 3)];

#[test]
fn four_lines_of_a_load_in_four_banks_are_served_in_one_cycle_and_answered_once() {
    expect(
        &wide(),
        DIAGONAL,
        &[(40, Lanes(DIAGONAL))],
        "
         cycle  tags                     core_rsp
         40     5:hit+6:hit+7:hit+8:hit  .
         42     .                        w4=50",
    );
}

#[test]
fn with_two_lookups_a_cycle_four_lines_take_two_and_with_one_four() {
    expect(
        &L1Config { lookups: 2, ..wide() },
        DIAGONAL,
        &[(40, Lanes(DIAGONAL))],
        "
         cycle  tags         core_rsp
         40     5:hit+6:hit  .
         41     7:hit+8:hit  .
         43     .            w4=50",
    );
    expect(
        &L1Config { lookups: 1, ..wide() },
        DIAGONAL,
        &[(40, Lanes(DIAGONAL))],
        "
         cycle  tags   core_rsp
         40     5:hit  .
         41     6:hit  .
         42     7:hit  .
         43     8:hit  .
         45     .      w4=50",
    );
}

/// A load has eight lines, and the access queue has five entries. Lines 1 to 5 enter the queue at once. Lines
/// 6 to 8 enter in the cycle after lines 1 to 4 have left the queue.
#[test]
fn a_load_enters_a_queue_as_far_as_that_had_room_before_the_cycle() {
    let lines: &[(u64, u64)] = &[(1, 0), (2, 1), (3, 2), (4, 3), (5, 0), (6, 1), (7, 2), (8, 3)];
    expect_of(
        &LsuConfig { access_queue: 5, ..LSU },
        &wide(),
        lines,
        &[(40, Lanes(&[(1, 0), (2, 1), (3, 2), (4, 3), (5, 0), (6, 1), (7, 2), (8, 3)]))],
        "
         cycle  tags                     core_rsp
         40     1:hit+2:hit+3:hit+4:hit  .
         41     5:hit                    .
         42     6:hit+7:hit+8:hit        .
         44     .                        w8=10",
    );
}

/// Line 7 could be looked up in the same cycle as line 5, but it is behind line 6 in the queue.
#[test]
fn of_two_lines_in_one_bank_the_second_begins_a_cycle_with_what_is_behind_it() {
    let here: &[(u64, u64)] = &[(5, 0), (6, 0), (7, 1)];
    expect(
        &wide(),
        here,
        &[(40, Lanes(&[(5, 0), (6, 0), (7, 1)]))],
        "
         cycle  tags         core_rsp
         40     5:hit        .
         41     6:hit+7:hit  .
         43     .            w3=50",
    );
}

#[test]
fn a_miss_begins_a_cycle_that_hits_behind_it_share() {
    expect(
        &wide(),
        &[(5, 0), (7, 2), (8, 3)],
        &[(40, Lanes(DIAGONAL)), (50, Answer(6, 0x60))],
        "
         cycle  tags                core_rsp
         40     5:hit               .
         41     6:miss+7:hit+8:hit  .
         52     .                   w3=50",
    );
}

#[test]
fn misses_come_one_a_cycle() {
    expect(
        &wide(),
        &[],
        &[(40, Lanes(DIAGONAL))],
        "
         cycle  tags    core_rsp
         40     5:miss  .
         41     6:miss  .
         42     7:miss  .
         43     8:miss  .",
    );
}

#[test]
fn a_load_that_waits_begins_a_cycle_that_hits_behind_it_share() {
    expect(
        &wide(),
        &[(5, 0), (7, 2)],
        &[(40, Sector(6, 1)), (41, Lanes(&[(5, 0), (6, 1), (7, 2)])), (50, Answer(6, 0x60))],
        "
         cycle  tags                 core_rsp
         40     6:miss               .
         41     5:hit                .
         42     6:hit-pending+7:hit  .
         52     .                    w2=60
         53     .                    w3=50",
    );
}

/// Line 7 occupies the only MSHR entry. Line 6 is refused until that entry is free, and line 5 waits behind
/// line 6 although it would hit.
#[test]
fn a_refused_head_holds_up_what_would_hit_behind_it() {
    expect(
        &L1Config { mshr_entries: 1, ..wide() },
        &[],
        &[
            (3, Sector(5, 0)),
            (20, Answer(5, 0x50)),
            (40, Sector(7, 2)),
            (41, Lanes(&[(6, 1), (5, 0)])),
            (45, Answer(7, 0x70)),
        ],
        "
         cycle  tags                core_rsp
         40     7:miss              .
         41     6:MSHR_ENTRY[.E..]  .
         42     6:MSHR_ENTRY[.E..]  .
         43     6:MSHR_ENTRY[.E..]  .
         44     6:MSHR_ENTRY[.E..]  .
         45     6:miss+5:hit        .
         47     .                   w1=70",
    );
}

#[test]
fn a_miss_that_writes_back_a_line_reads_all_banks_and_leaves_none() {
    expect(
        &L1Config { ways: 2, ..wide() },
        &[],
        &[
            (3, LocalLoad(5)),
            (8, Answer(5, 0x50)),
            (11, LocalStore(5, 0x77)),
            (14, Sector(7, 1)),
            (20, Answer(7, 0x70)),
            (40, Lanes(&[(6, 0), (7, 1)])),
            (50, Answer(6, 0x60)),
        ],
        "
         cycle  tags                  core_rsp
         40     6:miss,writes-back:5  .
         41     7:hit                 .
         52     .                     w3=60",
    );
}

#[test]
fn a_line_that_gives_way_to_the_miss_of_its_cycle_is_gone() {
    expect(
        &L1Config { ways: 1, ..wide() },
        &[(7, 1)],
        &[(40, Lanes(&[(6, 0), (7, 1)])), (44, Answer(6, 0x60))],
        "
         cycle  tags                core_rsp
         40     6:miss,drops:7      .
         41     7:LINE_ALLOC[L...]  .
         42     7:LINE_ALLOC[L...]  .
         43     7:LINE_ALLOC[L...]  .
         44     7:miss,drops:6      .",
    );
}

#[test]
fn hits_of_two_instructions_do_not_share_a_cycle() {
    expect(
        &wide(),
        &[(5, 0), (6, 0), (7, 0), (8, 1)],
        &[(40, Lanes(&[(5, 0), (6, 0), (7, 0)])), (41, Sector(8, 1))],
        "
         cycle  tags   core_rsp
         40     5:hit  .
         41     6:hit  .
         42     7:hit  .
         43     8:hit  .
         44     .      w4=50
         45     .      w5=80",
    );
}

#[test]
fn stores_come_one_a_cycle() {
    expect(
        &wide(),
        DIAGONAL,
        &[(40, StoreLanes(DIAGONAL))],
        "
         cycle  tags       core_rsp
         40     5:evicted  .
         41     6:evicted  .
         42     7:evicted  .
         43     8:evicted  .",
    );
}

#[test]
fn loads_past_the_cache_come_one_a_cycle_even_where_their_lines_are_here() {
    expect(
        &wide(),
        DIAGONAL,
        &[(40, UncachedLanes(DIAGONAL))],
        "
         cycle  tags      core_rsp
         40     5:bypass  .
         41     6:bypass  .
         42     7:bypass  .
         43     8:bypass  .",
    );
}
