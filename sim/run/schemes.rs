//! Counters that schemes declare themselves, grouped by the hardware units to which the schemes belong.

use rtl::dram::policy::PolicyConfig;
use rtl::kernel::CounterReader;
use rtl::l1::bypass::BypassConfig;
use rtl::l1::cache::CacheId;
use rtl::l1::prefetch::PrefetchConfig;
use rtl::l1::victim::VictimConfig;
use rtl::l2::bypass::L2Bypass;
use rtl::l2::partition::L2Partition;
use rtl::l2::prefetch::L2Prefetch;
use rtl::machine::Machine;
use rtl::mshr_policy::{Level, MshrPolicyConfig};
use rtl::replacement::ReplacementConfig;
use rtl::scheme_counts::SchemeCounts;
use rtl::sm::scheduler::SchedulerConfig;
use rtl::throttle::ThrottleConfig;
use serde::{Deserialize, Serialize};

/// Group of values, one for each kind of hardware unit that can have schemes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerUnit<T> {
    /// SM cores, which have throttles and warp schedulers.
    pub core: T,
    /// L1Ds.
    pub l1: T,
    /// Constant caches.
    pub const_cache: T,
    /// Texture caches.
    pub texture_cache: T,
    /// L2 banks.
    pub l2: T,
    /// Banks of the sharing tracker.
    pub tracker: T,
    /// DRAM channels.
    pub dram: T,
}

/// Counters of the schemes, with one entry per hardware unit. If the schemes of a kind of unit declare no
/// counters, the list for this kind is empty.
pub type SchemeUnits = PerUnit<Vec<SchemeCounts>>;

impl SchemeUnits {
    /// Reads the current counters of the schemes of a machine.
    pub(super) fn gather(machine: &Machine) -> Self {
        let caches = |id| units(machine.lsus().iter().map(|lsu| lsu.scheme_counts_of(id)));
        Self {
            core: units(machine.cores().iter().map(|core| core.scheme_counts())),
            l1: caches(CacheId::L1d),
            const_cache: caches(CacheId::Const),
            texture_cache: caches(CacheId::Texture),
            l2: units(machine.banks().iter().map(|bank| bank.scheme_counts())),
            tracker: units(machine.trackers().iter().map(|bank| bank.scheme_counts())),
            dram: units(machine.drams().iter().map(|channel| channel.scheme_counts())),
        }
    }

    /// True if no scheme declares a counter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns one unit of each kind, which has the counters of all schemes that are linked into the program
    /// for this kind.
    pub(crate) fn linked() -> Self {
        let unit = |list: &dyn Fn(&mut dyn CounterReader)| units([SchemeCounts::all(list)].into_iter());
        Self {
            core: unit(&|to| {
                ThrottleConfig::list_counters(to);
                SchedulerConfig::list_counters(to);
            }),
            l1: unit(&|to| {
                BypassConfig::list_counters(to);
                PrefetchConfig::list_counters(to);
                VictimConfig::list_counters(to);
                MshrPolicyConfig::list_counters(Level::L1d, to);
                ReplacementConfig::list_counters("l1", to);
            }),
            const_cache: unit(&|to| ReplacementConfig::list_counters("const_cache", to)),
            texture_cache: unit(&|to| ReplacementConfig::list_counters("texture_cache", to)),
            l2: unit(&|to| {
                L2Bypass::list_counters(to);
                L2Prefetch::list_counters(to);
                ReplacementConfig::list_counters("l2", to);
                L2Partition::list_counters(to);
                MshrPolicyConfig::list_counters(Level::L2, to);
            }),
            tracker: unit(&|to| ReplacementConfig::list_counters("tracker", to)),
            dram: unit(&|to| PolicyConfig::list_counters(to)),
        }
    }

    /// Returns the differences between these counters and `earlier` counters of the same machine.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let units = |now: &[SchemeCounts], earlier: &[SchemeCounts]| {
            let mut counts = now.to_vec();
            counts.iter_mut().zip(earlier).for_each(|(now, earlier)| now.subtract(earlier));
            counts
        };
        Self {
            core: units(&self.core, &earlier.core),
            l1: units(&self.l1, &earlier.l1),
            const_cache: units(&self.const_cache, &earlier.const_cache),
            texture_cache: units(&self.texture_cache, &earlier.texture_cache),
            l2: units(&self.l2, &earlier.l2),
            tracker: units(&self.tracker, &earlier.tracker),
            dram: units(&self.dram, &earlier.dram),
        }
    }

    /// Sums the counters over all units of each kind.
    pub(super) fn totals(&self) -> PerUnit<SchemeCounts> {
        PerUnit {
            core: SchemeCounts::total(&self.core),
            l1: SchemeCounts::total(&self.l1),
            const_cache: SchemeCounts::total(&self.const_cache),
            texture_cache: SchemeCounts::total(&self.texture_cache),
            l2: SchemeCounts::total(&self.l2),
            tracker: SchemeCounts::total(&self.tracker),
            dram: SchemeCounts::total(&self.dram),
        }
    }
}

/// Collects the counters of the units of one kind; the result is empty if no unit has any.
fn units(counts: impl Iterator<Item = SchemeCounts>) -> Vec<SchemeCounts> {
    let counts: Vec<_> = counts.collect();
    if counts.iter().all(SchemeCounts::is_empty) { Vec::new() } else { counts }
}
