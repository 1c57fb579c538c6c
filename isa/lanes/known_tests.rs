use proptest::prelude::*;

use super::*;
use crate::lanes::{alu, alu32};
use crate::types::Rounding;

const LANES: usize = 4;

const FUNCTIONS: [AluFn; 12] = [
    AluFn::Add,
    AluFn::Sub,
    AluFn::Mul,
    AluFn::Mad,
    AluFn::And,
    AluFn::Or,
    AluFn::Xor,
    AluFn::Shl,
    AluFn::Shr,
    AluFn::Fma,
    AluFn::MulWide,
    AluFn::Min,
];
const TYPES: [Type; 8] = [Type::U32, Type::S32, Type::B32, Type::F32, Type::U64, Type::S64, Type::B64, Type::F64];

/// Runs the specialized loop of `op` on 64-bit operands and returns its results, or `None` if `op` has no
/// specialized loop.
fn run(op: &AluOp, [a, b, c]: [[u64; LANES]; 3]) -> Option<[u64; LANES]> {
    let low = |x: [u64; LANES]| x.map(|x| x as u32);
    let high = |x: [u64; LANES]| x.map(|x| (x >> 32) as u32);
    let (mut first, mut second) = ([0; LANES], [0; LANES]);
    let out = PairMut { low: &mut first, high: &mut second };
    match op.known()? {
        Loop::Two(run) => run(&low(a), &low(b), out.low),
        Loop::Three(run) => run(&low(a), &low(b), &low(c), out.low),
        Loop::Product(run) => run(&low(a), &low(b), out),
        Loop::Pairs(run) => {
            run(Pair { low: &low(a), high: &high(a) }, Pair { low: &low(b), high: &high(b) }, out);
        }
    }
    Some(Pair { low: &first, high: &second }.join())
}

proptest! {
    #[test]
    fn a_known_loop_computes_its_operation(
        f in prop::sample::select(FUNCTIONS.to_vec()),
        ty in prop::sample::select(TYPES.to_vec()),
        operands in prop::array::uniform3(prop::array::uniform4(prop_oneof![any::<u64>(), 0u64..70])),
    ) {
        let op = AluOp::new(f, ty);
        if let Some(result) = run(&op, operands) {
            let [a, b, c] = operands;
            prop_assert_eq!(result, alu(&op, &a, &b, &c));
        }
    }
}

#[test]
fn frequent_operations_have_a_loop_and_those_with_modifiers_have_none() {
    let add = AluOp::new(AluFn::Add, Type::F32);
    assert!(add.known::<LANES>().is_some());
    assert!(AluOp { approx: true, ..add }.known::<LANES>().is_some());
    assert!(AluOp { ftz: true, ..add }.known::<LANES>().is_none());
    assert!(AluOp { sat: true, ..add }.known::<LANES>().is_none());
    assert!(AluOp { rounding: Rounding::Zero, ..add }.known::<LANES>().is_none());
    assert!(AluOp::new(AluFn::Div, Type::S32).known::<LANES>().is_none());
}

#[test]
fn a_nan_from_a_known_loop_is_canonical() {
    let Some(Loop::Two(add)) = AluOp::new(AluFn::Add, Type::F32).known() else { panic!("no loop of two words") };
    let (a, b) = ([f32::INFINITY.to_bits(); LANES], [f32::NEG_INFINITY.to_bits(); LANES]);
    let mut sum = [0; LANES];
    add(&a, &b, &mut sum);
    assert_eq!(sum, alu32(&AluOp::new(AluFn::Add, Type::F32), &a, &b, &b));
    assert_eq!(sum, [crate::lanes::F32_NAN; LANES]);
}
