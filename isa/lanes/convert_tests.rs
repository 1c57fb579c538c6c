use proptest::prelude::*;

use super::*;

fn op(to: Type, from: Type, rounding: Rounding) -> ConvertOp {
    ConvertOp { rounding, ..ConvertOp::new(to, from) }
}

fn one(op: ConvertOp, x: u64) -> u64 {
    convert(&op, &[x])[0]
}

fn single(x: f32) -> u64 {
    u64::from(x.to_bits())
}

const NEAREST: Rounding = Rounding::Nearest;

#[test]
fn integers_are_extended_and_cut() {
    assert_eq!(one(op(Type::S64, Type::S32, NEAREST), 0xffff_fffe), -2i64 as u64);
    assert_eq!(one(op(Type::U64, Type::U32, NEAREST), 0xdead_0000_ffff_fffe), 0xffff_fffe);
    assert_eq!(one(op(Type::U32, Type::U64, NEAREST), 0x1_0000_0002), 2);
    assert_eq!(one(op(Type::S8, Type::S32, NEAREST), 0x1ff), 0xffff_ffff);
    assert_eq!(one(op(Type::U8, Type::S32, NEAREST), 0x1ff), 0xff);
    assert_eq!(one(op(Type::S32, Type::S16, NEAREST), 0x8000), 0xffff_8000);
    assert_eq!(one(op(Type::U64, Type::S32, NEAREST), 0xffff_ffff), u64::MAX);
}

#[test]
fn saturation_clamps_integers_to_the_target() {
    let sat = |to, from, x| one(ConvertOp { sat: true, ..op(to, from, NEAREST) }, x);
    assert_eq!(sat(Type::U8, Type::S32, 300), 255);
    assert_eq!(sat(Type::U8, Type::S32, 0xffff_ffff), 0);
    assert_eq!(sat(Type::S8, Type::S32, 0xffff_ff00), 0xffff_ff80);
    assert_eq!(sat(Type::S64, Type::U64, u64::MAX), i64::MAX as u64);
}

#[test]
fn floats_become_integers_by_the_stated_mode_within_range() {
    let to = |ty, r, x: f32| one(op(ty, Type::F32, r), single(x));
    let s32 = |r, x| to(Type::S32, r, x) as u32 as i32;
    assert_eq!(s32(Rounding::Zero, -2.7), -2);
    assert_eq!(s32(Rounding::Down, -2.2), -3);
    assert_eq!(s32(Rounding::Up, 2.2), 3);
    assert_eq!(s32(NEAREST, 2.5), 2);
    assert_eq!(s32(NEAREST, 3.5), 4);
    assert_eq!(s32(Rounding::Zero, 3e9), i32::MAX);
    assert_eq!(s32(Rounding::Zero, f32::NEG_INFINITY), i32::MIN);
    assert_eq!(s32(Rounding::Zero, f32::NAN), 0);
    assert_eq!(to(Type::U32, Rounding::Zero, -1.0), 0);
    assert_eq!(to(Type::U64, Rounding::Zero, 1e30), u64::MAX);
    assert_eq!(to(Type::S64, Rounding::Zero, -1e30), i64::MIN as u64);
    assert_eq!(to(Type::U8, Rounding::Zero, 300.0), 255);
    assert_eq!(to(Type::S16, Rounding::Zero, -40000.0), 0xffff_8000);
}

#[test]
fn integers_become_floats_by_the_stated_mode() {
    let f32_of = |from, r, x| f32::from_bits(one(op(Type::F32, from, r), x) as u32);
    let odd = (1u64 << 24) + 1;
    assert_eq!(f32_of(Type::U32, NEAREST, odd), 16777216.0);
    assert_eq!(f32_of(Type::U32, Rounding::Up, odd), 16777218.0);
    assert_eq!(f32_of(Type::S64, Rounding::Down, (odd as i64).wrapping_neg() as u64), -16777218.0);
    assert_eq!(f32_of(Type::S64, Rounding::Zero, (odd as i64).wrapping_neg() as u64), -16777216.0);
    assert_eq!(f32_of(Type::S32, NEAREST, 0xffff_ffff), -1.0);
    for (rounding, x) in
        [NEAREST, Rounding::Up, Rounding::Down, Rounding::Zero].into_iter().flat_map(|r| [(r, 96), (r, -96)])
    {
        assert_eq!(f32_of(Type::S32, rounding, i64::from(x) as u64), x as f32, "{rounding:?}");
    }
    let f64_of = |r, x| f64::from_bits(one(op(Type::F64, Type::U64, r), x));
    assert_eq!(f64_of(NEAREST, u64::MAX), 18446744073709551616.0);
    assert_eq!(f64_of(Rounding::Zero, u64::MAX), 18446744073709549568.0);
}

#[test]
fn doubles_become_singles_by_the_stated_mode() {
    let cut = |r, x: f64| f32::from_bits(one(op(Type::F32, Type::F64, r), x.to_bits()) as u32);
    assert_eq!(cut(Rounding::Down, 1e-300).to_bits(), 0);
    assert_eq!(cut(Rounding::Up, 1e-300).to_bits(), 1);
    assert_eq!(cut(Rounding::Zero, 1e300), f32::MAX);
    assert_eq!(cut(Rounding::Zero, -1e300), f32::MIN);
    assert_eq!(cut(NEAREST, 1e300), f32::INFINITY);
    assert_eq!(cut(Rounding::Zero, f64::INFINITY), f32::INFINITY);
    assert_eq!(cut(Rounding::Down, -1e-300).to_bits(), 0x8000_0001);
    assert_eq!(cut(Rounding::Up, -1e-300).to_bits(), 0x8000_0000);
    assert_eq!(one(op(Type::F64, Type::F32, NEAREST), single(f32::NAN)), super::super::F64_NAN);
}

#[test]
fn floats_are_rounded_to_integral_values_and_clamped() {
    let floor = ConvertOp { integral: true, ..op(Type::F32, Type::F32, Rounding::Down) };
    assert_eq!(one(floor, single(-2.5)), single(-3.0));
    let even = ConvertOp { rounding: NEAREST, ..floor };
    assert_eq!(one(even, single(-0.5)), single(-0.0));
    let unit = ConvertOp { sat: true, ..op(Type::F32, Type::F32, NEAREST) };
    assert_eq!(one(unit, single(7.0)), single(1.0));
    assert_eq!(one(unit, single(f32::NAN)), 0);
    let flushed = ConvertOp { ftz: true, ..op(Type::F64, Type::F32, NEAREST) };
    assert_eq!(one(flushed, 0x8000_0001), 1 << 63);
}

proptest! {
    #[test]
    fn directed_modes_bracket_the_exact_integer(x: i64) {
        let cut = |r| f32::from_bits(one(op(Type::F32, Type::S64, r), x as u64) as u32);
        let (down, up) = (cut(Rounding::Down), cut(Rounding::Up));
        prop_assert!(down as i128 <= i128::from(x) && i128::from(x) <= up as i128);
        prop_assert!(up == down || up == down.next_up());
        prop_assert_eq!(cut(Rounding::Zero), if x > 0 { down } else { up });
        prop_assert_eq!(cut(NEAREST), x as f32);
    }

    #[test]
    fn a_warp_converts_as_its_lanes_do(
        from in prop::sample::select(vec![Type::U8, Type::S16, Type::S32, Type::U64, Type::F32, Type::F64]),
        to in prop::sample::select(vec![Type::U8, Type::S16, Type::U32, Type::S64, Type::F32, Type::F64]),
        x: [u64; 32],
    ) {
        let op = op(to, from, Rounding::Zero);
        let alone: [u64; 32] = from_fn(|i| convert(&op, &[x[i]])[0]);
        prop_assert_eq!(convert(&op, &x), alone);
    }
}

#[test]
fn brains_convert_to_and_from_every_kind_of_number() {
    let bf16 = |from, r, x| one(op(Type::Bf16, from, r), x);
    // The value 1 + 1/256 lies halfway between 1 and the next larger `.bf16`. The value 1 + 3/256 lies
    // halfway between that number and the one after it.
    let tie = |n: f32| single(1.0 + n / 256.0);
    assert_eq!([1.0, 3.0].map(|n| bf16(Type::F32, NEAREST, tie(n))), [0x3f80, 0x3f82]);
    assert_eq!(bf16(Type::F32, NEAREST, single(1.0 + 1.01 / 256.0)), 0x3f81);
    assert_eq!(bf16(Type::F32, Rounding::Zero, tie(3.0)), 0x3f81);
    assert_eq!(bf16(Type::F32, NEAREST, single(f32::MAX)), 0x7f80);
    assert_eq!(bf16(Type::F32, Rounding::Zero, single(f32::MAX)), 0x7f7f);
    assert_eq!(bf16(Type::F32, NEAREST, single(f32::NAN)), 0x7fff);
    // Inputs of this test: the smallest subnormal `.bf16`; half of it, which is a tie and rounds to 0; and a
    // number just above this tie.
    assert_eq!([0x1_0000, 0x8000, 0x8001].map(|bits| bf16(Type::F32, NEAREST, bits)), [1, 0, 1]);
    assert_eq!(bf16(Type::S32, NEAREST, 257), 0x4380);
    assert_eq!(bf16(Type::F64, Rounding::Up, 1.000_000_1f64.to_bits()), 0x3f81);
    let from = |ty, integral, x| one(ConvertOp { integral, ..op(ty, Type::Bf16, NEAREST) }, x);
    assert_eq!(from(Type::F32, false, 0x3f81), single(1.0 + 1.0 / 128.0));
    assert_eq!(from(Type::F32, false, 1), 1 << 16);
    assert_eq!(from(Type::F32, false, 0xffff), u64::from(0x7fff_ffffu32));
    assert_eq!(from(Type::S32, true, 0xc020), -2i32 as u32 as u64);
    assert_eq!(from(Type::F16, false, 0x4780), 0x7c00);
    let relu = ConvertOp { relu: true, ..op(Type::Bf16, Type::F32, NEAREST) };
    assert_eq!([-1.0, -0.0, 1.0].map(|x| one(relu, single(x))), [0, 0, 0x3f80]);
    let finite = ConvertOp { finite: true, ..op(Type::F16, Type::F32, NEAREST) };
    assert_eq!([1e9, -1e9, 1.0].map(|x| one(finite, single(x))), [0x7bff, 0xfbff, 0x3c00]);
}

#[test]
fn pairs_of_bytes_and_of_halves_convert_element_by_element() {
    let halves = |from, x| one(op(Type::F16x2, from, NEAREST), x);
    assert_eq!(halves(Type::E4m3x2, 0x38b8), 0x3c00_bc00);
    assert_eq!(halves(Type::E5m2x2, 0x7c01), 0x7c00_0100);
    let bytes = |to, x| one(ConvertOp { finite: true, ..op(to, Type::F16x2, NEAREST) }, x);
    assert_eq!(bytes(Type::E4m3x2, 0x3c00_b800), 0x38b0);
    assert_eq!(bytes(Type::E5m2x2, 0x7c00_0100), 0x7b01);
}

#[test]
fn a_single_is_rounded_to_the_digits_of_a_half_within_its_own_range() {
    use rustc_apfloat::ieee::{Half, Single};
    use rustc_apfloat::{Float, FloatConvert};

    let tf32 = |rounding, relu, finite, x: u32| {
        convert(&ConvertOp { rounding, relu, finite, ..ConvertOp::new(Type::Tf32, Type::F32) }, &[x.into()])[0] as u32
    };
    let of = |rounding, x| tf32(rounding, false, false, x);
    let modes = [Rounding::Nearest, Rounding::Zero, Rounding::Away];
    // A `.tf32` has as many fraction bits as an `.f16`, so both round alike in the normal range of `.f16`.
    for number in (0..4096u32).map(|at| 0x3880_0000 + at * 0x6_f7f1 % 0x0e00_0000) {
        for (mode, x) in modes.into_iter().flat_map(|mode| [(mode, number), (mode, number | 1 << 31)]) {
            let half: Half = Single::from_bits(x.into()).convert_r(directed::mode(mode), &mut false).value;
            let back: Single = half.convert(&mut false).value;
            assert_eq!(of(mode, x), back.to_bits() as u32, "{x:#x} {mode:?}");
        }
    }
    // Expected results of rounding a tie, by rounding mode: the neighbor with an even fraction, the neighbor
    // toward zero, or the neighbor away from zero.
    assert_eq!(modes.map(|mode| of(mode, 0x3f80_1000)), [0x3f80_0000, 0x3f80_0000, 0x3f80_2000]);
    assert_eq!(modes.map(|mode| of(mode, 0xbf80_3000)), [0xbf80_4000, 0xbf80_2000, 0xbf80_4000]);
    assert_eq!(modes.map(|mode| of(mode, 0x7f7f_ffff)), [0x7f80_0000, 0x7f7f_e000, 0x7f80_0000]);
    assert_eq!(modes.map(|mode| tf32(mode, false, true, 0xff80_0000)), [0xff7f_e000; 3]);
    assert_eq!(modes.map(|mode| of(mode, 0xff80_0000)), [0xff80_0000; 3]);
    assert_eq!(modes.map(|mode| of(mode, 0xffc0_0001)), [0x7fff_e000; 3]);
    assert_eq!(modes.map(|mode| tf32(mode, true, false, 0x8000_0000)), [0; 3]);
    assert_eq!(modes.map(|mode| of(mode, 0x8000_0001)), [0x8000_0000; 3]);
}
