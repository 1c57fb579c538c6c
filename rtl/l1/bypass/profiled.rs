//! # Bypass by a profile
//! Makes a load bypass the L1D if an earlier untimed run requested its line too seldom (li2015 section 6.1,
//! Profiled-BYPASS). The simulator (host code) provides the list of admitted lines, which models no hardware.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::access::MemorySpace;
use super::super::coalescer::LineAccess;
use super::{CacheGeometry, Hooks, Scheme, View};
use crate::config::Rules;
use crate::kernel::Edge;

/// SMs whose requests in the profile decide which lines the L1D of an SM admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileScope {
    /// Counts only the requests that the SM itself made in the profiled run.
    Local,
    /// Counts the requests that all SMs together made in the profiled run.
    Global,
    /// Admits a line if either its requests from the SM itself or those from all SMs reach the threshold.
    Either,
}

/// Configuration of the profiled bypass: loads use the L1 only if an earlier run requested their lines often
/// enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfiledConfig {
    /// SMs whose requests in the profile are counted.
    pub scope: ProfileScope,
    /// Minimum number of requests: a line with at least this many requests in a kernel launch is admitted to
    /// the L1D.
    pub threshold: u32,
}

impl Default for ProfiledConfig {
    fn default() -> Self {
        Self { scope: ProfileScope::Either, threshold: 2 }
    }
}

#[typetag::serde(name = "profiled")]
impl Scheme for ProfiledConfig {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Profiled::default()))
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }

    fn supports_prefetch(&self) -> bool {
        true
    }

    fn profile(&self) -> Option<&ProfiledConfig> {
        Some(self)
    }

    fn validate(&self, rules: &mut Rules) {
        let threshold = u64::from(self.threshold);
        rules.range("threshold", threshold, 1..=1 << 20, "a line that is never requested is not in the profile");
    }
}

/// Profiled bypass of one cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Profiled {
    /// Sorted list of the lines admitted in this kernel. It is `None` until the simulator sets the list; all
    /// lines are admitted until then.
    admitted: Option<Arc<[u64]>>,
}

#[typetag::serde]
impl Hooks for Profiled {
    fn bypasses(&self, _at: &Edge<'_>, head: &LineAccess, _view: &View<'_>) -> bool {
        let is_kept_out = |lines: &Arc<[u64]>| lines.binary_search(&head.line).is_err();
        head.space == MemorySpace::Global && self.admitted.as_ref().is_some_and(is_kept_out)
    }

    fn admit(&mut self, lines: &Arc<[u64]>) {
        self.admitted = Some(Arc::clone(lines));
    }
}
