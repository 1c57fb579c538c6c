//! # Streaming bypass of the L1D
//! While the streaming monitor keeps the cache closed, global loads bypass the cache and allocate only tags,
//! as tag-only lines (khairy2015 section 4.1).

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::super::streaming::{Config, Streaming};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Treatment of tag-only lines when the closed cache opens again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reopen {
    /// Tag-only lines remain, and the first load of each is a miss.
    Miss,
    /// All tag-only lines are dropped.
    Flush,
}

/// Configuration of the streaming bypass.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    period: u64,
    miss_percent: usize,
    min_accesses: usize,
    reopen: Reopen,
}

#[typetag::deserialize(name = "streaming")]
impl Scheme for Keys {
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        let &Self { period, miss_percent, min_accesses, reopen } = self;
        let period = place.own_periods.then_some(period);
        let config = Config { period, miss_percent, min_accesses, flush: reopen == Reopen::Flush };
        Some(Box::new(Streaming::new(config)))
    }
}

impl Bypass for Streaming {
    fn way(&self, load: &Load, _contents: &dyn Contents) -> Path {
        if load.space == Space::Global && self.is_closed() { Path::Bypass } else { Path::Lookup }
    }

    fn on_access(&mut self, _load: &Load, _set: usize, missed: bool) {
        self.note(missed);
    }

    fn on_bypass(&mut self, _load: &Load, _set: usize, known: bool) {
        self.note(!known);
    }

    fn leaves_tags(&self) -> bool {
        true
    }

    fn reach(&mut self, cycle: u64) -> bool {
        Self::advance(self, cycle)
    }

    fn end_period(&mut self, may_close: bool) -> bool {
        self.end(may_close)
    }
}
