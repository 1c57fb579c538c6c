//! Tests of matrix multiply-accumulate instructions with operands in memory. Results are checked by the row
//! and column of each element, not by the lane and register that hold it. Elements are small integers, so
//! sums are exact in any order.

use isa::alloc::allocate;
use isa::program::Program;
use isa::spill::spill;
use isa::tensor::{TILINGS, Tiling};
use ptx::Source;

use crate::interp::{Launch, run};
use crate::memory::FlatMemory;

const A: u64 = 0x10_0000;
const B: u64 = 0x20_0000;
const C: u64 = 0x30_0000;
const D: u64 = 0x40_0000;
/// Distance in memory between consecutive rows, or between consecutive columns of a column-major matrix, in
/// elements.
const STRIDE: usize = 40;

/// Returns a matrix of pseudorandom integers from -8 to 7, determined by `seed`.
fn matrix(seed: usize, [rows, columns]: [usize; 2]) -> Vec<Vec<i32>> {
    let element =
        |row: usize, column: usize| (((row * 37 + column * 101 + seed * 29) * 2_654_435_761) >> 20 & 15) as i32 - 8;
    (0..rows).map(|row| (0..columns).map(|column| element(row, column)).collect()).collect()
}

/// Returns the half-precision encoding of a small integer.
fn half(value: i32) -> u16 {
    let magnitude = value.unsigned_abs() as u16;
    let Some(exponent) = magnitude.checked_ilog2() else { return 0 };
    u16::from(value < 0) << 15 | (exponent as u16 + 15) << 10 | (magnitude << (10 - exponent)) & 0x3ff
}

fn bits(value: i32, bytes: usize) -> Vec<u8> {
    if bytes == 2 { half(value).to_le_bytes().to_vec() } else { (value as f32).to_le_bytes().to_vec() }
}

/// Returns the bytes of a matrix in row-major or column-major order. The padding between rows or columns is
/// NaN.
fn store_matrix(matrix: &[Vec<i32>], order: &str, bytes: usize) -> Vec<u8> {
    let mut memory = vec![0xff; 40 * STRIDE * bytes];
    for (row, elements) in matrix.iter().enumerate() {
        for (column, value) in elements.iter().enumerate() {
            let at = if order == "row" { row * STRIDE + column } else { column * STRIDE + row };
            memory[at * bytes..][..bytes].copy_from_slice(&bits(*value, bytes));
        }
    }
    memory
}

fn names(kind: char, first: usize, count: usize) -> String {
    let names: Vec<_> = (first..first + count).map(|at| format!("%{kind}{at}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Runs `body` in one warp, both with virtual registers and after register allocation, and asserts equal
/// results. Returns the bytes of matrix D.
fn ran(body: &str, [a, b, c]: [&[u8]; 3]) -> Vec<u8> {
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.entry k() {{ .shared .align 32 .b8 tile[4096];
         .reg .b32 %r<48>; .reg .b64 %rd<32>; mov.u64 %rd0, {A}; mov.u64 %rd1, {B}; mov.u64 %rd2, {C}; mov.u64 %rd3, {D};
         {body}\nret; }}"
    );
    let source = Source::new("k.ptx", &text);
    let program = source.kernel("k").unwrap_or_else(|error| panic!("{error}: {:?}\n{text}", error.help_text()));
    let run = |program: &Program| {
        let mut memory = FlatMemory::new();
        for (name, base, bytes) in [("a", A, a), ("b", B, b), ("c", C, c)] {
            memory.place(name, base, bytes.to_vec()).unwrap();
        }
        memory.place("d", D, vec![0xff; 40 * STRIDE * 4]).unwrap();
        let block = [32, 1, 1];
        let launch = Launch { program, grid: [1; 3], block, dynamic_shared: 0, params: &[], max_instructions: 1 << 20 };
        run(&launch, &mut memory).unwrap_or_else(|error| panic!("{error}\n{text}"));
        memory.buffer("d").unwrap().bytes.clone()
    };
    let result = run(&program);
    assert_eq!(run(&allocate(&program).unwrap()), result, "physical registers\n{text}");
    let spilled = allocate(&spill(program, 1).unwrap()).unwrap();
    assert_eq!(run(&spilled), result, "spilled registers\n{text}");
    result
}

fn product(tiling: &Tiling, [in_a, in_b, in_c, in_d]: [&str; 4], (sum, bytes): (&str, usize)) {
    let [m, n, k] = tiling.extent.map(usize::from);
    let (a, b, c) = (matrix(1, [m, k]), matrix(2, [k, n]), matrix(3, [m, n]));
    let shape = tiling.shape;
    let (ra, rb, rc) = (names('r', 0, 8), names('r', 8, 8), names('r', 16, 2 * bytes));
    let body = format!(
        "mov.u32 %r40, {STRIDE};
         wmma.load.a.sync.aligned.{in_a}.{shape}.global.f16 {ra}, [%rd0], {STRIDE};
         wmma.load.b.sync.aligned.{in_b}.{shape}.f16 {rb}, [%rd1], %r40;
         wmma.load.c.sync.aligned.{in_c}.{shape}.global.{sum} {rc}, [%rd2], %r40;
         wmma.mma.sync.aligned.{in_a}.{in_b}.{shape}.{sum}.{sum} {rc}, {ra}, {rb}, {rc};
         wmma.store.d.sync.aligned.{in_d}.{shape}.global.{sum} [%rd3], {rc}, {STRIDE};"
    );
    let d = ran(&body, [&store_matrix(&a, in_a, 2), &store_matrix(&b, in_b, 2), &store_matrix(&c, in_c, bytes)]);
    let element = |i: usize, j: usize| c[i][j] + (0..k).map(|t| a[i][t] * b[t][j]).sum::<i32>();
    let wanted: Vec<Vec<i32>> = (0..m).map(|i| (0..n).map(|j| element(i, j)).collect()).collect();
    let wanted = store_matrix(&wanted, in_d, bytes);
    assert_eq!(d[..wanted.len()], wanted, "{shape} {in_a} {in_b} {in_c} {in_d} {sum}");
}

#[test]
fn matrices_in_every_order_and_shape_are_multiplied() {
    const ORDERS: [&str; 2] = ["row", "col"];
    for tiling in &TILINGS {
        for at in 0..16 {
            let orders = [0, 1, 2, 3].map(|bit| ORDERS[at >> bit & 1]);
            product(tiling, orders, ("f32", 4));
            product(tiling, orders, ("f16", 2));
        }
    }
}

#[test]
fn a_result_may_take_the_place_of_a_factor() {
    let (a, b, c) = (matrix(4, [16, 16]), matrix(5, [16, 8]), matrix(6, [16, 8]));
    // Computes the position of a lane in the PTX fragment layout: `%r31` is its group of four lanes, and
    // `%r32` its number within the group.
    let body = "mov.u32 %r30, %laneid; shr.u32 %r31, %r30, 2; and.b32 %r32, %r30, 3;
         mad.lo.u32 %r33, %r31, 80, 0; mad.lo.u32 %r33, %r32, 4, %r33; cvt.u64.u32 %rd4, %r33; add.u64 %rd5, %rd0, %rd4; add.u64 %rd6, %rd1, %rd4;
         ld.global.u32 %r0, [%rd5]; ld.global.u32 %r1, [%rd5+640]; ld.global.u32 %r2, [%rd5+16]; ld.global.u32 %r3, [%rd5+656];
         ld.global.u32 %r4, [%rd6]; ld.global.u32 %r5, [%rd6+16];
         mad.lo.u32 %r33, %r31, 160, 0; mad.lo.u32 %r33, %r32, 8, %r33; cvt.u64.u32 %rd4, %r33; add.u64 %rd5, %rd2, %rd4;
         ld.global.v2.u32 {%r6, %r7}, [%rd5]; ld.global.v2.u32 {%r8, %r9}, [%rd5+1280];
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1, %r4, %r6, %r0}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9};
         add.u64 %rd5, %rd3, %rd4; st.global.v2.u32 [%rd5], {%r1, %r4}; st.global.v2.u32 [%rd5+1280], {%r6, %r0};";
    let d = ran(body, [&store_matrix(&a, "row", 2), &store_matrix(&b, "col", 2), &store_matrix(&c, "row", 4)]);
    let element = |i: usize, j: usize| c[i][j] + (0..16).map(|t| a[i][t] * b[t][j]).sum::<i32>();
    let wanted: Vec<Vec<i32>> = (0..16).map(|i| (0..8).map(|j| element(i, j)).collect()).collect();
    assert_eq!(d[..16 * STRIDE * 4], store_matrix(&wanted, "row", 4)[..16 * STRIDE * 4]);
}

/// Bytes of a matrix of doubles without gaps, in row-major order.
fn store_doubles(matrix: &[Vec<i32>]) -> Vec<u8> {
    matrix.iter().flatten().flat_map(|value| f64::from(*value).to_le_bytes()).collect()
}

#[test]
fn doubles_are_multiplied_even_if_a_result_takes_the_place_of_a_factor() {
    let (a, b, c) = (matrix(7, [16, 16]), matrix(8, [16, 8]), matrix(9, [16, 8]));
    let columns_of_b: Vec<Vec<i32>> = (0..8).map(|column| b.iter().map(|row| row[column]).collect()).collect();
    // Addresses of the elements of a lane in the PTX fragment layout: `%r31` is its group of four lanes, and
    // `%r32` its number within the group.
    let begin = "mov.u32 %r30, %laneid; shr.u32 %r31, %r30, 2; and.b32 %r32, %r30, 3;
         mad.lo.u32 %r33, %r31, 16, %r32; mul.wide.u32 %rd4, %r33, 8; add.u64 %rd5, %rd0, %rd4; add.u64 %rd6, %rd1, %rd4;
         mad.lo.u32 %r33, %r32, 2, 0; mad.lo.u32 %r33, %r31, 8, %r33; mul.wide.u32 %rd4, %r33, 8;
         add.u64 %rd7, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;";
    let loads_of_a: String =
        (0..8).map(|i| format!("ld.global.b64 %rd{}, [%rd5+{}];", 8 + i, i % 2 * 1024 + i / 2 * 32)).collect();
    let loads_of_b: String = (0..4).map(|i| format!("ld.global.b64 %rd{}, [%rd6+{}];", 16 + i, 32 * i)).collect();
    let c_and_d = [[20, 21, 22, 23], [8, 16, 20, 21]];
    for d in c_and_d {
        let [d0, d1, d2, d3] = d;
        let body = format!(
            "{begin} {loads_of_a} {loads_of_b}
             ld.global.v2.b64 {{%rd20, %rd21}}, [%rd7]; ld.global.v2.b64 {{%rd22, %rd23}}, [%rd7+512];
             mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{%rd{d0}, %rd{d1}, %rd{d2}, %rd{d3}}}, {},
                 {{%rd16, %rd17, %rd18, %rd19}}, {{%rd20, %rd21, %rd22, %rd23}};
             st.global.v2.b64 [%rd3], {{%rd{d0}, %rd{d1}}}; st.global.v2.b64 [%rd3+512], {{%rd{d2}, %rd{d3}}};",
            "{%rd8, %rd9, %rd10, %rd11, %rd12, %rd13, %rd14, %rd15}"
        );
        let found = ran(&body, [&store_doubles(&a), &store_doubles(&columns_of_b), &store_doubles(&c)]);
        let element = |i: usize, j: usize| c[i][j] + (0..16).map(|t| a[i][t] * b[t][j]).sum::<i32>();
        let wanted: Vec<Vec<i32>> = (0..16).map(|i| (0..8).map(|j| element(i, j)).collect()).collect();
        assert_eq!(found[..1024], store_doubles(&wanted), "{d:?}");
    }
}

#[test]
fn bits_of_a_row_and_a_column_are_counted_together() {
    // Each row of A and each column of B has 128 bits, which are contiguous in memory. A lane holds one
    // 32-bit word of a row or column per register.
    let word = |seed: u32, at: u32| (at + 1).wrapping_mul(0x9e37_79b9).rotate_left(seed) ^ at << 7;
    let (a, b): (Vec<u32>, Vec<u32>) =
        ((0..64).map(|at| word(3, at)).collect(), (0..32).map(|at| word(11, at)).collect());
    let c: Vec<u32> = (0..128).map(|at| if at == 5 { u32::MAX } else { at * 1000 }).collect();
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    for product in ["and", "xor"] {
        let body = format!(
            "mov.u32 %r30, %laneid; mul.wide.u32 %rd4, %r30, 4; add.u64 %rd5, %rd0, %rd4; add.u64 %rd6, %rd1, %rd4;
             ld.global.u32 %r0, [%rd5]; ld.global.u32 %r1, [%rd5+128]; ld.global.u32 %r2, [%rd6];
             mul.wide.u32 %rd4, %r30, 8; add.u64 %rd5, %rd2, %rd4; add.u64 %rd6, %rd3, %rd4;
             ld.global.v2.u32 {{%r4, %r5}}, [%rd5]; ld.global.v2.u32 {{%r6, %r7}}, [%rd5+256];
             mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.{product}.popc {{%r4, %r5, %r6, %r7}}, {{%r0, %r1}}, {{%r2}},
                 {{%r4, %r5, %r6, %r7}};
             st.global.v2.u32 [%rd6], {{%r4, %r5}}; st.global.v2.u32 [%rd6+256], {{%r6, %r7}};"
        );
        let found = ran(&body, [&bytes(&a), &bytes(&b), &bytes(&c)]);
        let element = |i: usize, j: usize| {
            let ones = (0..4).map(|t| match (a[4 * i + t], b[4 * j + t]) {
                (x, y) if product == "and" => (x & y).count_ones(),
                (x, y) => (x ^ y).count_ones(),
            });
            c[8 * i + j].wrapping_add(ones.sum())
        };
        let wanted: Vec<u32> = (0..128).map(|at| element(at / 8, at % 8)).collect();
        assert_eq!(found[..512], bytes(&wanted), "{product}");
    }
}

#[test]
fn a_matrix_in_registers_is_transposed() {
    let body = "mov.u32 %r30, %laneid; mul.lo.u32 %r31, %r30, 0x20002; add.u32 %r31, %r31, 0x10000;
         movmatrix.sync.aligned.m8n8.trans.b16 %r31, %r31;
         mul.wide.u32 %rd4, %r30, 4; add.u64 %rd4, %rd3, %rd4; st.global.u32 [%rd4], %r31;";
    let found = ran(body, [&[0]; 3]);
    for (at, half) in found[..128].chunks_exact(2).enumerate() {
        let (row, column) = (at / 8, at % 8);
        assert_eq!(u16::from_le_bytes([half[0], half[1]]), (8 * column + row) as u16, "row {row}, column {column}");
    }
}

#[test]
fn each_lane_gets_its_two_elements_of_each_matrix() {
    // Stores the values 0 to 255 in shared memory as four 8 x 8 matrices of 16-bit elements. Within each
    // matrix, the last row is stored first.
    let body = |form: &str| {
        format!(
            "mov.u32 %r30, %laneid; shl.b32 %r31, %r30, 4; mov.u32 %r32, tile; add.u32 %r33, %r31, %r32;
             shl.b32 %r34, %r30, 3; mad.lo.u32 %r35, %r34, 0x10001, 0x10000; add.u32 %r36, %r35, 0x20002;
             add.u32 %r37, %r36, 0x20002; add.u32 %r38, %r37, 0x20002; st.shared.v4.u32 [%r33], {{%r35, %r36, %r37, %r38}};
             xor.b32 %r31, %r31, 112; add.u32 %r33, %r31, %r32;
             ldmatrix.sync.aligned.m8n8.{form}.shared.b16 {{%r0, %r1, %r2, %r3}}, [%r33];
             shl.b32 %r30, %r30, 4; cvt.u64.u32 %rd4, %r30; add.u64 %rd4, %rd3, %rd4; st.global.v4.u32 [%rd4], {{%r0, %r1, %r2, %r3}};"
        )
    };
    for (form, transposed) in [("x4", false), ("x4.trans", true)] {
        let d = ran(&body(form), [&[0]; 3]);
        for (lane, matrix) in (0..32).flat_map(|lane| (0..4).map(move |matrix| (lane, matrix))) {
            let half = |next: usize| {
                let (line, at) = (lane / 4, lane % 4 * 2 + next);
                let (row, column) = if transposed { (at, line) } else { (line, at) };
                (64 * matrix + 8 * (7 - row) + column) as u16
            };
            let at = 16 * lane + 4 * matrix;
            let found = [u16::from_le_bytes([d[at], d[at + 1]]), u16::from_le_bytes([d[at + 2], d[at + 3]])];
            assert_eq!(found, [half(0), half(1)], "{form}, lane {lane}, matrix {matrix}");
        }
    }
}
