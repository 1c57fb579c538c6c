//! Small circuits that many blocks are made of. They hold no array and know no channel; what has
//! registers lists them in its `describe`, what has none lists its logic.
//!
//! | cell      | circuit                                                     |
//! |-----------|-------------------------------------------------------------|
//! | `arbiter` | round-robin choice among up to 256 request lines            |
//! | `atomic`  | reads, changes and writes words of a line in one pass       |
//! | `fifo`    | bounded queue of registers                                  |
//! | `line`    | the bytes of a cache line, with byte enables                |
//! | `lines`   | words with a bit for each of up to 256 lines                |
//! | `lru`     | true LRU of one set of up to 16 ways as a recency stack     |
//! | `streaming`| closes a cache whose miss rate shows that it is of no use |

pub mod arbiter;
pub mod atomic;
pub mod fifo;
pub mod line;
pub mod lines;
pub mod lru;
pub mod streaming;
