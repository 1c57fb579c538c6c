//! # Testbench of the schemes that send loads past the L1D
//! What becomes of each access, on one set of two ways; the twin follows.
//!
//! | testpoint                                                              | test |
//! |------------------------------------------------------------------------|------|
//! | PDP: the example of two ways and a distance of three, access for access | `a_protected_line_*` |
//! | PDP: a local load takes the place of a protected line, and is no bypass | `a_local_load_*` |
//! | PDP: stores and refused loads do not age a set                          | `what_is_no_access_*` |
//! | MRPB: a load that finds every way reserved goes past, others wait       | `a_load_that_finds_*` |
//! | MRPB: in the mode `all`, a load that has no MSHR entry goes past        | `a_load_that_would_wait_*` |
//! | a hit is never sent past                                                | `a_load_that_finds_*` |
//! | a profile: lines that it does not have go past, local ones do not       | `a_profile_*` |
//! | contention: a load that finds its line on its way waits for it, and goes past if that does not stay | `a_load_that_contends_*` |

use rtl::l1::bypass::contention::Contentious;
use rtl::l1::bypass::pdp::PdpConfig;
use rtl::l1::config::L1Config;
use rtl::l1::mrpb::{MrpbConfig, StallBypass};

use super::cycles::Act::{Answer, Load, LocalLoad, Spread, Store};
use super::cycles::{Act, outcomes, outcomes_of_admitted};
use super::rig::l1;

/// Each access well after the one before; what misses or goes past is answered in between.
fn slowly(acts: &[(Act, bool)]) -> Vec<(u64, Act)> {
    let script = (1..).zip(acts).flat_map(|(number, (act, asks))| {
        let answer = match act {
            Load(line) | LocalLoad(line) | Store(line, _) if *asks => Some((16 * number + 8, Answer(*line, 0))),
            _ => None,
        };
        [Some((16 * number, *act)), answer]
    });
    script.flatten().collect()
}

fn protecting(distance: u32) -> L1Config {
    L1Config { bypass: PdpConfig { distance }.into(), ..l1() }
}

fn giving_way(bypass: StallBypass) -> L1Config {
    L1Config { mrpb: MrpbConfig { bypass, ..MrpbConfig::NONE }, ..l1() }
}

#[test]
fn a_protected_line_stays_and_the_load_goes_past() {
    let script = slowly(&[
        (Load(1), true),
        (Load(2), true),
        (Load(3), true),
        (Load(1), false),
        (Load(3), true),
        (Load(4), true),
    ]);
    assert_eq!(
        outcomes(&protecting(3), &script),
        ["1:miss", "2:miss", "3:bypass", "1:hit", "3:miss,drops:2", "4:bypass"]
    );
}

#[test]
fn a_local_load_takes_the_place_of_a_protected_line() {
    let script = slowly(&[(Load(1), true), (Load(2), true), (LocalLoad(3), true)]);
    assert_eq!(outcomes(&protecting(9), &script), ["1:miss", "2:miss", "3:miss,drops:1"]);
}

#[test]
fn what_is_no_access_to_a_set_does_not_age_it() {
    // After the loads of 1 and 2, line 1 is protected from one more access. The stores are none.
    let stores = [(Store(8, 0), true), (Store(8, 0), true), (Store(8, 0), true)];
    let loads = [(Load(1), true), (Load(2), true)];
    let script = slowly(&[&loads[..], &stores, &[(Load(3), true)]].concat());
    let seen = outcomes(&protecting(3), &script);
    assert_eq!(seen.last().map(String::as_str), Some("3:bypass"), "{seen:?}");
    // Nor are the cycles in which a load waits: the MSHR entry of line 1 holds two loads and takes no third.
    let script = [(16, Load(1)), (17, Load(1)), (18, Load(1)), (40, Answer(1, 0))];
    let after = [(60, Load(2)), (70, Answer(2, 0)), (80, Load(3)), (90, Answer(3, 0))];
    let seen = outcomes(&protecting(3), &[&script[..], &after].concat());
    assert_eq!(seen.last().map(String::as_str), Some("3:bypass"), "{seen:?}");
}

#[test]
fn a_load_that_finds_every_way_reserved_goes_past() {
    let l1 = L1Config { mshr_entries: 4, ..giving_way(StallBypass::Associativity) };
    let script = [(16, Load(1)), (17, Load(2)), (18, Load(3)), (20, Load(1)), (30, Answer(1, 0)), (31, Answer(2, 0))];
    let script = [&script[..], &[(32, Answer(3, 0)), (50, Load(2))]].concat();
    assert_eq!(outcomes(&l1, &script), ["1:miss", "2:miss", "3:bypass", "1:hit-pending", "2:hit"]);
    let none = L1Config { mshr_entries: 4, ..giving_way(StallBypass::None) };
    assert!(outcomes(&none, &script[..3]).contains(&"3:LINE_ALLOC[L...]".to_owned()));
}

#[test]
fn a_load_that_would_wait_for_an_mshr_entry_goes_past_in_the_mode_all() {
    let script = [(16, Load(1)), (17, Load(2)), (25, Answer(1, 0)), (26, Answer(2, 0))];
    let one_entry = |bypass| L1Config { mshr_entries: 1, ..giving_way(bypass) };
    assert_eq!(outcomes(&one_entry(StallBypass::All), &script), ["1:miss", "2:bypass"]);
    let waits = outcomes(&one_entry(StallBypass::Associativity), &[(16, Load(1)), (17, Load(2))]);
    assert_eq!(waits[1], "2:MSHR_ENTRY[.E..]", "{waits:?}");
}

#[test]
fn a_profile_keeps_out_what_it_does_not_have() {
    let script = slowly(&[(Load(1), true), (Load(2), true), (Load(1), false), (LocalLoad(3), true)]);
    assert_eq!(outcomes_of_admitted(&[1, 7], &script), ["1:miss", "2:bypass", "1:hit", "3:miss"]);
}

#[test]
fn a_load_that_contends_waits_for_a_line_on_its_way_and_goes_past_if_that_does_not_stay() {
    let l1 = L1Config { bypass: Contentious {}.into(), mshr_merges: 1, ..l1() };
    // Of two lines each of two warps has one: any load contends.
    let script = [(16, Load(1)), (17, Spread(1, 1, 2)), (20, Answer(1, 0))];
    let refused = "1:MSHR_MERGE[..M.]";
    assert_eq!(outcomes(&l1, &script), ["1:miss", refused, refused, refused, "1:hit"]);
    let merges = L1Config { mshr_merges: 2, ..l1.clone() };
    assert_eq!(outcomes(&merges, &script), ["1:miss", "1:hit-pending"]);
    let script = [(16, Load(1)), (17, Store(1, 9)), (18, Spread(1, 1, 2)), (21, Answer(1, 0)), (25, Answer(1, 0))];
    let seen = outcomes(&l1, &script);
    assert_eq!(seen.first().map(String::as_str), Some("1:miss"));
    assert_eq!(seen.last().map(String::as_str), Some("1:bypass"), "{seen:?}");
}

#[test]
fn a_load_that_contends_takes_no_way_no_mshr_entry_and_no_place_in_the_miss_queue() {
    let l1 = L1Config { bypass: Contentious {}.into(), ways: 1, mshr_entries: 1, ..l1() };
    let script = [(16, Load(1)), (17, Spread(2, 3, 1)), (28, Answer(1, 0))];
    assert_eq!(outcomes(&l1, &script), ["1:miss", "2:bypass", "3:bypass", "4:bypass"]);
}
