//! # Cycle tables of a sectored L1D
//! Runs scripts of the form that `cycles.rs` explains, on a cache in which a miss fetches only the sectors
//! that a warp touches. Requests and fills show their sector mask in binary, with sector 0 as the rightmost
//! digit.
//!
//! | testpoint                                                              | test                      |
//! |------------------------------------------------------------------------|---------------------------|
//! | a miss fetches the sectors touched; other sectors still miss           | `a_line_comes_*`          |
//! | each lane of a load waits for its own sector                           | `lanes_wait_*`            |
//! | valid sectors serve loads while others are in flight                   | `a_sector_that_is_here_*` |
//! | a line with a sector in flight is not evicted                          | `a_line_keeps_*`          |
//! | reasons to refuse a load that needs sectors in flight and missing ones | `a_load_that_needs_*`     |
//! | a store invalidates, updates or overtakes the sectors that it touches  | `a_store_*`               |
//! | a modified local line is written back with its valid sectors only      | `of_a_modified_line_*`    |

use rtl::l1::config::{FailOrder, Fetch, L1Config, StoreHit};

use super::cycles::Act::{Answer, Load, LocalLoad, LocalStore, Sector, SectorStore, Store, Whole};
use super::cycles::{expect, outcomes, outcomes_while};
use super::rig::l1;

fn sectored_config() -> L1Config {
    L1Config { fetch: Fetch::Sectors, mshr_entries: 4, ..l1() }
}

#[test]
fn a_line_comes_sector_by_sector() {
    expect(
        &sectored_config(),
        &[
            (3, Sector(5, 1)),
            (8, Answer(5, 0x11)),
            (11, Sector(5, 1)),
            (12, Sector(5, 3)),
            (18, Answer(5, 0x33)),
            (21, Sector(5, 3)),
        ],
        0..0,
        "
         cycle  tags    fill         leaves   mem_req      core_rsp
         3      5:miss  .            .        .            .
         4      .       .            .        .            .
         5      .       .            .        read:5/0010  .
         6      .       .            .        .            .
         7      .       .            .        .            .
         8      .       5/0010:kept  5:slot0  .            .
         9      .       .            .        .            .
         10     .       .            .        .            w0=11
         11     5:hit   .            .        .            .
         12     5:miss  .            .        .            .
         13     .       .            .        .            w1=11
         14     .       .            .        read:5/1000  .
         15     .       .            .        .            .
         16     .       .            .        .            .
         17     .       .            .        .            .
         18     .       5/1000:kept  5:slot1  .            .
         19     .       .            .        .            .
         20     .       .            .        .            w2=33
         21     5:hit   .            .        .            .
         22     .       .            .        .            .
         23     .       .            .        .            w3=33",
    );
}

/// Sector 0 of the line is valid, and sector 1 is in flight. The load itself requests sectors 2 and 3, and
/// returns data of all four sectors.
#[test]
fn lanes_wait_for_their_own_sectors() {
    expect(
        &sectored_config(),
        &[
            (3, Sector(5, 0)),
            (8, Answer(5, 0x10)),
            (11, Sector(5, 1)),
            (12, Whole(5)),
            (18, Answer(5, 0x11)),
            (22, Answer(5, 0x12)),
        ],
        0..0,
        "
         cycle  tags    fill         leaves   mem_req      core_rsp
         3      5:miss  .            .        .            .
         4      .       .            .        .            .
         5      .       .            .        read:5/0001  .
         6      .       .            .        .            .
         7      .       .            .        .            .
         8      .       5/0001:kept  5:slot0  .            .
         9      .       .            .        .            .
         10     .       .            .        .            w0=10
         11     5:miss  .            .        .            .
         12     5:miss  .            .        .            .
         13     .       .            .        read:5/0010  .
         14     .       .            .        read:5/1100  .
         15     .       .            .        .            .
         16     .       .            .        .            .
         17     .       .            .        .            .
         18     .       5/0010:kept  5:slot0  .            .
         19     .       .            5:slot1  .            .
         20     .       .            .        .            w1=11
         21     .       .            .        .            .
         22     .       5/1100:kept  5:slot1  .            .
         23     .       .            .        .            .
         24     .       .            .        .            w2=10",
    );
}

#[test]
fn a_sector_that_is_here_serves_loads_while_another_is_on_its_way() {
    expect(
        &sectored_config(),
        &[
            (3, Sector(5, 0)),
            (8, Answer(5, 0x10)),
            (11, Sector(5, 1)),
            (12, Sector(5, 0)),
            (13, Sector(5, 1)),
            (20, Answer(5, 0x11)),
        ],
        0..0,
        "
         cycle  tags           fill         leaves   mem_req      core_rsp
         3      5:miss         .            .        .            .
         4      .              .            .        .            .
         5      .              .            .        read:5/0001  .
         6      .              .            .        .            .
         7      .              .            .        .            .
         8      .              5/0001:kept  5:slot0  .            .
         9      .              .            .        .            .
         10     .              .            .        .            w0=10
         11     5:miss         .            .        .            .
         12     5:hit          .            .        .            .
         13     5:hit-pending  .            .        read:5/0010  .
         14     .              .            .        .            w2=10
         15     .              .            .        .            .
         16     .              .            .        .            .
         17     .              .            .        .            .
         18     .              .            .        .            .
         19     .              .            .        .            .
         20     .              5/0010:kept  5:slot0  .            .
         21     .              .            5:slot2  .            .
         22     .              .            .        .            w1=11
         23     .              .            .        .            w3=11",
    );
}

#[test]
fn a_line_keeps_its_way_until_its_last_sector_has_come() {
    let script = [
        (3, Sector(5, 0)),
        (8, Answer(5, 0x10)),
        (11, Sector(5, 1)),
        (12, Load(6)),
        (13, Load(7)),
        (20, Answer(5, 0x11)),
    ];
    assert_eq!(
        outcomes(&sectored_config(), &script),
        [
            "5:miss",
            "5:miss",
            "6:miss",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:LINE_ALLOC[L...]",
            "7:miss,drops:5"
        ]
    );
}

#[test]
fn a_load_that_needs_what_is_on_its_way_and_more_is_refused_for_either() {
    let script = [(3, Sector(5, 0)), (4, Store(6, 0)), (5, Whole(5)), (20, Answer(5, 0x10)), (24, Answer(5, 0x11))];
    let first_refusals = |fail_order| {
        let l1 = L1Config { fail_order, mshr_entries: 1, mshr_merges: 1, miss_queue: 2, ..sectored_config() };
        let mut outcomes = outcomes_while(0..12, &l1, &script);
        outcomes.dedup();
        outcomes
    };
    assert_eq!(
        first_refusals(FailOrder::MshrFirst),
        ["5:miss", "6:written-through", "5:MSHR_MERGE[.EMQ]", "5:MSHR_MERGE[.EM.]", "5:miss"]
    );
    assert_eq!(
        first_refusals(FailOrder::QueueFirst),
        ["5:miss", "6:written-through", "5:MISS_QUEUE[.EMQ]", "5:MSHR_MERGE[.EM.]", "5:miss"]
    );
}

#[test]
fn a_store_drops_the_sectors_that_it_touches_and_overtakes_them() {
    let script = [
        (3, Whole(5)),
        (8, Answer(5, 0x10)),
        (11, SectorStore(5, 2, 0x22)),
        (12, Sector(5, 1)),
        (13, Sector(5, 2)),
        (14, SectorStore(5, 2, 0x23)),
        (15, Sector(5, 3)),
        (16, Sector(5, 2)),
    ];
    assert_eq!(
        outcomes(&sectored_config(), &script),
        [
            "5:miss",
            "5:evicted",
            "5:hit",
            "5:miss",
            "5:overtakes",
            "5:hit",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]",
            "5:MSHR_MERGE[..M.]"
        ]
    );
}

#[test]
fn a_store_changes_what_is_here_where_stores_do() {
    let l1 = L1Config { store_hit: StoreHit::Update, ..sectored_config() };
    expect(
        &l1,
        &[
            (3, Sector(5, 0)),
            (8, Answer(5, 0x10)),
            (11, Store(5, 0x77)),
            (12, Sector(5, 0)),
            (13, SectorStore(5, 1, 0x78)),
            (14, Sector(5, 1)),
        ],
        0..0,
        "
         cycle  tags               fill         leaves   mem_req      core_rsp
         3      5:miss             .            .        .            .
         4      .                  .            .        .            .
         5      .                  .            .        read:5/0001  .
         6      .                  .            .        .            .
         7      .                  .            .        .            .
         8      .                  5/0001:kept  5:slot0  .            .
         9      .                  .            .        .            .
         10     .                  .            .        .            w0=10
         11     5:updated          .            .        .            .
         12     5:hit              .            .        .            .
         13     5:written-through  .            .        write:5/1B   .
         14     5:miss             .            .        .            w2=77
         15     .                  .            .        write:5/1B   .
         16     .                  .            .        read:5/0010  .",
    );
}

#[test]
fn of_a_modified_line_the_sectors_that_are_here_go_back() {
    expect(
        &sectored_config(),
        &[
            (3, LocalLoad(5)),
            (8, Answer(5, 0x10)),
            (11, LocalStore(5, 0x77)),
            (12, Load(6)),
            (20, Load(7)),
            (21, Load(8)),
        ],
        0..0,
        "
         cycle  tags                  fill         leaves   mem_req      core_rsp
         3      5:miss                .            .        .            .
         4      .                     .            .        .            .
         5      .                     .            .        read:5/0001  .
         6      .                     .            .        .            .
         7      .                     .            .        .            .
         8      .                     5/0001:kept  5:slot0  .            .
         9      .                     .            .        .            .
         10     .                     .            .        .            w0=10
         11     5:modified            .            .        .            .
         12     6:miss                .            .        .            .
         13     .                     .            .        .            w1:stored
         14     .                     .            .        read:6/0001  .
         15     .                     .            .        .            .
         16     .                     .            .        .            .
         17     .                     .            .        .            .
         18     .                     .            .        .            .
         19     .                     .            .        .            .
         20     7:miss,writes-back:5  .            .        .            .
         21     8:LINE_ALLOC[L...]    .            .        .            .
         22     8:LINE_ALLOC[L...]    .            .        write:5/32B  .
         23     8:LINE_ALLOC[L...]    .            .        read:7/0001  .
         24     8:LINE_ALLOC[L...]    .            .        .            .
         25     8:LINE_ALLOC[L...]    .            .        .            .
         26     8:LINE_ALLOC[L...]    .            .        .            .
         27     8:LINE_ALLOC[L...]    .            .        .            .
         28     8:LINE_ALLOC[L...]    .            .        .            .
         29     8:LINE_ALLOC[L...]    .            .        .            .
         30     8:LINE_ALLOC[L...]    .            .        .            .",
    );
}
