//! Tests of the exact cycle in which instructions are issued: latencies, scheduling order and ports.

use rtl::kernel::Mode;
use rtl::sm::StallReason;
use rtl::sm::scheduler::SchedulerConfig;
use rtl::sm::scheduler::greedy_then_oldest::GreedyThenOldest;
use rtl::sm::scheduler::loose_round_robin::LooseRoundRobin;
use rtl::sm::scheduler::two_level::TwoLevel;

use super::bench::Kernel;
use super::issue_log::{cycles_of, issues};

/// Returns the number of cycles between the issue of `first` and the issue of `second`, which needs the
/// result of `first`.
fn dependent(first: &str, second: &str) -> u64 {
    let cycles = cycles_of(&Kernel::bare(&format!("{first} {second}")));
    cycles[1] - cycles[0]
}

#[test]
fn a_dependent_instruction_issues_the_cycle_after_writeback_and_not_before() {
    // The cycles are: one to read the operands, the latency of `first`, and one to issue `second`. For an add
    // with a latency of 4 cycles, this gives 1 + 4 + 1 = 6.
    assert_eq!(dependent("add.u32 %r1, %r2, %r3;", "add.u32 %r4, %r1, 1;"), 6);
    assert_eq!(dependent("mad.lo.u32 %r1, %r2, %r3, %r4;", "add.u32 %r4, %r1, 1;"), 7);
    assert_eq!(dependent("max.u32 %r1, %r2, %r3;", "add.u32 %r4, %r1, 1;"), 15);
    assert_eq!(dependent("div.u32 %r1, %r2, %r3;", "add.u32 %r4, %r1, 1;"), 147);
    assert_eq!(dependent("add.f64 %fd1, %fd2, %fd3;", "add.f64 %fd4, %fd1, %fd1;"), 10);
    assert_eq!(dependent("setp.eq.u32 %p1, %r2, %r3;", "@%p1 add.u32 %r4, %r1, 1;"), 6);
}

#[test]
fn a_lone_warp_issues_in_every_cycle_if_its_buffer_has_four_entries() {
    let issued = |entries| {
        // The sums keep all eight results alive, so that each has a register of its own.
        let moves = (1..=8).map(|n| format!("mov.u32 %r{n}, {n}; "));
        let sums = (2..=8).map(|n| format!("add.u32 %r1, %r1, %r{n}; "));
        let mut kernel = Kernel::bare(&moves.chain(sums).collect::<String>());
        kernel.config.instruction_buffer = entries;
        let cycles = cycles_of(&kernel);
        cycles[..8].iter().map(|cycle| cycle - cycles[0]).collect::<Vec<_>>()
    };
    // With two entries, the buffer must be empty before the next fetch, whose instructions issue two cycles later.
    assert_eq!(issued(2), [0, 1, 4, 5, 8, 9, 12, 13]);
    assert_eq!(issued(4), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Returns the number of cycles between the issue of `first` and the issue of `second`, which needs the
/// result of `first`. The register file has `banks` banks.
fn dependent_with(banks: u32, first: &str, second: &str) -> u64 {
    let mut kernel = Kernel::bare(&format!("{first} {second}"));
    kernel.config.operands.banks = banks;
    let cycles = cycles_of(&kernel);
    cycles[1] - cycles[0]
}

#[test]
fn operands_in_one_bank_are_read_one_after_the_other() {
    let cycles = |first| [16, 1].map(|banks| dependent_with(banks, first, "add.u32 %r4, %r1, 1;"));
    assert_eq!(cycles("add.u32 %r1, %r2, 3;"), [6, 6]);
    assert_eq!(cycles("add.u32 %r1, %r2, %r3;"), [6, 7]);
    assert_eq!(cycles("mad.lo.u32 %r1, %r2, %r3, %r5;"), [7, 9]);
    assert_eq!(cycles("max.u32 %r1, %r2, %r3;"), [15, 16]);
}

#[test]
fn an_access_leaves_when_its_operands_have_been_read() {
    let delay = |banks| {
        let mut kernel = Kernel::bare("ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;");
        kernel.delay = 1;
        kernel.ptx = kernel.ptx.replacen("ld.global", "ld.param.u64 %rd1, [input]; ld.global", 1);
        kernel.config.operands.banks = banks;
        let cycles = cycles_of(&kernel);
        cycles[2] - cycles[1]
    };
    // With a single register bank, both words of the address are in this bank, so reading them takes one more
    // cycle.
    assert_eq!(delay(1), delay(0) + 1);
    assert_eq!(delay(16), delay(0));
}

#[test]
fn beats_of_a_load_follow_each_other_and_each_brings_its_own_words() {
    let after = |second: &str| {
        let mut kernel = Kernel::bare(&format!("ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1]; {second}"));
        kernel.delay = 1;
        kernel.ptx = kernel.ptx.replacen("ld.global", "ld.param.u64 %rd1, [input]; ld.global", 1);
        let cycles = cycles_of(&kernel);
        cycles[2] - cycles[1]
    };
    let [first, second, third, fourth] = [1, 2, 3, 4].map(|word| after(&format!("add.u32 %r5, %r{word}, 1;")));
    assert_eq!([second, third, fourth], [first, first + 1, first + 1]);
    // The address unit accepts the next load as soon as it has sent both beats of the vector load. It does
    // not wait for a reply.
    assert_eq!(after("ld.global.u32 %r5, [%rd1];"), 3);
}

#[test]
fn a_class_without_a_free_collector_issues_nothing() {
    // With a single register bank, each instruction needs three cycles to read its three words. If there is
    // only one collector, the next instruction cannot issue before these reads are complete.
    let issued = |collectors| {
        let mut kernel = Kernel::bare("mad.lo.u32 %r1, %r2, %r3, %r5; mad.lo.u32 %r4, %r2, %r3, %r6;").grid(1, 64);
        (kernel.config.operands.banks, kernel.config.operands.sp_collectors) = (1, collectors);
        kernel.config.schedulers = 1;
        let log: Vec<u64> = issues(&kernel).iter().filter(|issue| issue.pc < 2).map(|issue| issue.cycle).collect();
        let bench = kernel.check();
        assert_eq!(bench.cores[0].counters().operand_conflicts, if collectors == 1 { 8 } else { 2 + 4 + 6 + 8 });
        [1, 2, 3].map(|of| log[of] - log[0])
    };
    assert_eq!(issued(4), [1, 2, 3]);
    // With one collector, warp 0 issues its two instructions in cycles 0 and 3, and its exit instruction in
    // cycle 6. Warp 1 therefore issues in cycles 7 and 10.
    assert_eq!(issued(1), [3, 7, 10]);
}

#[test]
fn a_second_write_to_a_register_waits_for_the_first() {
    assert_eq!(dependent("max.u32 %r1, %r2, %r3;", "add.u32 %r1, %r2, 1;"), 15);
}

#[test]
fn independent_instructions_of_one_warp_issue_back_to_back_from_the_buffer() {
    assert_eq!(dependent("add.u32 %r1, %r2, %r3;", "add.u32 %r4, %r5, %r6; add.u32 %r1, %r1, %r4;"), 1);
}

#[test]
fn a_taken_branch_costs_fetch_and_decode_of_its_target() {
    let cycles = cycles_of(&Kernel::bare("bra NEXT; add.u32 %r1, %r2, 1; NEXT: add.u32 %r1, %r2, 2;"));
    assert_eq!(cycles[1] - cycles[0], 3);
}

#[test]
fn an_initiation_interval_keeps_the_pipe_from_other_warps() {
    let mut kernel = Kernel::bare("mul.lo.u32 %r1, %r2, %r3;").grid(1, 96);
    kernel.config.schedulers = 1;
    let muls: Vec<u64> = issues(&kernel).iter().filter(|issue| issue.pc == 0).map(|issue| issue.cycle).collect();
    assert_eq!([muls[1] - muls[0], muls[2] - muls[1]], [2, 2]);
}

#[test]
fn one_memory_instruction_is_issued_a_cycle_over_both_schedulers() {
    let kernel = Kernel::bare("ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [input];").grid(1, 128);
    let mut cycles: Vec<u64> = issues(&kernel).iter().filter(|issue| issue.pc < 2).map(|issue| issue.cycle).collect();
    let all = cycles.len();
    cycles.dedup();
    assert_eq!((all, cycles.len()), (8, 8));
}

/// Runs four warps on one scheduler and returns the issue table: `warp:pc` for every cycle with an issue,
/// counted from the first issue.
fn table(scheduler: impl Into<SchedulerConfig>, body: &str) -> String {
    let mut kernel = Kernel::bare(body).grid(1, 128);
    kernel.config.schedulers = 1;
    kernel.config.scheduler = scheduler.into();
    let log = issues(&kernel);
    let cells: Vec<String> =
        log.iter().map(|issue| format!("{}={}:{}", issue.cycle - log[0].cycle, issue.warp, issue.pc)).collect();
    cells.join(" ")
}

#[test]
fn greedy_then_oldest_stays_with_a_warp_and_then_takes_the_oldest() {
    // Each warp fetches two instructions at a time. In cycle 4, the older warp 0 issues before warp 2,
    // although warp 2 has been ready longer. In cycle 6, the scheduler stays with warp 2, although the older
    // warp 1 has fetched its second pair by then. Instruction 3 of a warp issues at least six cycles after
    // instruction 2, whose result it needs.
    let table = table(
        GreedyThenOldest {},
        "add.u32 %r1, %r9, 1; add.u32 %r2, %r9, 2; add.u32 %r3, %r9, 3; mad.lo.u32 %r4, %r1, %r2, %r3;",
    );
    let expected = "0=0:0 1=0:1 2=1:0 3=1:1 4=0:2 5=2:0 6=2:1 7=1:2 8=3:0 9=3:1 10=0:3 11=2:2 12=3:2 13=0:4 14=1:3 \
                    17=1:4 18=2:3 19=3:3 21=2:4 22=3:4";
    assert_eq!(table, expected);
}

#[test]
fn loose_round_robin_gives_every_warp_its_turn() {
    let table = table(LooseRoundRobin {}, "add.u32 %r1, %r2, 1;");
    assert_eq!(table, "0=0:0 1=1:0 2=2:0 3=3:0 4=0:1 5=1:1 6=2:1 7=3:1");
}

/// Creates a kernel with `warps` warps on a single scheduler with the two-level policy.
fn two_level(body: &str, warps: u32) -> Kernel {
    let mut kernel = Kernel::bare(body).grid(1, 32 * warps);
    kernel.config.schedulers = 1;
    kernel.config.scheduler = TwoLevel {}.into();
    kernel
}

#[test]
fn a_seventh_warp_gets_in_only_when_another_waits_for_memory() {
    // Instruction 2 waits for an arithmetic result, and instruction 4 for a load from memory. Only the wait
    // for memory frees a place in the pool of warps.
    let mut kernel = two_level(
        "ld.param.u64 %rd1, [input]; mov.u32 %r1, 1; max.u32 %r1, %r1, 3;
         ld.global.u32 %r2, [%rd1]; add.u32 %r2, %r2, %r1;",
        7,
    );
    kernel.delay = 1000;
    let log = issues(&kernel);
    let first = |pc| log.iter().find(|issue| issue.pc == pc).unwrap();
    let seventh = log.iter().find(|issue| issue.warp == 6).unwrap();
    assert!(seventh.cycle > first(3).cycle, "{seventh:?} ahead of {:?}", first(3));
    assert!(seventh.cycle < first(4).cycle, "{seventh:?} not ahead of {:?}", first(4));
    kernel.check();
}

#[test]
fn a_seventh_warp_that_finds_nobody_waiting_for_memory_gets_in_when_another_ends() {
    let kernel = two_level("add.u32 %r1, %r2, 1; max.u32 %r1, %r1, 3; max.u32 %r1, %r1, 5;", 7);
    let log = issues(&kernel);
    let seventh = log.iter().find(|issue| issue.warp == 6).unwrap();
    let exit = log.iter().find(|issue| issue.pc == 3).unwrap();
    assert!(seventh.cycle > exit.cycle, "{seventh:?} ahead of {exit:?}");
    kernel.check();
}

#[test]
fn a_barrier_of_more_warps_than_a_pool_holds_opens() {
    let kernel = two_level("mov.u32 %r1, 1; bar.sync 0; add.u32 %r1, %r1, 1; bar.sync 1; mov.u32 %r2, 2;", 20);
    let log = issues(&kernel);
    assert_eq!(log.iter().filter(|issue| issue.pc == 4).count(), 20);
    kernel.check();
}

#[test]
fn a_two_level_scheduler_with_queued_warps_is_held_back_by_those_of_its_pool() {
    // The six warps in the active pool wait for a division. Six other warps could issue, but are queued
    // outside the pool.
    let bench = two_level("div.u32 %r1, %r2, %r3; add.u32 %r1, %r1, 1;", 12).check();
    let cycles = |reason| bench.cores[0].stall_cycles(reason);
    assert!(cycles(StallReason::ScoreboardAlu) > 200, "{} cycles", cycles(StallReason::ScoreboardAlu));
}

#[test]
fn a_barrier_opens_in_the_cycle_after_its_last_arrival() {
    let log = issues(&Kernel::bare("bar.sync 0; mov.u32 %r1, 1;").grid(1, 96));
    let last = log.iter().filter(|issue| issue.pc == 0).map(|issue| issue.cycle).max().unwrap();
    let first = log.iter().filter(|issue| issue.pc == 1).map(|issue| issue.cycle).min().unwrap();
    assert_eq!(first - last, 1);
}

#[test]
fn waiting_for_memory_and_for_a_pipe_are_charged_apart() {
    let mut kernel = Kernel::new("ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd2], %r3;");
    kernel.delay = 1000;
    kernel.seed = 5;
    let bench = kernel.run(Mode::default());
    let memory = bench.cores[0].stall_cycles(StallReason::ScoreboardMemory);
    let alu = bench.cores[0].stall_cycles(StallReason::ScoreboardAlu);
    assert!(memory > 100 && alu > 10 && alu < 60, "memory {memory}, alu {alu}");
    let sum: u64 = StallReason::ALL.iter().map(|&reason| bench.cores[0].stall_cycles(reason)).sum();
    assert_eq!(sum, 2 * (bench.cycles + 1));
}

#[test]
fn stores_outlive_their_cta_but_not_the_core_s_work() {
    let mut kernel = Kernel::new("st.global.u32 [%rd2], 1;").grid(1, 32);
    kernel.delay = 500;
    kernel.seed = 3;
    let (mut bench, mut sim) = kernel.start(Mode::default());
    let mut done_while_busy = false;
    while sim.step(&mut bench).is_some() {
        done_while_busy |= bench.dispatcher.is_done() && !bench.cores[0].is_idle();
    }
    assert!(done_while_busy && bench.cores[0].is_idle());
}
