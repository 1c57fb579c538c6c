//! Small circuits that are components of many hardware blocks. They contain no memories and no channels. Each
//! circuit has a function that adds the registers and logic of the circuit to the hardware description.
//!
//! | module    | circuit                                                     |
//! |-----------|-------------------------------------------------------------|
//! | `arbiter` | round-robin choice among up to 256 request lines            |
//! | `atomic`  | reads, modifies and writes words of a line in one pass      |
//! | `fifo`    | bounded queue of registers                                  |
//! | `line`    | bytes of a cache line, with byte enables                    |
//! | `lines`   | bit masks of up to 256 request lines                        |
//! | `lru`     | true LRU of one set of up to 32 ways as a recency stack     |
//! | `prefetch` | runs, limits and counters of prefetches, next lines, streams |
//! | `streaming`| closes a cache whose miss rate shows that it is useless    |

pub mod arbiter;
pub mod atomic;
pub mod fifo;
pub mod line;
pub mod lines;
pub mod lru;
pub mod prefetch;
pub mod streaming;
