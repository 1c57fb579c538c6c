//! # Kernels of a trace
//! They have no program and no values: each warp walks along recorded steps.
//!
//! | file       | holds                                           |
//! |------------|-------------------------------------------------|
//! | `recorded` | image and decode table                          |
//! | `stream`   | the steps of each warp                          |
//! | `replay`   | what fetch, issue and retirement do differently |

pub(super) mod recorded;
pub(super) mod replay;
pub(super) mod stream;
