//! Small circuits that many blocks are made of. They hold no array and know no channel; what has
//! registers lists them in its `describe`, what has none lists its logic.
//!
//! | cell      | circuit                                                     |
//! |-----------|-------------------------------------------------------------|
//! | `arbiter` | round-robin choice among up to 64 request lines             |
//! | `fifo`    | bounded queue of registers                                  |
//! | `lru`     | true LRU of one set of up to 16 ways as a recency stack     |

pub mod arbiter;
pub mod fifo;
pub mod lru;
