//! # Kernels of a trace
//! Replays traced kernels, which have neither program nor values: each warp follows its recorded steps.
//!
//! | file       | holds                                              |
//! |------------|----------------------------------------------------|
//! | `recorded` | image and decode table                             |
//! | `stream`   | the steps of each warp                             |
//! | `replay`   | replay in place of fetch, issue and retirement     |

pub(super) mod recorded;
pub(super) mod replay;
pub(super) mod stream;
