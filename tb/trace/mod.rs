//! # Accel-Sim traces: what they ask of the memory
//!
//! | module        | holds                                                            |
//! |---------------|------------------------------------------------------------------|
//! | [`profile`]   | instruction mix, transactions, strides of a kernel               |
//! | [`footprint`] | the lines it touches, and how often each                         |
//! | [`synthetic`] | made-up kernels with access patterns that are known beforehand   |

pub mod footprint;
pub mod profile;
pub mod synthetic;
