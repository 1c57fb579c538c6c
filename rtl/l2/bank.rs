//! # L2 bank
//! One slice of the L2 cache: write-back, write-allocate, true LRU (li2015 section 2, khairy2015 Table 1;
//! Fermi's L2) or another replacement policy. The partition interleave decides which lines a bank holds; the
//! bank numbers these lines within its partition. If L2 lines are shorter than L1 lines, `split` turns one
//! request into several and gathers their replies.
//!
//! | port       | dir | payload       | contract                                                     |
//! |------------|-----|---------------|--------------------------------------------------------------|
//! | `req`      | in  | `Request`     | accepted when the lookup pipeline has a free stage           |
//! | `rsp`      | out | `Reply`       | `Data` for a read or an atomic; `Ack` for a write or a reduction, as soon as its position in the order of accesses to the line is fixed |
//! | `dram_req[c]` | out | `DramRequest` | bursts of fetches and writebacks in lookup order; also notices of clean evictions where memory acknowledges evictions |
//! | `dram_rsp[c]` | in  | `DramReply` | at most one burst per cycle over all channels; none while a swap holds the data memories |
//! | `recall.inv` | out | `Invalidate` | one per L1 that has a copy of an evicted line               |
//! | `recall.inv_ack` | in | `InvalidateAck` | always accepted                                       |
//!
//! A flow handles the victim of a miss; the configuration selects the flow when the bank is built. In the
//! overlapped flow (`bank/overlapped`) the victim moves to a writeback queue while the new line is fetched.
//! In the transient flow (`bank/transient`) the victim is evicted from its way before the fetch. Both flows
//! share `bank/core` and `bank/lines`: ports, lookup pipeline, memories, MSHR, and the effect of an access on
//! its line. Each flow adds its own registers and has its own order of steps within a cycle.
//!
//! Latency: a request accepted in cycle `c` is matched against the tags in `c + lookup_latency`. The reply of
//! a hit is sent in the next cycle. A split request takes one cycle per L2 line to enter; its reply leaves
//! one cycle after the last of these lines was answered. A line whose last burst arrives in cycle `f` serves
//! its first waiter in `f + 1` and sends the reply one cycle later. With sector fetches, a waiter needs only
//! the bursts of its own sectors.
//!
//! One access is served per cycle: a waiter of a complete line first, otherwise the oldest request whose
//! lookup is complete. Waiters have priority because serving them frees resources that a lookup may need. A
//! stalled request blocks the requests behind it: the bank is the point of coherence, and requests of one SM
//! must keep their order.
//!
//! Order: the requests to a line take effect in lookup order. Accesses to an in-flight line wait in that
//! order in the MSHR. A write or a reduction is acknowledged as soon as its position in that order is fixed.
//! Atomics: an atomic reads and writes its words in the cycle in which it is served. It uses both ports of
//! the data memory, so no other access can interleave with it. Its reply holds the bytes that the line had
//! before the atomic. With `bank/atomic_buffer` the atomic unit works on the buffered line; the data memory
//! is accessed only when another line enters the buffer.
//!
//! No deadlock: data from DRAM always have reserved space in the bank, SMs always accept replies, and waiters
//! need only room for a reply. So every resource that a lookup may need becomes free without another lookup.
//! The headers of the flows explain this in detail. They also explain why no fetch overtakes an in-flight
//! writeback of the same line.
//!
//! `l2/partition` restricts the ways in which a miss may replace a line. `rtl/mshr_policy` restricts which
//! requests may use the MSHR.
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
pub use host::DirtyVictim;
pub use lines::{BankAccess, LinePlace};
use overlapped::Overlapped;
pub use overlapped::{FetchUnit, OverlappedConfig, WriteMiss};
use transient::Transient;
pub use transient::{Coherence, Eviction, Frc, FrcConfig, FrcEntry, FrcShape, FrcState, TransientConfig, VictimBind};

/// Ports of an L2 bank, to which links are connected.
#[derive(Default, Ports)]
pub struct L2Ports {
    /// Input of requests from all SMs.
    pub req: In<Request>,
    /// Output of replies to the SMs.
    pub rsp: Out<Reply>,
    /// Outputs of burst requests to memory, one per DRAM channel.
    pub dram_req: Many<Out<DramRequest>>,
    /// Inputs of bursts from memory, one per DRAM channel.
    pub dram_rsp: Many<In<DramReply>>,
    /// Output for messages that recall lines from L1s; connected if the bank keeps the L1s coherent.
    pub inv: Out<Invalidate>,
    /// Input for the L1s' acknowledgments of recalls; connected if the bank keeps the L1s coherent.
    pub inv_ack: In<InvalidateAck>,
}

impl HasPorts for L2Bank {
    type Ports = L2Ports;
}

/// Channel ends that an L2 bank uses at one clock edge.
pub struct L2Io<'a> {
    /// Receiving end for requests from all SMs.
    pub req: Rx<'a, Request>,
    /// Sending end for replies to the SMs.
    pub rsp: Tx<'a, Reply>,
    /// Sending ends for burst requests to memory, one per DRAM channel.
    pub dram_req: TxBank<'a, DramRequest>,
    /// Receiving ends for bursts from memory, one per DRAM channel.
    pub dram_rsp: RxBank<'a, DramReply>,
    /// Channel ends for recalls to L1s and for the L1s' acknowledgments; `None` if the bank does not keep the
    /// L1s coherent.
    pub recall: Option<RecallIo<'a>>,
}

/// One L2 bank, with either of the two miss flows (overlapped or transient).
#[derive(Debug, Serialize, Deserialize)]
pub struct L2Bank {
    flow: Flow,
}

/// State of an L2 bank with one of the two miss flows, which differ in how they handle the victim of a miss.
#[derive(Debug, Serialize, Deserialize)]
enum Flow {
    Overlapped(Box<Overlapped>),
    Transient(Box<Transient>),
}

impl L2Bank {
    /// Returns an L2 bank without lines and requests, with the miss flow that `config` selects.
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

    /// Executes one clock edge, with or without run-time checks. Returns when the bank must be evaluated
    /// next.
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
