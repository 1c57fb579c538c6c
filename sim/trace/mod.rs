//! # Accel-Sim traces: what they ask of the memory, and how they come to a machine
//!
//! | module        | holds                                                            |
//! |---------------|------------------------------------------------------------------|
//! | [`profile`]   | instruction mix, transactions, strides of a kernel               |
//! | [`footprint`] | the lines it touches, and how often each                         |
//! | `sass`        | PTX instructions in the words of a trace                         |
//! | [`source`]    | a kernel's CTAs, read while it runs                              |
//! | [`synthetic`] | made-up kernels with access patterns that are known beforehand   |

pub mod footprint;
pub mod profile;
pub(crate) mod sass;
pub mod source;
pub mod synthetic;
