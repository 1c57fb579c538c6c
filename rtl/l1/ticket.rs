//! Tickets: numbers that identify the destination of a reply. A request carries a ticket to memory, and the
//! reply returns the same ticket to the LSU. Bits 31 to 0 hold the lane mask, bits 37 to 32 the number of the
//! pending-table row. Bits 45 to 44 hold the number of the requesting cache; number 3 is the core's
//! instruction cache. Bit 47 marks the bypass path, bit 46 marks writebacks.

use super::cache::CacheId;

const BYPASS: u64 = 1 << 47;
const WRITE_BACK: u64 = 1 << 46;

const CACHE_SHIFT: u32 = 44;

/// Ticket of the read of an instruction line.
pub(super) const INSTRUCTIONS: u64 = 3 << CACHE_SHIFT;

/// Returns the ticket of the read of a line that misses in `cache`.
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
/// Returns the ticket of a writeback. No instruction waits for the acknowledgement of a writeback.
pub(super) fn write_back() -> u64 {
    WRITE_BACK
}
pub(super) fn is_bypass(ticket: u64) -> bool {
    ticket & BYPASS != 0
}
pub(super) fn is_write_back(ticket: u64) -> bool {
    ticket & WRITE_BACK != 0
}
/// True if the reply with this ticket carries an instruction line.
pub(super) fn is_of_instructions(ticket: u64) -> bool {
    ticket & INSTRUCTIONS == INSTRUCTIONS
}
/// Returns the cache that the reply with this ticket fills.
pub(super) fn cache(ticket: u64) -> CacheId {
    CacheId::from_number((ticket >> CACHE_SHIFT & 3) as u32)
}
/// Returns the pending-table row and the lanes that a ticket identifies.
pub(super) fn target(ticket: u64) -> (u8, u32) {
    ((ticket >> 32 & 0x3f) as u8, ticket as u32)
}
