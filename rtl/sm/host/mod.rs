//! # Host side of the core
//! What the host loads, and what it is told.
//!
//! | file       | holds                                                    |
//! |------------|----------------------------------------------------------|
//! | `image`    | a kernel with its launch shape and arguments             |
//! | `map`      | names of address ranges                                  |
//! | `fault`    | what stops a kernel                                      |
//! | `snapshot` | what a warp goes on from, for those who look for circles |

pub(super) mod fault;
pub(super) mod image;
pub(super) mod map;
pub(super) mod snapshot;
