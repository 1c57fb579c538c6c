//! Tests of matrix products: results in comparison with the interpreter, timing of the tensor pipe, matrix
//! loads with bank conflicts, and partial warps.

use golden::interp::{self, InterpError};
use isa::program::Op;
use isa::tensor::FORMS;
use proptest::prelude::*;
use rtl::kernel::Mode;
use rtl::sm::{LaunchError, OpTiming, SmCore, occupancy};

use super::bench::Kernel;

/// Creates a kernel that runs on cores with tensor pipes.
fn kernel(body: &str) -> Kernel {
    let mut kernel = Kernel::new(body);
    kernel.config.pipes.tensor = OpTiming { latency: 4, interval: 4 };
    kernel
}

fn registers(kind: &str, first: u32, count: u32) -> String {
    let names: Vec<_> = (first..first + count).map(|number| format!("%{kind}{number}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Returns PTX loads into `count` registers beginning with number `first`. The loaded words differ between
/// lanes.
fn fill(first: u32, count: u32, seed: u64) -> String {
    let word = |at: u32| {
        let offset = (seed.wrapping_mul(u64::from(at) + 7) >> 20) % 512 * 4;
        format!("ld.global.u32 %r{at}, [%rd4+{offset}]; ")
    };
    let begin = "mul.wide.u32 %rd4, %r0, 132; add.u64 %rd4, %rd1, %rd4; ".to_owned();
    (first..first + count).map(word).fold(begin, |text, load| text + &load)
}

fn stores(first: u32, count: u32) -> String {
    (0..count).map(|at| format!("st.global.u32 [%rd2+{}], %r{}; ", 4 * at, first + at)).collect()
}

/// Returns PTX code that executes all forms of `mma` one after another. Each form adds its product to the
/// last result that has the same number of registers.
fn products(seed: u64) -> String {
    let mut body = fill(4, 24, seed);
    for form in &FORMS {
        let [a, b] = form.majors.map(|major| if format!("{major:?}") == "Row" { "row" } else { "col" });
        let types: &[&str] = match (form.products, form.factor_bits, form.extent[0]) {
            (1, 16, _) => &["f32.f16.f16.f32", "f32.bf16.bf16.f32", "f16.f16.f16.f16"],
            (1, 64, _) => &["f64.f64.f64.f64"],
            (1, 32, _) => &["f32.tf32.tf32.f32"],
            (1, 4, _) => &["s32.s4.u4.s32", "satfinite.s32.u4.u4.s32"],
            (1, 1, _) => &["s32.b1.b1.s32.and.popc", "s32.b1.b1.s32.xor.popc"],
            (1, _, 8) => &["s32.s8.u8.s32"],
            (1, _, _) => &["s32.u8.s8.s32", "satfinite.s32.s8.s8.s32", "f32.e4m3.e5m2.f32", "f16.e5m2.e4m3.f16"],
            _ => &["f32.f16.f16.f32", "f16.f16.f16.f16"],
        };
        for types in types {
            let sums = form.sums(if types.starts_with("f16") { isa::tensor::Sum::F16 } else { isa::tensor::Sum::F32 });
            let count = if types.starts_with("f16") { sums.elements() / 2 } else { sums.elements() };
            let shape = form.shape;
            if form.is_double() {
                // Each double of the operands consists of two 32-bit registers with loaded words, and each
                // double of the result is written to two such registers.
                let wide = |first: u32, count: u32| registers("rd", first, count);
                let pack = |first: u32, to: u32, count: u32| -> String {
                    let pair = |at: u32| {
                        format!("mov.b64 %rd{}, {{%r{}, %r{}}};\n", to + at, first + 2 * at, first + 2 * at + 1)
                    };
                    (0..count).map(pair).collect()
                };
                let (in_a, in_b) = (wide(8, form.a.elements()), wide(16, form.b.elements()));
                let in_c = wide(20, count);
                body += &(pack(4, 8, 8) + &pack(12, 16, 4) + &pack(20, 20, 4));
                body += &format!("mma.sync.aligned.{shape}.{a}.{b}.{types} {in_c}, {in_a}, {in_b}, {in_c};\n");
                body += &(0..count)
                    .map(|at| format!("mov.b64 {{%r{}, %r{}}}, %rd{};\n", 20 + 2 * at, 21 + 2 * at, 20 + at))
                    .collect::<String>();
                continue;
            }
            let (d, c) = (registers("r", 20, count), registers("r", 20, count));
            let in_a = registers("r", 4, form.a.elements() / form.per_register());
            let in_b = registers("r", 12, form.b.elements() / form.per_register());
            body += &format!("mma.sync.aligned.{shape}.{a}.{b}.{types} {d}, {in_a}, {in_b}, {c};\n");
            // Writes the XOR of two result words (in `%r20` and `%r21`) to an accumulator register, so that
            // later results depend on these words.
            body += &format!("xor.b32 %r{}, %r20, %r21;\n", 20 + count % 8);
        }
    }
    body + &stores(20, 8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn products_of_random_registers_agree_with_the_interpreter(seed in any::<u64>(), banks in 0u32..2) {
        let mut kernel = kernel(&products(seed));
        kernel.config.operands.banks = 16 * banks;
        kernel.grid(2, 128).check();
    }

    #[test]
    fn matrices_of_random_rows_agree_with_the_interpreter(seed in any::<u64>()) {
        let mut body = "mov.u32 %r3, %tid.x; shl.b32 %r3, %r3, 6; ".to_owned() + &fill(4, 16, seed);
        for at in 0..4 {
            let at4 = 4 + 4 * at;
            let words = registers("r", at4, 4);
            body += &format!("st.shared.v4.b32 [%r3+{}], {words};\n", 16 * at);
        }
        body += "bar.sync 0; mul.lo.u32 %r3, %r0, 29; add.u32 %r3, %r3, 5; and.b32 %r3, %r3, 255; shl.b32 %r3, %r3, 4;\n";
        for (form, first, count) in [("x1", 20, 1), ("x2.trans", 21, 2), ("x4", 23, 4), ("x1.trans", 27, 1)] {
            let words = registers("r", first, count);
            body += &format!("ldmatrix.sync.aligned.m8n8.{form}.shared.b16 {words}, [%r3];\n");
        }
        body += &format!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {}, [%r3];\n", registers("r", 28, 4));
        let mut kernel = kernel(&(body + &stores(20, 12)));
        kernel.dynamic_shared = 4096;
        kernel.grid(2, 64).check();
    }

    #[test]
    fn fragments_in_every_order_agree_with_the_interpreter(seed in any::<u64>()) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|bit| if seed >> bit & 1 == 0 { "row" } else { "col" });
        let shape = isa::tensor::TILINGS[seed as usize >> 4 & 1].shape;
        let (sum, count) = if seed >> 8 & 1 == 0 { ("f32", 8) } else { ("f16", 4) };
        let (in_a, in_b, in_c) = (registers("r", 4, 8), registers("r", 12, 8), registers("r", 20, count));
        let body = format!(
            "wmma.load.a.sync.aligned.{a}.{shape}.global.f16 {in_a}, [%rd1+32], 48; mov.u32 %r3, 32;
             wmma.load.b.sync.aligned.{b}.{shape}.f16 {in_b}, [%rd1+4096], %r3;
             wmma.load.c.sync.aligned.{c}.{shape}.global.{sum} {in_c}, [%rd1+8192];
             wmma.mma.sync.aligned.{a}.{b}.{shape}.{sum}.{sum} {in_c}, {in_a}, {in_b}, {in_c};
             mul.wide.u32 %rd5, %r1, 16384; add.u64 %rd5, %rd5, %rd0;
             wmma.store.d.sync.aligned.{d}.{shape}.global.{sum} [%rd5], {in_c}, 64;"
        );
        kernel(&body).grid(2, 32).check();
    }
}

/// Returns the duration in cycles of a kernel that does not access memory.
fn cycles(body: &str, warps: u32) -> u64 {
    let fill: String = (4..28).map(|at| format!("mov.u32 %r{at}, {at}; ")).collect();
    kernel(&format!("{fill}{body}")).grid(1, 32 * warps).run(Mode::default()).cycles
}

#[test]
fn a_product_takes_as_many_intervals_as_it_has_multiplications() {
    let m8 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, {%r4, %r5}, \
              {%r8, %r9}, {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27};";
    let m16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, \
               {%r20, %r21, %r22, %r23};";
    // Per multiplication, 64-bit factors take 16 times as long as 16-bit factors, 4-bit factors half as long
    // as 8-bit factors, and single bits an eighth as long as 8-bit factors.
    let m8f64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd20, %rd21}, {%rd4}, {%rd8}, {%rd20, %rd21};";
    let m16s4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r20, %r21, %r22, %r23}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, \
                 {%r20, %r21, %r22, %r23};";
    let m16b1 = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r20, %r21, %r22, %r23}, {%r4, %r5, %r6, %r7}, \
                 {%r8, %r9}, {%r20, %r21, %r22, %r23};";
    // Each product adds to the result of the previous product, so the products run one after the other. A
    // product has `steps` steps of four cycles, so each further product adds `4 * steps` cycles.
    for (one, steps) in [(m8, 4), (m16, 8), (m8f64, 16), (m16s4, 16), (m16b1, 16)] {
        let rates = [4, 8].map(|count| cycles(&one.repeat(count + 1), 1) - cycles(&one.repeat(count), 1));
        assert_eq!(rates, [4 * steps; 2], "{one}");
    }
}

/// Returns a matrix product with 16 steps whose result is also its accumulator.
fn wmma() -> String {
    let [a, b, c] = [4, 12, 20].map(|first| registers("r", first, 8));
    format!("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {c}, {a}, {b}, {c};")
}

#[test]
fn a_wmma_takes_the_time_that_accel_sim_gives_it() {
    let [nine, ten] = [9, 10].map(|count| cycles(&wmma().repeat(count), 1));
    assert_eq!(ten - nine, 64);
    // A tensor pipe latency of 12 instead of 4 cycles only delays the end of the kernel by these 8 cycles.
    // Each partial sum is still ready for the step that adds to it.
    let late = |latency: u16| {
        let mut kernel = kernel(&wmma().repeat(3));
        kernel.config.pipes.tensor.latency = latency;
        kernel.run(Mode::default()).cycles
    };
    assert_eq!(late(12) - late(4), 8);
}

#[test]
fn schedulers_have_tensor_pipes_of_their_own() {
    let [one, two, four] = [1, 2, 4].map(|warps| cycles(&wmma().repeat(8), warps));
    assert!(two < one + 32, "{one} cycles alone, {two} on two schedulers");
    assert!(four > two + 7 * 64, "{two} cycles on two schedulers, {four} with two warps each");
}

#[test]
fn shared_memory_gives_a_matrix_a_cycle_unless_its_rows_meet_in_a_bank() {
    let conflicts = |pitch: u32, form: &str, count: u32| {
        let words = registers("r", 8, count);
        let body = format!(
            "mul.lo.u32 %r3, %r0, {pitch}; ldmatrix.sync.aligned.m8n8.{form}.shared.b16 {words}, [%r3]; {}",
            stores(8, count)
        );
        let mut kernel = kernel(&body);
        kernel.dynamic_shared = 32 * 144;
        kernel.check().cores.iter().map(|core| core.counters().shared_conflicts).sum::<u64>()
    };
    assert_eq!([conflicts(16, "x1", 1), conflicts(16, "x4", 4), conflicts(144, "x4.trans", 4)], [0; 3]);
    // With a pitch of 32 bytes, the eight rows of a matrix conflict in pairs, which takes one extra cycle per
    // matrix. With 128 bytes, all eight rows conflict, which takes seven extra cycles per matrix.
    assert_eq!([conflicts(32, "x1", 1), conflicts(32, "x4", 4)], [1, 4]);
    assert_eq!([conflicts(128, "x2", 2), conflicts(128, "x4", 4)], [14, 28]);
}

const PRODUCT: &str = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r8, %r9, %r10, %r11}, {%r4, %r5}, {%r6}, \
                       {%r8, %r9, %r10, %r11};";

#[test]
fn a_warp_that_is_not_whole_stops_with_its_place() {
    let load = "mov.u32 %r3, 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r3];";
    let divergent = format!("setp.lt.u32 %p1, %r0, 8; @%p1 bra SKIP;\n{PRODUCT}\nSKIP: ret;");
    for (body, threads, mask) in [
        (PRODUCT.to_owned(), 40, "0x000000ff"),
        (load.to_owned(), 40, "0x000000ff"),
        ("movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r5;".to_owned(), 40, "0x000000ff"),
        (format!("setp.lt.u32 %p1, %r0, 31;\n@%p1 {PRODUCT}"), 32, "0x7fffffff"),
        (divergent, 32, "0xffffff00"),
    ] {
        let mut kernel = kernel(&body).grid(1, threads);
        kernel.dynamic_shared = 128;
        let program = kernel.program();
        let launch = interp::Launch {
            program: &program,
            grid: kernel.grid,
            block: kernel.block,
            dynamic_shared: kernel.dynamic_shared,
            params: &kernel.params,
            max_instructions: 1 << 20,
        };
        let wrong = format!("a matrix instruction in the lanes {mask} of the warp, expected all 32");
        let Err(InterpError::Fault(fault)) = interp::run(&launch, &mut kernel.memory.clone()) else {
            panic!("the interpreter runs {body}")
        };
        assert!(fault.to_string().ends_with(&wrong), "{fault}");
        let bench = kernel.run(Mode::default());
        let faults: Vec<_> = bench.cores.iter().filter_map(SmCore::fault).map(ToString::to_string).collect();
        assert!(faults.len() == 1 && faults[0].ends_with(&wrong), "{faults:?}");
        assert!(faults[0].starts_with(&format!("k.ptx:{}:", fault.line)), "{faults:?}");
    }
}

#[test]
fn no_lane_at_all_is_no_product() {
    kernel(&format!("mov.u32 %r8, 5; setp.eq.u32 %p1, %r8, 4; @%p1 {PRODUCT} st.global.u32 [%rd2], %r8;"))
        .grid(1, 48)
        .check();
}

#[test]
fn a_row_must_lie_in_shared_memory_and_be_aligned() {
    let fault = |address: &str| {
        let body =
            format!("mul.lo.u32 %r3, %r0, 16; {address} ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r4, %r5}}, [%r3];");
        let mut kernel = kernel(&body);
        kernel.dynamic_shared = 256;
        let bench = kernel.run(Mode::default());
        bench.cores.iter().find_map(SmCore::fault).map(ToString::to_string).unwrap_or_default()
    };
    // This matrix load uses no row addresses of the lanes 16 to 31, so illegal addresses in these lanes cause
    // no fault.
    assert_eq!(fault(""), "");
    assert!(fault("add.u32 %r3, %r3, 4;").contains("lane 0 pc"), "{}", fault("add.u32 %r3, %r3, 4;"));
    assert!(fault("add.u32 %r3, %r3, 8;").ends_with("load of 16 bytes at 0x8 is not aligned to 16 bytes"));
    assert!(fault("add.u32 %r3, %r3, 16;").contains("lane 15"), "{}", fault("add.u32 %r3, %r3, 16;"));
}

#[test]
fn a_machine_without_tensor_pipes_refuses_the_kernel_and_says_what_to_set() {
    let without = Kernel::new(PRODUCT);
    let image = without.image();
    let Err(error @ LaunchError::NoTensor { .. }) = occupancy(&without.config, &image) else { panic!("it fits") };
    let text = error.to_string();
    assert!(text.contains("kernel `k` multiplies matrices") && text.contains("design `tensor`"), "{text}");
    assert!(image.program().insts.iter().any(|inst| matches!(inst.op, Op::Tensor(_))));
    // A matrix load (`ldmatrix`) also works on cores without a tensor pipe.
    let mut load =
        Kernel::new("mul.lo.u32 %r3, %r0, 16; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];");
    load.dynamic_shared = 512;
    load.check();
}
