//! # DRAM channels in isolation
//! | module      | content                                                                      |
//! |-------------|------------------------------------------------------------------------------|
//! | [`trace`]   | traces of DRAM requests                                                      |
//! | [`alone`]   | runs a trace through the channels of a machine without the rest of it        |
//! | [`judge`]   | checks the channels' commands with the command checker of `golden::dram`     |
//! | [`figures`] | latency statistics                                                           |
//! | [`tables`]  | commands and served requests as CSV                                          |

pub mod alone;
pub mod figures;
pub mod judge;
pub mod tables;
pub mod trace;
