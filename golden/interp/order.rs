//! Orders in which warps and CTAs run. Nothing promises a program any of them, so that where two of them
//! leave different bytes, the program's result depends on the order.

use super::code::{Code, decode};
use super::livelock::{Livelock, livelock};
use super::undefined::{UndefinedRead, reads_undefined};
use super::warps::Watcher;
use super::{Counts, Cta, InterpError, Launch, Sms, check, ctas, run_steps};
use crate::memory::FlatMemory;

/// Instructions that a warp runs in its turn, unless it has to wait before.
const BURST: u64 = 1 << 12;
/// Instructions that a CTA runs in its turn, unless it ends before.
const TURN: u64 = 1 << 17;
/// The longest turn of a warp in a random order is 2 to the power of one less than this.
const RANDOM_BURSTS: u64 = 11;

/// Which warp goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One CTA after the other, the first warp of each first. CTAs that come to no end are joined by others.
    Forward,
    /// All CTAs that fit are there; the last warp of the last one goes first.
    Backward,
    /// Warps take turns, an instruction each.
    Turns,
    /// Any warp of any CTA runs some instructions, as a seed says.
    Random(u64),
}

impl Order {
    /// All but [`Order::Forward`], for those who want to know what depends on the order.
    pub const OTHERS: [Order; 8] = [
        Order::Backward,
        Order::Turns,
        Order::Random(1),
        Order::Random(2),
        Order::Random(3),
        Order::Random(4),
        Order::Random(5),
        Order::Random(6),
    ];
}

/// Runs a launch to its end, one CTA after the other.
///
/// # Errors
/// A launch that does not fit its kernel, an illegal act of a thread, or warps that go round in circles.
pub fn run(launch: &Launch<'_>, memory: &mut FlatMemory) -> Result<Counts, InterpError> {
    run_in(Order::Forward, launch, Sms { count: 1, ctas: usize::MAX }, memory)
}

/// Runs a launch like [`run_in`] in [`Order::Forward`], and finds registers that a thread uses before it has written
/// them, each read once with the first thread that comes to it.
///
/// # Errors
/// As for [`run`].
pub fn run_finding_undefined(
    launch: &Launch<'_>,
    sms: Sms,
    memory: &mut FlatMemory,
) -> Result<(Counts, Vec<UndefinedRead>), InterpError> {
    check(launch)?;
    let code = Code { follows_undefined: reads_undefined(launch.program), ..decode(launch.program) };
    let mut grid = Grid { launch, code: &code, rest: ctas(launch.grid), at_once: sms.count.saturating_mul(sms.ctas) };
    let mut residents = Residents::new(memory);
    residents.forward(&mut grid)?;
    let mut reads: Vec<UndefinedRead> = Vec::new();
    for read in residents.ctas.iter().filter_map(|cta| cta.undefined.as_ref()).flat_map(|found| found.reads(launch)) {
        if !reads.iter().any(|known| (known.line, &known.register) == (read.line, &read.register)) {
            reads.push(read);
        }
    }
    reads.sort_by_key(|read| read.line);
    let thread_instructions = residents.ctas.iter().map(|cta| cta.executed).sum();
    Ok((Counts { thread_instructions }, reads))
}

/// Runs a launch to its end in an order, with as many CTAs at once as these SMs hold.
///
/// # Errors
/// As for [`run`].
pub fn run_in(order: Order, launch: &Launch<'_>, sms: Sms, memory: &mut FlatMemory) -> Result<Counts, InterpError> {
    if order == Order::Turns {
        let mut thread_instructions = 0;
        let mut count = |step: &super::WarpStep<'_>| thread_instructions += u64::from(step.mask.count_ones());
        run_steps(launch, sms, memory, &mut count)?;
        return Ok(Counts { thread_instructions });
    }
    check(launch)?;
    let code = decode(launch.program);
    let mut grid = Grid { launch, code: &code, rest: ctas(launch.grid), at_once: sms.count.saturating_mul(sms.ctas) };
    let mut residents = Residents::new(memory);
    match order {
        Order::Forward => residents.forward(&mut grid)?,
        Order::Backward => residents.backward(&mut grid)?,
        Order::Random(seed) => residents.randomly(&mut grid, seed)?,
        Order::Turns => {}
    }
    Ok(Counts { thread_instructions: residents.ctas.iter().map(|cta| cta.executed).sum() })
}

/// CTAs still to run.
struct Grid<'a, I> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    rest: I,
    at_once: usize,
}

/// The CTAs that run at once. One that has ended gives its room to another.
pub(super) struct Residents<'a, 'm> {
    pub(super) ctas: Vec<Cta<'a>>,
    /// No other can join them before one of them ends.
    pub(super) is_full: bool,
    memory: &'m mut FlatMemory,
    livelock: Livelock,
    pub(super) issued: u64,
}

impl<'a, 'm> Residents<'a, 'm> {
    pub(super) fn new(memory: &'m mut FlatMemory) -> Self {
        Self { ctas: Vec::new(), is_full: false, memory, livelock: Livelock::default(), issued: 0 }
    }

    /// One more CTA.
    pub(super) fn join(&mut self, launch: &'a Launch<'a>, code: &'a Code, index: [u32; 3]) -> Result<(), InterpError> {
        let mut cta = Cta::new(launch, code)?;
        cta.begin(index);
        self.ctas.push(cta);
        self.livelock.changed();
        Ok(())
    }

    /// A CTA in the room of one that has ended.
    pub(super) fn replace(&mut self, cta: usize, index: [u32; 3]) {
        self.ctas[cta].begin(index);
        self.livelock.changed();
    }

    /// Runs one instruction of a warp that can go on.
    #[inline]
    pub(super) fn issue(&mut self, cta: usize, warp: usize, watcher: Option<Watcher<'_>>) -> Result<(), InterpError> {
        let one = &mut self.ctas[cta];
        if self.is_full && self.livelock.look(one, warp) && self.livelock.is_proven(&self.ctas) {
            return Err(livelock(&self.ctas, self.issued));
        }
        let one = &mut self.ctas[cta];
        std::mem::swap(&mut one.memory, self.memory);
        let ran = one.issue(warp, watcher);
        std::mem::swap(&mut one.memory, self.memory);
        self.issued += 1;
        if std::mem::take(&mut one.has_changed) {
            self.livelock.changed();
        }
        ran
    }

    /// Runs a warp until it must wait, for so many instructions at most.
    fn burst(&mut self, cta: usize, warp: usize, most: u64) -> Result<(), InterpError> {
        let end = self.issued + most;
        while self.issued < end && self.ctas[cta].can_run(warp) {
            self.issue(cta, warp, None)?;
        }
        Ok(())
    }

    /// Runs a CTA for a turn; its warps take shorter ones, from the first or from the last.
    fn turn(&mut self, cta: usize, is_backward: bool) -> Result<(), InterpError> {
        let end = self.issued + TURN;
        let last = self.ctas[cta].warps.len() - 1;
        while self.issued < end && !self.ctas[cta].is_done() {
            for warp in 0..=last {
                self.burst(cta, if is_backward { last - warp } else { warp }, BURST)?;
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.ctas.iter().all(Cta::is_done)
    }

    /// Has the next CTA of the grid join, if there is one.
    fn admit(&mut self, grid: &mut Grid<'a, impl Iterator<Item = [u32; 3]>>) -> Result<bool, InterpError> {
        let next = if self.ctas.len() < grid.at_once { grid.rest.next() } else { None };
        self.is_full = next.is_none();
        next.map_or(Ok(()), |index| self.join(grid.launch, grid.code, index))?;
        Ok(next.is_some())
    }

    fn forward(&mut self, grid: &mut Grid<'a, impl Iterator<Item = [u32; 3]>>) -> Result<(), InterpError> {
        loop {
            if !self.admit(grid)? && self.is_done() {
                return Ok(());
            }
            let mut has_ended = true;
            while has_ended {
                has_ended = false;
                for cta in 0..self.ctas.len() {
                    self.turn(cta, false)?;
                    if self.ctas[cta].is_done()
                        && let Some(index) = grid.rest.next()
                    {
                        self.replace(cta, index);
                        has_ended = true;
                    }
                }
            }
        }
    }

    fn backward(&mut self, grid: &mut Grid<'a, impl Iterator<Item = [u32; 3]>>) -> Result<(), InterpError> {
        while self.admit(grid)? {}
        // Rooms, that of the CTA which began last at the end.
        let mut rooms: Vec<usize> = (0..self.ctas.len()).collect();
        while !self.is_done() {
            for at in (0..rooms.len()).rev() {
                self.turn(rooms[at], true)?;
                if self.ctas[rooms[at]].is_done()
                    && let Some(index) = grid.rest.next()
                {
                    self.replace(rooms[at], index);
                    rooms[at..].rotate_left(1);
                    break;
                }
            }
        }
        Ok(())
    }

    fn randomly(&mut self, grid: &mut Grid<'a, impl Iterator<Item = [u32; 3]>>, seed: u64) -> Result<(), InterpError> {
        while self.admit(grid)? {}
        let mut random = Random(seed);
        // Rooms in which a CTA runs.
        let mut live: Vec<usize> = (0..self.ctas.len()).collect();
        while !live.is_empty() {
            let at = random.below(live.len());
            let cta = live[at];
            let warps = self.ctas[cta].warps.len();
            // Of a CTA that is not done, one warp at least can go on.
            let first = random.below(warps);
            let warp = (0..warps).map(|turn| (first + turn) % warps).find(|&warp| self.ctas[cta].can_run(warp));
            let most = 1 << random.below(RANDOM_BURSTS as usize);
            warp.map_or(Ok(()), |warp| self.burst(cta, warp, most))?;
            if self.ctas[cta].is_done() {
                match grid.rest.next() {
                    Some(index) => self.replace(cta, index),
                    None => drop(live.swap_remove(at)),
                }
            }
        }
        Ok(())
    }
}

/// Numbers without a pattern (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % count as u64) as usize
    }
}
