//! Where an answer goes is written in its ticket: lanes in bits 31 to 0, pending-table row in bits 37 to 32,
//! the cache that asked for a line in bits 45 to 44 (3: the instruction cache of the core), and which path asked.

use super::cache::CacheId;

const BYPASS: u64 = 1 << 47;
const WRITE_BACK: u64 = 1 << 46;

const CACHE_SHIFT: u32 = 44;

/// A line of instructions.
pub(super) const INSTRUCTIONS: u64 = 3 << CACHE_SHIFT;

/// A line that misses in a cache.
pub(super) fn fill(cache: CacheId, slot: u8, lanes: u32) -> u64 {
    (cache as u64) << CACHE_SHIFT | of(slot, lanes)
}
/// A store or a reduction.
pub(super) fn of(slot: u8, lanes: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(lanes)
}
/// A load past the cache, or an atomic.
pub(super) fn bypass(slot: u8, lanes: u32) -> u64 {
    BYPASS | of(slot, lanes)
}
/// A write-back, which nobody waits for.
pub(super) fn write_back() -> u64 {
    WRITE_BACK
}
pub(super) fn is_bypass(ticket: u64) -> bool {
    ticket & BYPASS != 0
}
pub(super) fn is_write_back(ticket: u64) -> bool {
    ticket & WRITE_BACK != 0
}
/// Whether a line of instructions is brought.
pub(super) fn is_of_instructions(ticket: u64) -> bool {
    ticket & INSTRUCTIONS == INSTRUCTIONS
}
/// The cache that a line fills.
pub(super) fn cache(ticket: u64) -> CacheId {
    CacheId::from_number((ticket >> CACHE_SHIFT & 3) as u32)
}
/// Row of the pending table and lanes.
pub(super) fn target(ticket: u64) -> (u8, u32) {
    ((ticket >> 32 & 0x3f) as u8, ticket as u32)
}
