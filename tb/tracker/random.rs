//! # Random programs on few lines
//! Compute units load, store and exchange words of a few lines through small L1s, with random delays, in
//! several kernels. The memory-model checker checks the values read, golden models check the L1s and the
//! tracker, and every access must be answered.

use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Counted, Mode, Simulator};
use rtl::l1::bypass::contention::Contentious;
use rtl::l1::config::{Fetch, L1Config, LsuConfig, StoreHit};
use rtl::noc::interleave::Interleave;
use rtl::replacement::lru::Lru;
use rtl::tracker::{Probes, Protections, SharerList, TrackerConfig, TrackerScheme, TrackerStats};

use super::judge::MemoryModelCheck;
use super::races::{self, Races};
use super::rig::{Op, OpKind, Rig, Setup};
use crate::kit::coverage::is_collecting;
use crate::kit::{Bench, BenchSimulator, Random};
use crate::l1::rig::l1;
use crate::replacement::draw;
use warpsieve::check::l1::Lockstep;
use warpsieve::check::tracker::TrackerLockstep;

/// Parameters of a random test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Seed that determines everything that is not a field of this type.
    pub seed: u64,
    /// Number of compute units in the test case.
    pub cus: usize,
    /// Number of accesses that each compute unit makes in a kernel.
    pub ops: usize,
    /// Number of kernels that run one after another.
    pub kernels: usize,
    /// Maximum number of accesses that each compute unit makes in all kernels together. Programs are
    /// truncated at this number.
    pub accesses: usize,
    /// Protections against stale copies that are enabled in the tracker.
    pub protections: Protections,
    /// True if the L1s and the tracker are flushed between kernels.
    pub flushes: bool,
}

/// Results of a random test case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseResult {
    /// Duration of the run in cycles of the compute units.
    pub cycles: u64,
    /// Number of accesses that received a reply.
    pub ops: u64,
    /// Number of loads that bypassed the L1s.
    pub bypasses: u64,
    /// Sum of the counters of all tracker banks.
    pub tracker: TrackerStats,
}

/// Tick after which a kernel that has not ended counts as hung.
const LIMIT: u64 = 1 << 40;
/// Indices of the words that programs access in a line. Each word is in its own sector.
const WORDS: [u64; 2] = [0, 8];
/// Maximum number of resident warps that an access reports. A load contends if it reports more warps than
/// half the number of lines in its L1.
const MAX_WARPS: u64 = 5;

/// Configuration of a load-store unit that can process two instructions at a time.
pub const LSU: LsuConfig = LsuConfig { slots: 2, access_queue: 2, request_latency: 1, reply_latency: 1 };

impl Case {
    /// Generates a random configuration of the testbench. Returns it with the number of lines that programs
    /// access.
    pub fn setup(&self) -> (Setup, u64) {
        let mut random = Random::new(self.seed);
        let mut pick = |choices: &[u32]| choices[random.below(choices.len() as u64) as usize];
        let count = pick(&[1, 1, 1, 2, 4]);
        let banks = pick(&[1, 2]);
        let mut setup = Setup {
            cus: self.cus,
            banks: banks as usize,
            periods: [pick(&[1, 2, 3]), pick(&[1, 2]), pick(&[1, 3])],
            l1: L1Config {
                sets: pick(&[1, 2]),
                ways: pick(&[1, 2, 4]),
                mshr_entries: pick(&[1, 2, 4]),
                mshr_merges: pick(&[1, 2]),
                miss_queue: pick(&[2, 3, 8]),
                store_hit: if pick(&[0, 0, 1]) == 0 { StoreHit::Update } else { StoreHit::Evict },
                ..l1()
            },
            lsu: LsuConfig { slots: pick(&[1, 2, 8]), access_queue: pick(&[1, 4]), ..LSU },
            tracker: TrackerConfig {
                scheme: TrackerScheme::Corrected,
                count,
                sets: count * pick(&[1, 2]),
                ways: pick(&[1, 2, 8]),
                replacement: Lru {}.into(),
                sharers: if pick(&[0, 0, 1]) == 0 { SharerList::All } else { SharerList::Last },
                probes: Probes::All,
                transfers: pick(&[1, 2, 16, 64]),
            },
            protections: self.protections,
            latency: (pick(&[1, 20]).into(), pick(&[1, 20, 200]).into()),
            slowest_link: pick(&[0, 10, 100]).into(),
            slowest_answer: 0,
            buffer_flits: pick(&[5, 8]),
            seed: self.seed,
        };
        let lines = pick(&[2, 4, 12]).into();
        if pick(&[0, 1]) != 0 {
            setup.l1.bypass = Contentious {}.into();
        }
        setup.l1.bypass_sectors = pick(&[0, 32]);
        setup.l1.fetch = if pick(&[0, 1]) == 0 { Fetch::Line } else { Fetch::Sectors };
        setup.tracker.probes = if pick(&[0, 0, 1]) == 0 { Probes::All } else { Probes::Kept };
        // If L1s answer late, the tracker often lists an L1 that has already evicted the line.
        setup.slowest_answer = if pick(&[0, 1]) == 0 { setup.slowest_link } else { 1000 };
        setup.l1.lookups = if setup.l1.fetch == Fetch::Sectors { pick(&[1, 2, 4]) } else { 1 };
        setup.tracker.replacement = draw(&mut random, setup.tracker.sets / count, false);
        (setup, lines)
    }

    /// Generates a random program for each compute unit, for one kernel.
    fn programs(&self, kernel: usize, lines: u64, start: u64) -> Vec<Vec<Op>> {
        let program = |cu: usize| {
            let mut random = Random::new(rtl::kernel::digest_of(&(self.seed, kernel, cu)));
            let pause = [0, 3, 60][random.below(3) as usize];
            let mut not_before = start;
            let op = |number: usize| {
                // Each value is written only once, so that it identifies the store that wrote it.
                let value = ((kernel * self.cus + cu) * self.ops + number + 1) as u32;
                let does = match random.below(20) {
                    0..=11 => OpKind::Loads,
                    12..=16 => OpKind::Stores(value),
                    17 => OpKind::LoadsCoherently,
                    _ => OpKind::Exchanges(value),
                };
                not_before += random.below(pause + 1);
                let (line, word) = (random.below(lines), WORDS[random.below(WORDS.len() as u64) as usize]);
                Op { not_before, does, line, word, resident: 1 + random.below(MAX_WARPS) as u8 }
            };
            (0..self.ops_of(kernel)).map(op).collect()
        };
        (0..self.cus).map(program).collect()
    }

    /// Returns the number of accesses that each compute unit makes in a kernel.
    fn ops_of(&self, kernel: usize) -> usize {
        self.accesses.saturating_sub(kernel * self.ops).min(self.ops)
    }

    /// Creates the testbench. Each compute unit starts with its random sequence of accesses for the first
    /// kernel.
    pub fn rig(&self) -> Rig {
        let (setup, lines) = self.setup();
        Rig::new(setup, self.programs(0, lines, 0))
    }

    /// Runs the test case with every check enabled.
    ///
    /// # Errors
    /// Returns an error if a check fails. The error describes the first check that fails.
    pub fn run(&self, mode: Mode) -> Result<CaseResult, String> {
        let (setup, lines) = self.setup();
        let mut rig = self.rig();
        let mut follower = Follower::new(&setup)?;
        let mut sim = BenchSimulator::new(&rig.periods(), &rig, mode);
        let period = u64::from(setup.periods[0]);
        for kernel in 0..self.kernels {
            if kernel > 0 {
                rig.extend(self.programs(kernel, lines, sim.tick() / period + 1));
                rig.core_ids().for_each(|core| sim.wake(core));
            }
            while let Some(tick) = sim.step(&mut rig) {
                if tick > LIMIT {
                    return Err(format!("still moving at tick {tick}"));
                }
                follower.follow(&mut rig, &sim).map_err(|wrong| format!("tick {tick}, kernel {kernel}: {wrong}"))?;
            }
            follower.judge.follow(&mut rig).map_err(|wrong| format!("kernel {kernel}: {wrong}"))?;
            if rig.count_unanswered() > 0 {
                return Err(format!("kernel {kernel}: {} accesses are never answered", rig.count_unanswered()));
            }
            follower.judge.end_kernel();
            if self.flushes {
                follower.flush(&mut rig, sim.tick() / period + 1)?;
            }
        }
        let mut tracker = TrackerStats::default();
        for bank in &rig.trackers {
            bank.stats().check_conservation()?;
            tracker.add(bank.stats());
        }
        let ops = (self.cus * self.accesses.min(self.ops * self.kernels)) as u64;
        let bypasses = rig.lsus.iter().map(|lsu| lsu.stats().bypasses).sum();
        Ok(CaseResult { cycles: sim.tick() / period, ops, bypasses, tracker })
    }
}

/// Checkers that process the events of a testbench: golden models, detectors of protocol races, and the
/// memory-model checker.
struct Follower {
    l1s: Vec<Lockstep>,
    trackers: Vec<TrackerLockstep>,
    /// Detector of protocol races for each tracker bank; empty if no coverage is collected.
    races: Vec<Races>,
    judge: MemoryModelCheck,
    period: u64,
}

impl Follower {
    fn new(setup: &Setup) -> Result<Self, String> {
        let cache = setup.l1.cache();
        let l1 = |i: usize| {
            let twin = Lockstep::new(&format!("sm{i}.l1"), i as u8, &setup.l1, [&cache; 2], true);
            twin.map(Lockstep::with_tracker).map_err(|e| e.to_string())
        };
        let interleave = Interleave::new(setup.banks as u32, LINE_BYTES as u32, LINE_BYTES as u32);
        let tracker = |_| TrackerLockstep::new(&setup.tracker, setup.cus, interleave, setup.protections);
        Ok(Self {
            l1s: (0..setup.cus).map(l1).collect::<Result<_, String>>()?,
            trackers: (0..setup.banks).map(tracker).collect::<Result<_, _>>()?,
            races: if is_collecting() { vec![Races::new(setup.tracker.transfers); setup.banks] } else { Vec::new() },
            judge: MemoryModelCheck::default(),
            period: setup.periods[0].into(),
        })
    }

    fn follow(&mut self, rig: &mut Rig, sim: &Simulator) -> Result<(), String> {
        let evaluated = sim.evaluated_blocks(0) >> self.l1s.len();
        for (i, twin) in self.l1s.iter_mut().enumerate().filter(|(i, _)| evaluated >> i & 1 != 0) {
            if let Some(watch) = rig.lsus[i].take_watch() {
                if let Some(access) = rig.taken(i, sim.tick()) {
                    twin.take(access);
                }
                twin.step(sim.tick() / self.period, &watch).map_err(|e| e.to_string())?;
                if !self.races.is_empty() {
                    races::look(&watch);
                }
            }
        }
        for (bank, (tracker, twin)) in rig.trackers.iter_mut().zip(&mut self.trackers).enumerate() {
            if let Some(seen) = tracker.take_seen() {
                twin.step(&seen)?;
                if let Some(races) = self.races.get_mut(bank) {
                    races.follow(tracker, &seen);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self, rig: &mut Rig, cycle: u64) -> Result<(), String> {
        rig.lsus.iter_mut().for_each(rtl::l1::lsu::Lsu::flush);
        rig.trackers.iter_mut().for_each(rtl::tracker::Tracker::flush);
        self.l1s.iter_mut().try_for_each(|twin| twin.flush(cycle)).map_err(|e| e.to_string())?;
        self.trackers.iter_mut().try_for_each(TrackerLockstep::flush)
    }
}
