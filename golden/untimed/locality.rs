//! # Locality classes of cache hits
//! Classifies every request that finds its line in a cache, by the relation of its warp to the previous user
//! of the line (khairy2015 section 3.1).
//!
//! | class        | the last request of the line came from          |
//! |--------------|-------------------------------------------------|
//! | intra-thread | the same warp, with at least one lane in common |
//! | inter-thread | the same warp, without a lane in common         |
//! | intra-block  | another warp of the CTA                         |
//! | intra-core   | another CTA on the SM                           |
//! | inter-core   | a CTA on another SM                             |
//! | inter-kernel | an earlier launch                               |
//!
//! Load requests access the L1, which is empty at the start of a launch. L1 misses and all writes access the
//! L2. Each level is modeled twice: with the machine's size, and without capacity limit. Both L2 models
//! receive the misses of the L1 with the machine's size.

use std::collections::BTreeMap;

use super::lines::Lines;
use super::{Config, is_uncached};
use crate::interp::{Access, InterpError, Launch, Sms, WarpStep, run_steps};
use crate::l1::coalescer::{LineRequest, WarpAccess, coalesce};
use crate::memory::FlatMemory;

/// Number of locality classes.
pub const CLASSES: usize = 6;
/// Names of the locality classes, from the closest to the farthest previous user of the line.
pub const CLASS_NAMES: [&str; CLASSES] =
    ["intra-thread", "inter-thread", "intra-block", "intra-core", "inter-core", "inter-kernel"];

/// Counts of the requests that accessed a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessCounts {
    /// Number of requests that accessed the cache.
    pub requests: u64,
    /// Number of requests that found their line in the cache, by locality class.
    pub found: [u64; CLASSES],
}

/// Counts of requests by locality class, for the caches of a machine and for caches without capacity limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalityCounts {
    /// Load requests at the L1s of all SMs.
    pub l1: AccessCounts,
    /// Load requests at L1s without capacity limit, which lose lines only to stores.
    pub l1_unbounded: AccessCounts,
    /// Requests at all L2 banks together.
    pub l2: AccessCounts,
    /// Requests at an L2 without capacity limit, which never loses a line.
    pub l2_unbounded: AccessCounts,
}

/// User of a cache line: the warp that accessed the line, and the time of the access.
#[derive(Clone, Copy, Debug)]
struct User {
    launch: u64,
    sm: usize,
    cta: [u32; 3],
    warp: usize,
    /// Mask of the lanes that accessed the line.
    lanes: u32,
}

impl User {
    /// Returns the locality class of a request that `self` makes for a line that `last` used before.
    fn class(&self, last: &Self) -> usize {
        match last {
            _ if last.launch != self.launch => 5,
            _ if last.sm != self.sm => 4,
            _ if last.cta != self.cta => 3,
            _ if last.warp != self.warp => 2,
            _ if last.lanes & self.lanes == 0 => 1,
            _ => 0,
        }
    }
}

impl AccessCounts {
    fn count(&mut self, user: &User, last: Option<&User>) {
        self.requests += 1;
        if let Some(last) = last {
            self.found[user.class(last)] += 1;
        }
    }
}

/// Two models of the caches, for all launches of a run: one with the sizes of the machine, and one without
/// capacity limit.
#[derive(Debug)]
pub struct Locality {
    config: Config,
    launch: u64,
    l1: Vec<Lines<User>>,
    l1_unbounded: BTreeMap<(usize, u64), User>,
    l2: Vec<Lines<User>>,
    l2_unbounded: BTreeMap<u64, User>,
    found: LocalityCounts,
}

impl Locality {
    /// Creates empty caches. The L2 uses the line size of the L1, whatever line size `config` gives for the
    /// L2.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            l1: vec![Lines::new(config.l1); config.num_sms],
            l1_unbounded: BTreeMap::new(),
            l2: vec![Lines::new(config.l2); config.banks.count as usize],
            l2_unbounded: BTreeMap::new(),
            launch: 0,
            found: LocalityCounts::default(),
            config,
        }
    }

    /// Runs a launch with up to `ctas` resident CTAs per SM, and counts its requests.
    ///
    /// # Errors
    /// Returns the same errors as [`run_steps`].
    pub fn run(&mut self, launch: &Launch<'_>, ctas: usize, memory: &mut FlatMemory) -> Result<(), InterpError> {
        self.launch += 1;
        self.l1.iter_mut().for_each(Lines::clear);
        self.l1_unbounded.clear();
        let sms = Sms { count: self.config.num_sms, ctas };
        run_steps(launch, sms, memory, &mut |step| self.step(step)).map(drop)
    }

    /// Returns the locality counts of all launches so far.
    #[must_use]
    pub fn counts(&self) -> &LocalityCounts {
        &self.found
    }

    fn step(&mut self, step: &WarpStep<'_>) {
        let Some(asked) = step.global() else { return };
        let lanes = WarpAccess { active: asked.mask, addresses: asked.addresses, width: asked.mem.bytes() as usize };
        // A misaligned access ends the launch when its instruction executes, so it is not counted.
        let Ok(requests) = coalesce(&lanes, self.config.line_bytes) else { return };
        let &WarpStep { sm, cta, warp, .. } = step;
        let is_load = asked.access == Access::Load;
        for LineRequest { line, lanes, .. } in requests {
            let user = User { launch: self.launch, sm, cta, warp, lanes };
            if !is_load {
                self.l1[sm].remove(line);
                self.l1_unbounded.remove(&(sm, line));
            } else if !is_uncached(asked.mem) && self.reach_l1(line, user) {
                continue;
            }
            self.reach_l2(line, user);
        }
    }

    /// Accesses both L1 models. Returns true if the L1 with the size of the machine has the line.
    fn reach_l1(&mut self, line: u64, user: User) -> bool {
        let last = self.l1_unbounded.insert((user.sm, line), user);
        self.found.l1_unbounded.count(&user, last.as_ref());
        let last = replace(&mut self.l1[user.sm], line, user);
        self.found.l1.count(&user, last.as_ref());
        last.is_some()
    }

    fn reach_l2(&mut self, line: u64, user: User) {
        let last = self.l2_unbounded.insert(line, user);
        self.found.l2_unbounded.count(&user, last.as_ref());
        let (bank, line) = self.config.banks.locate(line);
        let last = replace(&mut self.l2[bank as usize], line, user);
        self.found.l2.count(&user, last.as_ref());
    }
}

/// Records the user of a line, allocating the line if it is absent. Returns the previous user if the line was
/// present.
fn replace(lines: &mut Lines<User>, line: u64, user: User) -> Option<User> {
    if let Some(last) = lines.find(line) {
        return Some(std::mem::replace(last, user));
    }
    lines.insert(line, user);
    None
}
