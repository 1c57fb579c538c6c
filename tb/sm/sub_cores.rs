//! Tests of sub-cores: each scheduler has pipes, register banks and operand collectors of its own.

use rtl::sm::scheduler::SchedulerConfig;
use rtl::sm::scheduler::greedy_then_oldest::GreedyThenOldest;
use rtl::sm::scheduler::loose_round_robin::LooseRoundRobin;

use super::bench::Kernel;
use super::issue_log::issues;

/// Returns the cycle in which each warp issues its first instruction. Cycles are counted from the first issue
/// of any warp.
fn first_issue_cycles(kernel: &Kernel) -> Vec<u64> {
    let mut first: Vec<(u64, u64)> =
        issues(kernel).iter().filter(|issue| issue.pc == 0).map(|issue| (issue.warp, issue.cycle)).collect();
    first.sort_unstable();
    let from = first.iter().map(|(_, cycle)| *cycle).min().unwrap();
    first.into_iter().map(|(_, cycle)| cycle - from).collect()
}

/// Creates a kernel with `warps` warps on four schedulers and the given number of register banks.
fn four(body: &str, warps: u32, sub_cores: bool, banks: u32) -> Kernel {
    let mut kernel = Kernel::bare(body).grid(1, 32 * warps);
    (kernel.config.schedulers, kernel.config.sub_cores) = (4, sub_cores);
    (kernel.config.operands.banks, kernel.config.operands.sp_collectors) = (banks, 8);
    (kernel.config.operands.sfu_collectors, kernel.config.operands.memory_collectors) = (8, 4);
    kernel.config.pipes.result_bus = 8;
    kernel
}

/// Instructions, each with the number of cycles for which it occupies its pipe: 4 for a special function, 8
/// for double precision.
const KEPT: [(&str, u64); 2] = [("ex2.approx.f32 %f1, %f2;", 4), ("add.f64 %fd1, %fd2, %fd3;", 8)];

#[test]
fn four_warps_issue_to_four_pipes_in_one_cycle_where_others_wait_for_the_one() {
    for (instruction, interval) in KEPT {
        assert_eq!(first_issue_cycles(&four(instruction, 4, false, 0)), [0, interval, 2 * interval, 3 * interval]);
        for banks in [0, 16] {
            assert_eq!(
                first_issue_cycles(&four(instruction, 4, true, banks)),
                [0; 4],
                "{instruction} with {banks} banks"
            );
        }
    }
}

#[test]
fn warps_of_a_sub_core_wait_for_its_pipe_and_those_of_another_do_not() {
    for (instruction, interval) in KEPT {
        let kernel = four(instruction, 6, true, 0);
        // Warps 4 and 5 have the same schedulers as warps 0 and 1, so they wait until the pipes of these
        // schedulers are free.
        assert_eq!(first_issue_cycles(&kernel), [0, 0, 0, 0, interval, interval], "{instruction}");
        kernel.check();
    }
}

#[test]
fn shared_memory_stays_one() {
    for banks in [0, 16] {
        // The addresses of the lanes are 32 words apart, so all lanes access the same bank of shared memory,
        // one lane per cycle.
        let conflict = "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; shl.b32 %r1, %r1, 7; ld.shared.u32 %r2, [%r1];";
        let mut kernel = four(conflict, 4, true, banks);
        kernel.dynamic_shared = 4096;
        let mut cycles: Vec<u64> =
            issues(&kernel).iter().filter(|issue| issue.pc == 3).map(|issue| issue.cycle).collect();
        cycles.sort_unstable();
        cycles.dedup();
        assert_eq!(cycles.len(), 4, "{banks} banks");
        let apart = cycles[1] - cycles[0];
        assert_eq!(apart, if banks == 0 { 32 } else { 1 }, "a collector takes what the pipe does not: {cycles:?}");
    }
}

#[test]
fn banks_of_a_sub_core_are_read_by_nobody_else() {
    let conflicts = |sub_cores, banks| {
        let kernel = four("mad.lo.u32 %r1, %r2, %r3, %r5;", 4, sub_cores, banks);
        kernel.check().cores[0].counters().operand_conflicts
    };
    // Each instruction reads three words. With one register bank per sub-core, this takes three cycles
    // instead of one, so each of the four warps waits 2 cycles. With one bank that all warps share, the four
    // instructions issue in successive cycles, but read their words one after another. They wait 2, 4, 6 and
    // 8 cycles.
    assert_eq!(conflicts(true, 4), 4 * 2);
    assert_eq!(conflicts(false, 1), 2 + 4 + 6 + 8);
    assert_eq!(conflicts(true, 16), 0);
}

#[test]
fn generic_collectors_are_split_among_the_sub_cores_and_take_any_instruction() {
    // Each sub-core has one register bank. The second warp of a scheduler waits until the first warp has read
    // its three words from that bank.
    let cycles = |generic, body: &str| {
        let mut kernel = four(body, 5, true, 4);
        kernel.config.operands.generic_collectors = generic;
        first_issue_cycles(&kernel)
    };
    let body = "mad.lo.u32 %r1, %r2, %r3, %r5;";
    assert_eq!(cycles(4, body), [0, 0, 0, 0, 3]);
    // With a second collector per sub-core, warp 4 waits only for the exit instruction of warp 0, which is
    // issued first.
    assert_eq!(cycles(8, body), [0, 0, 0, 0, 2]);
    // A special-function instruction needs the same kind of collector as any other instruction.
    let body = "mad.f32 %f1, %f2, %f3, %f4; ex2.approx.f32 %f5, %f6;";
    let gap = |generic| {
        let mut kernel = four(body, 1, true, 4);
        kernel.config.operands.generic_collectors = generic;
        let log = issues(&kernel);
        log[1].cycle - log[0].cycle
    };
    assert_eq!([gap(4), gap(8), gap(0)], [3, 1, 1]);
}

#[test]
fn integers_have_a_pipe_of_their_own_beside_single_precision() {
    let gap = |int_pipe, body: &str| {
        // Instructions that read the results are appended, so that register allocation keeps the results in
        // different registers.
        let body = format!("{body} add.u32 %r8, %r1, %r1; add.f32 %f8, %f1, %f5; @%p1 add.u32 %r9, %r8, %r8;");
        let mut kernel = four(&body, 1, true, 0);
        kernel.config.pipes.int_pipe = int_pipe;
        kernel.config.pipes.fp.mul.interval = 3;
        let log = issues(&kernel);
        log[1].cycle - log[0].cycle
    };
    let both = "mul.lo.u32 %r1, %r2, %r3; mul.f32 %f1, %f2, %f3;";
    assert_eq!([gap(false, both), gap(true, both)], [2, 1]);
    // A type conversion uses the pipe of its result type, and a comparison uses the pipe of its operand type.
    // A move uses the integer pipe.
    for (second, gaps) in [("cvt.rn.f32.u32 %f1, %r2;", [3, 3]), ("cvt.rni.s32.f32 %r1, %f4;", [3, 1])] {
        let body = format!("mul.f32 %f5, %f2, %f3; {second}");
        assert_eq!([false, true].map(|int_pipe| gap(int_pipe, &body)), gaps, "{second}");
    }
    for (second, gaps) in [("mov.u32 %r1, %r2;", [3, 1]), ("setp.lt.f32 %p1, %f2, %f3;", [3, 3])] {
        let body = format!("mul.f32 %f5, %f2, %f3; {second}");
        assert_eq!([false, true].map(|int_pipe| gap(int_pipe, &body)), gaps, "{second}");
    }
}

#[test]
fn each_pipe_counts_what_it_took() {
    let mut kernel = four("mul.lo.u32 %r1, %r2, %r3; mul.f32 %f1, %f2, %f3; add.u32 %r1, %r1, 1;", 4, true, 16);
    kernel.config.pipes.int_pipe = true;
    let counters = kernel.check().cores[0].counters().per_pipe;
    assert_eq!([counters[0], counters[9]], [4, 8]);
}

#[test]
fn each_sub_core_takes_its_own_warps_by_turns_or_stays_with_one() {
    // The instructions are independent, and the instruction buffers are large enough that issue never waits
    // for a fetch.
    let body = "add.u32 %r1, %r2, %r3; ".repeat(12).replace("%r1,", "_R_,");
    let body = (0..12).fold(body, |body, at| body.replacen("_R_", &format!("%r{}", 4 + at % 6), 1));
    let warps = |order: SchedulerConfig| {
        let mut kernel = four(&body, 12, true, 0);
        kernel.config.scheduler = order;
        let mut log = issues(&kernel);
        log.sort_unstable_by_key(|issue| (issue.scheduler, issue.cycle));
        let of = |scheduler| log.iter().filter(move |issue| issue.scheduler == scheduler).map(|issue| issue.warp);
        [0, 1, 2, 3].map(|scheduler| of(scheduler).collect::<Vec<_>>())
    };
    for (scheduler, order) in (0..).zip(warps(LooseRoundRobin {}.into())) {
        // Each scheduler has three warps, and issues from them in round robin until they end.
        let turns: Vec<u64> = (0..order.len() as u64).map(|turn| scheduler + 4 * (turn % 3)).collect();
        assert_eq!(order, turns, "scheduler {scheduler}");
    }
    for (scheduler, order) in (0..).zip(warps(GreedyThenOldest {}.into())) {
        assert!(order.windows(2).any(|two| two[0] == two[1]), "scheduler {scheduler}: {order:?}");
        assert!(order.iter().all(|warp| warp % 4 == scheduler), "scheduler {scheduler}: {order:?}");
    }
}
