//! Fetch through the instruction cache: selection of the warp, and addresses of instructions.

use super::icache::{FetchWatch, InstructionCache, InstructionStats};
use crate::kernel::AnyEdge;
use crate::l1::instructions::FetchIo;
use crate::noc::packet::PacketShape;
use crate::sm::SmCore;
use crate::sm::config::InstructionStore;
use crate::sm::core::Loaded;

impl Loaded {
    /// Returns the byte address of an instruction, given its row in the decode table.
    fn address_of(&self, pc: u32, instruction_log2: u32) -> u64 {
        let offset = match &self.recorded {
            None => u64::from(pc) << instruction_log2,
            Some(recorded) => recorded.places.get(pc as usize).map_or(0, |place| u64::from(place.pc)),
        };
        self.image.code().wrapping_add(offset)
    }
}

impl SmCore {
    /// Creates the instruction cache, if the configuration has one. `shape` gives the line size of the
    /// machine.
    pub fn set_instruction_cache(&mut self, shape: PacketShape) {
        if let InstructionStore::Cache(config) = &self.config.icache {
            let path = format!("{}.icache", self.path);
            self.icache = Some(Box::new(InstructionCache::new(&path, config, shape, self.config.warps)));
        }
    }

    /// Returns the statistics of the instruction cache, if there is one.
    #[must_use]
    pub fn instruction_stats(&self) -> Option<&InstructionStats> {
        self.icache.as_ref().map(|icache| icache.stats())
    }

    /// Starts to record the activity of the instruction cache at each edge, for observers.
    pub fn observe(&mut self) {
        if let Some(icache) = &mut self.icache {
            icache.observe();
        }
    }

    /// Returns the activity of the instruction cache at the last clock edge, and clears the record; `None`
    /// without a cache or an observer.
    pub fn take_fetches(&mut self) -> Option<FetchWatch> {
        self.icache.as_mut().and_then(|icache| icache.take_watch())
    }

    /// Returns the mask of the warps that may not look up the instruction cache, because their line is in
    /// flight or their fetch found no free MSHR entry.
    pub(in crate::sm) fn missing(&self) -> u64 {
        self.icache.as_ref().map_or(0, |icache| icache.missing())
    }

    /// Evaluates the fetch stage with the instruction cache. If a line has arrived, serves the next warp that
    /// waits for it; otherwise, looks up the next warp to fetch. Returns the one-bit mask of the warp whose
    /// instructions are decoded now; 0 if there is none.
    #[inline(never)]
    pub(in crate::sm) fn fetch_cached(
        &mut self,
        loaded: &Loaded,
        io: &mut Option<FetchIo<'_>>,
        at: &mut impl AnyEdge,
    ) -> u64 {
        let Self { fetch, icache: Some(icache), stacks, streams, warps, .. } = self else { return 0 };
        let Some(io) = io else { return fetch.step(0) };
        if icache.served_warps() == 0 {
            icache.fill(at, io);
        }
        let served = icache.served_warps();
        let among = if served != 0 { served } else { fetch.fetchable_warps(warps.live()) & !icache.missing() };
        let mut turn = None;
        let decoded = fetch.step_among(among, |warp| {
            let pc = stacks.pc(warp);
            let next = if loaded.recorded.is_some() { streams.second(warp) } else { Some(pc + 1) };
            let address_of = |pc| loaded.address_of(pc, icache.instruction_log2);
            let address = address_of(pc);
            turn = Some((warp, !next.is_some_and(|next| icache.share_line(address, address_of(next)))));
            if served == 0 {
                return icache.look_up(at, warp, address, io);
            }
            icache.serve(at, warp, address);
            true
        });
        if let Some((warp, alone)) = turn {
            fetch.set_alone(warp, alone);
        }
        decoded
    }

    /// True if fetching can progress in the next cycle: a warp can be served, a warp of the mask `wanted` can
    /// look up the cache, or a line has arrived.
    #[inline(never)]
    pub(in crate::sm) fn can_fetch(&self, wanted: u64, io: &Option<FetchIo<'_>>, at: &impl AnyEdge) -> bool {
        let Some(icache) = &self.icache else { return true };
        icache.served_warps() != 0
            || wanted & !icache.missing() != 0
            || io.as_ref().is_some_and(|io| io.brought.has_beat(at))
    }
}
