//! # Bank with a streaming monitor, by lists
//! Says where each access finds its line, given one access at a time: here, nowhere, or past the bank
//! (khairy2015 section 4.1). A set is a list of lines from least to most recently used, some of which are
//! only tags.

use crate::index::SetIndex;
use crate::l1::streaming::{Config, Streaming};

/// What is asked of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its bytes.
    Read,
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

/// A bank.
#[derive(Clone, Debug)]
pub struct Bank {
    index: SetIndex,
    ways: usize,
    /// Lines of each set, and whether only their tags are here.
    sets: Vec<Vec<(u64, bool)>>,
    monitor: Streaming,
}

impl Bank {
    /// An empty bank.
    pub fn new(index: SetIndex, ways: usize, config: Config) -> Self {
        Self { index, ways, sets: vec![Vec::new(); index.sets()], monitor: Streaming::new(config) }
    }

    /// An access in a cycle, which is over before the next.
    pub fn access(&mut self, cycle: u64, line: u64, access: Access) -> Served {
        self.monitor.reach(cycle);
        let set = &mut self.sets[self.index.set_of_line(line)];
        let place = set.iter().position(|(other, _)| *other == line);
        if access == Access::Read {
            self.monitor.note(place.is_none());
        }
        let is_tag = place.is_none_or(|place| set[place].1);
        let passes = is_tag && self.monitor.is_closed() && access != Access::Atomic;
        if passes && access == Access::Write {
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
