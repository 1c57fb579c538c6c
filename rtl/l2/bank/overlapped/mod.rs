//! The overlapped flow of a bank, which is that of Fermi's L2: a line that gives way moves to the write-back queue at
//! once, and its successor is fetched into its way meanwhile.
//!
//! In each cycle: a reply, a burst to memory, one access, a burst from memory into its way, and a request that
//! begins its look-up. The access is of a waiter of a complete line first, of the oldest looked-up request otherwise:
//! waiters free what the look-up may be waiting for. A refused request holds up those behind it: the bank is the
//! point of coherence, and requests of one SM must keep their order.
//!
//! Writes of a whole line need no fetch, unless `write_miss` asks for one; with byte masks no write does (`partial`).
//! A line may be here by sectors (`sectors`). What goes past the bank is in `passing`, and why no fetch reads stale memory in
//! `memory`.
//!
//! No deadlock: a burst from memory has its place in the way reserved for it, and what a look-up waits for (a way, an
//! MSHR entry, a queue) comes free as bursts, replies and waiters go their ways.

mod config;
mod memory;
mod partial;
mod passing;
mod sectors;
mod serve;

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::{Held, HeldShape};
use super::super::looking::Looking;
use super::super::stats::Stall;
use super::L2Io;
use super::core::{Core, CoreShape, memory as memory_spec};
use super::lines::put;
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::dram::message::DramReply;
use crate::kernel::{AnyEdge, Array, Describe, Rx, Sleep};
use crate::noc::packet::Request;
pub use config::{FetchUnit, OverlappedConfig, WriteMiss};
use memory::ToMemory;
use passing::{Passing, spot_of};
use sectors::Pieces;

/// Outcome of a tag match.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Match {
    /// Line number within the bank.
    local: u64,
    set: u32,
    tag: u64,
    /// The way that holds the line or waits for it.
    way: Option<u32>,
}

/// A bank of this flow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Overlapped {
    pub core: Core,
    write_miss: WriteMiss,
    /// How the tags stand to the oldest request, once they were matched: only its own look-up can
    /// change that, so a refused request need not be matched again.
    matched: Option<Match>,
    /// Which bytes are here of the lines of which not all are.
    masks: Option<Box<Array<Held>>>,
    pieces: Pieces,
    memory: ToMemory,
    /// Why the last look-up of the oldest request failed; a replay in its cycle is no look-up.
    lacking: Option<Stall>,
    /// Lets lines past that are of no use here.
    passing: Option<Box<Passing>>,
}

impl Overlapped {
    /// An empty bank.
    pub fn new(path: &str, config: &L2Config, flow: &OverlappedConfig, place: BankPlace) -> Self {
        assert!(place.coherent_l1s == 0, "{path}: copies are recalled in the transient flow only");
        let L2Config { mshr_entries, ref bypass, .. } = *config;
        let scheme = bypass.watched();
        let passing = scheme.map(|scheme| Box::new(Passing::new(path, scheme, mshr_entries, place.line_bytes)));
        let (is_masked, by_sector) = (flow.has_byte_masks(), flow.is_by_sector());
        let in_part = bypass.keeps_tags() || is_masked;
        let pieces = Pieces::new(&place, by_sector);
        let shape = CoreShape {
            tags: (1, 1),
            recency: (1, 1),
            data: (1, config.data_ports),
            // By sectors, a line in part is in no state of its own.
            wide_tags: bypass.keeps_tags() || is_masked && !by_sector,
            by_sector,
            ways_beside: if passing.is_some() { mshr_entries } else { 0 },
        };
        // Reads: look-up or a waiter, a burst that arrives.
        let spec = || memory_spec(path, config, "masks", config.ways, (2, 1));
        let held = HeldShape { line_bytes: place.line_bytes, by_burst: by_sector.then(|| place.bursts()) };
        Self {
            core: Core::new(path, config, place, &shape),
            write_miss: flow.write_miss,
            matched: None,
            masks: is_masked.then(|| Box::new(Array::new(spec(), held).by_cell())),
            pieces,
            memory: ToMemory::new(flow, &place, pieces, mshr_entries, in_part),
            lacking: None,
            passing,
        }
    }

    /// One cycle.
    #[inline]
    pub fn eval(&mut self, mut io: L2Io<'_>, at: &mut impl AnyEdge) -> Sleep {
        self.core.charge(at);
        // What frees room comes before what needs it.
        let reply_stuck = self.core.reply(&mut io.rsp, at);
        let memory_stuck = self.ask_memory(&mut io.dram_req, at);
        // Whoever waits for the line of an arriving burst sees it in the next cycle.
        let mut arriving = self.core.arriving(&mut io.dram_rsp, at);
        let can_write = self.core.can_write(arriving.is_some());
        let replayed = self.replay(at, can_write);
        let looked = self.look_up_beside(at, replayed, can_write);
        self.core.refused = looked.err().map(|reason| (at.cycle(), reason));
        if let Some(dram_rsp) = &mut arriving {
            self.fill(dram_rsp, at);
        }
        self.core.accept(&mut io.req, at);

        // The next pop from a full channel wakes the bank. A refused request waits for that, for
        // data, or for what already is a reason to go on.
        let more = self.core.can_reply(reply_stuck)
            || !memory_stuck && !self.memory.is_empty()
            || self.core.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || io.dram_rsp.waiting(at)
            || self.core.can_accept() && io.req.waiting(at)
            || matches!(looked, Err(Stall::Port | Stall::AtomicBuffer));
        match self.core.looking.front() {
            _ if more => Sleep::Next,
            Some(oldest) if looked.is_ok() => Sleep::At(oldest.due),
            // A request that waits may have to go another way in time.
            Some(_) => self.passing.as_ref().and_then(|p| p.scheme.next_choice()).map_or(Sleep::UntilEvent, Sleep::At),
            None => Sleep::UntilEvent,
        }
    }

    /// Puts an arriving burst into the way reserved for its line.
    #[inline(always)]
    fn fill(&mut self, dram_rsp: &mut Rx<'_, DramReply>, at: &mut impl AnyEdge) {
        let Some(arrived) = dram_rsp.peek(at) else { return };
        let (line, first) = self.core.arrive(at, arrived);
        let place = (line.set, line.way);
        let newer = self.newer(at, place);
        let Self { core, passing, .. } = self;
        let burst_bytes = core.place.burst_bytes as usize;
        let spot = spot_of(passing, core.config.ways, place);
        core.lines.fill(at, spot, |line| {
            if newer == 0 {
                put(line, first, &arrived.data, burst_bytes);
            } else {
                partial::fill(line, newer, first, &arrived.data[..burst_bytes]);
            }
        });
        dram_rsp.drop_head(at);
    }

    /// The bytes of a line that waits to be written to memory, and which they are.
    pub fn given_up(&self, local: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        self.memory.given_up(local)
    }

    /// True if nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.core.is_idle() && self.memory.is_empty()
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        self.masks.iter_mut().for_each(|masks| masks.record());
        self.passing.iter_mut().for_each(|passing| passing.lines.record());
    }

    /// Lists registers, memories and logic.
    pub fn describe(&self, to: &mut dyn Describe) {
        // What was matched and what was lacking, every look-up finds again.
        let Self { core, write_miss: _, matched: _, masks, pieces: _, memory, lacking: _, passing } = self;
        core.describe(to, |to| {
            if let Some(masks) = masks {
                to.array("masks", &**masks);
            }
            memory.describe(to);
            if let Some(passing) = passing {
                passing.describe(to);
            }
        });
    }
}

/// The request being looked up: there is one in every method that serves it.
fn oldest(looking: &Fifo<Looking>) -> &Request {
    match looking.front() {
        Some(looking) => &looking.request,
        None => unreachable!("a look-up serves the oldest request"),
    }
}
