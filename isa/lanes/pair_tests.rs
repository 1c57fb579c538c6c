use proptest::prelude::*;

use super::*;
use crate::types::{Cmp, Rounding, Type};

const LANES: usize = 4;

fn halves(values: [u64; LANES]) -> ([u32; LANES], [u32; LANES]) {
    (values.map(|value| value as u32), values.map(|value| (value >> 32) as u32))
}

/// Splits 64-bit operands into words, runs `f` on them, and joins the words of its results.
fn split<const K: usize>(
    operands: [[u64; LANES]; K],
    f: impl FnOnce([Pair<'_, LANES>; K], &mut PairMut<'_, LANES>),
) -> [u64; LANES] {
    let words = operands.map(halves);
    let (mut low, mut high) = ([0xdead; LANES], [0xbeef; LANES]);
    f(words.each_ref().map(|(low, high)| Pair { low, high }), &mut PairMut { low: &mut low, high: &mut high });
    Pair { low: &low, high: &high }.join()
}

fn operands() -> impl Strategy<Value = [[u64; LANES]; 3]> {
    let edge = prop_oneof![Just(0), Just(u64::MAX), Just(1 << 31), Just(1 << 32), Just(1 << 63), 0u64..70];
    let value = prop_oneof![any::<u64>(), edge];
    prop::array::uniform3(prop::array::uniform4(value))
}

proptest! {
    #[test]
    fn arithmetic_on_halves_is_arithmetic_on_wholes(
        [a, b, c] in operands(),
        f in prop::sample::select(vec![
            AluFn::Add, AluFn::Sub, AluFn::Mul, AluFn::Mad, AluFn::MulHi, AluFn::And, AluFn::Or, AluFn::Xor,
            AluFn::Not, AluFn::Shl, AluFn::Shr, AluFn::Min, AluFn::Max, AluFn::Popc,
        ]),
        signed: bool,
    ) {
        let op = AluOp::new(f, if signed { Type::S64 } else { Type::U64 });
        let pairs = split([a, b, c], |[a, b, c], out| alu_pair(&op, a, b, c, out));
        prop_assert_eq!(pairs, alu(&op, &a, &b, &c));
    }

    #[test]
    fn wide_products_of_halves_are_those_of_wholes([a, b, c] in operands(), signed: bool, mad: bool) {
        let f = if mad { AluFn::MadWide } else { AluFn::MulWide };
        let op = AluOp::new(f, if signed { Type::S32 } else { Type::U32 });
        let pairs = split([a, b, c], |[a, b, c], out| alu_pair(&op, a, b, c, out));
        prop_assert_eq!(pairs, alu(&op, &a, &b, &c));
    }

    #[test]
    fn doubles_and_words_take_the_way_through_wholes([a, b, c] in operands()) {
        for op in [AluOp::new(AluFn::Fma, Type::F64), AluOp::new(AluFn::Mad, Type::U32)] {
            let pairs = split([a, b, c], |[a, b, c], out| alu_pair(&op, a, b, c, out));
            prop_assert_eq!(pairs, alu(&op, &a, &b, &c));
        }
    }

    #[test]
    fn conversions_of_halves_are_those_of_wholes(
        [a, ..] in operands(),
        from in prop::sample::select(vec![Type::U8, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64, Type::F64]),
        to in prop::sample::select(vec![Type::S8, Type::U16, Type::U32, Type::S32, Type::U64, Type::S64, Type::F32]),
        sat: bool,
    ) {
        let op = ConvertOp { rounding: Rounding::Zero, sat, ..ConvertOp::new(to, from) };
        let pairs = split([a], |[a], out| convert_pair(&op, a, out));
        prop_assert_eq!(pairs, convert(&op, &a));
    }

    #[test]
    fn comparisons_of_halves_are_those_of_wholes([a, b, _] in operands(), signed: bool) {
        let ty = if signed { Type::S64 } else { Type::U64 };
        let op = CompareOp { cmp: Cmp::Lt, ty, ftz: false, combine: None };
        let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
        let pairs = compare_pair(&op, Pair { low: &a_low, high: &a_high }, Pair { low: &b_low, high: &b_high });
        prop_assert_eq!(pairs, compare(&op, &a, &b));
    }
}
