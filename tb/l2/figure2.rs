//! Reproduces candel2018 Figure 2 to the cycle: the lines B, C and D replace one another in the cache way
//! that line A occupied. A lookup takes 10 cycles, recall and eviction of a line take 80, a fetch takes 110,
//! and swaps take none. The figure shows the cycles in which B, C and D are served. Their replies leave the
//! bank one cycle later.
//!
//! In the figure, the fetch of C starts at cycle 90, without a lookup. In this test it starts at cycle 100,
//! after the lookup of C has missed.

use super::l1s::L1s;
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, place, read, small_config, transient};
use crate::kit::{CycleTable, Sink, Source, Stall, assert_table, run_in_all_modes};
use rtl::l2::{BankPlace, FrcConfig, L2Config, TransientConfig, VictimBind};
use rtl::noc::packet::Request;

/// Simulation cycle that corresponds to cycle 0 of the figure. Line A was fetched long before this cycle.
const START: u64 = 1000;
const NAMES: [&str; 5] = ["-", "A", "B", "C", "D"];
const A: u64 = 1;
const B: u64 = 2;
const C: u64 = 3;
const D: u64 = 4;

fn config(frc_entries: u32) -> L2Config {
    L2Config { ways: 1, lookup_latency: 10, flow: flow(frc_entries).into(), ..small_config() }
}

fn flow(frc_entries: u32) -> TransientConfig {
    transient(FrcConfig { entries: frc_entries, swap_latency: 0, victim_bind: VictimBind::Swap })
}

fn name(line: u64) -> &'static str {
    NAMES[line as usize]
}

/// Latency of each step of a line replacement, in cycles.
#[derive(Clone, Copy, Debug)]
struct Times {
    look_up: u32,
    /// Number of cycles to recall a line from the L1s and evict it.
    evict: u64,
    fetch: u64,
}

impl Times {
    /// Latencies that the figure assumes. Only these latencies give the cycles that the text of the paper
    /// states.
    const OF_THE_FIGURE: Self = Self { look_up: 10, evict: 80, fetch: 110 };
}

/// Creates a testbench whose bank accepts the given reads in the given cycles. It reads line A long before
/// these reads.
fn bench(config: &L2Config, times: Times, reads: &[(u64, u64)]) -> Rig {
    let script: Vec<Request> =
        [A].into_iter().chain(reads.iter().map(|&(_, line)| line)).zip(0..).map(|(line, n)| read(line, n)).collect();
    // A request takes one cycle from the source to the bank, so it is sent one cycle before the given cycle.
    let cycles: Vec<u64> = [0].into_iter().chain(reads.iter().map(|(cycle, _)| START + cycle - 1)).collect();
    let place = BankPlace { coherent_l1s: 15, ..place(64, 64) };
    let source = Source::new(script, Stall::NotBefore(cycles));
    // The links from the bank to memory and to the L1s, and the links back, take one cycle each.
    let link_cycles = 2;
    let (fetch, evict) = (times.fetch - link_cycles, times.evict - link_cycles);
    let memory = Memory::new(1, fetch..fetch + 1, 0);
    let mut rig = Rig::new(ONE_CLOCK, config, place, source, Sink::new(Stall::Never), memory);
    rig.l1s = L1s::new(1, evict..evict + 1);
    rig
}

/// Runs the reads. Returns a cycle table of the bank's requests, recalls, evictions, fetches and replies.
fn play(config: &L2Config, times: Times, reads: &[(u64, u64)]) -> (Rig, CycleTable) {
    let config = &L2Config { lookup_latency: times.look_up, ..config.clone() };
    let rig = run_in_all_modes(|| bench(config, times, reads), LIMIT);
    let mut table = CycleTable::sparse();
    let since = |cycle: u64| (cycle >= START).then(|| cycle - START);
    let request = |(cycle, request): &(u64, Request)| Some((since(cycle + 1)?, name(request.line / 6)));
    table.column("request", rig.source.sent().iter().filter_map(request));
    let recalled = rig.l1s.taken().iter();
    table.column(
        "recall",
        recalled.clone().filter_map(|(cycle, message)| Some((since(cycle - 1)?, name(message.line / 6)))),
    );
    let gone = rig.l1s.answered().iter().zip(recalled);
    table.column(
        "gone",
        gone.filter_map(|((cycle, _), (_, message))| Some((since(cycle + 1)?, name(message.line / 6)))),
    );
    table.column(
        "fetch",
        rig.memory.taken().iter().filter_map(|(cycle, fetch)| Some((since(cycle - 1)?, name(fetch.burst)))),
    );
    table.column(
        "served",
        rig.sink.received().iter().filter_map(|(cycle, reply)| Some((since(cycle - 2)?, name(reply.line / 6)))),
    );
    (rig, table)
}

#[test]
fn the_conventional_flow_serialises_three_replacements_as_in_figure_2a() {
    // Line A remains readable until its way is reassigned to line B.
    let (rig, table) = play(&config(0), Times::OF_THE_FIGURE, &[(0, B), (79, A), (90, C), (240, D)]);
    assert_table(
        &table,
        "cycle  request  recall  gone  fetch  served
         0      B        .       .     .      .
         10     .        A       .     .      .
         79     A        .       .     .      .
         89     .        .       .     .      A
         90     C        .       A     B      .
         200    .        .       .     .      B
         210    .        B       .     .      .
         240    D        .       .     .      .
         290    .        .       B     C      .
         400    .        .       .     .      C
         410    .        C       .     .      .
         490    .        .       C     D      .
         600    .        .       .     .      D",
    );
    // The fetch of B starts 80 cycles after the miss of B, the fetch of C 190 cycles after the miss of C, and
    // the fetch of D 240 cycles after the miss of D. The fetch of A was not delayed.
    let stats = rig.bank.stats();
    assert_eq!((stats.miss_delay, stats.fetches), (80 + 190 + 240, 4));
    // Lines B, C and D compete for the only way of the set. B reserves the way at once, C reserves it when
    // B's data have arrived, and D when C's data have arrived. B, C and D also wait for the evictions of A, B
    // and C.
    assert_eq!((stats.delays.way, stats.delays.eviction), (110 + 160, 80 + 80 + 80));
}

#[test]
fn the_frc_overlaps_them_as_in_figure_2b() {
    // Line A remains readable in its way until B takes the way in cycle 120. Then it remains readable in the
    // FRC until its eviction completes in cycle 200.
    let (rig, table) = play(&config(2), Times::OF_THE_FIGURE, &[(0, B), (90, C), (109, A), (189, A), (240, D)]);
    assert_table(
        &table,
        "cycle  request  recall  gone  fetch  served
         0      B        .       .     .      .
         10     .        .       .     B      .
         90     C        .       .     .      .
         100    .        .       .     C      .
         109    A        .       .     .      .
         119    .        .       .     .      A
         120    .        A       .     .      B
         189    A        .       .     .      .
         199    .        .       .     .      A
         200    .        .       A     .      .
         210    .        B       .     .      C
         240    D        .       .     .      .
         250    .        .       .     D      .
         290    .        .       B     .      .
         360    .        C       .     .      D
         440    .        .       C     .      .",
    );
    let stats = rig.bank.stats();
    assert_eq!((stats.miss_delay, stats.misses, stats.frc.misses, stats.frc.swaps), (0, 4, 4, 4));
}

#[test]
fn with_a_single_entry_c_is_replaced_the_conventional_way_and_b_waits_for_its_way() {
    let (rig, table) = play(&config(1), Times::OF_THE_FIGURE, &[(0, B), (90, C), (240, D)]);
    assert_table(
        &table,
        "cycle  request  recall  gone  fetch  served
         0      B        .       .     .      .
         10     .        .       .     B      .
         90     C        .       .     .      .
         100    .        A       .     .      .
         120    .        .       .     .      B
         180    .        .       A     C      .
         240    D        .       .     .      .
         290    .        C       .     .      C
         300    .        B       .     .      .
         370    .        .       C     .      .
         380    .        .       B     D      .
         490    .        .       .     .      D",
    );
    let stats = rig.bank.stats();
    assert_eq!((stats.misses, stats.frc.misses, stats.put_down), (4, 2, 1));
}

#[test]
fn a_line_that_may_not_be_read_on_its_way_out_is_fetched_again() {
    let config = L2Config { flow: TransientConfig { serve_transient: false, ..flow(0) }.into(), ..config(0) };
    let (rig, table) = play(&config, Times::OF_THE_FIGURE, &[(0, B), (79, A)]);
    // In cycle 89, line A is being recalled. The read of A waits until A is evicted, and then until a way is
    // free for a new fetch of A.
    assert_table(
        &table,
        "cycle  request  recall  gone  fetch  served
         0      B        .       .     .      .
         10     .        A       .     .      .
         79     A        .       .     .      .
         90     .        .       A     B      .
         200    .        .       .     .      B
         210    .        B       .     .      .
         290    .        .       B     A      .
         400    .        .       .     .      A",
    );
    assert_eq!((rig.bank.stats().put_down, rig.bank.stats().misses), (1, 3));
}
