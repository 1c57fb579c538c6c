//! # Model of the memory that an L2 bank uses
//! Accepts bursts in order, and performs each access when it accepts it, so that accesses to one address keep
//! their order. Replies to reads, and to writes that request an acknowledgment, come after a random latency
//! and in any order.

use std::collections::BTreeMap;

use crate::kit::{Monitor, Random};
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest};
use rtl::kernel::{Block, Describe, Edge, FieldsExt, Rx, Sleep, Tx, digest_of};

/// Returns the initial contents of a burst in memory.
pub fn initial_burst(burst: u64) -> [u8; BURST_BYTES] {
    std::array::from_fn(|byte| digest_of(&(burst, byte)) as u8)
}

/// Ends of the channels that the memory model uses.
pub struct MemoryIo<'a> {
    pub req: Rx<'a, DramRequest>,
    pub rsp: Tx<'a, DramReply>,
}

/// Memory model with random latency.
pub struct Memory {
    bursts: BTreeMap<u64, [u8; BURST_BYTES]>,
    random: Random,
    latency: std::ops::Range<u64>,
    /// First cycle in which the memory accepts a burst.
    opens: u64,
    /// Outstanding replies, each with the first cycle in which it may be sent.
    waiting: Vec<(u64, DramReply)>,
    taken: Monitor<DramRequest>,
    answered: u64,
}

/// Maximum number of outstanding replies.
const QUEUE: usize = 16;

impl Memory {
    /// Creates a memory that accepts its first burst in cycle `opens`. The latency of each reply is a random
    /// number of cycles in the range `latency`.
    pub fn new(seed: u64, latency: std::ops::Range<u64>, opens: u64) -> Self {
        let random = Random::new(seed);
        Self { bursts: BTreeMap::new(), random, latency, opens, waiting: Vec::new(), taken: Vec::new(), answered: 0 }
    }

    /// Returns every burst accepted so far, with its cycle.
    pub fn taken(&self) -> &Monitor<DramRequest> {
        &self.taken
    }

    /// Returns the current contents of a burst.
    pub fn burst(&self, burst: u64) -> [u8; BURST_BYTES] {
        self.bursts.get(&burst).copied().unwrap_or_else(|| initial_burst(burst))
    }

    /// Returns a hash of all bursts accepted, with their cycles.
    pub fn digest(&self) -> u64 {
        digest_of(&self.taken)
    }

    fn take(&mut self, request: DramRequest, cycle: u64) {
        let mut bytes = self.burst(request.burst);
        let mut answer = |data, is_ack| {
            let spread = self.latency.end - self.latency.start;
            let due = cycle + self.latency.start + self.random.below(spread);
            let &DramRequest { id, burst, tag, .. } = &request;
            self.waiting.push((due, DramReply { id, burst, tag, is_ack, data }));
        };
        if request.write {
            for (byte, old) in bytes.iter_mut().enumerate() {
                if request.byte_mask >> byte & 1 != 0 {
                    *old = request.data[byte];
                }
            }
            self.bursts.insert(request.burst, bytes);
            if request.acknowledged {
                answer([0; BURST_BYTES], true);
            }
        } else if request.acknowledged {
            answer([0; BURST_BYTES], true);
        } else {
            answer(bytes, false);
        }
        self.taken.push((cycle, request));
    }
}

impl Block for Memory {
    type Io<'a> = MemoryIo<'a>;

    fn eval(&mut self, mut io: MemoryIo<'_>, at: &mut Edge<'_>) -> Sleep {
        let first = (0..self.waiting.len()).min_by_key(|&n| self.waiting[n].0);
        let mut stuck = false;
        if let Some(n) = first.filter(|&n| self.waiting[n].0 <= at.cycle) {
            if io.rsp.is_ready(at) {
                io.rsp.push(at, self.waiting.remove(n).1);
                self.answered += 1;
            } else {
                stuck = true;
            }
        }
        if at.cycle >= self.opens && self.waiting.len() < QUEUE && io.req.peek(at).is_some() {
            let request = io.req.pop(at);
            self.take(request, at.cycle);
        }
        let mut sleep = Sleep::UntilEvent;
        if let Some(due) = self.waiting.iter().map(|(due, _)| *due).min().filter(|_| !stuck) {
            sleep = sleep.min(Sleep::At(due));
        }
        if io.req.has_beat(at) && self.waiting.len() < QUEUE {
            sleep = sleep.min(Sleep::At(self.opens));
        }
        sleep
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bursts: _, random: _, latency: _, opens: _, waiting, taken, answered } = self;
        to.sized("waiting", waiting.len() as u64, 8);
        to.sized("taken", taken.len() as u64, 32);
        to.sized("answered", *answered, 32);
    }
}
