//! # Uses and insertions of lines in an L2 bank
//! Reports each change of the replacement state of a bank to its checkers. In a bank with a partition, it
//! also reports each access, because a partition may have monitors that count accesses. When disabled, it
//! costs the simulator one branch per access.

use crate::replacement::priority::EvictionPriority;

/// Change of the replacement state of a set, or access to a bank with a partition. Line numbers are numbers
/// within the bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// An access used a line whose way was already allocated; the line is present or in flight.
    Used {
        /// Number of the line within the bank.
        line: u64,
        /// Eviction priority of the access.
        priority: EvictionPriority,
    },
    /// A request was served or deferred, in a bank with a partition. The monitors of the partition count it.
    /// This event follows all other events of the request.
    Accessed {
        /// Number of the line within the bank.
        line: u64,
        /// SM that sent the request.
        sm: u8,
    },
    /// A line was inserted into its set.
    Inserted {
        /// Number of the line within the bank.
        line: u64,
        /// SM that requested the line.
        sm: u8,
        /// Eviction priority of the request.
        priority: EvictionPriority,
        /// Line that was evicted; `None` if the way was empty.
        victim: Option<u64>,
        /// Lines of the set that were in flight and could not be evicted.
        in_flight: Vec<u64>,
    },
}
