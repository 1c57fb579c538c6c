//! # Area, leakage and energy from structures
//! Turns what a design is built of (memories, flip-flops, logic) into um2, mW and pJ at 45, 32 and
//! 22 nm. Of the design it knows nothing but the kinds of logic that `rtl` lists: whoever
//! counts its structures asks here what each costs.
//! No coefficient stands in the code; all are in `technology.toml`, each with its source.
//!
//! | module   | holds                                                                     |
//! |----------|---------------------------------------------------------------------------|
//! | `data`   | [`Technology`]: the data file, read and checked                           |
//! | `memory` | what is asked for: [`Memory`], its [`Ports`], and the answer: [`Cost`]    |
//! | `sram`   | memories of more than a few words: CACTI's grid and the form fitted to it |
//! | `cam`    | content-addressed memories                                                |
//! | `gates`  | flip-flops and logic, from standard cells                                 |
//! | `cache`  | a cache as data, tags and the box around both; the published ones         |
//! | `errors` | how far interpolation is from points left out                             |
//! | `cacti`  | the input file with which CACTI computes a memory again                   |
//! | `liberty`| the cells as synthesis reads them                                         |

mod cache;
mod cacti;
mod cam;
mod data;
mod errors;
mod gates;
mod liberty;
mod memory;
mod sram;

#[cfg(test)]
mod tests;

pub use cache::{Cache, Published, Table43};
pub use cacti::cacti_input;
pub use data::{Chip, Technology, TechnologyError};
pub use errors::{Errors, Metric};
pub use memory::{Basis, Cost, Kind, Memory, Node, Ports};
