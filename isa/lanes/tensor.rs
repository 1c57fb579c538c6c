//! Matrix products. Each call computes one of the steps into which an instruction is divided.

use super::float::F32_NAN;
use super::half::{narrow, value as small_float, widen};
use crate::tensor::{Factor, Form, Sum, TensorOp};
use crate::types::{Rounding, Type};

/// One 32-bit word per lane.
type Row = [u32; 32];

/// Number of elements of the largest factor (A or B) of an instruction: 16 x 32.
const ELEMENTS: usize = 512;

/// Computes one step of a matrix product D = A B + C in all lanes of a warp. Reads registers of A, B and C
/// and returns registers of D. Registers that the step does not use are ignored.
///
/// An element of D is the element of C plus the dot product of a row of A and a column of B. Products are
/// exact and are added in the order of the columns of A. Each sum is rounded to the nearest `.f32`,
/// subnormals are kept, and NaN is canonical. With `.f16` accumulators, the sum is rounded to `.f16` once,
/// after the last addition. Sums of integers are exact before they wrap around or saturate.
pub fn tensor(op: &TensorOp, a: [&Row; 2], b: [&Row; 2], c: [&Row; 2]) -> [Row; 2] {
    let &TensorOp { form, sum, .. } = op;
    let depth = usize::from(form.extent[2]);
    let [rows, columns] = factors(op, a, b);
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
                    // The products of 8-bit integers are computed in single precision, which represents them
                    // exactly.
                    Sum::S32 { saturates } => {
                        let dot: i64 = pairs.map(|(a, b)| (a * b) as i64).sum();
                        encode_integer(i64::from(*from as i32) + dot, saturates)
                    }
                    Sum::F16 | Sum::F32 => {
                        let before = read(sum, *from, part);
                        encode(sum, pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)), part)
                    }
                };
            }
        }
    }
    d
}

/// Returns the elements of A and B. The elements of each row of A, and of each column of B, are consecutive.
fn factors(op: &TensorOp, a: [&Row; 2], b: [&Row; 2]) -> [[f32; ELEMENTS]; 2] {
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

/// Returns the index of a row (or column) when the rows of all products of the instruction are numbered
/// consecutively. Each product has `lines` rows; `at` is the number of the row within product `product`.
fn line(lines: u8, product: u8, at: u8) -> usize {
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
