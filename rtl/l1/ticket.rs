//! Tickets: a request carries its ticket to memory and the reply carries it back, so that the reply finds its
//! destination. Bits 31 to 0 hold the lanes, bits 37 to 32 the pending-table row. Bits 45 to 44 hold the
//! requesting cache (3: the core's instruction cache). Bits 47 and 46 mark the bypass path and writebacks.

use super::cache::CacheId;

const BYPASS: u64 = 1 << 47;
const WRITE_BACK: u64 = 1 << 46;

const CACHE_SHIFT: u32 = 44;

/// Ticket of an instruction line.
pub(super) const INSTRUCTIONS: u64 = 3 << CACHE_SHIFT;

/// Returns the ticket of the read of a line that misses in a cache.
pub(super) fn fill(cache: CacheId, slot: u8, lanes: u32) -> u64 {
    (cache as u64) << CACHE_SHIFT | of(slot, lanes)
}
/// Returns the ticket of a store or a reduction.
pub(super) fn of(slot: u8, lanes: u32) -> u64 {
    u64::from(slot) << 32 | u64::from(lanes)
}
/// Returns the ticket of a bypassing load or of an atomic.
pub(super) fn bypass(slot: u8, lanes: u32) -> u64 {
    BYPASS | of(slot, lanes)
}
/// Returns the ticket of a writeback. No waiter depends on the acknowledgement of a writeback.
pub(super) fn write_back() -> u64 {
    WRITE_BACK
}
pub(super) fn is_bypass(ticket: u64) -> bool {
    ticket & BYPASS != 0
}
pub(super) fn is_write_back(ticket: u64) -> bool {
    ticket & WRITE_BACK != 0
}
/// True if the reply is an instruction line.
pub(super) fn is_of_instructions(ticket: u64) -> bool {
    ticket & INSTRUCTIONS == INSTRUCTIONS
}
/// Returns the cache that a line fills.
pub(super) fn cache(ticket: u64) -> CacheId {
    CacheId::from_number((ticket >> CACHE_SHIFT & 3) as u32)
}
/// Returns the pending-table row and the lanes of a ticket.
pub(super) fn target(ticket: u64) -> (u8, u32) {
    ((ticket >> 32 & 0x3f) as u8, ticket as u32)
}
