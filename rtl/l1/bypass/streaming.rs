//! # Streaming bypass
//! Closes the cache while nearly all loads miss, so that loads bypass it (khairy2015 section 4.1). The tags
//! are still updated, without data, to detect when the cache would be useful again. A monitor of the miss
//! rate decides when the cache closes and reopens.

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::super::tag_store::TagStore;
use super::super::tags::{LineUse, Probe};
use super::super::watch::Outcome;
use super::{BypassProbe, CacheGeometry, Hooks, Scheme, View};
use crate::cells::streaming::{Streaming, StreamingConfig};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge};

#[typetag::serde(name = "streaming")]
impl Scheme for StreamingConfig {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(StreamingBypass::new(self)))
    }

    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }

    fn keeps_tags(&self) -> bool {
        true
    }
}

/// Streaming bypass scheme of one cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StreamingBypass {
    config: StreamingConfig,
    monitor: Streaming,
}

impl StreamingBypass {
    /// Creates the streaming bypass scheme of a cache. The cache is open at first, and the monitor ends its
    /// periods by its own timer.
    fn new(config: &StreamingConfig) -> Self {
        Self { config: config.clone(), monitor: Streaming::new(config, true) }
    }

    /// Invalidates all tag-only ways if the cache has just reopened (`opened` is true) and the configuration
    /// requires this flush.
    fn reopen_cache(&self, at: &Edge<'_>, opened: bool, tags: &mut TagStore) {
        if opened && self.monitor.flushes() {
            tags.drop_tag_only(at);
        }
    }
}

#[typetag::serde]
impl Hooks for StreamingBypass {
    fn start(&mut self, at: &Edge<'_>, tags: &mut TagStore) {
        let opened = self.monitor.reach(at.cycle);
        self.reopen_cache(at, opened, tags);
    }

    fn bypasses(&self, _at: &Edge<'_>, head: &LineAccess, _view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && self.monitor.is_closed()
    }

    fn on_lookup(&mut self, _at: &Edge<'_>, _load: &LineAccess, _place: (u32, Option<u32>), outcome: Outcome) {
        if !matches!(outcome, Outcome::Refused(..)) {
            self.monitor.count(matches!(outcome, Outcome::Miss(_)));
        }
    }

    /// Updates the tags for a bypassing load. If the line has a tag, updates its replacement rank; otherwise
    /// inserts a tag without data.
    fn on_bypass(&mut self, at: &Edge<'_>, load: &LineAccess, tags: &mut TagStore) -> BypassProbe {
        let line = load.line;
        let set = tags.set_of(line);
        let probe = match tags.probe(at, set, line) {
            Probe::Present { way, .. } | Probe::TagOnly { way } | Probe::Reserved { way } => {
                tags.touch(at, (set, way), LineUse::Load, load.source());
                BypassProbe::default()
            }
            Probe::Absent => BypassProbe { missed: true, evicted: tags.insert_tag_only(at, set, line) },
        };
        self.monitor.count(probe.missed);
        probe
    }

    fn next_choice(&self) -> Option<u64> {
        self.monitor.ends()
    }

    fn follow_periods(&mut self) {
        self.monitor = Streaming::new(&self.config, false);
    }

    fn end_period(&mut self, at: &Edge<'_>, may_close: bool, tags: &mut TagStore) {
        let opened = self.monitor.end_period(may_close);
        self.reopen_cache(at, opened, tags);
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, monitor } = self;
        to.part("streaming", |to| monitor.describe(to));
    }
}
