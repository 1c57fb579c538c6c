//! # Testbench of PDP (protecting distances)
//! Checks the outcome of each access to an L1D with a single set of two ways, in lockstep with the golden
//! model.
//!
//! | testpoint                                                                  | test                  |
//! |----------------------------------------------------------------------------|-----------------------|
//! | example with two ways and a protecting distance of three, access by access | `a_protected_line_*`  |
//! | a local load evicts a protected line instead of bypassing                  | `a_local_load_*`      |
//! | stores and refused loads do not age a set                                  | `what_is_no_access_*` |

use rtl::l1::bypass::pdp::PdpConfig;
use rtl::l1::config::L1Config;

use crate::l1::cycles::Act::{Answer, Load, LocalLoad, Store};
use crate::l1::cycles::{outcomes, slowly};
use crate::l1::rig::l1;

fn protecting(distance: u32) -> L1Config {
    L1Config { bypass: PdpConfig { distance }.into(), ..l1() }
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
    // After the loads of lines 1 and 2, line 1 stays protected for one more access to the set. Stores do not
    // count as accesses.
    let stores = [(Store(8, 0), true), (Store(8, 0), true), (Store(8, 0), true)];
    let loads = [(Load(1), true), (Load(2), true)];
    let script = slowly(&[&loads[..], &stores, &[(Load(3), true)]].concat());
    let seen = outcomes(&protecting(3), &script);
    assert_eq!(seen.last().map(String::as_str), Some("3:bypass"), "{seen:?}");
    // Refused loads do not count as accesses to the set. The MSHR entry of line 1 has room for two loads, so
    // the third load is refused for some cycles.
    let script = [(16, Load(1)), (17, Load(1)), (18, Load(1)), (40, Answer(1, 0))];
    let after = [(60, Load(2)), (70, Answer(2, 0)), (80, Load(3)), (90, Answer(3, 0))];
    let seen = outcomes(&protecting(3), &[&script[..], &after].concat());
    assert_eq!(seen.last().map(String::as_str), Some("3:bypass"), "{seen:?}");
}
