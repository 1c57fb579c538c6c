//! # Access queue of the L1, with MRPB
//! Holds line requests between the coalescer and the tags. It is either one queue or a memory request
//! prioritization buffer (MRPB). An MRPB has one queue per warp, so that the requests of a warp reach the
//! cache together (khairy2015 section 5, li2015 section 6.1). If it has fewer queues than the SM has warps,
//! several warps share a queue.
//!
//! | port       | dir | payload      | contract                                                           |
//! |------------|-----|--------------|--------------------------------------------------------------------|
//! | `push`     | in  | `LineAccess` | one per cycle, into the queue of its warp, which must have room; up to `l1.lookups` into a single queue |
//! | `select`   | in  | cycle        | first of these ports in a cycle: selects the queue that is drained |
//! | `front`    | out | `LineAccess` | the oldest request of the selected queue                           |
//! | `second`   | out | `LineAccess` | the second oldest request; only if there is a single queue         |
//!
//! Latency: a request is visible in the cycle after its push. In an MRPB, it becomes visible `latency` cycles
//! later than that.
//!
//! Ordering and stalls: requests of one warp stay in order. The fixed drain order can delay warps with high
//! numbers while queues of lower numbers hold requests. The delay ends when the warps of those queues wait
//! for data. A refused head stays selected only as long as the drain order selects its queue.
//!
//! Area: the queues and a comparator tree over their occupancies. An MRPB adds a memory for the bytes of all
//! queued stores, with one read and one write per cycle.
//!
//! Part of `rtl/l1/lsu.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u6;
use serde::{Deserialize, Serialize};

use super::access::AccessKind;
use super::coalescer::{LineAccess, LineShape};
use super::watch::Fail;
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::config::Rules;
use crate::kernel::{
    Accesses, ArraySpec, ArrayView, Collide, Describe, DescribeExt, Fields, FieldsExt, Logic, Storage, digest_of,
};

/// Order in which the request queues of an MRPB are drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainOrder {
    /// Drains the lowest-numbered queue that holds a request.
    Fixed,
    /// Drains the queues that hold a request in round-robin order.
    RoundRobin,
    /// Drains the longest queue; among equally long queues, the one with the lowest number.
    LongestFirst,
}

/// Selects the loads that bypass the cache instead of waiting after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallBypass {
    /// No refused load bypasses.
    None,
    /// Refused loads bypass if every way of their set is reserved (khairy2015 Table 4).
    Associativity,
    /// All refused loads bypass (li2015 section 6.1).
    All,
}

/// Configuration of the memory request prioritization buffer (MRPB).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MrpbConfig {
    /// Number of queues; warp w uses queue w modulo this number. 0 means no MRPB: the LSU has only its single
    /// access queue.
    pub queues: u32,
    /// Number of requests per queue.
    pub depth: u32,
    /// Order in which the request queues of the buffer are drained.
    pub order: DrainOrder,
    /// True if a queue is drained until it is empty; if false, the drain order selects a queue each cycle.
    pub greedy: bool,
    /// Selects the loads that bypass the cache instead of waiting after a refusal.
    pub bypass: StallBypass,
    /// Latency in core cycles that the buffer adds.
    pub latency: u32,
}

impl MrpbConfig {
    /// Configuration without an MRPB.
    pub const NONE: Self =
        Self { queues: 0, depth: 1, order: DrainOrder::Fixed, greedy: false, bypass: StallBypass::None, latency: 0 };

    /// Checks that every field has a legal value.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("queues", u64::from(self.queues), 0..=64, "an SM has at most 64 warps");
        rules.range("depth", u64::from(self.depth), 1..=64, "a warp instruction makes at most 32 requests");
        rules.range(
            "latency",
            u64::from(self.latency),
            0..=1,
            "one request per cycle enters, and at most one is in flight",
        );
    }
}

impl StallBypass {
    /// True if a load that is refused for the conditions in the mask `fails` bypasses the cache. Bit `n` of
    /// the mask stands for the `Fail` variant with value `n`.
    #[must_use]
    pub fn covers(self, fails: u8) -> bool {
        match self {
            Self::None => false,
            Self::Associativity => fails >> Fail::LineAlloc as u8 & 1 != 0,
            Self::All => fails != 0,
        }
    }
}

/// Access queue: holds the line requests between the coalescer and the tags.
#[expect(clippy::large_enum_variant, reason = "the plain queue is read in every cycle, so it is stored inline")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccessQueue {
    /// One queue of line requests, without extra latency.
    Plain(Fifo<LineAccess>),
    /// Several queues that are drained one at a time, or a single queue with extra latency.
    Buffer(Box<Buffer>),
}

/// Memory request prioritization buffer (MRPB): its request queues and the state of their selection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    queues: Box<[Fifo<LineAccess>]>,
    order: DrainOrder,
    greedy: bool,
    latency: u64,
    /// Number of the request queue that is currently drained.
    current: u6,
    /// Queue and cycle of the last push; `None` once the tags can see the pushed request.
    entering: Option<(u6, u64)>,
    stored: StoreDataMemory,
}

/// Memory with one row per queue entry, for the byte mask and the bytes to store of the queued request. The
/// model keeps these data in the requests themselves, and only counts the accesses to this memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoreDataMemory {
    spec: ArraySpec,
    line_bytes: u32,
    accesses: Accesses,
}

/// Shows the memory for the data of queued stores to waveforms and digests, with the data of the queued
/// requests as its contents.
struct StoredView<'a>(&'a Buffer);

impl ArrayView for StoredView<'_> {
    fn spec(&self) -> &ArraySpec {
        &self.0.stored.spec
    }

    fn cell_bits(&self) -> u32 {
        (8 + 1) * self.0.stored.line_bytes
    }

    fn digest(&self) -> u64 {
        let bytes = |access: &LineAccess| (access.byte_mask, access.data);
        let waiting = |queue: &Fifo<LineAccess>| queue.iter().map(bytes).collect::<Vec<_>>();
        digest_of(&self.0.queues.iter().map(waiting).collect::<Vec<_>>())
    }

    fn accesses(&self) -> Accesses {
        self.0.stored.accesses
    }

    fn cell(&self, row: u32, _: u32, to: &mut dyn Fields) {
        let depth = self.0.stored.spec.rows as usize / self.0.queues.len();
        let (queue, place) = (row as usize / depth, row as usize % depth);
        let access = self.0.queues[queue].iter().nth(place);
        let (mask, data) = access.map_or((0, [0; LINE_BYTES]), |access| (access.byte_mask, access.data));
        let line_bytes = self.0.stored.line_bytes as usize;
        to.wide("byte_mask", &mask.to_le_bytes()[..line_bytes / 8]);
        to.wide("data", &data[..line_bytes]);
    }
}

/// True if the request is a store or an atomic, which carries data.
fn has_data(access: &LineAccess) -> bool {
    access.kind != AccessKind::Load
}

impl AccessQueue {
    /// Creates the access queue at `path`: an MRPB if `mrpb` configures one, else a single queue of `depth`
    /// requests. The single queue supports up to `moves` pushes and up to `moves` pops per cycle.
    #[must_use]
    pub fn new(path: &str, depth: u32, moves: u32, mrpb: &MrpbConfig, shape: LineShape) -> Self {
        match mrpb {
            MrpbConfig { queues: 0, .. } => Self::Plain(Fifo::new(depth, shape).moving(moves)),
            MrpbConfig { queues: 1, latency: 0, .. } => Self::Plain(Fifo::new(mrpb.depth, shape)),
            _ => Self::Buffer(Box::new(Buffer {
                queues: (0..mrpb.queues)
                    .map(|_| Fifo::new(mrpb.depth, LineShape { data_beside: true, ..shape }))
                    .collect(),
                order: mrpb.order,
                greedy: mrpb.greedy,
                latency: u64::from(mrpb.latency),
                current: u6::default(),
                entering: None,
                stored: StoreDataMemory {
                    spec: ArraySpec {
                        path: format!("{path}.stored"),
                        storage: Storage::Sram,
                        rows: mrpb.queues * mrpb.depth,
                        columns: 1,
                        reads: 1,
                        writes: 1,
                        collide: Collide::Old,
                    },
                    line_bytes: shape.line_bytes,
                    accesses: Accesses::default(),
                },
            })),
        }
    }

    /// True if this is an MRPB, which selects one of its queues each cycle.
    #[must_use]
    pub fn selects(&self) -> bool {
        matches!(self, Self::Buffer(_))
    }

    /// Selects the request queue to drain in this cycle. Returns true if the selection has changed, so that
    /// another request is at the head although none was removed.
    pub fn select(&mut self, cycle: u64) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Buffer(buffer) => buffer.select(cycle),
        }
    }

    /// Returns the request at the head of the selected queue.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&LineAccess> {
        match self {
            Self::Plain(queue) => queue.front(),
            Self::Buffer(buffer) => buffer.front(),
        }
    }

    /// Returns the second oldest request of a single queue; `None` in an MRPB, which exposes only the heads
    /// of its queues.
    #[must_use]
    pub fn second(&self) -> Option<&LineAccess> {
        match self {
            Self::Plain(queue) => queue.second(),
            Self::Buffer(_) => None,
        }
    }

    /// True if the selected queue has a request that is visible in this cycle.
    #[must_use]
    #[inline]
    pub fn has_front(&self) -> bool {
        match self {
            Self::Plain(queue) => !queue.is_empty(),
            Self::Buffer(buffer) => buffer.front().is_some(),
        }
    }

    /// Removes the request at the head of the selected queue.
    #[inline]
    pub fn drop_front(&mut self) {
        match self {
            Self::Plain(queue) => queue.drop_front(),
            Self::Buffer(buffer) => {
                let queue = &mut buffer.queues[buffer.current.as_usize()];
                buffer.stored.accesses.reads += u64::from(queue.front().is_some_and(has_data));
                queue.drop_front();
            }
        }
    }

    /// True if the queue of `warp` has room for a request.
    #[must_use]
    #[inline]
    pub fn has_room(&self, warp: u8) -> bool {
        match self {
            Self::Plain(queue) => queue.has_room(),
            Self::Buffer(buffer) => buffer.queues[buffer.queue_of(warp).as_usize()].has_room(),
        }
    }

    /// Returns the number of further requests for which the queue of `warp` has room.
    #[must_use]
    pub fn room(&self, warp: u8) -> usize {
        match self {
            Self::Plain(queue) => queue.room(),
            Self::Buffer(buffer) => buffer.queues[buffer.queue_of(warp).as_usize()].room(),
        }
    }

    /// Enqueues a request of `warp`. `form` writes the request directly into its queue entry, as in
    /// [`Fifo::push_with`].
    #[inline]
    pub fn push_with(&mut self, cycle: u64, warp: u8, form: impl FnOnce(&mut LineAccess)) {
        match self {
            Self::Plain(queue) => queue.push_with(form),
            Self::Buffer(buffer) => {
                let queue = buffer.queue_of(warp);
                let mut has_bytes = false;
                buffer.queues[queue.as_usize()].push_with(|access| {
                    form(access);
                    has_bytes = has_data(access);
                });
                buffer.stored.accesses.writes += u64::from(has_bytes);
                buffer.entering = Some((queue, cycle));
            }
        }
    }

    /// True if no request is in any of the queues.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Plain(queue) => queue.is_empty(),
            Self::Buffer(buffer) => buffer.queues.iter().all(Fifo::is_empty),
        }
    }

    /// True if the drain order can select another request as the head in the next cycle, even if no request
    /// enters or leaves.
    #[must_use]
    #[inline]
    pub fn head_may_change(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Buffer(buffer) => buffer.entering.is_some() || buffer.alternates(),
        }
    }

    /// Adds to the hardware description: the queues and the selection logic.
    pub fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::Plain(queue) => queue.describe(to),
            Self::Buffer(buffer) => buffer.describe(to),
        }
    }
}

impl Buffer {
    fn select(&mut self, cycle: u64) -> bool {
        self.entering = self.entering.filter(|(_, pushed)| pushed + self.latency >= cycle);
        let before = self.current;
        if !(self.greedy && self.visible_len(before) > 0) {
            self.current = self.next().unwrap_or(before);
        }
        self.current != before
    }

    fn next(&self) -> Option<u6> {
        let holders = || (0..self.queues.len() as u8).map(u6::new).filter(|queue| self.visible_len(*queue) > 0);
        match self.order {
            DrainOrder::Fixed => holders().next(),
            DrainOrder::RoundRobin => holders().find(|queue| *queue > self.current).or_else(|| holders().next()),
            DrainOrder::LongestFirst => holders().rev().max_by_key(|queue| self.visible_len(*queue)),
        }
    }

    /// Returns the number of requests of a queue that are already visible to the tags in this cycle.
    fn visible_len(&self, queue: u6) -> usize {
        let entering = self.entering.is_some_and(|(into, _)| into == queue);
        self.queues[queue.as_usize()].len() - usize::from(entering)
    }

    fn front(&self) -> Option<&LineAccess> {
        self.queues[self.current.as_usize()].front().filter(|_| self.visible_len(self.current) > 0)
    }

    fn queue_of(&self, warp: u8) -> u6 {
        u6::new(warp % self.queues.len() as u8)
    }

    /// True if the drain order is round robin over several nonempty queues, so that the selection changes
    /// each cycle.
    fn alternates(&self) -> bool {
        let takes_turns = self.order == DrainOrder::RoundRobin && !self.greedy;
        takes_turns && self.queues.iter().filter(|queue| !queue.is_empty()).count() > 1
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { queues, order: _, greedy: _, latency: _, current, entering, stored: _ } = self;
        to.bits("current", *current);
        to.flag("entering", entering.is_some());
        to.bits("entering_queue", entering.map_or(u6::default(), |(queue, _)| queue));
        for (number, queue) in (0..).zip(queues) {
            to.parts("queue", number, |to| queue.describe(to));
        }
        to.array("stored", &StoredView(self));
        let inputs = queues.len() as u32;
        to.logic("select", Logic::PriorityEncoder { inputs });
        let width = queues.first().map_or(0, Fifo::width);
        to.logic("selected", Logic::Mux { ways: inputs, width });
    }
}
