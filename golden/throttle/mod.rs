//! # Twins of the schemes that throttle warps
//! Each knows a part of a scheme without cycles and messages. It reads the keys that the scheme's hardware reads, and is
//! found by the same `kind`.

automod::dir!(pub "throttle");

use std::fmt::Debug;

/// The keys of a scheme, from which its twins are made.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Which lines warps lose, if it goes by that.
    fn losses(&self) -> Option<Box<dyn Losses>> {
        None
    }

    /// Which warps may load, if it goes by the lines that they lose.
    fn admission(&self) -> Option<Box<dyn Admission>> {
        None
    }

    /// The search for a limit, if there is one: for so many cores, of whose schedulers each has `most` warps.
    fn search(&self, _cores: usize, _most: usize) -> Option<Box<dyn Search>> {
        None
    }
}

/// The lines that each warp lost.
pub trait Losses: Debug + Send {
    /// `warp` misses `line`, for which `old` gives way. Returns whether it had lost the line.
    fn missed(&mut self, old: Option<u64>, warp: u8, line: u64) -> bool;

    /// A store takes the line from everyone.
    fn stored(&mut self, line: u64);
}

/// Who may load, of the warps that run.
pub trait Admission: Debug + Send {
    /// A warp begins.
    fn start(&mut self, warp: u8);

    /// A warp ends.
    fn end(&mut self, warp: u8);

    /// A warp issues.
    fn issued(&mut self, warp: u8);

    /// A warp has lost locality.
    fn lost(&mut self, warp: u8);

    /// A cycle passes.
    fn pass(&mut self);

    /// The score of a warp.
    fn score(&self, warp: u8) -> Option<u64>;

    /// Warps that may load, in ascending order.
    fn admitted(&self) -> Vec<u8>;
}

/// What a core counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads that missed.
    pub misses: u64,
    /// Thread instructions.
    pub instructions: u64,
}

/// What the cores are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// To try these limits, core by core.
    Sample(Vec<usize>),
    /// To keep this limit.
    Fixed(usize),
}

/// The search for a limit of warps.
pub trait Search: Debug + Send {
    /// A kernel begins.
    fn begin(&mut self, kernel: u16);

    /// A period has ended.
    fn period(&mut self, counts: &[Counts]) -> Answer;

    /// A sample has ended, in which the cores got so many instructions done.
    fn sampled(&mut self, instructions: &[u64]) -> Answer;
}

/// The warps that a limit leaves: of those in the order of their launch that `can` go on, the first so
/// many.
pub fn oldest<W: Copy>(launched: &[W], can: impl Fn(W) -> bool, limit: usize) -> Vec<W> {
    launched.iter().copied().filter(|warp| can(*warp)).take(limit).collect()
}
