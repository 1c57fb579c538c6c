use proptest::prelude::*;

use super::*;
use crate::lanes::alu;
use crate::types::Type;

fn op(f: AluFn, ty: Type, rounding: Rounding) -> AluOp {
    AluOp { rounding, ..AluOp::new(f, ty) }
}

fn single(op: &AluOp, a: f32, b: f32, c: f32) -> f32 {
    let [a, b, c] = [a, b, c].map(|x| [x.to_bits()]);
    f32::from_bits(super::single(op, &a, &b, &c)[0])
}

fn double(op: &AluOp, a: f64, b: f64, c: f64) -> f64 {
    let [a, b, c] = [a, b, c].map(|x| [x.to_bits()]);
    f64::from_bits(super::double(op, &a, &b, &c)[0])
}

fn plain(f: AluFn) -> AluOp {
    AluOp::new(f, Type::F32)
}

#[test]
fn nan_results_are_canonical() {
    let nan = |f, a, b| single(&plain(f), a, b, 0.0).to_bits();
    assert_eq!(nan(AluFn::Sub, f32::INFINITY, f32::INFINITY), F32_NAN);
    assert_eq!(nan(AluFn::Mul, 0.0, f32::INFINITY), F32_NAN);
    assert_eq!(nan(AluFn::Div, 0.0, 0.0), F32_NAN);
    assert_eq!(nan(AluFn::Add, f32::from_bits(0xffc1_2345), 1.0), F32_NAN);
    assert_eq!(nan(AluFn::Sqrt, -1.0, 0.0), F32_NAN);
    let wide = double(&op(AluFn::Rcp, Type::F64, Rounding::Up), f64::NAN, 0.0, 0.0);
    assert_eq!(wide.to_bits(), F64_NAN);
}

#[test]
fn the_smaller_and_the_larger_prefer_numbers_and_order_zeros() {
    let run = |f, a: f32, b: f32| single(&plain(f), a, b, 0.0);
    assert_eq!(run(AluFn::Min, f32::NAN, 2.0), 2.0);
    assert_eq!(run(AluFn::Max, 2.0, f32::NAN), 2.0);
    assert_eq!(run(AluFn::Min, f32::NAN, f32::NAN).to_bits(), F32_NAN);
    assert_eq!(run(AluFn::Min, 0.0, -0.0).to_bits(), 0x8000_0000);
    assert_eq!(run(AluFn::Max, -0.0, 0.0).to_bits(), 0);
    assert_eq!(run(AluFn::Max, -1.0, -2.0), -1.0);
    assert_eq!(run(AluFn::Min, f32::INFINITY, 5.0), 5.0);
    let wide = |f, a: f64, b: f64| double(&AluOp::new(f, Type::F64), a, b, 0.0);
    assert_eq!(wide(AluFn::Max, f64::NAN, -3.0), -3.0);
    assert_eq!(wide(AluFn::Min, -0.0, 0.0).to_bits(), 1 << 63);
}

#[test]
fn flushing_keeps_the_sign_of_what_it_drops() {
    let tiny = f32::from_bits(0x8000_0001);
    let flushed = AluOp { ftz: true, ..plain(AluFn::Mul) };
    assert_eq!(single(&flushed, tiny, f32::MAX, 0.0).to_bits(), 0x8000_0000);
    assert_eq!(single(&flushed, -1e-30, 1e-10, 0.0).to_bits(), 0x8000_0000);
    assert_eq!(single(&plain(AluFn::Mul), -1e-30, 1e-10, 0.0), -1e-40);
    let kept = AluOp { ftz: true, ..plain(AluFn::Abs) };
    assert_eq!(single(&kept, tiny, 0.0, 0.0).to_bits(), 0);
    let rcp = AluOp { ftz: true, ..plain(AluFn::Rcp) };
    assert_eq!(single(&rcp, tiny, 0.0, 0.0), f32::NEG_INFINITY);
}

#[test]
fn saturation_clamps_to_the_unit_interval() {
    let sat = AluOp { sat: true, ..plain(AluFn::Add) };
    assert_eq!(single(&sat, 0.75, 0.75, 0.0), 1.0);
    assert_eq!(single(&sat, -0.75, 0.5, 0.0).to_bits(), 0);
    assert_eq!(single(&sat, -0.0, -0.0, 0.0).to_bits(), 0);
    assert_eq!(single(&sat, f32::NAN, 0.5, 0.0).to_bits(), 0);
    assert_eq!(single(&sat, 0.25, 0.5, 0.0), 0.75);
}

#[test]
fn directed_modes_bracket_what_is_inexact() {
    let all = |f, a: f32, b: f32, c: f32| {
        use Rounding::{Down, Nearest, Up, Zero};
        [Nearest, Zero, Down, Up].map(|r| single(&op(f, Type::F32, r), a, b, c))
    };
    let one = 1.0f32;
    let small = f32::from_bits(1);
    assert_eq!(all(AluFn::Add, one, small, 0.0), [one, one, one, one.next_up()]);
    assert_eq!(all(AluFn::Sub, -one, small, 0.0), [-one, -one, -one.next_up(), -one]);
    assert_eq!(all(AluFn::Mul, f32::MAX, 2.0, 0.0), [f32::INFINITY, f32::MAX, f32::MAX, f32::INFINITY]);
    assert_eq!(all(AluFn::Fma, one, one, small), [one, one, one, one.next_up()]);
    let third = 1.0f32 / 3.0;
    assert_eq!(all(AluFn::Rcp, 3.0, 0.0, 0.0), [third, third.next_down(), third.next_down(), third]);
    let root = 2f32.sqrt();
    assert_eq!(all(AluFn::Sqrt, 2.0, 0.0, 0.0), [root, root, root, root.next_up()]);
    assert_eq!(all(AluFn::Sqrt, 9.0, 0.0, 0.0), [3.0; 4]);
    let zero = single(&op(AluFn::Sub, Type::F32, Rounding::Down), 1.0, 1.0, 0.0);
    assert_eq!(zero.to_bits(), 0x8000_0000);
}

#[test]
fn directed_double_roots_are_exact_even_of_tiny_values() {
    let root = |x: f64, r| double(&op(AluFn::Sqrt, Type::F64, r), x, 0.0, 0.0);
    for x in [2.0, 3.0, 1e300, 1e-310, f64::from_bits(3), f64::MAX, f64::MIN_POSITIVE] {
        let (down, up) = (root(x, Rounding::Down), root(x, Rounding::Up));
        assert_eq!(root(x, Rounding::Zero), down);
        assert!(up == down.next_up() || (up == down && up * up == x), "{x:e}");
    }
    assert_eq!(root(16.0, Rounding::Up), 4.0);
    assert_eq!(root(-0.0, Rounding::Down).to_bits(), 1 << 63);
}

#[test]
fn approximations_are_the_rounded_true_values() {
    let run = |f, x: f32| single(&AluOp { approx: true, ..plain(f) }, x, 0.0, 0.0);
    assert_eq!(run(AluFn::Ex2, 3.0), 8.0);
    assert_eq!(run(AluFn::Ex2, -150.0), 0.0);
    assert_eq!(run(AluFn::Ex2, 0.5), std::f32::consts::SQRT_2);
    assert_eq!(run(AluFn::Lg2, 8.0), 3.0);
    assert_eq!(run(AluFn::Lg2, 0.0), f32::NEG_INFINITY);
    assert_eq!(run(AluFn::Lg2, -1.0).to_bits(), F32_NAN);
    assert_eq!(run(AluFn::Rsqrt, 4.0), 0.5);
    assert_eq!(run(AluFn::Rsqrt, 0.0), f32::INFINITY);
    assert_eq!(run(AluFn::Sin, std::f32::consts::FRAC_PI_6), 0.5);
    assert_eq!(run(AluFn::Cos, 0.0), 1.0);
    assert_eq!(run(AluFn::Sin, f32::INFINITY).to_bits(), F32_NAN);
}

#[test]
fn a_sum_that_double_precision_turns_into_a_tie_is_still_rounded_once() {
    // 1 + 2^-24 is a tie between two single-precision numbers. Adding 2^-60 breaks the tie, but double
    // precision cannot represent that sum: it still appears to be a tie.
    let a = f32::from_bits(0x3f80_0800);
    let c = -f32::from_bits(0x3300_0000 - (36 << 23));
    for (a, b, c) in [(1.0 + 2f32.powi(-12), 1.0 + 2f32.powi(-12), 2f32.powi(-60)), (a, a, c)] {
        let exact = a.mul_add(b, c);
        assert_eq!(single(&plain(AluFn::Fma), a, b, c), exact);
        let lanes = [[a.to_bits(); 4], [b.to_bits(); 4], [c.to_bits(); 4]];
        assert_eq!(super::single(&plain(AluFn::Fma), &lanes[0], &lanes[1], &lanes[2]), [exact.to_bits(); 4]);
    }
}

/// Generates singles with similar exponents, so that sums cancel and ties occur.
fn near() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>(),
        (any::<bool>(), 100..150u32, prop_oneof![0..16u32, any::<u32>()])
            .prop_map(|(s, e, m)| { f32::from_bits(u32::from(s) << 31 | e << 23 | (m.reverse_bits() >> 9)) }),
        (0..1u32 << 24).prop_map(f32::from_bits),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]
    #[test]
    fn single_fma_is_the_host_fused_operation(a in near(), b in near(), c in near()) {
        let expected = single_bits(a.mul_add(b, c));
        prop_assert_eq!(single(&plain(AluFn::Fma), a, b, c).to_bits(), expected);
    }

    /// Compares two implementations of rounding. The host CPU rounds to nearest; software rounds in the
    /// directed modes.
    #[test]
    fn modes_are_ordered_and_nearest_is_one_of_the_directed(
        f in prop::sample::select(vec![
            AluFn::Add, AluFn::Sub, AluFn::Mul, AluFn::Fma, AluFn::Div, AluFn::Rcp, AluFn::Sqrt,
        ]),
        a in near(), b in near(), c in near(),
    ) {
        let run = |r| single(&op(f, Type::F32, r), a, b, c);
        let (nearest, down, up) = (run(Rounding::Nearest), run(Rounding::Down), run(Rounding::Up));
        let zero = run(Rounding::Zero);
        if nearest.is_nan() {
            prop_assert!([down, up, zero].iter().all(|x| x.to_bits() == F32_NAN));
        } else {
            prop_assert!(down <= nearest && nearest <= up);
            prop_assert!(up == down || up == down.next_up());
            prop_assert_eq!(zero, if nearest > 0.0 || down >= 0.0 { down } else { up });
        }
    }

    #[test]
    fn double_modes_are_ordered_too(
        f in prop::sample::select(vec![AluFn::Add, AluFn::Mul, AluFn::Fma, AluFn::Div, AluFn::Sqrt]),
        a: f64, b: f64, c: f64,
    ) {
        let run = |r| double(&op(f, Type::F64, r), a, b, c);
        let (nearest, down, up) = (run(Rounding::Nearest), run(Rounding::Down), run(Rounding::Up));
        if !nearest.is_nan() {
            prop_assert!(down <= nearest && nearest <= up);
            prop_assert!(up == down || up == down.next_up());
        }
    }
}

#[test]
fn magnitudes_are_compared_and_signs_multiplied_where_it_says_so() {
    use AluFn::{Max, MaxNan, Min, MinNan};
    let pick = |f, signs, a: f32, b: f32| single(&AluOp { signs, ..AluOp::new(f, Type::F32) }, a, b, 0.0);
    let cases = [
        (Min, SignHandling::Kept, -3.0),
        (Min, SignHandling::Absolute, 2.0),
        (Max, SignHandling::Absolute, 3.0),
        (Min, SignHandling::Product, -2.0),
        (Max, SignHandling::Product, -3.0),
    ];
    for (f, signs, expected) in cases {
        assert_eq!([pick(f, signs, 2.0, -3.0), pick(f, signs, -3.0, 2.0)], [expected; 2], "{f:?} {signs:?}");
    }
    assert_eq!(pick(Max, SignHandling::Product, -2.0, -3.0), 3.0);
    assert_eq!(pick(Max, SignHandling::Product, f32::NAN, -3.0), -3.0);
    assert!([MinNan, MaxNan].map(|f| pick(f, SignHandling::Product, f32::NAN, -3.0)).iter().all(|x| x.is_nan()));
}

#[test]
fn pairs_of_singles_are_two_operations() {
    let pair = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    let fma = AluOp::new(AluFn::Fma, Type::F32x2);
    let found = alu(&fma, &[pair(1.0, 2.0)], &[pair(3.0, 4.0)], &[pair(-3.0, 0.5)]);
    assert_eq!(found, [pair(0.0, 8.5)]);
    let up = AluOp { rounding: Rounding::Up, ..AluOp::new(AluFn::Add, Type::F32x2) };
    let tiny = f32::from_bits(1);
    assert_eq!(alu(&up, &[pair(1.0, -1.0)], &[pair(tiny, tiny)], &[0]), [pair(1.0f32.next_up(), (-1.0f32).next_up())]);
    let flushed = AluOp { ftz: true, ..AluOp::new(AluFn::Mul, Type::F32x2) };
    assert_eq!(alu(&flushed, &[pair(-tiny, 1.0)], &[pair(1.0, tiny)], &[0]), [pair(-0.0, 0.0)]);
}
