//! # DRAM channels alone
//! | module      | holds                                                                        |
//! |-------------|------------------------------------------------------------------------------|
//! | [`trace`]   | traces of requests                                                           |
//! | [`alone`]   | runs a trace through the channels of a machine without the rest of it        |
//! | [`judge`]   | what the channels did, given to the command checker of `golden::dram`        |
//! | [`figures`] | latencies                                                                    |
//! | [`tables`]  | commands and served requests as CSV                                          |

pub mod alone;
pub mod figures;
pub mod judge;
pub mod tables;
pub mod trace;
