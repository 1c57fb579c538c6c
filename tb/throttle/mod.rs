//! # Testbenches of the schemes that throttle warps
//!
//! | testpoint        | intent                                                                                       |
//! |------------------|----------------------------------------------------------------------------------------------|
//! | `coordinator::*` | sampling and result to the cycle; second round, memo; random counts against the golden model |
//! | `ccws::*`        | victim tags and scores against their golden models, a million accesses                       |
//! | `streaming::*`   | monitor against its golden model, a million accesses                                         |
//! | `turns::*`       | a scheme defined outside the simulator, on a whole machine                                   |

pub(crate) mod ccws;
pub(crate) mod coordinator;
pub(crate) mod streaming;

#[cfg(test)]
mod closed;
#[cfg(test)]
mod turns;
