//! # Testbenches of the schemes that throttle warps
//!
//! | testpoint        | intent                                                                                             |
//! |------------------|----------------------------------------------------------------------------------------------------|
//! | `coordinator::*` | exact cycles of sampling and result; second round; known kernels; comparison with the golden model |
//! | `ccws::*`        | victim tags and scores compared with their golden models, a million accesses                       |
//! | `streaming::*`   | monitor compared with its golden model, a million accesses                                         |
//! | `turns::*`       | a scheme defined outside the simulator, on a whole machine                                         |

pub(crate) mod ccws;
pub(crate) mod coordinator;
pub(crate) mod streaming;

#[cfg(test)]
mod closed;
#[cfg(test)]
mod turns;
