use isa::alloc::allocate;
use isa::program::LaunchLimits;
use isa::spill::spill;
use proptest::prelude::*;
use ptx::Source;

use super::*;
use crate::memory::FlatMemory;

const OUT: u64 = 0x1000_0000;

/// Compiles a kernel `k(out, n)` that consists of `body` and declarations of registers of all types. `%rd0`
/// holds the parameter `out`, and `%r0` the thread number in the CTA.
fn kernel(body: &str) -> Program {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n.entry k(.param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p<40>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %rd<40>;\n\
         .shared .align 8 .b8 tile[64];\n\
         ld.param.u64 %rd0, [out]; cvta.to.global.u64 %rd0, %rd0; mov.u32 %r0, %tid.x;\n\
         {body}\n}}"
    );
    match Source::new("k.ptx", &text).kernel("k") {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn params(n: u32) -> Vec<u8> {
    let mut params = OUT.to_le_bytes().to_vec();
    params.extend(n.to_le_bytes());
    params
}

fn start(program: &Program, block: [u32; 3], bytes: usize) -> Result<FlatMemory, InterpError> {
    let mut memory = FlatMemory::new();
    memory.place("out", OUT, vec![0; bytes]).unwrap();
    let launch =
        Launch { program, grid: [1; 3], block, dynamic_shared: 0, params: &params(7), max_instructions: 100_000 };
    run(&launch, &mut memory).map(|_| memory)
}

fn words(memory: &FlatMemory) -> Vec<u32> {
    let words = memory.buffers()[0].bytes.chunks_exact(4);
    words.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

/// Runs `body` in `threads` threads. Returns one word per thread: the value that `body` leaves in `%r1`.
fn results(threads: u32, body: &str) -> Vec<u32> {
    let store = "mul.wide.u32 %rd39, %r0, 4; add.s64 %rd39, %rd0, %rd39; st.global.u32 [%rd39], %r1;";
    let program = kernel(&format!("{body} {store}"));
    words(&start(&program, [threads, 1, 1], 4 * threads as usize).unwrap())
}

fn fault(body: &str) -> String {
    start(&kernel(body), [4, 1, 1], 64).unwrap_err().to_string()
}

#[test]
fn threads_exchange_values_through_shared_memory_and_a_barrier() {
    let body = "mov.u32 %r9, tile; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r9; mul.lo.u32 %r3, %r0, %r0; st.shared.u32 [%r2], %r3;\n\
                bar.sync 0; sub.u32 %r4, 28, %r2; ld.shared.u32 %r1, [%r4];";
    assert_eq!(results(8, body), [49, 36, 25, 16, 9, 4, 1, 0]);
}

#[test]
fn threads_that_have_exited_hold_no_barrier_up() {
    let body = "setp.eq.u32 %p1, %r0, 2; mov.u32 %r1, 5; @%p1 ret; bar.sync 1;";
    assert_eq!(results(4, body), [5, 5, 0, 5]);
}

/// The interpreter handles a full warp with equal or adjacent addresses in one step, and a warp under a guard
/// lane by lane. Both must have the same result.
#[test]
fn a_full_warp_accesses_the_same_memory_as_its_lanes_one_by_one() {
    for (space, base) in [("global", "mov.u64 %rd1, %rd0;"), ("shared", "mov.u64 %rd1, more;")] {
        for (ty, register, bytes) in
            [("u32", "%r2", 4), ("s8", "%r2", 1), ("u64", "%rd2", 8), ("v2.u32", "{%r2, %r3}", 8)]
        {
            for stride in [0, bytes, 2 * bytes, 64] {
                let run = |guards: &[&str]| {
                    let access = |op: &str, operands: &str| -> String {
                        guards.iter().map(|guard| format!("{guard} {op}.{space}.{ty} {operands};\n")).collect()
                    };
                    let program = kernel(&format!(
                        ".shared .align 8 .b8 more[4096];\n{base} mad.wide.u32 %rd1, %r0, {stride}, %rd1;\n\
                         and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1; mad.lo.u32 %r2, %r0, 77, 200;\n\
                         not.b32 %r3, %r2; mov.b64 %rd2, {{%r2, %r3}};\n{}mov.u32 %r2, 0; mov.u32 %r3, 0;\n\
                         mov.u64 %rd2, 0;\n{}mov.b64 {{%r5, %r6}}, %rd2; add.u32 %r2, %r2, %r3;\n\
                         add.u32 %r5, %r5, %r6; add.u32 %r2, %r2, %r5; mad.wide.u32 %rd3, %r0, 4, %rd0; st.global.u32 [%rd3+4096], %r2; ret;",
                        access("st", &format!("[%rd1], {register}")),
                        access("ld", &format!("{register}, [%rd1]")),
                    ));
                    words(&start(&program, [32, 1, 1], 4096 + 128).unwrap())
                };
                assert_eq!(run(&[""]), run(&["@!%p1", "@%p1"]), "{space} {ty} stride {stride}");
            }
        }
    }
}

#[test]
fn a_full_warp_that_leaves_its_buffer_faults_in_the_first_lane_outside() {
    for op in ["st.global.u32 [%rd1], %r0;", "ld.global.u32 %r1, [%rd1];"] {
        let program = kernel(&format!("mad.wide.u32 %rd1, %r0, 4, %rd0; {op} ret;"));
        let fault = start(&program, [32, 1, 1], 120).unwrap_err().to_string();
        assert!(fault.contains("thread [30, 0, 0]: 4 bytes at 0x10000078: out of range"), "{fault}");
    }
}

#[test]
fn shared_memory_starts_fresh_in_every_cta() {
    let program = kernel(
        "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd1, %r5, 4; add.s64 %rd1, %rd0, %rd1;\n\
         ld.shared.u32 %r1, [tile]; add.u32 %r1, %r1, 1; st.shared.u32 [tile], %r1;\n\
         st.global.u32 [%rd1], %r1;",
    );
    let mut memory = FlatMemory::new();
    memory.place("out", OUT, vec![0; 12]).unwrap();
    let launch = Launch {
        program: &program,
        grid: [3, 1, 1],
        block: [1; 3],
        dynamic_shared: 0,
        params: &params(0),
        max_instructions: 1000,
    };
    let counts = run(&launch, &mut memory).unwrap();
    assert_eq!(words(&memory), [1, 1, 1]);
    assert_eq!(counts.thread_instructions, 3 * program.insts.len() as u64);
}

#[test]
fn special_registers_count_threads_with_x_fastest() {
    let program = kernel(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x;\n\
         mov.u32 %r5, %ntid.y; mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;\n\
         mov.u32 %r7, %laneid; mov.u32 %r8, %warpid; mad.lo.u32 %r7, %r8, 32, %r7;\n\
         mul.wide.u32 %rd1, %r6, 4; add.s64 %rd1, %rd0, %rd1; st.global.u32 [%rd1], %r7;",
    );
    let memory = start(&program, [5, 4, 3], 240).unwrap();
    assert_eq!(words(&memory), (0..60).collect::<Vec<u32>>());
}

#[test]
fn loads_extend_to_the_register_and_stores_cut() {
    let body = "mov.u64 %rd1, 0x1122334455668899; st.shared.u64 [tile], %rd1;\n\
                ld.shared.s8 %r2, [tile]; ld.shared.u8 %rs1, [tile+1]; ld.shared.s16 %rd2, [tile];\n\
                cvt.u32.u16 %r3, %rs1; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r4, %rd2;\n\
                st.shared.u8 [tile+8], %r2; ld.shared.v2.u32 {%r5, %r6}, [tile+8];\n\
                xor.b32 %r1, %r2, %r3; xor.b32 %r1, %r1, %r4; xor.b32 %r1, %r1, %r5;";
    assert_eq!(results(1, body), [0xffff_ff99 ^ 0x88 ^ 0xffff_ffff ^ 0x99]);
}

#[test]
fn values_are_packed_and_taken_apart() {
    let body = "mov.b64 %rd1, {%r0, 7}; mov.b64 {%rs1, _, %rs3, %rs4}, %rd1;\n\
                mov.b32 %r1, {%rs3, %rs1};";
    assert_eq!(results(2, body), [7, 7 | 1 << 16]);
}

#[test]
fn predicates_steer_guards_selections_and_combinations() {
    let body = "setp.lt.u32 %p1|%p2, %r0, 2; setp.ne.and.u32 %p3, %r0, 0, %p1;\n\
                selp.b32 %r1, 10, 20, %p1; @!%p2 add.u32 %r1, %r1, 1; not.pred %p4, %p3;\n\
                xor.pred %p5, %p4, 1; @%p5 add.u32 %r1, %r1, 100;";
    assert_eq!(results(4, body), [11, 111, 20, 20]);
}

#[test]
fn an_access_out_of_range_names_thread_place_and_buffer() {
    let body = "mul.wide.u32 %rd1, %r0, 32; add.s64 %rd1, %rd0, %rd1;\n ld.global.u32 %r1, [%rd1];";
    assert_eq!(
        fault(body),
        "k.ptx:9: kernel `k`, pc 5, CTA [0, 0, 0], thread [2, 0, 0]: 4 bytes at 0x10000040: out of \
         range, the nearest is `out` from 0x10000000 to below 0x10000040"
    );
}

#[test]
fn a_misaligned_access_names_thread_and_place() {
    assert_eq!(
        fault("st.global.u32 [%rd0+2], 1;"),
        "k.ptx:8: kernel `k`, pc 3, CTA [0, 0, 0], thread [0, 0, 0]: 4 bytes at 0x10000002: \
         misaligned, expected a multiple of 4"
    );
    assert!(
        fault("ld.shared.u32 %r1, [tile+2];")
            .ends_with("4 bytes at 0x2 of shared memory: misaligned, expected a multiple of 4")
    );
}

#[test]
fn shared_memory_and_parameters_end_where_they_end() {
    assert!(
        fault("ld.shared.v2.u32 {%r1, %r2}, [tile+64];")
            .ends_with("8 bytes at 0x40 of shared memory: out of range, it has 64 bytes")
    );
    assert!(fault("ld.shared.u32 %r1, [tile+-4];").contains("out of range"));
    assert!(
        fault("ld.param.u32 %r1, [n+4];").ends_with("4 bytes at 0xc of the parameters: out of range, it has 12 bytes")
    );
}

#[test]
fn an_endless_loop_is_ended() {
    assert!(fault("L: bra L;").ends_with("no end in sight after 100000 thread instructions"));
}

#[test]
fn warps_at_different_barriers_are_told() {
    let body = "setp.ge.u32 %p1, %r0, 32;\n @%p1 bra B;\n bar.sync 0;\n ret;\nB: bar.sync 1;";
    assert_eq!(
        start(&kernel(body), [64, 1, 1], 64).unwrap_err().to_string(),
        "k.ptx:12: kernel `k`, pc 7, CTA [0, 0, 0], thread [32, 0, 0]: waits at barrier 1 while \
         another thread waits at a different one"
    );
}

#[test]
fn a_launch_that_does_not_fit_is_refused() {
    let program = kernel("ret;");
    let mut memory = FlatMemory::new();
    let fine = Launch {
        program: &program,
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        params: &params(0),
        max_instructions: 10,
    };
    let mut refused = |launch: Launch<'_>| run(&launch, &mut memory).unwrap_err().to_string();
    assert_eq!(
        refused(Launch { block: [64, 32, 1], ..fine }),
        "kernel `k`: block [64, 32, 1] has 2048 threads, expected at most 1024"
    );
    assert!(refused(Launch { block: [u32::MAX; 3], ..fine }).contains("at most 1024"));
    assert!(refused(Launch { grid: [1, 0, 1], ..fine }).contains("expected sizes of 1 or more"));
    assert_eq!(refused(Launch { params: &[0; 4], ..fine }), "kernel `k`: 4 bytes of parameters, expected 12");
    let limited =
        Program { limits: LaunchLimits { largest_block: Some([2, 2, 1]), ..Default::default() }, ..program.clone() };
    assert!(refused(Launch { program: &limited, block: [5, 1, 1], ..fine }).contains("`.maxntid`"));
}

fn load_kernel(path: &str, name: &str) -> Program {
    let path = format!("{}/../kernels/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    Source::new(&path, &text).kernel(name).unwrap()
}

#[test]
fn vadd_adds_vectors() {
    let program = load_kernel("vadd/vadd.ptx", "vadd");
    let value = |i: u32, k: f32| i as f32 * k;
    let bytes = |k| (0..1000).flat_map(|i| value(i, k).to_le_bytes()).collect::<Vec<u8>>();
    let mut memory = FlatMemory::new();
    memory.place("a", 0x1000, bytes(0.5)).unwrap();
    memory.place("b", 0x3000, bytes(-3.0)).unwrap();
    memory.place("c", 0x5000, vec![0; 4000]).unwrap();
    let mut params: Vec<u8> = [0x1000u64, 0x3000, 0x5000].iter().flat_map(|p| p.to_le_bytes()).collect();
    params.extend(1000u32.to_le_bytes());
    let launch = Launch {
        program: &program,
        grid: [4, 1, 1],
        block: [256, 1, 1],
        dynamic_shared: 0,
        params: &params,
        max_instructions: 1 << 20,
    };
    run(&launch, &mut memory).unwrap();
    let sums = memory.buffer("c").unwrap().bytes.chunks_exact(4);
    for (i, sum) in sums.enumerate() {
        let sum = f32::from_le_bytes(sum.try_into().unwrap());
        assert_eq!(sum, value(i as u32, 0.5) + value(i as u32, -3.0));
    }
}

/// Generator of random kernels with branches, loops and guards. The kernels read only registers that they
/// have written, so their results must be the same before and after register allocation.
struct Writer {
    state: u64,
    text: String,
    /// Numbers of the registers that are written on every path to the current position.
    words: Vec<u32>,
    wides: Vec<u32>,
    preds: Vec<u32>,
    labels: u32,
    loops: u32,
}

impl Writer {
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.state >> 33) as usize) % n
    }

    fn word(&mut self) -> String {
        let i = self.below(self.words.len());
        format!("%r{}", self.words[i])
    }

    fn wide(&mut self) -> String {
        let i = self.below(self.wides.len());
        format!("%rd{}", self.wides[i])
    }

    fn pred(&mut self) -> String {
        let i = self.below(self.preds.len());
        format!("%p{}", self.preds[i])
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    fn line(&mut self) {
        let target = 1 + self.below(20) as u32;
        let guard = match self.below(4) {
            0 => format!("@{}{} ", self.one_of(&["", "!"]), self.pred()),
            _ => String::new(),
        };
        let (a, b, c) = (self.word(), self.word(), self.word());
        let (x, y, p) = (self.wide(), self.wide(), self.pred());
        let kind = self.below(10);
        // A guarded write may leave its register unwritten. A guard is therefore generated only if the
        // register has been written before.
        let known = match kind {
            0..=4 => self.words.contains(&target),
            5..=7 => self.wides.contains(&target),
            _ => self.preds.contains(&target),
        };
        let guard = if known { guard } else { String::new() };
        let text = match kind {
            0 => format!(
                "{} %r{target}, {a}, {b};",
                self.one_of(&["add.s32", "mul.lo.u32", "xor.b32", "min.s32", "add.f32"])
            ),
            1 => format!("mad.lo.s32 %r{target}, {a}, {b}, {c};"),
            2 => format!("selp.b32 %r{target}, {a}, {b}, {p};"),
            3 => format!("cvt.u32.u64 %r{target}, {x};"),
            4 => format!("mov.b64 {{_, %r{target}}}, {x};"),
            5 => format!("{} %rd{target}, {x}, {y};", self.one_of(&["add.s64", "xor.b64", "mul.hi.u64", "sub.s64"])),
            6 => format!("mul.wide.s32 %rd{target}, {a}, {b};"),
            7 => format!("mov.b64 %rd{target}, {{{a}, {b}}};"),
            8 => format!("setp.{}.s32 %p{target}, {a}, {b};", self.one_of(&["lt", "eq", "ge"])),
            _ => format!("and.pred %p{target}, {p}, !{};", self.pred()),
        };
        self.text += &format!("{guard}{text}\n");
        let defined = match kind {
            0..=4 => &mut self.words,
            5..=7 => &mut self.wides,
            _ => &mut self.preds,
        };
        if !defined.contains(&target) {
            defined.push(target);
        }
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.below(6) {
            match self.below(8) {
                0 if depth > 0 => self.branch(depth),
                1 if depth > 0 => self.repeat(depth),
                _ => self.line(),
            }
        }
    }

    fn branch(&mut self, depth: u32) {
        self.labels += 1;
        let label = self.labels;
        let p = self.pred();
        let before = (self.words.clone(), self.wides.clone(), self.preds.clone());
        self.text += &format!("@{p} bra ELSE{label};\n");
        self.block(depth - 1);
        (self.words, self.wides, self.preds) = before.clone();
        self.text += &format!("bra END{label};\nELSE{label}:\n");
        self.block(depth - 1);
        (self.words, self.wides, self.preds) = before;
        self.text += &format!("END{label}:\n");
    }

    fn repeat(&mut self, depth: u32) {
        self.labels += 1;
        self.loops += 1;
        let (label, counter) = (self.labels, 25 + self.loops % 10);
        if self.loops > 10 {
            return self.line();
        }
        let times = 1 + self.below(3);
        self.text += &format!("mov.u32 %r{counter}, 0;\nLOOP{label}:\n");
        self.block(depth - 1);
        self.text += &format!(
            "add.u32 %r{counter}, %r{counter}, 1; setp.lt.u32 %p35, %r{counter}, {times};\n\
             @%p35 bra LOOP{label};\n"
        );
    }

    fn kernel(seed: u64) -> String {
        let mut writer = Writer {
            state: seed,
            text: "mov.u64 %rd30, 0x9E3779B97F4A7C15; setp.gt.u32 %p30, %r0, 1;\n".to_string(),
            words: vec![0],
            wides: vec![30],
            preds: vec![30],
            labels: 0,
            loops: 0,
        };
        for _ in 0..4 {
            writer.block(3);
        }
        writer.text += "mul.wide.u32 %rd39, %r0, 32; add.s64 %rd39, %rd0, %rd39;\n";
        for at in [0, 4, 8, 12] {
            let word = writer.word();
            writer.text += &format!("st.global.u32 [%rd39+{at}], {word};\n");
        }
        let (x, y) = (writer.wide(), writer.wide());
        writer.text += &format!("st.global.v2.u64 [%rd39+16], {{{x}, {y}}};\n");
        writer.text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_program_computes_the_same_on_virtual_and_on_physical_registers(seed: u64) {
        let text = Writer::kernel(seed);
        let program = kernel(&text);
        let physical = allocate(&program).unwrap();
        let expected = start(&program, [4, 1, 1], 128).unwrap();
        let found = start(&physical, [4, 1, 1], 128).unwrap();
        prop_assert_eq!(words(&expected), words(&found), "{}", text);
        // With as few registers as possible, and with half of those that it needs.
        for limit in [1, physical.regs / 2] {
            let spilled = allocate(&spill(program.clone(), limit).unwrap()).unwrap();
            let found = start(&spilled, [4, 1, 1], 128).unwrap();
            prop_assert_eq!(words(&expected), words(&found), "limit {}\n{}", limit, text);
            prop_assert!(spilled.regs <= limit.max(12), "{} registers, limit {}\n{}", spilled.regs, limit, text);
        }
    }
}
