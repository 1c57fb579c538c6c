//! # Warp throttling schemes
//! Reference models of the warp throttling schemes, without cycles and messages. They read the configuration
//! of the hardware scheme, selected by the same `kind` key.

automod::dir!(pub "throttle");

use std::fmt::Debug;

/// Configuration of a scheme, from which the reference models are created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the model of lost lines, if the scheme tracks them.
    fn losses(&self) -> Option<Box<dyn Losses>> {
        None
    }

    /// Creates the model of the warps that may load, if the scheme decides by lost lines.
    fn admission(&self) -> Option<Box<dyn Admission>> {
        None
    }

    /// Creates the model of the search for a warp limit, if the scheme has one. `most` is the number of warps
    /// per scheduler.
    fn search(&self, _cores: usize, _most: usize) -> Option<Box<dyn Search>> {
        None
    }
}

/// Detector of lost locality: tracks the lines that each warp lost to evictions.
pub trait Losses: Debug + Send {
    /// Records that `warp` misses `line`, which evicts `old`. Returns true if the warp had lost `line`
    /// before.
    fn on_miss(&mut self, old: Option<u64>, warp: u8, line: u64) -> bool;

    /// Removes a line from all victim tags because of a store.
    fn on_store(&mut self, line: u64);
}

/// Selection of the resident warps that may load.
pub trait Admission: Debug + Send {
    /// Records the start of a warp.
    fn start(&mut self, warp: u8);

    /// Records the end of a warp.
    fn end(&mut self, warp: u8);

    /// Records an issued instruction of a warp.
    fn on_issue(&mut self, warp: u8);

    /// Records a lost-locality event of a warp.
    fn on_lost_locality(&mut self, warp: u8);

    /// Advances by one cycle.
    fn tick(&mut self);

    /// Returns the score of a warp, or `None` if it is not resident.
    fn score(&self, warp: u8) -> Option<u64>;

    /// Returns the warps that may load, in ascending order.
    fn admitted_warps(&self) -> Vec<u8>;
}

/// Counts of one core in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of loads that missed.
    pub misses: u64,
    /// Number of thread instructions.
    pub instructions: u64,
}

/// Decision of the search, broadcast to the cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No change of the limits.
    Nothing,
    /// Each core tries its own limit, in core order.
    Sample(Vec<usize>),
    /// All cores keep this limit.
    Fixed(usize),
}

/// Search for a warp limit.
pub trait Search: Debug + Send {
    /// Starts a kernel, identified by its key.
    fn begin(&mut self, kernel: u16);

    /// Ends a period with the counts of each core.
    fn period(&mut self, counts: &[Counts]) -> Answer;

    /// Ends a sampling round with the number of instructions executed by each core.
    fn end_round(&mut self, instructions: &[u64]) -> Answer;
}

/// Returns the warps that a limit allows: the first `limit` in launch order among those that satisfy `can`.
pub fn oldest<W: Copy>(launched: &[W], can: impl Fn(W) -> bool, limit: usize) -> Vec<W> {
    launched.iter().copied().filter(|warp| can(*warp)).take(limit).collect()
}
