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
//! | `dram_req[c]` | out | `DramRequest` | bursts of fetches and write-backs, in the order of their look-ups; lines that leave, where memory acknowledges them |
//! | `dram_rsp[c]` | in  | `DramReply` | one of all channels in each cycle, but for those of a swap  |
//! | `recall.inv` | out | `Invalidate` | one for each L1 with a copy of a line that leaves           |
//! | `recall.inv_ack` | in | `InvalidateAck` | always taken                                          |
//!
//! What becomes of a line that gives way is up to the flow, which is chosen once, when the bank is built. In the
//! overlapped flow (`bank/overlapped`) it moves to a queue while its successor is fetched; in the transient flow
//! (`bank/transient`) it leaves from where it lies. What they have in common is in `bank/core` and `bank/lines`:
//! doors, look-up pipeline, memories, MSHR and what an access does to its line. A flow adds its own registers to
//! that, and has its own order of a cycle.
//!
//! Latency: a request taken in cycle `c` is matched in `c + lookup_latency`; the reply of a hit is
//! sent in the cycle after. In parts, a request takes a cycle for each to enter, and its reply waits for
//! the last and a cycle more. A line whose last burst is taken in cycle `f` serves its first
//! waiter in `f + 1`, whose reply is sent in the cycle after; by sectors, each waiter's own last burst counts.
//!
//! One access a cycle: a waiter of a complete line first, the oldest looked-up request otherwise.
//! Waiters go first because they free what the look-up may be waiting for. A refused request holds
//! up those behind it: the bank is the point of coherence, and requests of one SM must keep their
//! order.
//!
//! Order: the requests of a line take effect in the order of their look-ups. Accesses to a line on
//! its way wait together in that order (`mshr`); a write or a reduction is acknowledged as soon as
//! it has its place in it.
//!
//! Atomics: one pass through the atomic unit reads and writes the words, in the cycle in which the
//! access is served and with both ports of the data memory, so that nothing comes between. The
//! reply brings the line as it was before. With `bank/atomic_buffer` the unit works on the line there, and
//! the data memory is read and written only when another line comes into it.
//!
//! No deadlock: DRAM data always have their place, replies always sink in the SMs, and waiters need only
//! room for a reply. Whatever a look-up waits for is freed by these without any further look-up. The
//! flows say how, and why no fetch reads what is still on its way to memory.
//!
//! Bench: `tb/l2`.

mod atomic_buffer;
mod channels;
mod core;
mod host;
mod lines;
mod overlapped;
mod transient;

use serde::{Deserialize, Serialize};

use super::coherence::{Invalidate, InvalidateAck, RecallIo};
use super::config::{BankPlace, FlowConfig, L2Config};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Block, Describe, Edge, HasPorts, In, Many, Out, Ports, Rx, RxBank, Sleep, Tx, TxBank};
use crate::noc::packet::{Reply, Request};
pub use atomic_buffer::{AtomicBuffer, BufferShape};
use core::Core;
pub use lines::{Asked, Place};
use overlapped::Overlapped;
pub use overlapped::{FetchUnit, OverlappedConfig, WriteMiss};
use transient::Transient;
pub use transient::{Coherence, Frc, FrcConfig, FrcEntry, FrcShape, FrcState, Leaving, TransientConfig, VictimBind};

/// Ports of an L2 bank.
#[derive(Default, Ports)]
pub struct L2Ports {
    /// Requests of all SMs.
    pub req: In<Request>,
    /// Replies to them.
    pub rsp: Out<Reply>,
    /// Bursts to each DRAM channel.
    pub dram_req: Many<Out<DramRequest>>,
    /// Bursts from each of them.
    pub dram_rsp: Many<In<DramReply>>,
    /// Recalls of lines in L1s, where it keeps these coherent.
    pub inv: Out<Invalidate>,
    /// The answers to them.
    pub inv_ack: In<InvalidateAck>,
}

impl HasPorts for L2Bank {
    type Ports = L2Ports;
}

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

/// One bank.
#[derive(Debug, Serialize, Deserialize)]
pub struct L2Bank {
    flow: Flow,
}

/// A bank with what its flow adds.
#[derive(Debug, Serialize, Deserialize)]
enum Flow {
    Overlapped(Box<Overlapped>),
    Transient(Box<Transient>),
}

impl L2Bank {
    /// An empty bank.
    #[must_use]
    pub fn new(path: &str, config: &L2Config, place: BankPlace) -> Self {
        let flow = match &config.flow {
            FlowConfig::Overlapped(flow) => Flow::Overlapped(Box::new(Overlapped::new(path, config, flow, place))),
            FlowConfig::Transient(flow) => Flow::Transient(Box::new(Transient::new(path, config, flow, place))),
        };
        Self { flow }
    }

    fn core(&self) -> &Core {
        match &self.flow {
            Flow::Overlapped(bank) => &bank.core,
            Flow::Transient(bank) => &bank.core,
        }
    }

    fn core_mut(&mut self) -> &mut Core {
        match &mut self.flow {
            Flow::Overlapped(bank) => &mut bank.core,
            Flow::Transient(bank) => &mut bank.core,
        }
    }

    /// One clock edge, checked or not.
    #[inline(never)]
    pub(crate) fn eval_any(&mut self, io: L2Io<'_>, at: &mut impl AnyEdge) -> Sleep {
        match &mut self.flow {
            Flow::Overlapped(bank) => bank.eval(io, at),
            Flow::Transient(bank) => bank.eval(io, at),
        }
    }
}

impl Block for L2Bank {
    type Io<'a> = L2Io<'a>;

    fn eval(&mut self, io: L2Io<'_>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { flow } = self;
        match flow {
            Flow::Overlapped(bank) => bank.describe(to),
            Flow::Transient(bank) => bank.describe(to),
        }
    }
}
