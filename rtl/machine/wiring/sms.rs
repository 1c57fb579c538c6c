//! # The side of the SMs
//! Cores, load-store units, dispatcher and coordinator with the channel ends that they are lent for an edge.

use std::ops::Range;
use std::slice::IterMut;

use super::Machine;
use super::parts::{group_of, sms_of};
use crate::kernel::{AnyEdge, Block, Describe, DescribeExt, Due, RxBank, Sleep, TxBank};
use crate::l1::lsu::LsuIo;
use crate::sm::{DispatcherIo, SmIo};

impl Machine {
    /// Evaluates the SMs that are due, with dispatcher, coordinator and dueling.
    #[inline(always)]
    pub(super) fn eval_sms<const SCHEMES: bool>(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let sms = sms_of(self.cores.len(), 0);
        let beside = 2 * sms.len() as u8;
        self.eval_cores::<SCHEMES>(&sms, due, at);
        self.eval_lsus::<SCHEMES>(&sms, due, at);
        due.alone(beside, at, |at| self.eval_dispatcher(at));
        if SCHEMES {
            due.alone(beside + 1, at, |at| self.eval_coordinator(at));
            due.alone(beside + 2, at, |at| self.eval_duel(at));
        }
    }

    /// Evaluates those SMs that are due of a group other than the first.
    #[inline(never)]
    pub(super) fn eval_more_sms<const SCHEMES: bool>(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let Some(group) = group_of(due.domain()) else { return };
        let sms = sms_of(self.cores.len(), group);
        self.eval_cores::<SCHEMES>(&sms, due, at);
        self.eval_lsus::<SCHEMES>(&sms, due, at);
    }

    #[inline(always)]
    fn eval_cores<const SCHEMES: bool>(&mut self, sms: &Range<usize>, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { cores, launch, done, mem, wb, fetching, side, faulted, .. } = self;
        let links = of(launch, sms).zip(of(done, sms)).zip(of(mem, sms)).zip(of(wb, sms));
        let parts = || sms.clone().zip(of(cores, sms).zip(links));
        due.each(0, parts, at, |(i, (core, (((launch, done), mem), wb))), at| {
            let mut fetch = if SCHEMES { fetching.as_mut().map(|fetching| fetching.of(i)) } else { None };
            let fetch = fetch.as_mut().map(|links| links.of_core());
            let io = SmIo { launch: launch.rx(), done: done.tx(), mem: mem.tx(), wb: wb.rx(), fetch };
            let side = if SCHEMES { side.get_mut(i) } else { None };
            let sleep = core.eval_beside(io, side, at);
            if core.fault().is_some() {
                note_fault(faulted, at.tick(), i);
            }
            sleep
        });
    }

    #[inline(always)]
    fn eval_lsus<const SCHEMES: bool>(&mut self, sms: &Range<usize>, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { lsus, mem, wb, inject, deliver, fetching, side, duel, recalls, tracking, to_l2, from_l2, .. } = self;
        let links = of(mem, sms).zip(of(wb, sms)).zip(of(inject, sms)).zip(of(deliver, sms));
        let parts = || sms.clone().zip(of(lsus, sms).zip(links));
        due.each(sms.len() as u8, parts, at, |(i, (lsu, (((mem, wb), inject), deliver))), at| {
            let (core_req, core_rsp, mem_req, mem_rsp) = (mem.rx(), wb.tx(), inject.tx(), deliver.rx());
            let io = LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel: None, recall: None, supply: None };
            if !SCHEMES {
                return lsu.eval_any(io, at);
            }
            let mut links = fetching.as_mut().map(|fetching| fetching.of(i));
            let io = LsuIo {
                duel: duel.as_mut().map(|duel| duel.of_lsu(i)),
                recall: recalls.as_mut().map(|recalls| recalls.of_lsu(i)),
                supply: tracking.as_mut().map(|tracking| tracking.of_lsu(i, &mut from_l2[to_l2.len() + i])),
                ..io
            };
            lsu.eval_beside(io, side.get_mut(i), links.as_mut().map(|links| links.of_lsu()), at)
        });
    }

    pub(super) fn eval_dispatcher(&mut self, at: &mut impl AnyEdge) -> Sleep {
        let io = DispatcherIo { launch: TxBank(&mut self.launch), done: RxBank(&mut self.done) };
        self.dispatcher.eval_any(io, at)
    }

    pub(super) fn eval_coordinator(&mut self, at: &mut impl AnyEdge) -> Sleep {
        let Some(coordinator) = &mut self.coordinator else { return Sleep::UntilEvent };
        at.with_edge(|at| coordinator.eval(&mut self.side, at))
    }

    fn eval_duel(&mut self, at: &mut impl AnyEdge) -> Sleep {
        let Some(duel) = &mut self.duel else { return Sleep::UntilEvent };
        at.with_edge(|at| duel.eval(at))
    }

    pub(super) fn describe_core(&self, i: usize, to: &mut dyn Describe) {
        to.parts("sm", i as u32, |to| {
            to.part("core", |to| {
                self.launch[i].describe("launch", None, to);
                self.wb[i].describe("wb", None, to);
                if let Some(fetching) = &self.fetching {
                    fetching.brought(i).describe("brought", None, to);
                }
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
                if let Some(fetching) = &self.fetching {
                    fetching.wanted(i).describe("wanted", None, to);
                }
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

/// The parts of a group's SMs.
#[inline(always)]
fn of<'a, T>(all: &'a mut [T], sms: &Range<usize>) -> IterMut<'a, T> {
    all[sms.clone()].iter_mut()
}

/// Keeps the first of the faults of cores: of several at one tick that of the SM with the lowest number.
pub(super) fn note_fault(first: &mut Option<(u64, usize)>, tick: u64, sm: usize) {
    let fault = (tick, sm);
    *first = Some(first.map_or(fault, |first| first.min(fault)));
}
