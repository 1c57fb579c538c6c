//! # L2 bank
//! One slice of the L2 cache: write-back, write-allocate, true LRU (li2015 section 2, khairy2015
//! Table 1; Fermi's L2). Holds the lines that the interleave of the partitions gives it, under the
//! numbers that they have inside the partition. Where its lines are shorter than those of the L1s,
//! `split` makes several requests of one, and one reply of several.
//!
//! | port       | dir | payload       | contract                                                     |
//! |------------|-----|---------------|--------------------------------------------------------------|
//! | `req`      | in  | `Request`     | taken when the look-up pipeline has a free stage             |
//! | `rsp`      | out | `Reply`       | `Data` for a read or an atomic, `Ack` for a write or a reduction once the line's order has it |
//! | `dram_req[c]` | out | `DramRequest` | bursts of fetches and write-backs, in the order of their look-ups |
//! | `dram_rsp[c]` | in  | `DramReply` | one of all channels in each cycle, but for those of a swap  |
//! | `recall.inv` | out | `Invalidate` | one for each L1 with a copy of a line that leaves           |
//! | `recall.inv_ack` | in | `InvalidateAck` | always taken                                          |
//!
//! What follows is the overlapped flow, in which a line that gives way moves to the write-back queue
//! while its successor is fetched. The transient flow, candel2018's, with its FRC and with the recalls,
//! is in `bank/transient`. What a bank does not keep while its streaming monitor has it closed is in
//! `bank/passing`.
//!
//! Latency: a request taken in cycle `c` is matched in `c + lookup_latency`; the reply of a hit is
//! sent in the cycle after. In parts, a request takes a cycle for each to enter, and its reply waits for
//! the last and a cycle more. A line whose last burst is taken in cycle `f` serves its first
//! waiter in `f + 1`, whose reply is sent in the cycle after.
//!
//! One access a cycle: a waiter of a complete line first, the oldest looked-up request otherwise.
//! Waiters go first because they free what the look-up may be waiting for. A refused request holds
//! up those behind it: the bank is the point of coherence, and requests of one SM must keep their
//! order.
//!
//! Order: the requests of a line take effect in the order of their look-ups. Accesses to a line on
//! its way wait together in that order (`mshr`); a write or a reduction is acknowledged as soon as
//! it has its place in it. Writes of a whole line need no fetch, unless `write_miss` asks for one;
//! with byte masks no write does (`bank/partial`).
//!
//! Atomics: one pass through the atomic unit reads and writes the words, in the cycle in which the
//! access is served and with both ports of the data memory, so that nothing comes between. The
//! reply brings the line as it was before. With `bank/atomic_buffer` the unit works on the line there, and
//! the data memory is read and written only when another line comes into it.
//!
//! No stale memory: the line fetched may be one that gave way a moment ago and whose bytes are
//! still on their way to memory. Fetches and write-backs leave in the order of their look-ups, so
//! that the write-back is ahead in `dram_req`, and the DRAM controller keeps the order of accesses
//! to one address. Hence a fetch reads what the write-back wrote, and nothing has to search the
//! write-back queue.
//!
//! No deadlock: DRAM data always have their place (the reserved way), replies always sink in the
//! SMs, and waiters need only room for a reply. Whatever a look-up waits for (a way, an MSHR entry,
//! a queue) is freed by these without any further look-up.
//!
//! Bench: `tb/l2`.

mod atomic_buffer;
mod attend;
mod channels;
mod evict;
mod host;
mod partial;
mod passing;
mod perform;
mod serve;
mod swap;
mod transient;

use super::coherence::RecallIo;
use super::config::{BankPlace, L2Bypass, L2Config};
use super::line::{ByteMask, Tag, TagShape};
use super::mshr::{Mshr, MshrShape, WaiterShape};
use super::queues::{Fetch, Looking, MemoryShape, Turn, WriteBack};
use super::split::Split;
use super::stats::{L2Stats, Stall};
use crate::cells::arbiter::RoundRobin;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::cells::lru::Recency;
use crate::dram::message::{BURST_BYTES, DramReply, DramRequest};
use crate::index::IndexUnit;
use crate::kernel::{
    Array, ArraySpec, Block, Collide, Describe, DescribeExt, Edge, FieldsExt, Logic, Rx, RxBank, Sleep, Storage, Tx,
    TxBank,
};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request};
use atomic_buffer::{AtomicBuffer, BufferShape};
use channels::any_waiting;
use passing::Passing;
use perform::memory_of;
use transient::{MemoryPorts, Transient};

/// Channel ends of a bank.
pub struct L2Io<'a> {
    /// Requests of all SMs.
    pub req: Rx<'a, Request>,
    /// Replies to them.
    pub rsp: Tx<'a, Reply>,
    /// Bursts to each DRAM channel.
    pub dram_req: TxBank<'a, DramRequest>,
    /// Bursts from each of them.
    pub dram_rsp: RxBank<'a, DramReply>,
    /// Messages to L1s and their answers, where the bank keeps L1s coherent.
    pub recall: Option<RecallIo<'a>>,
}

/// Outcome of a tag match.
#[derive(Clone, Copy, Debug)]
struct Match {
    /// Line number within the bank.
    local: u64,
    set: u32,
    tag: u64,
    /// The way that holds the line or waits for it.
    way: Option<u32>,
}

/// One bank.
#[derive(Clone, Debug)]
pub struct L2Bank {
    path: String,
    config: L2Config,
    place: BankPlace,
    index: IndexUnit,
    /// Bytes of the data that come with a request.
    operand_bytes: u32,
    /// Requests under way in parts.
    split: Option<Box<Split>>,
    looking: Fifo<Looking>,
    /// How the tags stand to the oldest request, once they were matched: only its own look-up can
    /// change that, so a refused request need not be matched again.
    matched: Option<Match>,
    tags: Array<Tag>,
    recency: Array<Recency>,
    data: Array<LineData>,
    /// Which bytes are here of the lines of which not all are.
    masks: Option<Box<Array<ByteMask>>>,
    mshr: Mshr,
    fetches: Fifo<Fetch>,
    write_backs: Fifo<WriteBack>,
    /// The order of the entries of the two queues above.
    turns: Fifo<Turn>,
    /// Bursts of a line.
    bursts: u32,
    /// Overlapped flow: bursts sent of the entry whose turn it is.
    sent: u32,
    /// Which channel's burst is taken first.
    channel_turn: RoundRobin,
    replies: Fifo<Reply>,
    stats: L2Stats,
    /// Why the oldest request was refused, and in which cycle, until that is charged.
    refused: Option<(u64, Stall)>,
    /// Why its last look-up failed; a replay in its cycle is no look-up.
    lacking: Option<Stall>,
    /// Holds the line of the last atomic.
    atomic_buffer: Option<Box<AtomicBuffer>>,
    /// Lets lines past that are of no use here.
    passing: Option<Box<Passing>>,
    /// What the transient flow needs beside all this.
    transient: Box<Transient>,
}

impl L2Bank {
    /// An empty bank.
    #[must_use]
    pub fn new(path: &str, config: &L2Config, place: BankPlace) -> Self {
        let is_transient = config.is_transient();
        assert!(is_transient || place.coherent_l1s == 0, "{path}: copies are recalled in the transient flow only");
        let ports = MemoryPorts::of(config, &place);
        let streams = config.bypass != L2Bypass::None;
        let masked = config.has_byte_masks();
        let memory = |name: &str, columns, (reads, writes)| ArraySpec {
            path: format!("{path}.{name}"),
            storage: Storage::Sram,
            rows: config.sets,
            columns,
            reads,
            writes,
            collide: Collide::New,
        };
        let local_bits = place.local_bits();
        let mshr = MshrShape {
            entries: config.mshr_entries,
            merges: config.mshr_merges,
            bursts: place.bursts(),
            line_bits: place.line_bits(),
            sets: config.sets,
            ways: config.ways + config.frc.ways() + if streams { config.mshr_entries } else { 0 },
            waiter: WaiterShape {
                sm_bits: place.packets.sm_bits,
                line_bytes: place.line_bytes,
                operand_bytes: place.operand_bytes(),
            },
        };
        let burst_bits = local_bits + place.bursts().ilog2();
        let queue = MemoryShape { burst_bits, line_bytes: place.line_bytes, masked: config.keeps_tags() || masked };
        Self {
            path: path.to_owned(),
            index: IndexUnit::new(&config.index, config.sets, place.line_bytes, local_bits),
            operand_bytes: place.operand_bytes(),
            split: Split::new(config.split_requests, &place).map(Box::new),
            looking: Fifo::new(config.lookup_latency, place.requests()),
            matched: None,
            tags: Array::new(
                memory("tags", config.ways, ports.tags),
                TagShape { tag_bits: tag_bits(config, &place), wide: is_transient || config.keeps_tags() || masked },
            ),
            recency: Array::new(memory("recency", 1, ports.recency), config.ways),
            data: Array::new(memory("data", config.ways, ports.data), place.line_bytes).by_cell(),
            // Reads: look-up, a line's bytes or its last waiter.
            masks: masked
                .then(|| Box::new(Array::new(memory("masks", config.ways, (2, 1)), place.line_bytes).by_cell())),
            mshr: Mshr::new(&format!("{path}.mshr"), mshr),
            fetches: Fifo::new(config.miss_queue, queue),
            write_backs: Fifo::new(config.write_back_queue, queue),
            turns: Fifo::new(config.miss_queue + config.write_back_queue, ()),
            bursts: place.bursts(),
            sent: 0,
            channel_turn: RoundRobin::new(place.channels.num_partitions),
            replies: Fifo::new(config.reply_queue, place.replies()),
            stats: L2Stats::default(),
            refused: None,
            lacking: None,
            atomic_buffer: config.atomic_buffer.then(|| {
                let L2Config { sets, ways, .. } = *config;
                let (line_bytes, operand_bytes) = (place.line_bytes, place.operand_bytes());
                Box::new(AtomicBuffer::new(BufferShape { sets, ways, line_bytes, operand_bytes }))
            }),
            passing: streams.then(|| Box::new(Passing::new(path, config, place.line_bytes))),
            transient: Box::new(Transient::new(path, config, &place)),
            config: config.clone(),
            place,
        }
    }

    /// Line number within the bank.
    fn local(&self, line: u64) -> u64 {
        self.place.interleave.local(line)
    }

    /// Set and tag of a line number within the bank.
    fn split(&self, local: u64) -> (u32, u64) {
        (self.index.index(local), local >> self.index.bits())
    }

    /// The line number within the bank that has this tag in this set.
    fn join(&self, set: u32, tag: u64) -> u64 {
        // Every index function is an exclusive or, so the part of the tag in it can be taken out.
        let high = tag << self.index.bits();
        high | u64::from(self.index.low_bits_of(set ^ self.index.index(high)))
    }

    fn breach(&self, at: &Edge<'_>, what: &str) -> ! {
        panic!("cycle {}, {}: {what}", at.cycle, self.path)
    }

    /// Sends the oldest reply; true if it is stuck behind a full channel.
    #[inline(always)]
    fn reply(&mut self, rsp: &mut Tx<'_, Reply>, at: &mut Edge<'_>) -> bool {
        if self.split.is_some() {
            return self.reply_whole(rsp, at);
        }
        if self.replies.is_empty() {
            return false;
        }
        if !rsp.ready(at) {
            return true;
        }
        if let Some(reply) = self.replies.front() {
            rsp.push_with(at, |beat| beat.clone_from(reply));
            self.replies.drop_front();
        }
        false
    }

    /// Gathers the oldest part, and sends a reply whose parts are all here; true if that is stuck behind a
    /// full channel.
    #[inline(never)]
    fn reply_whole(&mut self, rsp: &mut Tx<'_, Reply>, at: &mut Edge<'_>) -> bool {
        let Some(split) = &mut self.split else { return false };
        let is_stuck = split.has_done() && !rsp.ready(at);
        if let Some(reply) = split.whole().filter(|_| !is_stuck) {
            rsp.push_with(at, |beat| beat.clone_from(reply));
            split.sent();
        }
        if let Some(part) = self.replies.front() {
            split.gather(part);
            self.replies.drop_front();
        }
        is_stuck
    }

    /// True if a reply can go on: past the channel, which may be full, or as a part of a whole one.
    #[inline(always)]
    fn can_reply(&self, is_stuck: bool) -> bool {
        match &self.split {
            None => !is_stuck && !self.replies.is_empty(),
            Some(split) => !self.replies.is_empty() || !is_stuck && split.has_done(),
        }
    }

    /// Sends one burst of the fetch or write-back whose turn it is; true if the next is stuck behind
    /// a full channel.
    fn ask_memory(&mut self, dram_req: &mut TxBank<'_, DramRequest>, at: &mut Edge<'_>) -> bool {
        let Some(&Turn { write_back }) = self.turns.front() else { return false };
        let oldest = match write_back {
            true => self.write_backs.front().map(|leaving| leaving.burst),
            false => self.fetches.front().map(|fetch| fetch.burst),
        };
        let Some(first) = oldest else { self.breach(at, "a turn without what it is of") };
        let (mut dram_req, first) = self.channel_of(first, dram_req);
        if !dram_req.ready(at) {
            return true;
        }
        let (sent, burst_bytes) = (self.sent, self.place.burst_bytes as usize);
        let this = first + u64::from(sent);
        if let Some(WriteBack { id, mask, line, .. }) = self.write_backs.front().filter(|_| write_back) {
            let start = sent as usize * burst_bytes;
            dram_req.push_with(at, |beat| {
                let DramRequest { write, id: by, burst, tag, byte_mask, data } = beat;
                (*write, *by, *burst, *tag) = (true, *id, this, 0);
                *byte_mask = (mask >> start) as u64 & u64::MAX >> (BURST_BYTES - burst_bytes);
                *data = part_of(&line.0[start..start + burst_bytes]);
            });
        } else if let Some(&Fetch { id, entry, missed, .. }) = self.fetches.front() {
            self.stats.miss_delay += if sent == 0 { at.cycle - missed } else { 0 };
            let of = u16::from(entry) * self.bursts as u16 + sent as u16;
            dram_req.push_with(at, |beat| {
                let DramRequest { write, id: by, burst, tag, byte_mask, data } = beat;
                (*write, *by, *burst, *tag, *byte_mask) = (false, id, this, of, 0);
                *data = [0; BURST_BYTES];
            });
        }
        let is_full = dram_req.is_full();
        self.sent += 1;
        if self.sent == self.bursts {
            self.sent = 0;
            self.turns.drop_front();
            if write_back {
                self.write_backs.drop_front();
                self.stats.writebacks += 1;
            } else {
                self.fetches.drop_front();
            }
        }
        // The bursts of another line may go to another channel.
        is_full && (self.sent != 0 || self.place.channels.num_partitions == 1)
    }

    /// Puts an arriving burst into the way reserved for its line.
    #[inline(always)]
    fn fill(&mut self, dram_rsp: &mut Rx<'_, DramReply>, at: &mut Edge<'_>) {
        let Some(arrived) = dram_rsp.peek(at) else { return };
        let tag = u32::from(arrived.tag);
        let (entry, burst) = (tag >> self.bursts.ilog2(), tag & (self.bursts - 1));
        let line = self.mshr.arrive(at, entry, burst);
        let burst_bytes = self.place.burst_bytes as usize;
        let first = burst as usize * burst_bytes;
        let place = (line.set, line.way);
        let newer = self.newer(at, place);
        let Self { data, transient, passing, config, .. } = self;
        let (memory, (row, column)) = memory_of(data, &mut transient.frc, passing, config.ways, place);
        memory.update(at, row, column, |data| {
            if newer != 0 {
                partial::fill(data, newer, first, &arrived.data[..burst_bytes]);
            } else if burst_bytes == BURST_BYTES {
                data.0[first..first + BURST_BYTES].copy_from_slice(&arrived.data);
            } else {
                data.0[first..first + burst_bytes].copy_from_slice(&arrived.data[..burst_bytes]);
            }
        });
        dram_rsp.drop_head(at);
    }

    /// Takes a request, if it can begin its look-up.
    #[inline(always)]
    fn accept(&mut self, req: &mut Rx<'_, Request>, at: &mut Edge<'_>) {
        if self.can_accept()
            && let Some(request) = req.peek(at)
        {
            let due = at.cycle + u64::from(self.config.lookup_latency);
            let mut is_whole = true;
            self.looking.push_with(|looking| {
                looking.due = due;
                match &mut self.split {
                    None => looking.request.clone_from(request),
                    Some(split) => is_whole = split.next(request, &mut looking.request),
                }
            });
            if is_whole {
                req.drop_head(at);
            }
        }
    }

    /// True if a request, or a part of it, can begin its look-up.
    #[inline(always)]
    fn can_accept(&self) -> bool {
        self.looking.has_room() && self.split.as_ref().is_none_or(|split| split.has_room())
    }
}

/// The burst that begins with `bytes`, mostly all of it: that is copied without a loop.
#[inline(always)]
fn part_of(bytes: &[u8]) -> [u8; BURST_BYTES] {
    <[u8; BURST_BYTES]>::try_from(bytes).unwrap_or_else(|_| {
        let mut burst = [0; BURST_BYTES];
        burst[..bytes.len()].copy_from_slice(bytes);
        burst
    })
}

/// Bits of a tag; a cache that holds all of its memory still carries one.
fn tag_bits(config: &L2Config, place: &BankPlace) -> u32 {
    place.local_bits().saturating_sub(config.sets.ilog2()).max(1)
}

impl Block for L2Bank {
    type Io<'a> = L2Io<'a>;

    fn eval(&mut self, mut io: L2Io<'_>, at: &mut Edge<'_>) -> Sleep {
        if let Some((since, reason)) = self.refused.take() {
            self.stats.stalls[reason as usize] += at.cycle - since;
        }
        if self.config.is_transient() {
            return self.eval_transient(io, at);
        }
        // What frees room comes before what needs it.
        let reply_stuck = self.reply(&mut io.rsp, at);
        let memory_stuck = self.ask_memory(&mut io.dram_req, at);
        // An arriving burst has the write port, if there is but one; whoever waits for its line sees it in
        // the next cycle.
        let mut arrived = self.arriving(&mut io.dram_rsp, at);
        let can_write = arrived.is_none() || self.config.data_ports > 1;
        let replayed = self.replay(at, can_write);
        let looked = match replayed {
            Ok(true) | Err(Stall::AtomicBuffer) => match self.looking.front() {
                Some(oldest) if oldest.due <= at.cycle => {
                    // What comes before the room for a reply may be another thing after a replay.
                    self.lacking = self.lacking.filter(|&reason| reason != Stall::ReplyQueue);
                    Err(Stall::Port)
                }
                _ => Ok(false),
            },
            _ => match self.lacking {
                Some(reason) if self.still_lacks(reason, can_write) => Err(reason),
                _ => {
                    let looked = self.look_up(at, can_write);
                    self.lacking = looked.err();
                    looked
                }
            },
        };
        if let Err(reason) = looked {
            self.refused = Some((at.cycle, reason));
        }
        if let Some(dram_rsp) = &mut arrived {
            self.fill(dram_rsp, at);
        }
        self.accept(&mut io.req, at);

        // The next pop from a full channel wakes the bank. A refused request waits for that, for
        // data, or for what already is a reason to go on.
        let more = self.can_reply(reply_stuck)
            || !memory_stuck && !self.turns.is_empty()
            || self.mshr.is_ready() && replayed != Err(Stall::ReplyQueue)
            || any_waiting(&mut io.dram_rsp, at)
            || self.can_accept() && io.req.waiting(at)
            || matches!(looked, Err(Stall::Port | Stall::AtomicBuffer));
        match self.looking.front() {
            _ if more => Sleep::Next,
            Some(oldest) if looked.is_ok() => Sleep::At(oldest.due),
            // A request that waits may have to go another way in the next period.
            Some(_) => self.passing.as_ref().and_then(|p| p.ends()).map_or(Sleep::UntilEvent, Sleep::At),
            None => Sleep::UntilEvent,
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            path: _,
            config,
            place,
            index,
            operand_bytes: _,
            split,
            looking,
            // What the comparators of the tags would say again.
            matched: _,
            tags,
            recency,
            data,
            masks,
            mshr,
            fetches,
            write_backs,
            turns,
            bursts,
            sent,
            channel_turn,
            replies,
            stats,
            refused: _,
            // Found again by every look-up.
            lacking: _,
            atomic_buffer,
            passing,
            transient,
        } = self;
        if let Some(split) = split {
            to.part("split", |to| split.describe(to));
        }
        to.part("looking", |to| looking.describe(to));
        to.array("tags", tags);
        to.array("recency", recency);
        to.array("data", data);
        if let Some(masks) = masks {
            to.array("masks", &**masks);
        }
        to.part("mshr", |to| mshr.describe(to));
        if config.is_transient() {
            transient.describe(to);
        } else {
            to.part("fetches", |to| fetches.describe(to));
            to.part("write_backs", |to| write_backs.describe(to));
            to.part("turns", |to| turns.describe(to));
            to.sized("sent", u64::from(*sent), bursts.ilog2().max(1));
        }
        if let Some(buffer) = atomic_buffer {
            to.part("atomic_buffer", |to| buffer.describe(to));
        }
        if let Some(passing) = passing {
            passing.describe(to);
        }
        if place.channels.num_partitions > 1 {
            to.part("channel_turn", |to| channel_turn.describe(to));
        }
        to.part("replies", |to| replies.describe(to));
        let Interleave { num_partitions: divisor, run_log2 } = place.interleave;
        to.logic("local_line", Logic::ConstantDivider { width: place.line_bits() - run_log2, divisor });
        index.describe(to);
        to.logic("tag_match", Logic::Comparator { width: tag_bits(config, place), count: config.ways });
        to.logic("free_way", Logic::PriorityEncoder { inputs: config.ways });
        AtomicOp::describe_logic(place.line_bytes, to);
        Recency::describe_logic(config.ways, to);
        stats.describe(to);
    }
}
