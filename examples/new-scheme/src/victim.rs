//! # A victim cache that replaces the oldest line
//! Keeps each clean line that the L1D evicts, in the order in which the lines entered. A new line replaces the line
//! that entered first, no matter whether loads have found it since (FIFO).

pub mod twin;

use rtl::cells::lru::Recency;
use rtl::config::Rules;
use rtl::kernel::{Counted, CounterReader, Describe, DescribeExt, Edge, Payload};
use rtl::l1::victim::{Hooks, Scheme};
use serde::{Deserialize, Serialize};

/// Configuration keys of this victim cache, which a machine or design selects in `l1.victim`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewVictim {
    /// Number of lines that the victim cache holds.
    pub lines: u32,
}

impl Default for NewVictim {
    fn default() -> Self {
        Self { lines: 8 }
    }
}

#[typetag::serde(name = "new-victim")]
impl Scheme for NewVictim {
    fn lines(&self) -> u32 {
        self.lines
    }

    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Queue { lines: self.lines, order: Recency::default(), counters: QueueCounters::default() }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("lines", u64::from(self.lines), 2..=16, "the order of the entries fits one word of 64 bits");
    }
}

/// Counters of this victim cache, in addition to its hits, swaps and lines kept, which are counted anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct QueueCounters {
    /// Lines that replaced the line that had entered first, because no entry was empty.
    #[counted(summary)]
    pub replaced: u64,
}

/// Hardware model of this victim cache: its entries in the order in which their lines entered.
#[derive(Debug, Serialize, Deserialize)]
struct Queue {
    lines: u32,
    order: Recency,
    counters: QueueCounters,
}

#[typetag::serde(name = "new-victim")]
impl Hooks for Queue {
    fn on_evict(&mut self, _at: &Edge<'_>, _line: u64, empty: Option<u32>) -> Option<u32> {
        let entry = empty.or_else(|| self.order.victim(self.lines, |_| true))?;
        self.order = self.order.promote(entry);
        self.counters.replaced += u64::from(empty.is_none());
        Some(entry)
    }

    fn lookup(&mut self, _at: &Edge<'_>, _entry: u32) {}

    fn swap(&mut self, _at: &Edge<'_>, entry: u32, _evicted: Option<u64>) -> bool {
        self.order = self.order.promote(entry);
        true
    }

    fn clear(&mut self) {
        self.order = Recency::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { lines, order, counters: _ } = self;
        to.part("new_victim", |to| {
            order.fields(lines, to);
            Recency::describe_logic(*lines, to);
        });
    }

    fn counters(&self, to: &mut dyn CounterReader) {
        self.counters.list(&(), to);
    }
}
