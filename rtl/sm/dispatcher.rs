//! # CTA dispatcher
//! Distributes the CTAs of a grid to the SMs, in the order of GPGPU-Sim.
//!
//! | port     | dir        | payload     | contract                                                |
//! |----------|------------|-------------|---------------------------------------------------------|
//! | `launch` | out, per SM| `CtaLaunch` | only to an SM with a free slot; at most one CTA per cycle over all SMs |
//! | `done`   | in, per SM | `CtaDone`   | frees a CTA slot of that SM; accepted at once           |
//!
//! Latency: a slot freed in one cycle can be assigned in the next. Order: CTAs launch in linear order (x
//! fastest). SMs are served round robin, skipping full ones. The round robin continues from grid to grid, as
//! in GPGPU-Sim: it starts after the SM served last. A launch waits only for a free slot or for room in the
//! channel.
//!
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm`.

use serde::{Deserialize, Serialize};

use super::{CtaDone, CtaLaunch};
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{
    AnyEdge, Block, Describe, DescribeExt, Edge, FieldsExt, HasPorts, In, Logic, Many, Out, Ports, RxBank, Sleep,
    TxBank,
};

/// Ports of the dispatcher, indexed by SM.
#[derive(Default, Ports)]
pub struct DispatcherPorts {
    /// CTA launches to each SM.
    pub launch: Many<Out<CtaLaunch>>,
    /// Completion messages from each SM, one per CTA.
    pub done: Many<In<CtaDone>>,
}

impl HasPorts for Dispatcher {
    type Ports = DispatcherPorts;
}

/// Channel ends through which the dispatcher receives and sends messages at one clock edge; indexed by SM.
pub struct DispatcherIo<'a> {
    /// CTA launches to each SM.
    pub launch: TxBank<'a, CtaLaunch>,
    /// Completion messages from each SM, one per CTA.
    pub done: RxBank<'a, CtaDone>,
}

/// CTA dispatcher of the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dispatcher {
    path: String,
    /// Number of free CTA slots of each SM.
    free: Box<[u8]>,
    grid: [u32; 3],
    /// Position of the next CTA in the grid: x, y, z.
    at: [u32; 3],
    total: u64,
    launched: u64,
    done: u64,
    /// SM at which the next round-robin search starts: the one after the SM that received the last CTA.
    next_sm: u8,
}

impl Dispatcher {
    /// Creates a dispatcher for `num_sms` SMs, without a grid; `path` names the dispatcher in messages.
    #[must_use]
    pub fn new(path: &str, num_sms: usize) -> Self {
        assert!((1..=Wide::MAX as usize).contains(&num_sms), "{path}: {num_sms} SMs, expected 1 to {}", Wide::MAX);
        Self {
            path: path.to_owned(),
            free: vec![0; num_sms].into(),
            grid: [0; 3],
            at: [0; 3],
            total: 0,
            launched: 0,
            done: 0,
            next_sm: 0,
        }
    }

    /// Starts a grid; each SM holds at most `occupancy` of its CTAs at a time.
    ///
    /// # Panics
    /// Panics if another grid is still running.
    pub fn load(&mut self, grid: [u32; 3], occupancy: u32) {
        assert!(self.is_done(), "{}: kernel loaded while {} CTAs run", self.path, self.launched - self.done);
        self.free.fill(occupancy as u8);
        self.grid = grid;
        self.at = [0; 3];
        self.total = grid.iter().map(|&n| u64::from(n)).product();
        self.launched = 0;
        self.done = 0;
    }

    /// True if every CTA of the grid has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done == self.total
    }

    /// Returns the number of CTAs of the grid launched to an SM so far.
    pub(crate) fn launched_ctas(&self) -> u32 {
        self.launched as u32
    }

    /// Returns the number of CTAs that have ended and the number of CTAs in the grid.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.done, self.total)
    }

    fn collect(&mut self, done: &mut RxBank<'_, CtaDone>, at: &mut impl AnyEdge) -> bool {
        let mut more = false;
        for (sm, free) in self.free.iter_mut().enumerate() {
            let mut done = done.at(sm);
            if done.peek(at).is_some() {
                done.pop(at);
                *free += 1;
                self.done += 1;
                more |= done.has_beat(at);
            }
        }
        assert!(self.done <= self.launched, "cycle {}, {}: more CTAs ended than were launched", at.cycle(), self.path);
        more
    }

    /// Launches the next CTA on the first SM, in round-robin order, that has a free slot and room in its
    /// channel. Returns true if a CTA was launched.
    fn send(&mut self, launch: &mut TxBank<'_, CtaLaunch>, at: &mut impl AnyEdge, free: Wide) -> bool {
        let cta = CtaLaunch { cta: self.launched as u32, at: self.at };
        let num_sms = self.free.len();
        for turn in 0..num_sms {
            let sm = (usize::from(self.next_sm) + turn) % num_sms;
            if free & Wide::line(sm as u32) != Wide::NONE && launch.at(sm).is_ready(at) {
                launch.at(sm).push(at, cta);
                self.free[sm] -= 1;
                self.next_sm = ((sm + 1) % num_sms) as u8;
                self.launched += 1;
                self.step();
                return true;
            }
        }
        false
    }

    fn step(&mut self) {
        for (at, size) in self.at.iter_mut().zip(self.grid) {
            *at += 1;
            if *at < size {
                return;
            }
            *at = 0;
        }
    }

    /// Returns the mask of the SMs with a free CTA slot.
    fn free_mask(&self) -> Wide {
        let with_room = (0..).zip(&self.free).filter(|(_, free)| **free > 0);
        with_room.fold(Wide::NONE, |mask, (sm, _)| mask | Wide::line(sm))
    }

    /// Evaluates one clock edge, with or without contract checks.
    pub(crate) fn eval_any(&mut self, mut io: DispatcherIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        let free = self.free_mask();
        let more_done = self.collect(&mut io.done, at);
        let left = self.launched < self.total;
        let blocked = left && free != Wide::NONE && !self.send(&mut io.launch, at, free);
        // A CTA slot freed in this cycle can be assigned in the next cycle. If a channel to an SM is full, it
        // wakes the dispatcher when it has room again.
        let may_send =
            self.launched < self.total && self.free_mask() & !if blocked { free } else { Wide::NONE } != Wide::NONE;
        if more_done || may_send { Sleep::Next } else { Sleep::UntilEvent }
    }
}

impl Block for Dispatcher {
    type Io<'a> = DispatcherIo<'a>;

    fn eval(&mut self, io: DispatcherIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, free, grid, at, total, launched, done, next_sm } = self;
        for (sm, free) in free.iter().enumerate() {
            to.parts("sm", sm as u32, |to| to.bits("free", *free));
        }
        for (name, [x, y, z]) in [("grid", grid), ("at", at)] {
            to.part(name, |to| {
                to.bits("x", *x);
                to.bits("y", *y);
                to.bits("z", *z);
            });
        }
        to.bits("total", *total);
        to.bits("launched", *launched);
        to.bits("done", *done);
        to.sized("next_sm", u64::from(*next_sm), free.len().max(2).next_power_of_two().ilog2());
        to.logic("round_robin", Logic::PriorityEncoder { inputs: 2 * free.len() as u32 });
    }
}
