//! # Warps
//! Holds the state of warps and CTAs: slots, SIMT stacks and barriers.
//!
//! | file         | holds                                               |
//! |--------------|-----------------------------------------------------|
//! | `warps`      | warp slots                                          |
//! | `cta`        | CTA slots, and the share of the core that each owns |
//! | `simt_stack` | post-dominator reconvergence                        |
//! | `halves`     | warps of 64 lanes on a data path of 32              |
//! | `barrier`    | barriers, with thread counts and reductions         |

pub(super) mod barrier;
pub(super) mod cta;
pub(super) mod halves;
pub(super) mod simt_stack;
pub(super) mod warps;
