//! # Area, leakage and energy from structures
//! Estimates the cost of a design from its structures. It turns memories, flip-flops and logic into area in
//! um2, leakage in mW and energy in pJ at 45, 32 and 22 nm. The crate depends on the hardware crate `rtl`
//! only for the list of the kinds of logic. Callers count the structures of a design and look up the cost of
//! each structure. The code contains no coefficients; all of them are in `technology.toml`, with their
//! sources.
//!
//! | module   | holds                                                                     |
//! |----------|---------------------------------------------------------------------------|
//! | `data`   | [`Technology`]: the data file, read and checked                           |
//! | `memory` | the query: [`Memory`] with its [`Ports`], and the result: [`Cost`]        |
//! | `sram`   | memories of more than a few words: CACTI's grid and the form fitted to it |
//! | `cam`    | content-addressed memories                                                |
//! | `gates`  | flip-flops and logic, from standard cells                                 |
//! | `cache`  | a cache as data, tags and their bounding box; published caches            |
//! | `errors` | interpolation errors at points that are left out                          |
//! | `cacti`  | the input file with which CACTI recomputes a memory                       |
//! | `liberty`| the standard cells in the format of synthesis tools                       |

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

pub use cache::{Cache, PublishedCache, Table43};
pub use cacti::cacti_input;
pub use data::{Chip, Technology, TechnologyError};
pub use errors::{Metric, RelativeErrors};
pub use memory::{Basis, Cost, Kind, Memory, Node, Ports};
pub use sram::Outside;
