//! Compares matrix products with plain sums over matrices. Element positions follow the formulas of the PTX
//! ISA, and the sums use a software implementation of IEEE 754.

use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::*;
use crate::tensor::{FORMS, MatrixOrder};

/// Generates the bits of an element, often a special case: zero, subnormal, infinity or NaN.
fn bits(random: u64, factor: Factor) -> u32 {
    let infinity = match factor {
        Factor::F16 => 0x7c00,
        Factor::Bf16 => 0x7f80,
        // The low 13 bits of a `.tf32` register are random, to check that they do not affect the result.
        Factor::Tf32 => return bits(random, Factor::Bf16) << 16 | (random >> 44) as u32 & 0xffff,
        Factor::E4m3 | Factor::E5m2 | Factor::S8 | Factor::U8 => return (random >> 32) as u32 & 0xff,
        Factor::S4 | Factor::U4 => return (random >> 32) as u32 & 15,
        Factor::B1(_) => return (random >> 32) as u32 & 1,
        Factor::F64 => panic!("more than 32 bits"),
    };
    let sign = (random >> 8) as u32 & 0x8000;
    sign | match random % 24 {
        0 => 0,
        1 => 1 + (random >> 32) as u32 % 9,
        2 if random >> 40 & 7 == 0 => infinity,
        3 if random >> 40 & 7 == 0 => infinity + 1 + (random >> 32) as u32 % 9,
        4 => infinity - 1,
        // Numbers near one, so that the terms of a sum often cancel.
        5..16 => infinity / 2 + (random >> 32) as u32 % 64,
        _ => (random >> 32) as u32 % infinity,
    }
}

/// Returns the row and column of an element of matrix A, B or C, according to the PTX ISA. The element is
/// number `i` of those in the registers of lane `lane`. For m8n8k4, row and column are counted within the
/// product that the lane computes.
fn at(form: &Form, which: char, sum: Sum, lane: usize, i: usize) -> [usize; 2] {
    let (group, within) = (lane >> 2, lane % 4);
    let high = 4 * usize::from(lane >= 16);
    match (form.shape, which) {
        ("m16n8k4", 'a') => [group + 8 * i, within],
        ("m16n8k4", 'b') => [within, group],
        ("m16n8k8", 'a') if form.factor_bits == 32 => {
            [if i.is_multiple_of(2) { group } else { group + 8 }, if i < 2 { within } else { within + 4 }]
        }
        ("m16n8k8", 'b') if form.factor_bits == 32 => [within + 4 * i, group],
        ("m8n8k16", 'a') => [group, within * 4 + i],
        ("m8n8k16", 'b') => [within * 4 + i, group],
        ("m8n8k16" | "m8n8k32" | "m8n8k128", 'c' | 'd') => [group, within * 2 + i],
        ("m8n8k32", 'a') => [group, within * 8 + i],
        ("m8n8k32" | "m16n8k32", 'b') if form.factor_bits == 4 => [within * 8 + i, group],
        ("m16n8k32", 'a') if form.factor_bits == 4 => [if i < 8 { group } else { group + 8 }, within * 8 + (i & 7)],
        ("m8n8k128", 'a') => [group, within * 32 + i],
        ("m8n8k128" | "m16n8k128", 'b') => [within * 32 + i, group],
        ("m16n8k128", 'a') => [if i < 32 { group } else { group + 8 }, within * 32 + (i & 0x1f)],
        ("m16n8k256", 'a') => {
            let row = if i < 32 || (64..96).contains(&i) { group } else { group + 8 };
            [row, within * 32 + (i & 0x1f) + if i < 64 { 0 } else { 128 }]
        }
        ("m16n8k256", 'b') => [within * 32 + (i & 0x1f) + if i < 32 { 0 } else { 128 }, group],
        ("m16n8k64", 'a') => {
            let row = if i < 8 || (16..24).contains(&i) { group } else { group + 8 };
            [row, within * 8 + (i & 7) + if i < 16 { 0 } else { 32 }]
        }
        ("m16n8k64", 'b') => [within * 8 + (i & 7) + if i < 8 { 0 } else { 32 }, group],
        ("m16n8k16", 'a') if form.factor_bits == 8 => [if i < 4 { group } else { group + 8 }, within * 4 + (i & 3)],
        ("m16n8k16", 'b') if form.factor_bits == 8 => [within * 4 + i, group],
        ("m16n8k32", 'a') => {
            let row = if i < 4 || (8..12).contains(&i) { group } else { group + 8 };
            [row, within * 4 + (i & 3) + if i < 8 { 0 } else { 16 }]
        }
        ("m16n8k32", 'b') => [within * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, group],
        ("m8n8k4", 'a') if form.majors[0] == MatrixOrder::Row => [within + high, i],
        ("m8n8k4", 'a') => [i + high, within],
        ("m8n8k4", 'b') if form.majors[1] == MatrixOrder::Row => [within, i + high],
        ("m8n8k4", 'b') => [i, within + high],
        ("m8n8k4", _) if sum == Sum::F16 => [within + high, i],
        ("m8n8k4", _) => [(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)],
        ("m16n8k8", 'a') => [if i < 2 { group } else { group + 8 }, within * 2 + (i & 1)],
        ("m16n8k8", 'b') => [within * 2 + i, group],
        ("m16n8k16", 'a') => {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            [row, within * 2 + (i & 1) + if i < 4 { 0 } else { 8 }]
        }
        ("m16n8k16", 'b') => [within * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, group],
        (_, _) => [if i < 2 { group } else { group + 8 }, within * 2 + (i & 1)],
    }
}

/// Returns the index of the product to which a lane contributes; an m8n8k4 instruction computes several
/// products.
fn product(form: &Form, lane: usize) -> usize {
    if form.shape == "m8n8k4" { lane % 16 / 4 } else { 0 }
}

type Matrices = Vec<Vec<Vec<u32>>>;

/// Returns the registers of a fragment, filled with the elements of the matrices. Each register holds `per`
/// elements.
fn fragment(form: &Form, which: char, sum: Sum, per: usize, count: usize, matrices: &Matrices) -> Vec<Row> {
    let mut registers = vec![[0; 32]; count / per];
    for (lane, i) in (0..32).flat_map(|lane| (0..count).map(move |i| (lane, i))) {
        let [row, column] = at(form, which, sum, lane, i);
        registers[i / per][lane] |= matrices[product(form, lane)][row][column] << (i % per * (32 / per));
    }
    registers
}

/// Computes all steps of a matrix product on the registers of A, B and C, and returns the registers of D.
fn compute_steps(form: &'static Form, factors: [Factor; 2], sum: Sum, [a, b, c]: [&[Row]; 3]) -> Vec<Row> {
    let mut d = vec![[0; 32]; c.len()];
    for step in form.steps(factors, sum) {
        let pick = |all: &[Row], at: [Option<u8>; 2]| at.map(|at| at.map_or([u32::MAX; 32], |at| all[usize::from(at)]));
        let (a, b, c) = (pick(a, step.a), pick(b, step.b), pick(c, step.c));
        let result = tensor(&step, a.each_ref(), b.each_ref(), c.each_ref());
        for (to, words) in step.c.iter().zip(result) {
            if let Some(to) = to {
                d[usize::from(*to)] = words;
            }
        }
    }
    d
}

/// Returns `c` plus the dot product of a row and a column. Computes it with IEEE 754 operations in software,
/// or with wide integers.
fn compute_expected([a, b]: [Factor; 2], sum: Sum, c: u32, pairs: impl Iterator<Item = (u32, u32)>) -> u32 {
    let single = |factor: Factor, bits: u32| match factor {
        Factor::F16 => Half::from_bits(bits.into()).convert(&mut false).value,
        Factor::Bf16 => BFloat::from_bits(bits.into()).convert(&mut false).value,
        Factor::Tf32 => Single::from_bits((bits >> 13 << 13).into()),
        Factor::E4m3 => Float8E4M3FN::from_bits(bits.into()).convert(&mut false).value,
        Factor::E5m2 => Float8E5M2::from_bits(bits.into()).convert(&mut false).value,
        Factor::S8 | Factor::U8 | Factor::S4 | Factor::U4 | Factor::B1(_) | Factor::F64 => {
            panic!("no float of at most 32 bits")
        }
    };
    let integer = |factor: Factor, bits: u32| match factor {
        Factor::S8 if bits >= 128 => i128::from(bits) - 256,
        Factor::S4 if bits >= 8 => i128::from(bits) - 16,
        _ => i128::from(bits),
    };
    let before: Single = match sum {
        Sum::F16 => Half::from_bits(c.into()).convert(&mut false).value,
        Sum::F32 => Single::from_bits(c.into()),
        Sum::S32 { saturates } => {
            let product = |(x, y): (u32, u32)| match a {
                Factor::B1(BitProduct::And) => i128::from(x == 1 && y == 1),
                Factor::B1(BitProduct::Xor) => i128::from(x != y),
                _ => integer(a, x) * integer(b, y),
            };
            let total = i128::from(c as i32) + pairs.map(product).sum::<i128>();
            return match saturates {
                true => total.clamp(-(1 << 31), (1 << 31) - 1) as u32,
                false => total.rem_euclid(1 << 32) as u32,
            };
        }
        Sum::F64 => panic!("more than 32 bits"),
    };
    let total = pairs.fold(before, |sum, (x, y)| single(a, x).mul_add(single(b, y), sum).value);
    match sum {
        Sum::S32 { .. } | Sum::F64 => panic!("no float of at most 32 bits"),
        Sum::F32 if total.is_nan() => F32_NAN,
        Sum::F32 => total.to_bits() as u32,
        Sum::F16 if total.is_nan() => 0x7fff,
        Sum::F16 => {
            let half: Half = total.convert_r(Round::NearestTiesToEven, &mut false).value;
            half.to_bits() as u32
        }
    }
}

fn random_matrices(random: &mut u64, count: usize, [rows, columns]: [usize; 2], of: impl Fn(u64) -> u32) -> Matrices {
    let mut next = || {
        *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        of(*random ^ *random >> 29)
    };
    (0..count).map(|_| (0..rows).map(|_| (0..columns).map(|_| next()).collect()).collect()).collect()
}

fn check(form: &'static Form, factors: [Factor; 2], sum: Sum, seed: u64) {
    let ([m, n, k], count, mut random) = (form.extent.map(usize::from), usize::from(form.products), seed | 1);
    let a = random_matrices(&mut random, count, [m, k], |random| bits(random, factors[0]));
    let b = random_matrices(&mut random, count, [k, n], |random| bits(random, factors[1]));
    let c = random_matrices(&mut random, count, [m, n], |random| match sum {
        Sum::F16 => bits(random, Factor::F16),
        Sum::F32 => bits(random, Factor::Bf16) << 16 | (random >> 48) as u32,
        // Integers of C near the ends of the 32-bit range, so that sums wrap around or saturate.
        Sum::F64 => panic!("more than 32 bits"),
        Sum::S32 { .. } => ((random >> 32) as u32 >> 8).wrapping_add(0x7fff_0000 + (random as u32 & 0x1_0000)),
    });
    let per = sum.per_register() as usize;
    let elements = |layout: &crate::tensor::Layout| layout.elements() as usize;
    let of_factor = form.per_register() as usize;
    let in_a = fragment(form, 'a', sum, of_factor, elements(&form.a), &a);
    let in_b = fragment(form, 'b', sum, of_factor, elements(&form.b), &b);
    let in_c = fragment(form, 'c', sum, per, elements(form.sums(sum)), &c);
    let want = (0..count).map(|product| {
        let (a, b, c) = (&a[product], &b[product], &c[product]);
        let element = |row: usize, column: usize| {
            compute_expected(factors, sum, c[row][column], (0..k).map(|at| (a[row][at], b[at][column])))
        };
        (0..m).map(|row| (0..n).map(|column| element(row, column)).collect()).collect()
    });
    let want = fragment(form, 'd', sum, per, elements(form.sums(sum)), &want.collect());
    assert_eq!(compute_steps(form, factors, sum, [&in_a, &in_b, &in_c]), want, "{} {factors:?} {sum:?}", form.shape);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_form_multiplies_matrices(seed in any::<u64>()) {
        let floats = |a, b| [([a, b], Sum::F32), ([a, b], Sum::F16)];
        let integers = |a, b| [true, false].map(|saturates| ([a, b], Sum::S32 { saturates }));
        let of_16 = [floats(Factor::F16, Factor::F16), floats(Factor::Bf16, Factor::Bf16)];
        let of_8 = [
            floats(Factor::E4m3, Factor::E4m3),
            floats(Factor::E5m2, Factor::E4m3),
            integers(Factor::S8, Factor::S8),
            integers(Factor::U8, Factor::S8),
            integers(Factor::S8, Factor::U8),
            integers(Factor::U8, Factor::U8),
        ];
        let of_4 = [
            integers(Factor::S4, Factor::S4),
            integers(Factor::U4, Factor::S4),
            integers(Factor::S4, Factor::U4),
            integers(Factor::U4, Factor::U4),
        ];
        let of_1 = [BitProduct::And, BitProduct::Xor]
            .map(|product| ([Factor::B1(product); 2], Sum::S32 { saturates: false }));
        for form in FORMS.iter().filter(|form| !form.is_double()) {
            let all = match form.factor_bits {
                1 => of_1.as_slice(),
                4 => of_4.as_flattened(),
                8 => of_8.as_flattened(),
                16 => of_16.as_flattened(),
                _ => &[([Factor::Tf32; 2], Sum::F32)],
            };
            all.iter().for_each(|(factors, sum)| check(form, *factors, *sum, seed));
        }
    }
}

/// Generates a double, often a special case, otherwise near one, so that the terms of a sum often cancel.
fn double(random: u64) -> u64 {
    let sign = random << 40 & 1 << 63;
    sign | match random % 40 {
        0 => 0,
        1 => 1 + (random >> 32) % 9,
        2 if random >> 40 & 7 == 0 => f64::INFINITY.to_bits(),
        3 if random >> 40 & 7 == 0 => f64::NAN.to_bits() + (random >> 32) % 9,
        4 => f64::MAX.to_bits(),
        _ => 1.0f64.to_bits() - (1 << 53) + (random >> 9) % (1 << 54),
    }
}

/// Returns the row and the column of the `i`-th element of matrix A, B or C that a lane holds, for `.f64`
/// elements (PTX ISA).
fn at_double(form: &Form, which: char, lane: usize, i: usize) -> [usize; 2] {
    let (group, within) = (lane >> 2, lane % 4);
    match (form.shape, which) {
        ("m8n8k4", 'a') => [group, within],
        ("m16n8k4", 'a') => [group + 8 * i, within],
        ("m16n8k8", 'a') => [if i == 0 || i == 2 { group } else { group + 8 }, if i < 2 { within } else { within + 4 }],
        ("m16n8k16", 'a') if i.is_multiple_of(2) => [group, i * 2 + within],
        ("m16n8k16", 'a') => [group + 8, i * 2 - 2 + within],
        (_, 'b') => [within + 4 * i, group],
        (_, _) => [if i < 2 { group } else { group + 8 }, within * 2 + (i & 1)],
    }
}

/// Returns the registers of a fragment of `.f64` elements. Each register is a row of low words and a row of
/// high words.
fn fragment_of_doubles(form: &Form, which: char, count: u32, matrix: &[Vec<u64>]) -> Vec<[Row; 2]> {
    let mut registers = vec![[[0; 32]; 2]; count as usize];
    for (i, [low, high]) in registers.iter_mut().enumerate() {
        for lane in 0..32 {
            let [row, column] = at_double(form, which, lane, i);
            (low[lane], high[lane]) = (matrix[row][column] as u32, (matrix[row][column] >> 32) as u32);
        }
    }
    registers
}

/// Computes all steps of a `.f64` product, as the lowered steps do: the first step that computes a register
/// of D adds to C, each later one to D.
fn compute_steps_of_doubles(form: &'static Form, [a, b, c]: [&[[Row; 2]]; 3]) -> Vec<[Row; 2]> {
    let mut d = c.to_vec();
    for step in form.steps([Factor::F64; 2], Sum::F64) {
        let [in_a, in_b, to] = [step.a, step.b, step.c].map(|at| usize::from(at[0].unwrap()));
        d[to] = tensor(&step, a[in_a].each_ref(), b[in_b].each_ref(), d[to].each_ref());
    }
    d
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The order of the additions is that of the columns of A, and each step is rounded once.
    #[test]
    fn every_form_multiplies_matrices_of_doubles(seed in any::<u64>()) {
        for form in FORMS.iter().filter(|form| form.is_double()) {
            let [m, n, k] = form.extent.map(usize::from);
            let mut state = seed | 1;
            let mut next = || {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                double(state ^ state >> 29)
            };
            let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<u64>> {
                (0..rows).map(|_| (0..columns).map(|_| next()).collect()).collect()
            };
            let (a, b, c) = (matrix(m, k), matrix(k, n), matrix(m, n));
            let number = |bits: u64| Double::from_bits(bits.into());
            let element = |row: usize, column: usize| {
                let terms = (0..k).map(|at| (number(a[row][at]), number(b[at][column])));
                let total = terms.fold(number(c[row][column]), |sum, (x, y)| x.mul_add(y, sum).value);
                if total.is_nan() { 0x7ff8_0000_0000_0000 } else { total.to_bits() as u64 }
            };
            let want: Vec<Vec<u64>> = (0..m).map(|row| (0..n).map(|column| element(row, column)).collect()).collect();
            let sums = form.sums(Sum::F64).elements();
            let in_a = fragment_of_doubles(form, 'a', form.a.elements(), &a);
            let in_b = fragment_of_doubles(form, 'b', form.b.elements(), &b);
            let in_c = fragment_of_doubles(form, 'c', sums, &c);
            let found = compute_steps_of_doubles(form, [&in_a, &in_b, &in_c]);
            prop_assert_eq!(found, fragment_of_doubles(form, 'd', sums, &want), "{}", form.shape);
        }
    }
}

/// Returns an element of D for a product of the shape m16n8k16. All rows of A begin with the numbers `a`, and
/// all columns of B with the numbers `b`; the other elements are zero.
fn element(factor: Factor, c: f32, a: &[u16], b: &[u16]) -> f32 {
    let form = &FORMS[5];
    let padded = |all: &[u16], at: usize| all.get(at).copied().unwrap_or(0).into();
    let rows = vec![(0..16).map(|_| (0..16).map(|at| padded(a, at)).collect()).collect()];
    let columns = vec![(0..16).map(|at| vec![padded(b, at); 8]).collect()];
    let a = fragment(form, 'a', Sum::F32, 2, 8, &rows);
    let b = fragment(form, 'b', Sum::F32, 2, 4, &columns);
    let d = compute_steps(form, [factor; 2], Sum::F32, [&a, &b, &[[c.to_bits(); 32]; 4]]);
    assert!(d.iter().flatten().all(|word| *word == d[0][0]));
    f32::from_bits(d[0][0])
}

#[test]
fn products_are_exact_and_each_sum_is_rounded_in_the_order_of_the_columns() {
    let f16 = |c, a: &[u16], b: &[u16]| element(Factor::F16, c, a, b);
    // The result is the square of the smallest half-precision number, 2^-24. The square must be exact.
    assert_eq!(f16(0.0, &[1], &[1]), 2f32.powi(-48));
    // Each 1 is lost when it is added to 2^24 in single precision. If the ones were added to each other
    // first, the result would be above 2^24.
    assert_eq!(f16(2f32.powi(24), &[0x3c00; 16], &[0x3c00; 16]), 2f32.powi(24));
    assert_eq!(f16(0.0, &[0x7bff, 0x7bff], &[0x7bff, 0xfbff]), 0.0);
    // Products are added in order. The square of the smallest half-precision number is lost if it is added to
    // 1, but not if the 1 has been subtracted before.
    assert_eq!(f16(1.0, &[1, 0xbc00], &[1, 0x3c00]), 0.0);
    assert_eq!(f16(1.0, &[0xbc00, 1], &[0x3c00, 1]), 2f32.powi(-48));
}

#[test]
fn a_product_of_bf16_beyond_a_single_counts_before_it_is_rounded() {
    // The product 2^127 * 2 is beyond the range of single precision, but the sum of this product and
    // -`f32::MAX` is within the range.
    assert_eq!(element(Factor::Bf16, -f32::MAX, &[0x7f00], &[0x4000]), 2f32.powi(104));
    assert_eq!(element(Factor::Bf16, 0.0, &[0x7f00], &[0x4080]), f32::INFINITY);
    // Subnormal products and sums are not flushed to zero.
    assert_eq!(element(Factor::Bf16, f32::from_bits(1), &[1], &[0x3f80]).to_bits(), 0x1_0001);
}

#[test]
fn infinities_cancel_to_the_canonical_nan() {
    let sum = |a: &[u16], b: &[u16]| element(Factor::F16, 0.0, a, b).to_bits();
    assert_eq!(sum(&[0x7c00, 0xfc00], &[0x3c00, 0x3c00]), F32_NAN);
    assert_eq!(sum(&[0x7c00], &[0]), F32_NAN);
    assert_eq!(sum(&[0x7c00, 0x3c00], &[0xbc00, 0x3c00]), f32::NEG_INFINITY.to_bits());
}
