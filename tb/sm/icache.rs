//! Tests of the instruction cache: the latency of a miss, the warps that wait and those that proceed, and the
//! results, which the cache must not change.
//!
//! Every kernel runs in lockstep with golden models of the caches, which check each fetch and each line that
//! arrives.

use proptest::prelude::*;
use rtl::kernel::Mode;
use rtl::sm::{InstructionCacheConfig, InstructionStats, InstructionStore, StallReason};

use super::bench::{Bench, Kernel};
use super::issue_log::issues;
use super::random::kernel as random_kernel;

/// Latency of an instruction line in cycles. It begins when the request is in the link to memory, and ends
/// when the data are in the return link.
const LINE: u64 = 40;

/// Number of instructions in a line of the instruction cache.
const PER_LINE: usize = 16;

fn with(mut kernel: Kernel, config: InstructionCacheConfig, delay: (u64, u64)) -> Kernel {
    kernel.config.icache = InstructionStore::Cache(config);
    kernel.config.instruction_buffer = 2;
    kernel.line_delay = delay;
    kernel
}

/// Creates a PTX kernel that runs on cores with the instruction cache of a GTX 480. The fill of a line always
/// takes the same time.
fn kernel_with_icache(body: &str) -> Kernel {
    with(Kernel::bare(body), InstructionCacheConfig::default(), (LINE, LINE))
}

/// Returns PTX text of `count` instructions without branches.
fn straight(count: usize) -> String {
    (0..count).map(|at| format!("mov.u32 %r{}, {at};\n", 8 + at % 32)).collect()
}

/// Returns the cycle in which warp 0 issues each of its instructions, counted from the launch of its CTA.
fn cycles_of(kernel: &Kernel) -> Vec<u64> {
    issues(kernel).iter().filter(|issue| issue.warp == 0).map(|issue| issue.cycle).collect()
}

fn stats(bench: &Bench) -> InstructionStats {
    *bench.cores[0].instruction_stats().unwrap()
}

/// Returns the delay of each instruction of warp 0 compared with an instruction cache that always hits, in
/// cycles.
fn delays(kernel: &Kernel) -> Vec<u64> {
    let mut perfect = kernel.clone();
    perfect.config.icache = InstructionStore::Perfect {};
    cycles_of(kernel).iter().zip(cycles_of(&perfect)).map(|(cached, perfect)| cached - perfect).collect()
}

#[test]
fn a_miss_delays_its_line_by_the_way_there_and_back_and_nothing_else() {
    // Delay of a miss in cycles: one cycle on the link, the latency of the line, and one cycle on the return
    // link. The instruction is fetched in the last of these cycles.
    let miss = LINE + 2;
    let delays = delays(&kernel_with_icache(&straight(2 * PER_LINE)));
    let lines: Vec<_> = delays.chunks(PER_LINE).map(|line| (line[0], line[line.len() - 1])).collect();
    // Each instruction needs the result of the one before it and issues 6 cycles after it. A fetch that hits
    // takes only 3 of these 6 cycles. The other 3 cycles hide a part of the miss, so the miss delays the next
    // instruction by 3 cycles less than its own duration. The third line contains only the exit, of whose
    // miss nothing is hidden.
    let next = miss - 3;
    assert_eq!(lines, [(miss, miss), (miss + next, miss + next), (2 * miss + next, 2 * miss + next)]);
}

#[test]
fn an_instruction_at_the_end_of_a_line_is_fetched_alone() {
    // Instructions are fetched in pairs. The jump leads to instruction 3, so the last instruction of the line
    // is fetched alone.
    let body = format!("bra NEXT; mov.u32 %r1, 1; mov.u32 %r2, 2; NEXT: {}", straight(PER_LINE + 1));
    let bench = kernel_with_icache(&body).check();
    // The 11 fetches are: the jump (1), instructions 3 to 14 in pairs (6), instruction 15 alone (1), and
    // instructions 16 to 20 as two pairs and a single one (3).
    assert_eq!(stats(&bench), InstructionStats { accesses: 11, hits: 9, misses: 2, ..InstructionStats::default() });
}

#[test]
fn a_line_once_here_is_found_again_until_others_take_its_place() {
    // The loop alternates between lines 0 and 1. The tested caches have room for both lines or for only one.
    let body = format!(
        "mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5; {} @%p1 bra LOOP;",
        straight(PER_LINE)
    );
    let of = |sets, ways| {
        let config = InstructionCacheConfig { sets, ways, ..InstructionCacheConfig::default() };
        let stats = stats(&with(Kernel::bare(&body), config, (LINE, LINE)).check());
        (stats.misses, stats.evictions)
    };
    assert_eq!(of(1, 2), (2, 0));
    assert_eq!(of(2, 1), (2, 0));
    assert_eq!(of(1, 1), (10, 9));
}

#[test]
fn warps_that_want_one_line_ask_once_and_are_served_one_a_cycle() {
    let kernel = kernel_with_icache("mov.u32 %r1, 1;").grid(1, 4 * 32);
    let firsts: Vec<u64> = issues(&kernel).iter().filter(|issue| issue.pc == 0).map(|issue| issue.cycle).collect();
    // All four warps, on both schedulers, wait for the same line, and the cache serves one warp per cycle.
    assert_eq!(firsts.iter().map(|cycle| cycle - firsts[0]).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let bench = kernel.check();
    assert_eq!(
        stats(&bench),
        InstructionStats { accesses: 4, misses: 1, hit_pending: 3, ..InstructionStats::default() }
    );
}

#[test]
fn other_warps_go_on_while_one_waits() {
    // Warp 1 jumps to another instruction line and waits for it. Meanwhile, warp 0 proceeds in the first
    // line.
    let body = format!(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32; @%p1 bra FAR; {} exit; FAR: mov.u32 %r2, 1;",
        straight(4 * PER_LINE)
    );
    let log = issues(&kernel_with_icache(&body).grid(1, 64));
    let far = log.iter().filter(|issue| issue.warp == 1).map(|issue| issue.cycle);
    let (jump, target) = far.clone().zip(far.skip(1)).max_by_key(|(before, after)| after - before).unwrap();
    let meanwhile = log.iter().filter(|issue| issue.warp == 0 && (jump..target).contains(&issue.cycle)).count();
    assert!(target - jump > LINE && meanwhile >= 8, "{jump} to {target}: {meanwhile} instructions");
}

/// Creates a kernel in which each of four warps executes instructions in its own instruction line. The
/// instruction cache has `entries` MSHR entries.
fn scattered_kernel(entries: u32) -> Kernel {
    let lines = |warp: usize| format!("W{warp}: {} exit;\n", straight(PER_LINE - 1));
    let jumps: String = (1..4).map(|warp| format!("setp.eq.u32 %p1, %r1, {warp}; @%p1 bra W{warp};\n")).collect();
    let body = format!(
        "mov.u32 %r1, %tid.x; shr.u32 %r1, %r1, 5; {jumps} {} exit; {}",
        straight(23),
        (1..4).map(lines).collect::<String>()
    );
    let config = InstructionCacheConfig { mshr_entries: entries, ..InstructionCacheConfig::default() };
    with(Kernel::bare(&body), config, (LINE, LINE)).grid(1, 4 * 32)
}

#[test]
fn a_warp_without_an_entry_asks_once_for_each_that_becomes_free() {
    let refusals = [1, 2, 4].map(|entries| stats(&scattered_kernel(entries).check()).refusals);
    assert!(refusals[0] > refusals[1] && refusals[1] > 0 && refusals[2] == 0, "{refusals:?}");
    // A warp that gets no MSHR entry retries only when an entry becomes free. There are therefore far fewer
    // refusals than wait cycles.
    assert!(refusals[0] < LINE, "{refusals:?}");
    let misses = [1, 2, 4].map(|entries| stats(&scattered_kernel(entries).check()).misses);
    assert_eq!(misses[0], misses[2]);
}

#[test]
fn waiting_for_a_line_is_charged_to_its_misses_and_the_first_fetch_is_not() {
    let bench = kernel_with_icache(&straight(4)).run(Mode::default());
    let cycles = |reason| bench.cores[0].stall_cycles(reason);
    // The wait lasts from the lookup that misses to the cycle before the fill: `LINE` cycles, plus one cycle
    // on each of the two links.
    assert_eq!(cycles(StallReason::FetchMiss), LINE + 2);
    assert!((1..12).contains(&cycles(StallReason::Fetch)), "{}", cycles(StallReason::Fetch));
}

#[test]
fn lines_stay_from_kernel_to_kernel() {
    let mut kernel = kernel_with_icache(&straight(3));
    // Each of the two SMs runs one CTA of the kernel. In a second launch, each SM again runs one CTA.
    kernel.grid = [2, 1, 1];
    let (mut bench, mut sim) = kernel.start(Mode::default());
    while sim.step(&mut bench).is_some() {}
    let first = stats(&bench).misses;
    bench.cores.iter_mut().for_each(|core| core.end_kernel(sim.tick()));
    let image = kernel.image();
    bench.cores.iter_mut().for_each(|core| assert!(core.load(image.clone()).is_ok()));
    bench.dispatcher.load(kernel.grid, 1);
    sim.wake(super::bench::DISPATCHER);
    while sim.step(&mut bench).is_some() {}
    assert_eq!((first, stats(&bench).misses), (1, 1));
    assert_eq!(stats(&bench).accesses, 4);
}

#[test]
fn instructions_of_other_sizes_fill_lines_with_other_numbers() {
    let misses = [4, 8, 16].map(|instruction_bytes| {
        let config = InstructionCacheConfig { instruction_bytes, ..InstructionCacheConfig::default() };
        stats(&with(Kernel::bare(&straight(4 * PER_LINE - 1)), config, (LINE, LINE)).check()).misses
    });
    assert_eq!(misses, [2, 4, 8]);
}

/// Runs a random kernel in every evaluation mode of the simulator. Fills of the instruction cache take a
/// random number of cycles from 1 to `slow`.
fn check_random_kernel(seed: u64, sets: u32, ways: u32, mshr_entries: u32, slow: u64) {
    let instruction_bytes = [4, 8, 16][seed as usize % 3];
    let config =
        InstructionCacheConfig { sets, ways, mshr_entries, instruction_bytes, ..InstructionCacheConfig::default() };
    with(random_kernel(seed, super::random::STATEMENTS), config, (1, slow)).check();
}

#[test]
fn the_random_kernel_that_once_failed_in_a_cache_of_one_set_agrees_with_the_twin() {
    check_random_kernel(1_578_268_956_770_326_172, 1, 2, 2, 77);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_kernels_agree_with_twin_and_interpreter_in_every_mode(
        seed in any::<u64>(), sets_log2 in 0u32..4, ways in 1u32..5, mshr_entries in 1u32..6, slow in 1u64..120) {
        check_random_kernel(seed, 1 << sets_log2, ways, mshr_entries, slow);
    }
}
