//! # Memory instructions
//! Executes accesses to shared memory and parameters, and sends accesses to device memory to the LSU.
//!
//! | file            | holds                             |
//! |-----------------|-----------------------------------|
//! | `access`        | loads, stores and atomics         |
//! | `check`         | legality checks of accesses       |
//! | `address_unit`  | addresses and beats to the LSU    |
//! | `shared_memory` | banked scratchpad                 |
//! | `texture`       | texture fetches                   |
//! | `surface`       | addresses of surface accesses     |

pub(super) mod access;
pub(super) mod address_unit;
pub(super) mod check;
pub(super) mod shared_memory;
mod surface;
pub(super) mod texture;
