//! # Who used a line before
//! Every request that finds its line in a cache, by what its warp has to do with the one that used the line
//! last (khairy2015 section 3.1).
//!
//! | class        | the last request of the line came from          |
//! |--------------|-------------------------------------------------|
//! | intra-thread | the same warp, and a thread asks again          |
//! | inter-thread | the same warp, other threads of it              |
//! | intra-block  | another warp of the CTA                         |
//! | intra-core   | another CTA on the SM                           |
//! | inter-core   | a CTA on another SM                             |
//! | inter-kernel | a launch before this one                        |
//!
//! Requests of loads reach the L1, which is empty at the start of a launch; those that miss there and all
//! writes reach the L2. Two sizes of each are looked at side by side: the machine's, and without bounds. Both
//! L2s are behind the machine's L1.

use std::collections::BTreeMap;

use super::lines::Lines;
use super::{Config, is_uncached};
use crate::interp::{Access, InterpError, Launch, Sms, WarpStep, run_steps};
use crate::l1::coalescer::{LineRequest, WarpAccess, coalesce};
use crate::memory::FlatMemory;

/// Classes of locality.
pub const CLASSES: usize = 6;
/// Their names, from the nearest to the farthest.
pub const CLASS_NAMES: [&str; CLASSES] =
    ["intra-thread", "inter-thread", "intra-block", "intra-core", "inter-core", "inter-kernel"];

/// Requests that reached a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// All of them.
    pub requests: u64,
    /// Those that found their line, by class.
    pub found: [u64; CLASSES],
}

/// What reached the caches of a machine, and what would have reached them without bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// All L1s, whose loads alone are counted.
    pub l1: Reached,
    /// The same requests, had nothing ever given way but to stores.
    pub l1_unbounded: Reached,
    /// All L2 banks.
    pub l2: Reached,
    /// The same requests, had nothing ever given way.
    pub l2_unbounded: Reached,
}

/// Who used a line last.
#[derive(Clone, Copy, Debug)]
struct User {
    launch: u64,
    sm: usize,
    cta: [u32; 3],
    warp: usize,
    /// Lanes that touched the line.
    lanes: u32,
}

impl User {
    /// The class of a request by `self` of a line that `last` used before.
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

impl Reached {
    fn count(&mut self, user: &User, last: Option<&User>) {
        self.requests += 1;
        if let Some(last) = last {
            self.found[user.class(last)] += 1;
        }
    }
}

/// Caches with two sizes, over the launches of a run.
#[derive(Debug)]
pub struct Locality {
    config: Config,
    launch: u64,
    l1: Vec<Lines<User>>,
    l1_unbounded: BTreeMap<(usize, u64), User>,
    l2: Vec<Lines<User>>,
    l2_unbounded: BTreeMap<u64, User>,
    found: Found,
}

impl Locality {
    /// Empty caches. Lines of the L2 are as long as those of the L1, whatever `config` says.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            l1: vec![Lines::new(config.l1); config.num_sms],
            l1_unbounded: BTreeMap::new(),
            l2: vec![Lines::new(config.l2); config.banks.count as usize],
            l2_unbounded: BTreeMap::new(),
            launch: 0,
            found: Found::default(),
            config,
        }
    }

    /// Runs a launch of which each SM holds `ctas` CTAs at once.
    ///
    /// # Errors
    /// As for [`run_steps`].
    pub fn run(&mut self, launch: &Launch<'_>, ctas: usize, memory: &mut FlatMemory) -> Result<(), InterpError> {
        self.launch += 1;
        self.l1.iter_mut().for_each(Lines::clear);
        self.l1_unbounded.clear();
        let sms = Sms { count: self.config.num_sms, ctas };
        run_steps(launch, sms, memory, &mut |step| self.step(step)).map(drop)
    }

    /// What was found so far.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }

    fn step(&mut self, step: &WarpStep<'_>) {
        let Some(asked) = step.global() else { return };
        let lanes = WarpAccess { active: asked.mask, addresses: asked.addresses, width: asked.mem.bytes() as usize };
        // A misaligned lane ends the launch as soon as the instruction runs.
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

    /// True if the L1 has the line.
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

/// Notes who uses a line, and says who did before if it was there.
fn replace(lines: &mut Lines<User>, line: u64, user: User) -> Option<User> {
    if let Some(last) = lines.find(line) {
        return Some(std::mem::replace(last, user));
    }
    lines.insert(line, user);
    None
}
