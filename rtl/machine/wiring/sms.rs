//! # The side of the SMs
//! Cores, load-store units, dispatcher and coordinator with the channel ends that they are lent for an edge.

use std::mem::take;

use super::Machine;
use crate::kernel::{Block, Chan, Describe, DescribeExt, Due, Edge, RxBank, Sleep, TxBank};
use crate::l1::access::{WarpAccess, WarpReply};
use crate::l1::lsu::{Lsu, LsuIo};
use crate::machine::side_network::RecallNetwork;
use crate::machine::tracking::Tracking;
use crate::noc::packet::{Reply, Request};
use crate::sm::{CtaDone, CtaLaunch, DispatcherIo, SmCore, SmIo};

type CoreLinks<'a> =
    (((&'a mut Chan<CtaLaunch>, &'a mut Chan<CtaDone>), &'a mut Chan<WarpAccess>), &'a mut Chan<WarpReply>);
type LsuLinks<'a> = (((&'a mut Chan<WarpAccess>, &'a mut Chan<WarpReply>), &'a mut Chan<Request>), &'a mut Chan<Reply>);

fn core_io((((launch, done), mem), wb): CoreLinks<'_>) -> SmIo<'_> {
    SmIo { launch: launch.rx(), done: done.tx(), mem: mem.tx(), wb: wb.rx() }
}

fn lsu_io((((mem, wb), inject), deliver): LsuLinks<'_>) -> LsuIo<'_> {
    let (core_req, core_rsp, mem_req, mem_rsp) = (mem.rx(), wb.tx(), inject.tx(), deliver.rx());
    LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel: None, recall: None, supply: None }
}

impl Machine {
    fn linked_cores(&mut self) -> impl Iterator<Item = (&mut SmCore, CoreLinks<'_>)> {
        let links = self.launch.iter_mut().zip(&mut self.done).zip(&mut self.mem).zip(&mut self.wb);
        self.cores.iter_mut().zip(links)
    }

    fn linked_lsus(&mut self) -> impl Iterator<Item = (&mut Lsu, LsuLinks<'_>)> {
        let links = self.mem.iter_mut().zip(&mut self.wb).zip(&mut self.inject).zip(&mut self.deliver);
        self.lsus.iter_mut().zip(links)
    }

    #[inline(always)]
    fn eval_cores(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        let mut faulted = false;
        due.each(0, self.linked_cores(), at, |(core, links), at| {
            let sleep = core.eval(core_io(links), at);
            faulted |= core.fault().is_some();
            sleep
        });
        self.faulted |= faulted;
    }

    /// Evaluates the SMs that are due, of a machine whose SMs have nothing but these links.
    #[inline(always)]
    pub(super) fn eval_sms(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        self.eval_cores(due, at);
        due.each(self.cores.len() as u8, self.linked_lsus(), at, |(lsu, links), at| lsu.eval(lsu_io(links), at));
    }

    /// The load-store units of a machine whose SMs may duel or supply each other, and whose L2 may recall lines.
    fn lsus_of_schemes(&mut self) -> impl Iterator<Item = (&mut Lsu, LsuIo<'_>)> {
        let links = self.mem.iter_mut().zip(&mut self.wb).zip(&mut self.inject).zip(&mut self.deliver);
        let mut duels = self.duel.iter_mut().flat_map(|duel| duel.of_lsus());
        let mut recalls = RecallNetwork::of_lsus(&mut self.recalls);
        let mut supplies = Tracking::of_lsus(&mut self.tracking, &mut self.from_l2[self.to_l2.len()..]);
        self.lsus.iter_mut().zip(links).map(move |(lsu, links)| {
            let (duel, recall, supply) = (duels.next(), recalls.next(), supplies.next());
            (lsu, LsuIo { duel, recall, supply, ..lsu_io(links) })
        })
    }

    /// Evaluates the SMs that are due, and coordinator and dueling.
    #[inline(never)]
    pub(super) fn eval_sms_of_schemes(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        let sms = self.cores.len() as u8;
        if self.side.is_empty() {
            self.eval_cores(due, at);
            due.each(sms, self.lsus_of_schemes(), at, |(lsu, io), at| lsu.eval(io, at));
        } else {
            let mut faulted = false;
            let mut sides = take(&mut self.side);
            due.each(0, self.linked_cores().zip(&mut sides), at, |((core, links), side), at| {
                let sleep = core.eval_throttled(core_io(links), side, at);
                faulted |= core.fault().is_some();
                sleep
            });
            due.each(sms, self.lsus_of_schemes().zip(&mut sides), at, |((lsu, io), side), at| {
                lsu.eval_throttled(io, side, at)
            });
            self.faulted |= faulted;
            self.side = sides;
        }
        due.alone(2 * sms + 1, at, |at| self.eval_coordinator(at));
        due.alone(2 * sms + 2, at, |at| self.duel.as_mut().map_or(Sleep::UntilEvent, |duel| duel.eval(at)));
    }

    pub(super) fn eval_dispatcher(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = DispatcherIo { launch: TxBank(&mut self.launch), done: RxBank(&mut self.done) };
        self.dispatcher.eval(io, at)
    }

    pub(super) fn eval_coordinator(&mut self, at: &mut Edge<'_>) -> Sleep {
        let Some(coordinator) = &mut self.coordinator else { return Sleep::UntilEvent };
        coordinator.eval(&mut self.side, at)
    }

    pub(super) fn describe_core(&self, i: usize, to: &mut dyn Describe) {
        to.parts("sm", i as u32, |to| {
            to.part("core", |to| {
                self.launch[i].describe("launch", None, to);
                self.wb[i].describe("wb", None, to);
                if let Some(side) = self.side.get(i) {
                    side.misses.describe("misses", None, to);
                    if let Some(hub) = &side.hub {
                        hub.orders.describe("orders", None, to);
                    }
                }
                self.cores[i].describe(to);
            });
        });
    }

    pub(super) fn describe_lsu(&self, i: usize, to: &mut dyn Describe) {
        to.parts("sm", i as u32, |to| {
            to.part("l1", |to| {
                self.mem[i].describe("core_req", None, to);
                self.deliver[i].describe("mem_rsp", None, to);
                if let Some(periods) = self.side.get(i).and_then(|side| side.periods.as_ref()) {
                    periods.describe("periods", None, to);
                }
                if let Some(duel) = &self.duel {
                    duel.mode[i].describe("mode", None, to);
                }
                if let Some(recalls) = &self.recalls {
                    recalls.describe_to_l1(i, to);
                }
                if let Some(tracking) = &self.tracking {
                    tracking.network.describe_to_l1(i, to);
                }
                self.lsus[i].describe(to);
            });
        });
    }

    pub(super) fn describe_dispatcher(&self, to: &mut dyn Describe) {
        to.part("dispatcher", |to| {
            for (i, done) in (0..).zip(&self.done) {
                done.describe("done", Some(i), to);
            }
            self.dispatcher.describe(to);
        });
    }

    pub(super) fn describe_coordinator(&self, to: &mut dyn Describe) {
        to.part("coordinator", |to| {
            for (i, hub) in (0..).zip(self.side.iter().filter_map(|side| side.hub.as_ref())) {
                hub.reports.describe("reports", Some(i), to);
            }
            if let Some(coordinator) = &self.coordinator {
                coordinator.describe(to);
            }
        });
    }
}
