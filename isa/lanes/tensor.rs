//! Matrix products, computed one step at a time.

use super::float::F32_NAN;
use super::half::{narrow, widen};
use crate::tensor::{Factor, Form, Sum, TensorOp};
use crate::types::Rounding;

/// One 32-bit word per lane.
type Row = [u32; 32];

/// Number of elements of the largest factor: 16 x 16, or four products of 8 x 4.
const ELEMENTS: usize = 256;

/// Computes a step in all lanes of a warp, from registers of A, B and C, where the step uses them, to
/// registers of D.
///
/// An element of D is that of C plus the dot product of a row of A and a column of B. Products are added in
/// the order of the columns of A. Products are exact. Each sum is rounded to the nearest `.f32`, subnormals
/// are kept, and NaN is canonical. With `.f16` accumulators the sum is rounded to `.f16` once, after the last
/// addition.
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
                let before = read(sum, *from, part);
                *to |= encode(sum, pairs.fold(before, |sum, (a, b)| a.mul_add(*b, sum)), part);
            }
        }
    }
    d
}

/// Returns the rows of A and the columns of B, in consecutive slices.
fn factors(op: &TensorOp, a: [&Row; 2], b: [&Row; 2]) -> [[f32; ELEMENTS]; 2] {
    let &TensorOp { form: Form { extent: [m, n, k], a: in_a, b: in_b, .. }, factor, .. } = op;
    let depth = usize::from(*k);
    let [mut rows, mut columns] = [[0.0; ELEMENTS]; 2];
    let halves = |register: u8, words: &Row| {
        let first = 2 * u32::from(register);
        let words = (0..).zip(*words);
        words.flat_map(move |(lane, word)| [(lane, first, word as u16), (lane, first + 1, (word >> 16) as u16)])
    };
    for (register, words) in op.a.into_iter().zip(a).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, element, bits) in halves(register, words) {
            let place = in_a.place(lane, element);
            rows[depth * line(*m, place.product, place.row) + usize::from(place.column)] = value(factor, bits);
        }
    }
    for (register, words) in op.b.into_iter().zip(b).filter_map(|(register, words)| Some((register?, words))) {
        for (lane, element, bits) in halves(register, words) {
            let place = in_b.place(lane, element);
            columns[depth * line(*n, place.product, place.column) + usize::from(place.row)] = value(factor, bits);
        }
    }
    [rows, columns]
}

/// Returns the index of a row or column, counted over all products.
fn line(lines: u8, product: u8, at: u8) -> usize {
    usize::from(product) * usize::from(lines) + usize::from(at)
}

fn value(factor: Factor, bits: u16) -> f32 {
    match factor {
        Factor::F16 => widen(bits),
        Factor::Bf16 => f32::from_bits(u32::from(bits) << 16),
    }
}

/// Returns an element of a register of C.
fn read(sum: Sum, word: u32, part: u32) -> f32 {
    match sum {
        Sum::F16 => widen((word >> (16 * part)) as u16),
        Sum::F32 => f32::from_bits(word),
    }
}

/// Returns an element, shifted to its position in a register of D.
fn encode(sum: Sum, value: f32, part: u32) -> u32 {
    match sum {
        Sum::F16 => u32::from(narrow(value.into(), Rounding::Nearest)) << (16 * part),
        Sum::F32 if value.is_nan() => F32_NAN,
        Sum::F32 => value.to_bits(),
    }
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
