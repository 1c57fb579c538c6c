//! # Testbench of the bypass by a profile
//! Checks the outcome of each access to an L1D with a single set of two ways, in lockstep with the golden
//! model.
//!
//! | testpoint                                                                 | test          |
//! |---------------------------------------------------------------------------|---------------|
//! | global lines that the profile does not admit bypass, local lines never do | `a_profile_*` |

use crate::l1::cycles::Act::{Load, LocalLoad};
use crate::l1::cycles::{outcomes_of_admitted, slowly};

#[test]
fn a_profile_keeps_out_what_it_does_not_have() {
    let script = slowly(&[(Load(1), true), (Load(2), true), (Load(1), false), (LocalLoad(3), true)]);
    assert_eq!(outcomes_of_admitted(&[1, 7], &script), ["1:miss", "2:bypass", "1:hit", "3:miss"]);
}
