//! # Bank that does not keep all it misses, by lists
//! Says where each access finds its line, given one access at a time: here, nowhere, or past the bank. A set is a list of
//! lines from least to most recently used, some of which are only tags. What goes past is a scheme's to say; each is a
//! file.

automod::dir!(pub "l2/bypass");

use std::fmt::Debug;

use crate::index::SetIndex;

/// What is asked of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its bytes; whether an L1 will keep them.
    Read {
        /// An L1 will.
        kept: bool,
    },
    /// To change some of them.
    Write,
    /// To change words of it by what they are.
    Atomic,
}

/// Where an access was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// By the bytes here.
    Here,
    /// Here, after a place was made for the line.
    Brought,
    /// By memory, past the bank.
    Past,
}

/// The keys of a scheme, from which its twin is made.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug {
    /// The twin.
    fn twin(&self) -> Box<dyn Bypass>;
}

/// Which accesses to lines that are not here go past.
pub trait Bypass: Debug {
    /// Whether this one does; atomics are not asked about.
    fn lets_past(&self, access: Access) -> bool;

    /// Whether a line that went past leaves its tag.
    fn leaves_tags(&self) -> bool {
        true
    }

    /// Something happens in a cycle.
    fn reach(&mut self, _cycle: u64) {}

    /// A read is served, and knew a tag of its line or missed.
    fn note(&mut self, _missed: bool) {}
}

/// A bank.
#[derive(Debug)]
pub struct Bank {
    index: SetIndex,
    ways: usize,
    /// Lines of each set, and whether only their tags are here.
    sets: Vec<Vec<(u64, bool)>>,
    bypass: Box<dyn Bypass>,
}

impl Bank {
    /// An empty bank.
    pub fn new(index: SetIndex, ways: usize, bypass: Box<dyn Bypass>) -> Self {
        Self { index, ways, sets: vec![Vec::new(); index.sets()], bypass }
    }

    /// An access in a cycle, which is over before the next.
    pub fn access(&mut self, cycle: u64, line: u64, access: Access) -> Served {
        self.bypass.reach(cycle);
        let set = &mut self.sets[self.index.set_of_line(line)];
        let place = set.iter().position(|(other, _)| *other == line);
        if matches!(access, Access::Read { .. }) {
            self.bypass.note(place.is_none());
        }
        let is_tag = place.is_none_or(|place| set[place].1);
        let passes = is_tag && access != Access::Atomic && self.bypass.lets_past(access);
        if passes && (access == Access::Write || !self.bypass.leaves_tags()) {
            return Served::Past;
        }
        if let Some(place) = place {
            set.remove(place);
        } else if set.len() == self.ways {
            set.remove(0);
        }
        set.push((line, passes));
        match (is_tag, passes) {
            (false, _) => Served::Here,
            (true, false) => Served::Brought,
            (true, true) => Served::Past,
        }
    }
}
