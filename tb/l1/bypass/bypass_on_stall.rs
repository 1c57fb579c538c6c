//! # Testbench of MRPB's bypass on stall
//! Checks the outcome of each access to an L1D with a single set of two ways, in lockstep with the golden
//! model.
//!
//! | testpoint                                                                                  | test |
//! |--------------------------------------------------------------------------------------------|-----|
//! | a load that finds every way reserved bypasses, other refused loads wait; hits never bypass | `a_load_that_finds_*` |
//! | in mode `all`, a load without a free MSHR entry bypasses                                   | `a_load_that_would_wait_*` |

use rtl::l1::config::L1Config;
use rtl::l1::mrpb::{MrpbConfig, StallBypass};

use crate::l1::cycles::Act::{Answer, Load};
use crate::l1::cycles::outcomes;
use crate::l1::rig::l1;

fn giving_way(bypass: StallBypass) -> L1Config {
    L1Config { mrpb: MrpbConfig { bypass, ..MrpbConfig::NONE }, ..l1() }
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
