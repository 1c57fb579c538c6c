//! # Hardware blocks and links of a machine
//! Defines the types of the machine's netlist: the links, by type of message; the hardware blocks, by kind;
//! and the link ends that each block uses at a clock edge.
//!
//! Blocks with ports that most machines lack are evaluated by separate functions. So a block without such
//! ports costs the simulator only one comparison per edge.

use derive::{Kinds, Links};
use serde::{Deserialize, Serialize};

use super::node::Node;
use crate::dram::channel::{DramChannel, DramIo, DramPorts};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Block, Carries, Describe, Edge, HasPorts, Of, Pool, Sleep, Unit};
use crate::l1::access::{WarpAccess, WarpReply};
use crate::l1::dueling::{Dueling, DuelingIo, DuelingPorts, LoadReport, Mode};
use crate::l1::instructions::{FetchIo, InstructionLineReply, InstructionLineRequest, SupplierIo};
use crate::l1::lsu::{DuelIo, Lsu, LsuExtraPorts, LsuIo, LsuPorts};
use crate::l2::{Invalidate, InvalidateAck, L2Bank, L2Io, L2Ports, RecallIo, RecalledIo};
use crate::noc::packet::{Packet, Reply, Request};
use crate::noc::xbar::{XbarIo, XbarPorts};
use crate::sm::{CtaDone, CtaLaunch, Dispatcher, DispatcherIo, DispatcherPorts, SmCore, SmExtraPorts, SmIo, SmPorts};
use crate::throttle::Hub;
use crate::throttle::message::{Miss, Order, PeriodEnd, Report};
use crate::throttle::side::{CoreSide, HubIo, HubPorts, L1Side};
use crate::tracker::{Answer, Forward, SupplyIo, Tracker, TrackerIo, TrackerPorts};

/// All links of a machine, with one pool for each type of message.
#[derive(Default, Serialize, Deserialize, Links)]
pub struct Wires {
    pub(super) launches: Pool<CtaLaunch>,
    pub(super) ends: Pool<CtaDone>,
    pub(super) accesses: Pool<WarpAccess>,
    pub(super) replies_to_warps: Pool<WarpReply>,
    pub(super) requests: Pool<Request>,
    pub(super) replies: Pool<Reply>,
    pub(super) dram_requests: Pool<DramRequest>,
    pub(super) dram_replies: Pool<DramReply>,
    pub(super) lines_wanted: Pool<InstructionLineRequest>,
    pub(super) lines_brought: Pool<InstructionLineReply>,
    pub(super) misses: Pool<Miss>,
    pub(super) periods: Pool<PeriodEnd>,
    pub(super) reports: Pool<Report>,
    pub(super) orders: Pool<Order>,
    pub(super) modes: Pool<Mode>,
    pub(super) seen: Pool<LoadReport>,
    pub(super) recalls: Pool<Invalidate>,
    pub(super) recalled: Pool<InvalidateAck>,
    pub(super) forwards: Pool<Forward>,
    pub(super) answers: Pool<Answer>,
}

/// All hardware blocks of a machine, by kind.
#[derive(Serialize, Deserialize, Kinds)]
pub enum Roles {
    Cores(Of<SmCore, Wires>),
    Lsus(Of<Lsu, Wires>),
    Dispatchers(Of<Dispatcher, Wires>),
    Hubs(Of<Coordinator, Wires>),
    Duels(Of<Dueling, Wires>),
    Requests(Of<Node<Request>, Wires>),
    Replies(Of<Node<Reply>, Wires>),
    Recalls(Of<Node<Invalidate>, Wires>),
    Recalled(Of<Node<InvalidateAck>, Wires>),
    Forwards(Of<Node<Forward>, Wires>),
    Answers(Of<Node<Answer>, Wires>),
    Banks(Of<L2Bank, Wires>),
    Trackers(Of<Tracker, Wires>),
    Drams(Of<DramChannel, Wires>),
}

impl Unit<Wires> for Dispatcher {
    #[inline(always)]
    fn edge(&mut self, ports: &DispatcherPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        self.eval_any(
            DispatcherIo { launch: wires.launches.tx_bank(&ports.launch), done: wires.ends.rx_bank(&ports.done) },
            at,
        )
    }

    #[inline(always)]
    fn calls(&self) -> bool {
        self.is_done()
    }

    fn is_idle(&self) -> bool {
        self.is_done()
    }
}

impl Unit<Wires> for SmCore {
    #[inline(always)]
    fn edge(&mut self, ports: &SmPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        if let Some(extra) = ports.extra.get() {
            return edge_with_schemes(self, (ports, extra), wires, at);
        }
        let (launch, done) = (wires.launches.rx(&ports.launch), wires.ends.tx(&ports.done));
        let (mem, wb) = (wires.accesses.tx(&ports.mem), wires.replies_to_warps.rx(&ports.wb));
        self.eval_any(SmIo { launch, done, mem, wb, fetch: None }, at)
    }

    #[inline(always)]
    fn calls(&self) -> bool {
        self.fault().is_some()
    }

    fn record(&mut self) {
        SmCore::record(self);
    }

    fn is_idle(&self) -> bool {
        SmCore::is_idle(self)
    }

    fn settle(&mut self, cycle: u64) {
        SmCore::settle(self, cycle);
    }
}

/// Executes one clock edge of an SM core that has an instruction cache or is controlled by a throttle.
#[inline(never)]
fn edge_with_schemes(
    core: &mut SmCore,
    (ports, extra): (&SmPorts, &SmExtraPorts),
    wires: &mut Wires,
    at: &mut impl AnyEdge,
) -> Sleep {
    let fetch = extra.wanted.is_connected().then(|| FetchIo {
        wanted: wires.lines_wanted.tx(&extra.wanted),
        brought: wires.lines_brought.rx(&extra.brought),
    });
    let side = extra.misses.is_connected().then(|| CoreSide {
        misses: wires.misses.rx(&extra.misses),
        periods: extra.periods.is_connected().then(|| wires.periods.tx(&extra.periods)),
        reports: extra.reports.is_connected().then(|| wires.reports.tx(&extra.reports)),
        orders: extra.orders.is_connected().then(|| wires.orders.rx(&extra.orders)),
    });
    let io = SmIo {
        launch: wires.launches.rx(&ports.launch),
        done: wires.ends.tx(&ports.done),
        mem: wires.accesses.tx(&ports.mem),
        wb: wires.replies_to_warps.rx(&ports.wb),
        fetch,
    };
    core.eval_with_side_band(io, side, at)
}

impl Unit<Wires> for Lsu {
    #[inline(always)]
    fn edge(&mut self, ports: &LsuPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        if let Some(extra) = ports.extra.get() {
            return lsu_edge_with_schemes(self, (ports, extra), wires, at);
        }
        let (core_req, core_rsp) = (wires.accesses.rx(&ports.core_req), wires.replies_to_warps.tx(&ports.core_rsp));
        let (mem_req, mem_rsp) = (wires.requests.tx(&ports.mem_req), wires.replies.rx(&ports.mem_rsp));
        self.eval_any(LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel: None, recall: None, supply: None }, at)
    }

    fn record(&mut self) {
        Lsu::record(self);
    }

    fn is_idle(&self) -> bool {
        Lsu::is_idle(self)
    }

    fn settle(&mut self, cycle: u64) {
        Lsu::settle(self, cycle);
    }
}

/// Executes one clock edge of a load-store unit that has at least one optional port: for an instruction
/// cache, a throttle, dueling, recalls or the sharing tracker.
#[inline(never)]
fn lsu_edge_with_schemes(
    lsu: &mut Lsu,
    (ports, extra): (&LsuPorts, &LsuExtraPorts),
    wires: &mut Wires,
    at: &mut impl AnyEdge,
) -> Sleep {
    let core = extra.wanted.is_connected().then(|| SupplierIo {
        wanted: wires.lines_wanted.rx(&extra.wanted),
        brought: wires.lines_brought.tx(&extra.brought),
    });
    let side = extra.misses.is_connected().then(|| L1Side {
        misses: wires.misses.tx(&extra.misses),
        periods: extra.periods.is_connected().then(|| wires.periods.rx(&extra.periods)),
    });
    let duel = extra.mode.is_connected().then(|| DuelIo {
        mode: wires.modes.rx(&extra.mode),
        seen: extra.seen.is_connected().then(|| wires.seen.tx(&extra.seen)),
    });
    let recall = extra
        .inv
        .is_connected()
        .then(|| RecalledIo { inv: wires.recalls.rx(&extra.inv), inv_ack: wires.recalled.tx(&extra.inv_ack) });
    let (mem_rsp, supply) = if extra.supply.is_connected() {
        let (mem_rsp, supply) = wires.replies.both(&ports.mem_rsp, &extra.supply);
        let (forward, answer) = (wires.forwards.rx(&extra.forward), wires.answers.tx(&extra.answer));
        (mem_rsp, Some(SupplyIo { forward, answer, supply }))
    } else {
        (wires.replies.rx(&ports.mem_rsp), None)
    };
    let (core_req, core_rsp) = (wires.accesses.rx(&ports.core_req), wires.replies_to_warps.tx(&ports.core_rsp));
    let io = LsuIo { core_req, core_rsp, mem_req: wires.requests.tx(&ports.mem_req), mem_rsp, duel, recall, supply };
    lsu.eval_with_side_channels(io, side, core, at)
}

impl<P: Packet + 'static> Unit<Wires> for Node<P>
where
    Wires: Carries<P>,
{
    #[inline(always)]
    fn edge(&mut self, ports: &XbarPorts<P>, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        let pool: &mut Pool<P> = wires.pool();
        self.eval_any(XbarIo { ends: pool.ends(&ports.from, &ports.to) }, at)
    }

    fn is_idle(&self) -> bool {
        Self::is_idle(self)
    }

    fn settle(&mut self, cycle: u64) {
        Self::settle(self, cycle);
    }
}

impl Unit<Wires> for L2Bank {
    #[inline(always)]
    fn edge(&mut self, ports: &L2Ports, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        if ports.inv.is_connected() {
            return bank_edge_with_recalls(self, ports, wires, at);
        }
        let (req, rsp) = (wires.requests.rx(&ports.req), wires.replies.tx(&ports.rsp));
        let (dram_req, dram_rsp) =
            (wires.dram_requests.tx_bank(&ports.dram_req), wires.dram_replies.rx_bank(&ports.dram_rsp));
        self.eval_any(L2Io { req, rsp, dram_req, dram_rsp, recall: None }, at)
    }

    fn record(&mut self) {
        L2Bank::record(self);
    }

    fn is_idle(&self) -> bool {
        L2Bank::is_idle(self)
    }

    fn settle(&mut self, cycle: u64) {
        L2Bank::settle(self, cycle);
    }
}

/// Executes one clock edge of an L2 bank that recalls lines from L1s.
#[inline(never)]
fn bank_edge_with_recalls(bank: &mut L2Bank, ports: &L2Ports, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
    let recall = Some(RecallIo { inv: wires.recalls.tx(&ports.inv), inv_ack: wires.recalled.rx(&ports.inv_ack) });
    let (req, rsp) = (wires.requests.rx(&ports.req), wires.replies.tx(&ports.rsp));
    let (dram_req, dram_rsp) =
        (wires.dram_requests.tx_bank(&ports.dram_req), wires.dram_replies.rx_bank(&ports.dram_rsp));
    bank.eval_any(L2Io { req, rsp, dram_req, dram_rsp, recall }, at)
}

impl Unit<Wires> for DramChannel {
    #[inline(always)]
    fn edge(&mut self, ports: &DramPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        self.eval_any(
            DramIo { req: wires.dram_requests.rx_bank(&ports.req), rsp: wires.dram_replies.tx_bank(&ports.rsp) },
            at,
        )
    }

    fn record(&mut self) {
        DramChannel::record(self);
    }

    fn is_idle(&self) -> bool {
        DramChannel::is_idle(self)
    }

    fn settle(&mut self, cycle: u64) {
        DramChannel::settle(self, cycle);
    }
}

impl Unit<Wires> for Tracker {
    fn edge(&mut self, ports: &TrackerPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        let (req, to_bank) = wires.requests.both(&ports.req, &ports.to_bank);
        let (from_bank, rsp) = wires.replies.both(&ports.from_bank, &ports.rsp);
        let (forward, answer) = (wires.forwards.tx(&ports.forward), wires.answers.rx(&ports.answer));
        let io = TrackerIo { req, to_bank, from_bank, rsp, forward, answer };
        at.with_edge(|at| self.eval(io, at))
    }

    fn record(&mut self) {
        Tracker::record(self);
    }

    fn is_idle(&self) -> bool {
        Tracker::is_idle(self)
    }
}

impl Unit<Wires> for Dueling {
    fn edge(&mut self, ports: &DuelingPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        at.with_edge(|at| {
            self.eval(DuelingIo { seen: wires.seen.rx_bank(&ports.seen), mode: wires.modes.tx_bank(&ports.mode) }, at)
        })
    }

    fn is_idle(&self) -> bool {
        true
    }
}

/// Hardware block that contains the central unit (hub) of a throttle, to which all cores report.
#[derive(Serialize, Deserialize)]
pub struct Coordinator(pub Box<dyn Hub>);

impl HasPorts for Coordinator {
    type Ports = HubPorts;
}

impl Block for Coordinator {
    type Io<'a> = HubIo<'a>;

    fn eval(&mut self, io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.0.eval(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Unit<Wires> for Coordinator {
    fn edge(&mut self, ports: &HubPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        let io = HubIo { reports: wires.reports.rx_bank(&ports.reports), orders: wires.orders.tx_bank(&ports.orders) };
        at.with_edge(|at| self.eval(io, at))
    }

    fn is_idle(&self) -> bool {
        true
    }
}
