//! # Bypass of loads that would stall
//! Lets a load bypass the L1D instead of stalling on a reservation fail. The configuration selects the kinds
//! of reservation fail that permit this (li2015 section 6.1, khairy2015 Table 4). This scheme is a component
//! of MRPB, the memory request prioritization buffer.

use super::super::event::{Fails, Load, Space};
use super::{Bypass, Contents, Path};

/// Reference model of the bypass-on-stall scheme.
#[derive(Clone, Copy, Debug)]
pub struct BypassOnStall {
    /// Kinds of reservation fails on which a load may bypass the cache instead of stalling.
    pub covered: Fails,
}

impl Bypass for BypassOnStall {
    /// Returns [`Path::Either`] for a load that may bypass: both paths are legal. The decision of the
    /// hardware also depends on the miss-queue occupancy at the time when the load is at the head of the
    /// access queue. The model does not know this occupancy.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        let Fails { line_alloc, mshr_entry, mshr_merge, miss_queue, mshr_policy } = contents.refusals(load);
        let covered = self.covered;
        let may_bypass = line_alloc && covered.line_alloc
            || mshr_entry && covered.mshr_entry
            || mshr_merge && covered.mshr_merge
            || miss_queue && covered.miss_queue
            || mshr_policy && covered.mshr_policy;
        if load.space == Space::Global && may_bypass { Path::Either } else { Path::Lookup }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct RefusingCache(Fails);

    impl Contents for RefusingCache {
        fn set_of(&self, _line: u64) -> usize {
            0
        }
        fn has_tag(&self, _line: u64) -> bool {
            false
        }
        fn eviction_candidates(&self, _set: usize) -> Option<Vec<u64>> {
            None
        }
        fn refusals(&self, _load: &Load) -> Fails {
            self.0
        }
    }

    #[test]
    fn only_global_loads_that_are_refused_for_a_reason_covered_may_go_past() {
        let none = Fails::default();
        let reasons = [
            Fails { line_alloc: true, ..none },
            Fails { mshr_entry: true, ..none },
            Fails { mshr_merge: true, ..none },
            Fails { miss_queue: true, ..none },
            Fails { mshr_policy: true, ..none },
        ];
        for covered in reasons {
            for refused in reasons.into_iter().chain([none]) {
                let way =
                    |space| BypassOnStall { covered }.way(&Load { space, ..Load::of(7) }, &RefusingCache(refused));
                assert_eq!(way(Space::Local), Path::Lookup);
                assert_eq!(way(Space::Global) == Path::Either, refused == covered, "{refused:?} of {covered:?}");
            }
        }
    }
}
