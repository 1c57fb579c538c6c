//! # Access queue of the L1, with MRPB
//! Line requests on their way from the coalescer to the tags: one queue, or, as memory request prioritisation buffer, a
//! queue for each warp, so that requests of a warp reach the cache together (khairy2015 section 5, li2015 section 6.1).
//!
//! | port       | dir | payload      | contract                                                           |
//! |------------|-----|--------------|--------------------------------------------------------------------|
//! | `push`     | in  | `LineAccess` | one a cycle, into the queue of its warp, which has room; into a single queue up to `l1.lookups` |
//! | `select`   | in  | cycle        | ahead of all else in a cycle: which queue is drained now           |
//! | `front`    | out | `LineAccess` | the oldest request of that queue                                   |
//! | `second`   | out | `LineAccess` | the one behind it, in a single queue                               |
//!
//! Latency: a request is seen in the cycle after its push, in a buffer of several queues `latency` cycles
//! later. Ordering: requests of one warp keep their order; a fixed order may keep a warp of a high number
//! waiting for as long as those below it have requests, which ends as they wait for data. A head that is refused
//! stays selected only as long as the order says so. Area: the queues, one comparator tree of their levels, and a memory of
//! one read and one write a cycle for the bytes of all stores that wait in a buffer of several queues.
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

/// Which queue is drained next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainOrder {
    /// The lowest that holds a request.
    Fixed,
    /// The next one that does.
    RoundRobin,
    /// The one that holds most, the lowest of several.
    LongestFirst,
}

/// Which refused loads go past the cache instead of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallBypass {
    /// None.
    None,
    /// Those that find every way of their set reserved (khairy2015 Table 4).
    Associativity,
    /// All (li2015 section 6.1).
    All,
}

/// The buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MrpbConfig {
    /// Queues; warps share them by number. 0: there is no buffer but the access queue of the LSU.
    pub queues: u32,
    /// Requests of a queue.
    pub depth: u32,
    /// Which queue is drained next.
    pub order: DrainOrder,
    /// Whether a queue is drained until it is empty.
    pub greedy: bool,
    /// Which refused loads go past the cache.
    pub bypass: StallBypass,
    /// Cycles that the buffer adds.
    pub latency: u32,
}

impl MrpbConfig {
    /// No buffer.
    pub const NONE: Self =
        Self { queues: 0, depth: 1, order: DrainOrder::Fixed, greedy: false, bypass: StallBypass::None, latency: 0 };

    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("queues", u64::from(self.queues), 0..=64, "there are no more warps than that");
        rules.range("depth", u64::from(self.depth), 1..=64, "a warp instruction makes 32 requests at most");
        rules.range("latency", u64::from(self.latency), 0..=1, "requests enter one a cycle, and one is under way");
    }
}

impl StallBypass {
    /// Whether a load that fails for these conditions, a bit each, goes past.
    #[must_use]
    pub fn covers(self, fails: u8) -> bool {
        match self {
            Self::None => false,
            Self::Associativity => fails >> Fail::LineAlloc as u8 & 1 != 0,
            Self::All => fails != 0,
        }
    }
}

/// The access queue.
#[expect(clippy::large_enum_variant, reason = "the plain queue is looked at in every cycle, so it stands in place")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccessQueue {
    /// One queue.
    Plain(Fifo<LineAccess>),
    /// Several that are drained one at a time, or one behind a latency.
    Buffer(Box<Buffer>),
}

/// The queues of an MRPB.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Buffer {
    queues: Box<[Fifo<LineAccess>]>,
    order: DrainOrder,
    greedy: bool,
    latency: u64,
    /// Queue that is drained now.
    current: u6,
    /// Queue and cycle of the last push, until it can be seen.
    entering: Option<(u6, u64)>,
    stored: Stored,
}

/// The memory of the bytes that wait to be stored, with a bit for each that says whether it is: a row for each place of
/// each queue. The model has them in the requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    spec: ArraySpec,
    line_bytes: u32,
    accesses: Accesses,
}

/// The memory as its readers see it.
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

/// Whether a request brings bytes.
fn brings(access: &LineAccess) -> bool {
    access.kind != AccessKind::Load
}

impl AccessQueue {
    /// One queue of `depth` requests, of which so many move in a cycle, or as many queues as `mrpb` has, at a path.
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
                stored: Stored {
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

    /// Whether there is anything to select.
    #[must_use]
    pub fn selects(&self) -> bool {
        matches!(self, Self::Buffer(_))
    }

    /// Selects the queue that is drained in this cycle. Returns whether its oldest request may be another
    /// one than at the last selection although none has left.
    pub fn select(&mut self, cycle: u64) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Buffer(buffer) => buffer.select(cycle),
        }
    }

    /// The request at the head of the selected queue.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<&LineAccess> {
        match self {
            Self::Plain(queue) => queue.front(),
            Self::Buffer(buffer) => buffer.front(),
        }
    }

    /// The request behind the head of a single queue; several queues show their heads alone.
    #[must_use]
    pub fn second(&self) -> Option<&LineAccess> {
        match self {
            Self::Plain(queue) => queue.second(),
            Self::Buffer(_) => None,
        }
    }

    /// Whether there is a request at the head of the selected queue.
    #[must_use]
    #[inline]
    pub fn has_front(&self) -> bool {
        match self {
            Self::Plain(queue) => !queue.is_empty(),
            Self::Buffer(buffer) => buffer.front().is_some(),
        }
    }

    /// Drops the head of the selected queue.
    #[inline]
    pub fn drop_front(&mut self) {
        match self {
            Self::Plain(queue) => queue.drop_front(),
            Self::Buffer(buffer) => {
                let queue = &mut buffer.queues[buffer.current.as_usize()];
                buffer.stored.accesses.reads += u64::from(queue.front().is_some_and(brings));
                queue.drop_front();
            }
        }
    }

    /// Whether a request of a warp would find room.
    #[must_use]
    #[inline]
    pub fn has_room(&self, warp: u8) -> bool {
        match self {
            Self::Plain(queue) => queue.has_room(),
            Self::Buffer(buffer) => buffer.queues[buffer.queue_of(warp).as_usize()].has_room(),
        }
    }

    /// Requests of a warp that would find room.
    #[must_use]
    pub fn room(&self, warp: u8) -> usize {
        match self {
            Self::Plain(queue) => queue.room(),
            Self::Buffer(buffer) => buffer.queues[buffer.queue_of(warp).as_usize()].room(),
        }
    }

    /// Adds a request of a warp, formed in its place as by [`Fifo::push_with`].
    #[inline]
    pub fn push_with(&mut self, cycle: u64, warp: u8, form: impl FnOnce(&mut LineAccess)) {
        match self {
            Self::Plain(queue) => queue.push_with(form),
            Self::Buffer(buffer) => {
                let queue = buffer.queue_of(warp);
                let mut has_bytes = false;
                buffer.queues[queue.as_usize()].push_with(|access| {
                    form(access);
                    has_bytes = brings(access);
                });
                buffer.stored.accesses.writes += u64::from(has_bytes);
                buffer.entering = Some((queue, cycle));
            }
        }
    }

    /// True if it holds nothing.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Plain(queue) => queue.is_empty(),
            Self::Buffer(buffer) => buffer.queues.iter().all(Fifo::is_empty),
        }
    }

    /// Whether another request may be at the head in the next cycle, whatever else happens.
    #[must_use]
    #[inline]
    pub fn turns(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Buffer(buffer) => buffer.entering.is_some() || buffer.alternates(),
        }
    }

    /// Lists the queues, and which one is drained.
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
        if !(self.greedy && self.seen(before) > 0) {
            self.current = self.next().unwrap_or(before);
        }
        self.current != before
    }

    fn next(&self) -> Option<u6> {
        let holders = || (0..self.queues.len() as u8).map(u6::new).filter(|queue| self.seen(*queue) > 0);
        match self.order {
            DrainOrder::Fixed => holders().next(),
            DrainOrder::RoundRobin => holders().find(|queue| *queue > self.current).or_else(|| holders().next()),
            DrainOrder::LongestFirst => holders().rev().max_by_key(|queue| self.seen(*queue)),
        }
    }

    /// Requests of a queue that can be seen.
    fn seen(&self, queue: u6) -> usize {
        let entering = self.entering.is_some_and(|(into, _)| into == queue);
        self.queues[queue.as_usize()].len() - usize::from(entering)
    }

    fn front(&self) -> Option<&LineAccess> {
        self.queues[self.current.as_usize()].front().filter(|_| self.seen(self.current) > 0)
    }

    fn queue_of(&self, warp: u8) -> u6 {
        u6::new(warp % self.queues.len() as u8)
    }

    /// Several queues take turns.
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
