//! # Warp throttling schemes
//! Reference models of the warp throttling schemes, without cycles and messages. The `kind` key of a
//! configuration selects the scheme, both in the hardware and in the reference model.

automod::dir!(pub "throttle");

use std::fmt::Debug;

/// Configuration of a warp throttling scheme. It can create the reference models of the scheme.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the model that detects lost locality; `None` if the scheme does not use lost locality.
    fn losses(&self) -> Option<Box<dyn Losses>> {
        None
    }

    /// Creates the model that selects the warps that may load; `None` if the scheme does not select them by
    /// lost locality.
    fn admission(&self) -> Option<Box<dyn Admission>> {
        None
    }

    /// Creates the model of the search for a warp limit; `None` if the scheme has no such search. `_most` is
    /// the number of warps per scheduler.
    fn search(&self, _cores: usize, _most: usize) -> Option<Box<dyn Search>> {
        None
    }
}

/// Detector of lost locality. It tracks the lines that each warp allocated and lost by eviction.
pub trait Losses: Debug + Send {
    /// Records that `warp` misses `line`, for which the cache evicts `old`. Returns true if the warp has lost
    /// `line` before: a lost-locality event.
    fn on_miss(&mut self, old: Option<u64>, warp: u8, line: u64) -> bool;

    /// Removes a line from the victim tags of all warps, because of a store to it.
    fn on_store(&mut self, line: u64);
}

/// Selection of the resident warps that may issue loads.
pub trait Admission: Debug + Send {
    /// Records that a warp becomes resident.
    fn start(&mut self, warp: u8);

    /// Records that a warp ends and is no longer resident.
    fn end(&mut self, warp: u8);

    /// Records that a warp issues an instruction.
    fn on_issue(&mut self, warp: u8);

    /// Records a lost-locality event of a warp: it missed a line that it had lost before.
    fn on_lost_locality(&mut self, warp: u8);

    /// Advances the model by one cycle.
    fn tick(&mut self);

    /// Returns the lost-locality score of a warp, or `None` if the warp is not resident.
    fn score(&self, warp: u8) -> Option<u64>;

    /// Returns the numbers of the warps that may issue loads, in ascending order.
    fn admitted_warps(&self) -> Vec<u8>;
}

/// Counts of one core (SM) in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of loads that missed.
    pub misses: u64,
    /// Number of thread instructions executed.
    pub instructions: u64,
}

/// Decision that the search for a warp limit broadcasts to all cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The warp limits do not change.
    Nothing,
    /// Each core tries its own warp limit; the list holds one limit per core.
    Sample(Vec<usize>),
    /// All cores use this warp limit from now on.
    Fixed(usize),
}

/// Search for the best warp limit.
pub trait Search: Debug + Send {
    /// Starts a kernel. The key `kernel` identifies it when it runs again.
    fn begin(&mut self, kernel: u16);

    /// Ends a period. `counts` holds the counts of each core in that period.
    fn period(&mut self, counts: &[Counts]) -> Answer;

    /// Ends a sampling round. `instructions` holds the number of instructions that each core executed in it.
    fn end_round(&mut self, instructions: &[u64]) -> Answer;
}

/// Returns the warps that may issue under a warp limit: the first `limit` warps in launch order among those
/// for which `can` returns true.
pub fn oldest<W: Copy>(launched: &[W], can: impl Fn(W) -> bool, limit: usize) -> Vec<W> {
    launched.iter().copied().filter(|warp| can(*warp)).take(limit).collect()
}
