//! Tests of L2 banks with the transient flow under load. The banks have no Fetch and Replacement Cache (FRC)
//! or one of any size. Requests are random, and the SMs, the L1s and memory stall.

use super::flat::{check, check_recalls, check_write_backs, requests};
use super::l1s::L1s;
use super::memory::Memory;
use super::{FERMI_CLOCKS, LIMIT, Rig, draw_index, small_config, split_place, transient};
use crate::kit::coverage::{Axis, Cross, Exclusion, hit_times, is_collecting};
use crate::kit::{Random, Sink, Source, Stall, run, run_in_all_modes};
use rtl::kernel::{Counted, Mode, Paths};
use rtl::l2::{BankPlace, FlowConfig, FrcConfig, L2Config, L2Features, L2Stats, TransientConfig, VictimBind};
use rtl::noc::packet::Request;

/// Number of ticks per request after which a run counts as hung. It corresponds to about 1,500 cycles of the
/// bank.
const TICKS_A_REQUEST: u64 = 100_000;

/// Numbers of FRC entries that are tested. Zero means that there is no FRC.
pub(crate) const SIZES: [u32; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

const COUNTERS: &str = "counters of L2 banks in the transient flow";

const FRCS: [&str; 3] = ["none", "a set or less", "several sets"];

/// Declares the functional coverage: each counter of a bank without an FRC, of a bank with a small FRC, and
/// of a bank with a large FRC.
pub(crate) fn counters() -> Cross {
    let idle = BankWorkload::draw(1, 0, 0).build();
    let names = counted(&idle).names;
    Cross {
        name: COUNTERS,
        axes: vec![Axis::new("counter", names), Axis::new("frc", FRCS)],
        excluded: vec![
            Exclusion {
                of: vec![vec!["frc.misses", "frc.hits", "frc.swaps"], vec![FRCS[0]]],
                reason: "these events need an FRC",
            },
            Exclusion {
                of: vec![vec!["stalls.line_alloc", "stalls.miss_queue", "stalls.write_back_queue"], vec![]],
                reason: "these stalls exist only in the overlapped flow",
            },
            Exclusion { of: vec![vec!["bypasses"], vec![]], reason: "these banks have no bypass scheme" },
        ],
    }
}

/// Returns the counters of the L2 bank's transient flow, including those of the FRC.
fn counted(rig: &Rig) -> Paths {
    let mut paths = Paths::default();
    rig.bank
        .stats()
        .list(&L2Features { transient: true, frc: true, bypass: true, ..L2Features::default() }, &mut paths);
    paths
}

/// Test case: an L2 bank, the requests to it, and the stalls and latencies of its environment.
pub(crate) struct BankWorkload {
    seed: u64,
    pub config: L2Config,
    place: BankPlace,
    script: Vec<Request>,
    /// Percentage of requests that the source stalls, and percentage of replies that the sink stalls.
    held: (u64, u64),
    /// Upper bounds in cycles of the latency of memory and of the latency with which L1s acknowledge recalls.
    slowest: (u64, u64),
}

impl BankWorkload {
    /// Generates a random L2 bank with an FRC of `frc_entries` entries, and `count` random requests to it.
    pub fn draw(seed: u64, frc_entries: u32, count: u64) -> Self {
        let mut random = Random::new(seed);
        let frc = FrcConfig {
            entries: frc_entries,
            swap_latency: random.below(4) as u32,
            victim_bind: if random.percent(25) { VictimBind::Alloc } else { VictimBind::Swap },
        };
        let sets = frc.sets() << random.below(2);
        let (line_bytes, burst_bytes) = [(128, 64), (64, 64), (64, 32), (32, 32)][random.below(4) as usize];
        let coherent_l1s = if random.percent(50) { 16 } else { 0 };
        // Number of MSHR entries: 1 to 4, so that the entries run out; 1 to 64, for which one 64-bit mask
        // word suffices; or a multiple of 64, which fills one or several mask words.
        let mshr_entries = match random.below(3) {
            0 => 1 + random.below(4) as u32,
            1 => 1 + random.below(64) as u32,
            _ => 64 * (1 + random.below(3) as u32),
        };
        let config = L2Config {
            sets,
            ways: 1 + random.below(3) as u32 + if random.percent(10) { 16 } else { 0 },
            index: draw_index(&mut random, sets),
            lookup_latency: 1 + random.below(12) as u32,
            mshr_entries,
            mshr_merges: 1 + random.below(4) as u32,
            reply_queue: 1 + random.below(4) as u32,
            data_ports: 1 + random.below(2) as u32,
            flow: TransientConfig {
                pending_queue: 1 + random.below(8) as u32,
                serve_transient: random.percent(50),
                acknowledged: random.percent(50),
                ..transient(frc)
            }
            .into(),
            atomic_buffer: random.percent(50),
            ..small_config()
        };
        let l1_line_bytes = if seed.is_multiple_of(3) { 128 } else { line_bytes };
        let place = BankPlace { coherent_l1s, ..split_place(l1_line_bytes, line_bytes, burst_bytes) };
        // Number of accessed lines: from two, which fit into the bank, to about three times as many as the
        // bank can hold.
        let lines = 2 + random.below(u64::from(sets * config.ways * 3 + frc_entries));
        let script = requests(&mut random, place, lines, count);
        let held = (random.below(50), random.below(50));
        Self { seed, config, place, script, held, slowest: (2 + random.below(120), 2 + random.below(60)) }
    }

    /// Shortens the test case to its first `count` requests.
    pub fn first(mut self, count: u64) -> Self {
        self.script.truncate(count as usize);
        self
    }

    fn build(&self) -> Rig {
        let stall = |seed, percent| Stall::Random { seed, percent, longest: 40 };
        let source = Source::new(self.script.clone(), stall(self.seed, self.held.0));
        let sink = Sink::new(stall(!self.seed, self.held.1));
        let memory = Memory::new(self.seed, 1..self.slowest.0, 0);
        let mut rig = Rig::new(FERMI_CLOCKS, &self.config, self.place, source, sink, memory);
        rig.l1s = L1s::new(self.seed, 1..self.slowest.1);
        rig
    }

    /// Runs the test case, and checks every byte and every transfer to and from memory.
    ///
    /// # Panics
    /// Panics if a check fails.
    pub fn run(&self) -> L2Stats {
        let mut rig = self.build();
        run(&mut rig, Mode::default(), self.limit());
        self.check(&rig)
    }

    /// Runs the test case in all evaluation modes of the simulator, with the same checks as [`Self::run`].
    ///
    /// # Panics
    /// Panics if a check fails or two modes differ.
    pub fn run_in_all_modes(&self) -> L2Stats {
        self.check(&run_in_all_modes(|| self.build(), self.limit()))
    }

    /// Returns the number of ticks after which the run counts as hung. A bank with one way may replace a line
    /// for every request. This takes longest if memory and L1s are slow and lookups are long.
    fn limit(&self) -> u64 {
        LIMIT.max(TICKS_A_REQUEST * self.script.len() as u64)
    }

    fn check(&self, rig: &Rig) -> L2Stats {
        check(rig, &self.script);
        check_write_backs(rig, self.place, self.config.acknowledges());
        check_recalls(rig, &self.script);
        if is_collecting()
            && let FlowConfig::Transient(flow) = &self.config.flow
        {
            let FrcConfig { entries, .. } = flow.frc;
            let frc = FRCS[usize::from(entries > 0) + usize::from(flow.frc.sets() > 1)];
            let Paths { names, values, .. } = counted(rig);
            names.iter().zip(values).for_each(|(name, count)| hit_times(COUNTERS, &[name, frc], count));
        }
        *rig.bank.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::for_each_seed;
    use crate::l2::flat::{ByteMap, golden_atomic};
    use crate::l2::{ONE_CLOCK, fermi_place, initial_line, line};
    use golden::index::{Function, SetIndex};
    use golden::l2::bank::{Access, Write};
    use golden::l2::frc::{Bank, EvictedLine, Outcome};
    use rtl::noc::packet::RequestKind;
    use std::collections::BTreeSet;

    #[test]
    fn a_hundred_thousand_requests_find_the_bytes_of_a_byte_map_with_an_frc_of_every_size() {
        for_each_seed(9, |seed| {
            for entries in SIZES {
                BankWorkload::draw(seed, entries, 1100).run();
            }
        });
    }

    #[test]
    fn the_flow_does_not_depend_on_how_it_is_evaluated() {
        for_each_seed(12, |seed| {
            for entries in [0, 1, 4, 8, 32] {
                BankWorkload::draw(seed, entries, 200).run_in_all_modes();
            }
        });
    }

    #[test]
    fn the_draws_reach_every_corner_of_the_flow() {
        let all: Vec<(L2Config, L2Stats)> = (1..80)
            .map(|seed| {
                let load = BankWorkload::draw(seed, SIZES[seed as usize % 6], 400);
                (load.config.clone(), load.run())
            })
            .collect();
        let some = |reached: fn(&L2Stats) -> bool| assert!(all.iter().any(|(_, stats)| reached(stats)));
        some(|stats| stats.put_down > 100);
        some(|stats| stats.frc.misses > 50 && stats.frc.misses < stats.fetches);
        some(|stats| stats.frc.hits > 20);
        some(|stats| stats.writebacks > 50);
        some(|stats| stats.stall_cycles(rtl::l2::Stall::PendingQueue) > 0);
        some(|stats| stats.stall_cycles(rtl::l2::Stall::MshrMerge) > 0);
        some(|stats| stats.stall_cycles(rtl::l2::Stall::Port) > 0);
    }

    #[test]
    fn one_request_at_a_time_is_fetched_swapped_recalled_and_written_back_as_the_twin_predicts() {
        for_each_seed(10, |seed| {
            let mut random = Random::new(seed);
            let entries = [0, 4, 8][seed as usize % 3];
            let frc = FrcConfig { entries, swap_latency: 1, victim_bind: VictimBind::Swap };
            let config = L2Config { sets: 4, ways: 3, flow: transient(frc).into(), ..small_config() };
            let place = BankPlace { coherent_l1s: 15, ..fermi_place() };
            let script = requests(&mut random, place, 24, 300);
            let alone = Stall::NotBefore((0..300).map(|n| n * 300).collect());
            let source = Source::new(script.clone(), alone);
            let mut rig =
                Rig::new(ONE_CLOCK, &config, place, source, Sink::new(Stall::Never), Memory::new(seed, 1..20, 0));
            run(&mut rig, Mode::default(), LIMIT);
            check(&rig, &script);

            let index = SetIndex::new(Function::Linear { bits: 2 }, 7, 32).unwrap();
            let untouched = |line| initial_line(fermi_place(), line).to_vec();
            let sizes = if entries > 0 { (1, entries as usize) } else { (0, 0) };
            let mut golden: Bank<u64> = Bank::new(index, 3, sizes, untouched);
            let mut flat = ByteMap::new(place);
            let (mut hits, mut misses, mut fetched) = (0, 0, 0);
            let mut gone = Vec::new();
            for request in &script {
                let before = flat.apply(request);
                let access = match request.kind {
                    RequestKind::Atomic | RequestKind::Reduce => Access::Atomic(golden_atomic(request, place)),
                    RequestKind::Read => Access::Read(request.ticket),
                    RequestKind::Write => {
                        Access::Write(Write { byte_mask: request.byte_mask, bytes: request.data.to_vec() })
                    }
                };
                let local = request.line / 6;
                match golden.access(local, request.sm.into(), access) {
                    Outcome::Hit(found) => {
                        hits += 1;
                        assert!(request.kind == RequestKind::Write || found == before);
                    }
                    Outcome::Fetched => {
                        (misses, fetched) = (misses + 1, fetched + 1);
                        golden.fill(local);
                        assert!(golden.swap(local));
                        gone.extend(golden.evicting_lines().into_iter().filter_map(|old| golden.finish_eviction(old)));
                    }
                    Outcome::Replaces(old) => {
                        misses += 1;
                        gone.extend(old.and_then(|old| golden.finish_eviction(old)));
                        golden.fill(local);
                    }
                    other => panic!("one request at a time, and yet {other:?}"),
                }
            }
            let stats = rig.bank.stats();
            let found = stats.hits + stats.write_hits + stats.atomic_hits;
            assert_eq!((found, stats.misses + stats.write_misses + stats.atomic_misses), (hits, misses));
            assert_eq!((stats.frc.misses, stats.evictions, stats.put_down), (fetched, gone.len() as u64, 0));
            let bursts: Vec<_> = rig.memory.taken().iter().filter(|(_, request)| request.write).collect();
            let written: Vec<(u64, Vec<u8>)> =
                bursts.chunks(2).map(|half| (half[0].1.burst / 2, [half[0].1.data, half[1].1.data].concat())).collect();
            let expected = gone.iter().filter_map(|EvictedLine { line, written, .. }| Some((*line, written.clone()?)));
            assert_eq!(written, expected.collect::<Vec<_>>());
            let recalled: Vec<(u64, u32)> =
                rig.l1s.taken().iter().map(|(_, message)| (message.line, message.sm.into())).collect();
            let expected = gone.iter().flat_map(|gone| gone.recalled.iter().map(|sm| (line(gone.line), *sm)));
            assert_eq!(recalled, expected.collect::<Vec<_>>());
            assert!(!recalled.is_empty() && !written.is_empty());
            let lines: BTreeSet<u64> = script.iter().map(|request| request.line / 6).collect();
            for local in lines {
                if let Some((bytes, _)) = rig.bank.peek(line(local)) {
                    assert_eq!(golden.newest(local), bytes.to_vec());
                }
            }
        });
    }
}
