//! Tests with random structured kernels: nested branches and loops that depend on data, guarded instructions,
//! and exits. The kernels contain global, shared, local, generic and vector accesses, and barriers. They also
//! contain atomics to locations that only one thread accesses.

use std::fmt::Write;

use rtl::kernel::digest_of;
use rtl::sm::StallReason;
use rtl::sm::scheduler::caws::CawsConfig;
use rtl::sm::scheduler::greedy_then_youngest::GreedyThenYoungest;
use rtl::sm::scheduler::loose_round_robin::LooseRoundRobin;
use rtl::sm::scheduler::two_level::TwoLevel;

use super::bench::{Bench, Kernel};
use crate::kit::coverage::{Axis, Cross, Exclusion, hit_times};

const NAME: &str = "scheduler cycles of random kernels";

/// Warp scheduling policies under test. With `greedy, one warp`, each scheduler may issue from one warp only.
const POLICIES: [&str; 6] =
    ["greedy then oldest", "greedy, one warp", "round robin", "two levels", "greedy then youngest", "ranked"];

/// Declares the functional coverage: every stall reason under every scheduling policy.
pub(crate) fn cross() -> Cross {
    let axes = vec![Axis::new("policy", POLICIES), Axis::new("cycle", StallReason::ALL.map(StallReason::name))];
    let of = |policies: &[&'static str], reason: StallReason| vec![policies.to_vec(), vec![reason.name()]];
    let excluded = vec![
        Exclusion { of: of(&[], StallReason::Halted), reason: "no random kernel has a fault" },
        Exclusion { of: of(&[], StallReason::FetchMiss), reason: "instructions are always available" },
        Exclusion {
            of: of(
                &["greedy then oldest", "round robin", "two levels", "greedy then youngest", "ranked"],
                StallReason::Throttled,
            ),
            reason: "these policies have no warp limit",
        },
    ];
    Cross { name: NAME, axes, excluded }
}

/// Number of data registers that the random kernels use: `%r8` to `%r15`.
const REGISTERS: u64 = 8;

struct Generator {
    random: u64,
    text: String,
    labels: u32,
    /// Number of statements that the generator may still add to the kernel.
    left: u64,
}

impl Generator {
    fn next(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) % below
    }

    fn register(&mut self) -> u64 {
        8 + self.next(REGISTERS)
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).unwrap();
        self.text.push('\n');
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..1 + self.next(5) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let (a, b, c) = (self.register(), self.register(), self.register());
        let at = self.next(8) * 4;
        match self.next(if depth < 4 { 20 } else { 16 }) {
            0 => self.line(format_args!("add.u32 %r{a}, %r{b}, %r{c};")),
            1 => self.line(format_args!("mad.lo.u32 %r{a}, %r{b}, 77, %r{c};")),
            2 => self.line(format_args!("max.s32 %r{a}, %r{b}, %r{c};")),
            3 => self.line(format_args!("setp.lt.s32 %p1, %r{b}, %r{c}; @%p1 xor.b32 %r{a}, %r{b}, 0x5a5;")),
            4 => self.line(format_args!("st.global.u32 [%rd2+{at}], %r{a}; ld.global.u32 %r{b}, [%rd2+{at}];")),
            5 => self.line(format_args!("st.shared.u32 [%r4+{at}], %r{a}; ld.shared.u32 %r{b}, [%r4+{at}];")),
            6 => self.line(format_args!("ld.global.v2.u32 {{%r{a}, %r30}}, [%rd3+8]; add.u32 %r{a}, %r{a}, %r30;")),
            7 => self.line(format_args!("ld.global.s8 %r{a}, [%rd3+{at}]; shl.b32 %r{b}, %r{a}, 3;")),
            8 => self.line(format_args!(
                "rem.u32 %r{a}, %r{b}, 1000; cvt.rn.f32.u32 %f1, %r{a}; cvt.rzi.u32.f32 %r{a}, %f1;"
            )),
            9 => self.line(format_args!("atom.shared.add.u32 %r{a}, [%r4+{at}], %r{b};")),
            10 => self.line(format_args!("red.global.max.u32 [%rd2+{at}], %r{a}; ld.global.u32 %r{b}, [%rd2+{at}];")),
            11 => self.line(format_args!("atom.global.cas.b32 %r{a}, [%rd2+{at}], %r{b}, %r{c};")),
            12 => self.line(format_args!("add.cc.u32 %r{a}, %r{b}, %r{c}; addc.u32 %r{b}, %r{c}, %r{a};")),
            13 => self.line(format_args!("st.local.u32 [spill+{at}], %r{a}; ld.local.s16 %r{b}, [spill+{at}];")),
            14 => self.line(format_args!(
                "and.b32 %r31, %r{a}, 1; setp.eq.u32 %p5, %r31, 0; selp.b64 %rd5, %rd4, %rd2, %p5;
                 st.u32 [%rd5+{at}], %r{b}; ld.u16 %r{c}, [%rd5+{at}];"
            )),
            15 => self.line(format_args!("st.global.u32 [%rd2+{at}], %r{c}; membar.gl;")),
            16 | 17 => {
                let label = self.label();
                let bit = self.next(5);
                self.line(format_args!("shr.u32 %r31, %r{a}, {bit}; and.b32 %r31, %r31, 1; setp.eq.u32 %p2, %r31, 0;"));
                self.line(format_args!("@%p2 bra ELSE{label};"));
                self.statements(depth + 1);
                self.line(format_args!("bra END{label};\nELSE{label}:"));
                self.statements(depth + 1);
                self.line(format_args!("END{label}:"));
            }
            18 => {
                let (label, counter) = (self.label(), 40 + depth);
                self.line(format_args!("and.b32 %r{counter}, %r{a}, 3;\nLOOP{label}:"));
                self.statements(depth + 1);
                self.line(format_args!("sub.u32 %r{counter}, %r{counter}, 1; setp.ge.s32 %p3, %r{counter}, 0;"));
                self.line(format_args!("@%p3 bra LOOP{label};"));
            }
            _ => self.line(format_args!("and.b32 %r31, %r{a}, 63; setp.eq.u32 %p4, %r31, 9; @%p4 exit;")),
        }
    }
}

/// Generates a random kernel of at most `statements` statements. It consists of several sections of code that
/// are separated by barriers.
pub fn kernel(seed: u64, statements: u64) -> Kernel {
    let mut generator = Generator { random: seed | 1, text: String::new(), labels: 0, left: statements };
    let prologue = ".local .align 8 .b8 spill[32]; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 5; mul.wide.u32 %rd3, %r0, 64; add.u64 %rd3, %rd1, %rd3;
        ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd3]; ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd3+16];
        st.shared.v2.u32 [%r4], {%r8, %r9}; st.shared.v2.u32 [%r4+8], {%r10, %r11};
        st.shared.v2.u32 [%r4+16], {%r8, %r9}; st.shared.v2.u32 [%r4+24], {%r10, %r11};
        cvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd4, %rd4;\n";
    generator.text.push_str(prologue);
    for _ in 0..1 + generator.next(3) {
        generator.statements(0);
        generator.text.push_str("bar.sync 0;\n");
    }
    let epilogue =
        "st.global.v4.u32 [%rd2+32], {%r8, %r9, %r10, %r11}; st.global.v4.u32 [%rd2+48], {%r12, %r13, %r14, %r15};";
    generator.text.push_str(epilogue);
    let mut kernel = Kernel::new(&generator.text);
    let mut threads = [32, 64, 96, 72][generator.next(4) as usize];
    match generator.next(7) {
        0 => kernel.config.scheduler = LooseRoundRobin {}.into(),
        1 => {
            // The kernel has more warps than the active pool of the two-level scheduler can hold.
            kernel.config.scheduler = TwoLevel {}.into();
            threads *= 3;
        }
        2 => kernel.config.warp_limit = 1,
        3 => kernel.config.scheduler = GreedyThenYoungest {}.into(),
        4 => kernel.config.scheduler = CawsConfig { greedy: generator.next(2) == 0, ..CawsConfig::default() }.into(),
        _ => {}
    }
    kernel.dynamic_shared = 32 * threads;
    kernel.delay = [1, 7, 100][generator.next(3) as usize];
    kernel.seed = seed;
    kernel.config.instruction_buffer = [2, 4][(seed % 2) as usize];
    if generator.next(3) == 0 {
        kernel.config.schedulers = 1;
    }
    if generator.next(3) == 0 {
        kernel.config.operands.banks = [1, 4, 16][generator.next(3) as usize];
        kernel.config.operands.memory_collectors = 1 + generator.next(2) as u8;
    }
    kernel.grid(1 + generator.next(3) as u32, threads)
}

/// Maximum number of statements of a random kernel. Few kernels reach this limit.
pub(crate) const STATEMENTS: u64 = 10_000;

/// Runs the random kernel of a seed, with at most `statements` statements, in every evaluation mode of the
/// simulator. Returns the numbers of warp instructions and cycles.
///
/// # Panics
/// Panics if the evaluation modes disagree, or the results differ from those of the interpreter.
pub(crate) fn run(seed: u64, statements: u64) -> (u64, u64) {
    // The random generator yields similar numbers for seeds that differ in few bits, so the seed is hashed
    // first.
    let kernel = kernel(digest_of(&seed), statements);
    let policy = match (kernel.config.scheduler.typetag_name(), kernel.config.warp_limit) {
        ("loose-round-robin", _) => POLICIES[2],
        ("two-level", _) => POLICIES[3],
        ("greedy-then-youngest", _) => POLICIES[4],
        ("caws", _) => POLICIES[5],
        (_, 0) => POLICIES[0],
        (_, _) => POLICIES[1],
    };
    let Bench { cores, cycles, .. } = kernel.check();
    for reason in StallReason::ALL {
        let times = cores.iter().map(|core| core.stall_cycles(reason)).sum();
        hit_times(NAME, &[policy, reason.name()], times);
    }
    (cores.iter().map(|core| core.counters().warp_instructions).sum(), cycles)
}

#[cfg(test)]
mod tests {
    use crate::kit::for_each_seed;

    #[test]
    fn random_kernels_agree_with_the_interpreter_in_every_mode() {
        for_each_seed(48, |seed| assert!(super::run(seed, super::STATEMENTS).0 > 0));
    }
}
