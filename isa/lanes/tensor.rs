//! Matrix products. Each call computes one of the steps into which an instruction is divided.

use super::float::{F32_NAN, double_bits};
use super::half::{narrow, value as small_float, widen};
use crate::tensor::{BitProduct, Factor, Form, Sum, TensorOp};
use crate::types::{Rounding, Type};

/// One 32-bit word per lane.
type Row = [u32; 32];

/// Computes one step of a matrix product D = A B + C in all lanes of a warp. Reads registers of A, B and C
/// and returns registers of D. Registers that the step does not use are ignored.
///
/// An element of D is the element of C plus the dot product of a row of A and a column of B. Products are
/// exact and are added in the order of the columns of A. Each sum is rounded to the nearest `.f32`,
/// subnormals are kept, and NaN is canonical. With `.f16` accumulators, the sum is rounded to `.f16` once,
/// after the last addition. Sums of integers are exact before they wrap around or saturate.
///
/// A step of a `.f64` product uses one 64-bit register of each matrix: the first `Row` holds the low words of
/// all lanes, the second the high words. See `multiply_doubles`.
pub fn tensor(op: &TensorOp, a: [&Row; 2], b: [&Row; 2], c: [&Row; 2]) -> [Row; 2] {
    match op.form.factor_bits {
        64 => multiply_doubles(op, a, b, c),
        1 => multiply_bits(op, a, b, c),
        4 => multiply::<{ 16 * 64 }>(op, a, b, c),
        _ => multiply::<{ 16 * 32 }>(op, a, b, c),
    }
}

/// Computes one step of a product whose elements have 4 to 32 bits. The largest factor (A or B) of such an
/// instruction has `ELEMENTS` elements.
fn multiply<const ELEMENTS: usize>(op: &TensorOp, a: [&Row; 2], b: [&Row; 2], c: [&Row; 2]) -> [Row; 2] {
    let &TensorOp { form, sum, .. } = op;
    let depth = usize::from(form.extent[2]);
    let [rows, columns] = factors::<ELEMENTS>(op, a, b);
    let mut d = [[0; 32]; 2];
    for ((register, from), to) in op.c.into_iter().zip(c).zip(&mut d) {
        let Some(register) = register else { continue };
        for (lane, (from, to)) in (0..).zip(from.iter().zip(to)) {
            for part in 0..sum.per_register() {
                let element = u32::from(register) * sum.per_register() + part;
                let place = form.sums(sum).place(lane, element);
                let row = depth * line(form.extent[0], place.product, place.row);
                let column = depth * line(form.extent[1], place.product, place.column);
                let pairs = rows[row..row + depth].iter().zip(&columns[column..column + depth]);
                *to |= match sum {
                    // The products of integers of at most 8 bits are computed in single precision, which
                    // represents them exactly.
                    Sum::S32 { saturates } => {
                        let dot: i64 = pairs.map(|(a, b)| (a * b) as i64).sum();
                        encode_integer(i64::from(*from as i32) + dot, saturates)
                    }
                    Sum::F16 | Sum::F32 | Sum::F64 => {
                        let before = read(sum, *from, part);
                        encode(sum, pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)), part)
                    }
                };
            }
        }
    }
    d
}

/// Computes one step of a `.f64` product: adds the products of those columns of A that one register holds.
///
/// The PTX ISA gives each multiplication and addition the precision of a fused multiply-add, and leaves the
/// order of the additions open. Here they are fused multiply-adds in the order of the columns of A, each
/// rounded to the nearest number, which is what an H200 computes (`machines/silicon/data`).
fn multiply_doubles(op: &TensorOp, a: [&Row; 2], b: [&Row; 2], c: [&Row; 2]) -> [Row; 2] {
    let &TensorOp { form, sum, .. } = op;
    let number =
        |[low, high]: [&Row; 2], lane: usize| f64::from_bits(u64::from(high[lane]) << 32 | u64::from(low[lane]));
    let [in_a, in_b, in_c] = [op.a, op.b, op.c].map(|registers| u32::from(registers[0].unwrap_or(0)));
    // Four elements of each row of A and of each column of B: a register holds four adjacent columns of A, or
    // four adjacent rows of B.
    let mut rows = [[0.0; 4]; 16];
    let mut columns = [[0.0; 4]; 8];
    for lane in 0..32 {
        let place = form.a.place(lane, in_a);
        rows[usize::from(place.row)][usize::from(place.column % 4)] = number(a, lane as usize);
        let place = form.b.place(lane, in_b);
        columns[usize::from(place.column)][usize::from(place.row % 4)] = number(b, lane as usize);
    }
    let mut d = [[0; 32]; 2];
    for lane in 0..32 {
        let place = form.sums(sum).place(lane, in_c);
        let pairs = rows[usize::from(place.row)].iter().zip(&columns[usize::from(place.column)]);
        let before = number(c, lane as usize);
        let bits = double_bits(pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)));
        [d[0][lane as usize], d[1][lane as usize]] = [bits as u32, (bits >> 32) as u32];
    }
    d
}

/// Computes one step of a product of single bits: adds to each element of C the number of ones in the AND, or
/// in the XOR, of a row of A and a column of B. The sum wraps around.
fn multiply_bits(op: &TensorOp, a: [&Row; 2], b: [&Row; 2], c: [&Row; 2]) -> [Row; 2] {
    let &TensorOp { form, sum, factors, .. } = op;
    let combine: fn(u32, u32) -> u32 = match factors[0] {
        Factor::B1(BitProduct::Xor) => |x, y| x ^ y,
        _ => |x, y| x & y,
    };
    // Each row of A, and each column of B, as words. A register holds 32 adjacent bits.
    let [mut rows, mut columns] = [[[0; 8]; 16]; 2];
    for (register, words) in op.a.into_iter().zip(a).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, word) in (0..).zip(words) {
            let place = form.a.place(lane, 32 * u32::from(register));
            rows[usize::from(place.row)][usize::from(place.column / 32)] = *word;
        }
    }
    for (register, words) in op.b.into_iter().zip(b).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, word) in (0..).zip(words) {
            let place = form.b.place(lane, 32 * u32::from(register));
            columns[usize::from(place.column)][usize::from(place.row / 32)] = *word;
        }
    }
    let mut d = [[0; 32]; 2];
    for ((register, from), to) in op.c.into_iter().zip(c).zip(&mut d) {
        let Some(register) = register else { continue };
        for (lane, (from, to)) in (0..).zip(from.iter().zip(to)) {
            let place = form.sums(sum).place(lane, register.into());
            let pairs = rows[usize::from(place.row)].iter().zip(&columns[usize::from(place.column)]);
            let ones: u32 = pairs.map(|(x, y)| combine(*x, *y).count_ones()).sum();
            *to = from.wrapping_add(ones);
        }
    }
    d
}

/// Returns the elements of A and B. The elements of each row of A, and of each column of B, are consecutive.
fn factors<const ELEMENTS: usize>(op: &TensorOp, a: [&Row; 2], b: [&Row; 2]) -> [[f32; ELEMENTS]; 2] {
    let &TensorOp { form: form @ Form { extent: [m, n, k], a: in_a, b: in_b, .. }, factors, .. } = op;
    let (depth, per, bits) = (usize::from(*k), form.per_register(), u32::from(form.factor_bits));
    let [mut rows, mut columns] = [[0.0; ELEMENTS]; 2];
    let elements = |register: u8, words: &Row| {
        let first = per * u32::from(register);
        let parts = move |(lane, word): (u32, u32)| {
            (0..per).map(move |part| (lane, first + part, word >> (bits * part) & u32::MAX >> (32 - bits)))
        };
        (0..).zip(*words).flat_map(parts)
    };
    for (register, words) in op.a.into_iter().zip(a).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, element, bits) in elements(register, words) {
            let place = in_a.place(lane, element);
            rows[depth * line(*m, place.product, place.row) + usize::from(place.column)] = value(factors[0], bits);
        }
    }
    for (register, words) in op.b.into_iter().zip(b).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, element, bits) in elements(register, words) {
            let place = in_b.place(lane, element);
            columns[depth * line(*n, place.product, place.column) + usize::from(place.row)] = value(factors[1], bits);
        }
    }
    [rows, columns]
}

/// Returns the index of a row (or column) among the rows of all products of the instruction. The row is
/// number `at` of product `product`, and each product has `lines` rows.
fn line(lines: u16, product: u8, at: u8) -> usize {
    usize::from(product) * usize::from(lines) + usize::from(at)
}

fn value(factor: Factor, bits: u32) -> f32 {
    match factor {
        Factor::F16 => widen(bits as u16),
        Factor::Bf16 => f32::from_bits(bits << 16),
        Factor::Tf32 => f32::from_bits(bits & !0x1fff),
        Factor::E4m3 => small_float(Type::E4m3, bits as u16) as f32,
        Factor::E5m2 => small_float(Type::E5m2, bits as u16) as f32,
        Factor::S8 => f32::from(bits as i8),
        Factor::U8 => f32::from(bits as u8),
        Factor::S4 => f32::from((bits << 4) as i8 >> 4),
        Factor::U4 => f32::from(bits as u8),
        Factor::F64 | Factor::B1(_) => panic!("{factor:?} is multiplied otherwise"),
    }
}

/// Returns an element of C as a number, given the register that contains it; `part` is the index of the
/// element in the register.
fn read(sum: Sum, word: u32, part: u32) -> f32 {
    match sum {
        Sum::F16 => widen((word >> (16 * part)) as u16),
        _ => f32::from_bits(word),
    }
}

fn encode_integer(sum: i64, saturates: bool) -> u32 {
    if saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { sum as u32 }
}

/// Returns the bits of a floating-point element, shifted to the place that element number `part` has in a
/// register of D.
fn encode(sum: Sum, value: f32, part: u32) -> u32 {
    match sum {
        Sum::F16 => u32::from(narrow(value.into(), Rounding::Nearest)) << (16 * part),
        _ if value.is_nan() => F32_NAN,
        _ => value.to_bits(),
    }
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
