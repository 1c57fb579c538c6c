//! Orders in which the interpreter runs warps and CTAs. A program must not rely on any particular order. If
//! two orders leave different bytes in memory, the result of the program depends on the order.

use super::code::{Code, decode};
use super::livelock::{Livelock, livelock};
use super::undefined::{UndefinedRead, reads_undefined};
use super::warps::Watcher;
use super::{Counts, Cta, InterpError, Launch, Polls, Sms, check, ctas, run_steps};
use crate::memory::FlatMemory;

/// Maximum number of instructions that a warp runs per turn. The turn ends earlier if the warp must wait, or
/// if it polls shared memory ([`super::Polls`]).
const BURST: u64 = 1 << 12;
/// Maximum number of warp instructions that a CTA runs per turn. The turn ends earlier if the CTA ends.
const TURN: u64 = 1 << 17;
/// Number of different turn lengths in a random order. The lengths are powers of two, from 1 to 2^10
/// instructions.
const RANDOM_BURSTS: u64 = 11;

/// Order in which warps and CTAs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// CTAs run one after the other, and each CTA starts with its first warp. If a CTA does not end within
    /// its turn, further CTAs start while it continues.
    Forward,
    /// As many CTAs as fit are resident. Of these, the CTA that started last runs first, starting with its
    /// last warp.
    Backward,
    /// All warps run round robin, one instruction at a time.
    Turns,
    /// Randomly selected warps of randomly selected CTAs run for random numbers of instructions. The number
    /// is the seed of the random generator.
    Random(u64),
}

impl Order {
    /// All orders except [`Order::Forward`]. They serve to find results that depend on the order.
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

/// Runs a launch to its end in [`Order::Forward`]: one CTA after the other.
///
/// # Errors
/// Returns an error if the launch does not fit its kernel, a thread performs an illegal operation, or warps
/// loop forever.
pub fn run(launch: &Launch<'_>, memory: &mut FlatMemory) -> Result<Counts, InterpError> {
    run_in(Order::Forward, launch, Sms { count: 1, ctas: usize::MAX }, memory)
}

/// Runs a launch in [`Order::Forward`], and finds registers that a thread uses before it has written them.
/// Each such read in the program is reported once, with the first thread that executes it.
///
/// # Errors
/// Returns the same errors as [`run`].
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

/// Runs a launch to its end in the given order. As many CTAs are resident as fit on the SMs.
///
/// # Errors
/// Returns the same errors as [`run`].
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

/// Grid of a launch, with the CTAs that have not started.
struct Grid<'a, I> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    rest: I,
    at_once: usize,
}

/// Resident CTAs of a launch. When a CTA has ended, the next CTA of the grid reuses its memory and registers.
pub(super) struct Residents<'a, 'm> {
    pub(super) ctas: Vec<Cta<'a>>,
    /// True if no further CTA can become resident before a resident CTA ends.
    pub(super) is_full: bool,
    memory: &'m mut FlatMemory,
    livelock: Livelock,
    pub(super) issued: u64,
    /// True if a CTA has ended since the flag was last cleared.
    pub(super) has_ended: bool,
}

impl<'a, 'm> Residents<'a, 'm> {
    pub(super) fn new(memory: &'m mut FlatMemory) -> Self {
        Self { ctas: Vec::new(), is_full: false, memory, livelock: Livelock::default(), issued: 0, has_ended: false }
    }

    /// Makes one more CTA resident.
    pub(super) fn join(&mut self, launch: &'a Launch<'a>, code: &'a Code, index: [u32; 3]) -> Result<(), InterpError> {
        let mut cta = Cta::new(launch, code)?;
        cta.begin(index);
        self.ctas.push(cta);
        self.livelock.restart();
        Ok(())
    }

    /// Starts a new CTA, which reuses the memory and registers of a CTA that has ended.
    pub(super) fn replace(&mut self, cta: usize, index: [u32; 3]) {
        self.ctas[cta].begin(index);
        self.livelock.restart();
    }

    /// Runs one instruction of a warp that does not wait and has not ended.
    #[inline]
    pub(super) fn issue(&mut self, cta: usize, warp: usize, watcher: Option<Watcher<'_>>) -> Result<(), InterpError> {
        let one = &mut self.ctas[cta];
        if self.is_full && self.livelock.on_instruction(one, warp) && self.livelock.is_proven(&self.ctas) {
            return Err(livelock(&self.ctas, self.issued));
        }
        let one = &mut self.ctas[cta];
        let ran = one.issue(warp, self.memory, watcher);
        self.issued += 1;
        if std::mem::take(&mut one.has_changed) {
            self.livelock.restart();
            self.has_ended |= one.is_done();
        }
        ran
    }

    /// Runs a warp until it must wait, polls shared memory, or has run `most` instructions.
    fn burst(&mut self, cta: usize, warp: usize, most: u64) -> Result<(), InterpError> {
        let end = self.issued + most;
        self.ctas[cta].polls = Polls::default();
        while self.issued < end && self.ctas[cta].can_run(warp) && !self.ctas[cta].polls.is_repeated {
            self.issue(cta, warp, None)?;
        }
        Ok(())
    }

    /// Runs a CTA for one turn. Within it, the warps of the CTA take shorter turns, in ascending order or, if
    /// `is_backward` is true, in descending order.
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

    /// Makes the next CTA of the grid resident, if there is one and it fits. Returns true if a CTA was added.
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
        // Indices of the resident CTAs, sorted by the time of their start; the CTA that started last is at
        // the end.
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
        // Indices of the resident CTAs that have not ended.
        let mut live: Vec<usize> = (0..self.ctas.len()).collect();
        while !live.is_empty() {
            let at = random.below(live.len());
            let cta = live[at];
            let warps = self.ctas[cta].warps.len();
            // The search below finds a warp, because a CTA that has not ended has at least one warp that can
            // run.
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

/// Pseudorandom number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % count as u64) as usize
    }
}
