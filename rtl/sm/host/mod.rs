//! # Host side of the core
//! Defines the kernels that the simulator (host code) loads into a core, and the faults and snapshots that it
//! reads back.
//!
//! | file       | holds                                                    |
//! |------------|----------------------------------------------------------|
//! | `image`    | a kernel with its launch shape and arguments             |
//! | `map`      | names of address ranges                                  |
//! | `fault`    | causes that stop a kernel                                |
//! | `snapshot` | state of a warp, to detect endless loops                 |

pub(super) mod fault;
pub(super) mod image;
pub(super) mod map;
pub(super) mod snapshot;
