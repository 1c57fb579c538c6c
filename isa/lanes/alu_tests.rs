use proptest::prelude::*;

use super::*;

fn one(f: AluFn, ty: Type, a: u64, b: u64, c: u64) -> u64 {
    alu(&AluOp::new(f, ty), &[a], &[b], &[c])[0]
}

#[test]
fn integer_division_by_zero_and_overflow_have_a_result() {
    use AluFn::{Div, Rem};
    assert_eq!(one(Div, Type::U32, 7, 0, 0), 0xffff_ffff);
    assert_eq!(one(Rem, Type::U32, 7, 0, 0), 0xffff_ffff);
    assert_eq!(one(Div, Type::S32, 0x8000_0000, 0xffff_ffff, 0), 0x8000_0000);
    assert_eq!(one(Rem, Type::S32, 0x8000_0000, 0xffff_ffff, 0), 0);
    assert_eq!(one(Div, Type::S64, 1 << 63, u64::MAX, 0), 1 << 63);
    assert_eq!(one(Div, Type::S64, 5, 0, 0), u64::MAX);
    assert_eq!(one(Rem, Type::S64, 1 << 63, u64::MAX, 0), 0);
    assert_eq!(one(Div, Type::U16, 7, 0, 0), 0xffff);
    assert_eq!(one(Rem, Type::S32, -7i32 as u32 as u64, 3, 0), -1i32 as u32 as u64);
}

#[test]
fn shifts_beyond_the_width_clear_or_fill() {
    use AluFn::{Shl, Shr};
    for count in [32, 33, 64, 0x8000_0000, 0xffff_ffff] {
        assert_eq!(one(Shl, Type::B32, 0xffff_ffff, count, 0), 0);
        assert_eq!(one(Shr, Type::U32, 0xffff_ffff, count, 0), 0);
        assert_eq!(one(Shr, Type::S32, 0x8000_0000, count, 0), 0xffff_ffff);
        assert_eq!(one(Shl, Type::B16, 0xffff, count, 0), 0);
        assert_eq!(one(Shr, Type::S16, 0x8000, count, 0), 0xffff);
    }
    assert_eq!(one(Shl, Type::B64, 1, 63, 0), 1 << 63);
    assert_eq!(one(Shl, Type::B64, 1, 64, 0), 0);
    assert_eq!(one(Shr, Type::S64, 1 << 63, 99, 0), u64::MAX);
    assert_eq!(one(Shr, Type::S16, 0x8000, 4, 0), 0xf800);
}

#[test]
fn products_have_their_halves() {
    use AluFn::{Mad, MadHi, MadWide, Mul, MulHi, MulWide};
    let minus = |x: i32| u64::from(-x as u32);
    assert_eq!(one(MulWide, Type::S32, minus(3), 5, 0), -15i64 as u64);
    assert_eq!(one(MulWide, Type::U32, minus(3), 5, 0), 0xffff_fffd * 5);
    assert_eq!(one(MulWide, Type::S16, 0xfffd, 5, 0), minus(15));
    assert_eq!(one(MulWide, Type::U16, 0xffff, 0xffff, 0), 0xfffe_0001);
    assert_eq!(one(MadWide, Type::S32, minus(3), 5, 1 << 40), (1 << 40) - 15);
    assert_eq!(one(MadWide, Type::U16, 0xffff, 0xffff, 0xffff_ffff), 0xfffe_0000);
    assert_eq!(one(MulHi, Type::S32, minus(1), 1, 0), 0xffff_ffff);
    assert_eq!(one(MulHi, Type::U32, minus(1), minus(1), 0), 0xffff_fffe);
    assert_eq!(one(MulHi, Type::U64, u64::MAX, u64::MAX, 0), u64::MAX - 1);
    assert_eq!(one(MulHi, Type::S64, u64::MAX, u64::MAX, 0), 0);
    assert_eq!(one(MadHi, Type::U32, minus(1), 2, 5), 6);
    assert_eq!(one(Mul, Type::U16, 0x1234, 0x100, 0), 0x3400);
    assert_eq!(one(Mad, Type::S32, minus(3), 5, 1), minus(14));
}

#[test]
fn the_lesser_and_the_greater_are_those_of_signed_or_of_unsigned_numbers() {
    use AluFn::{Max, Min};
    for (signed, unsigned) in [(Type::S16, Type::U16), (Type::S32, Type::U32), (Type::S64, Type::U64)] {
        let minus_one = u64::MAX >> (64 - signed.bits());
        for (a, b) in [(1, minus_one), (minus_one, 1)] {
            assert_eq!([Min, Max].map(|f| one(f, signed, a, b, 0)), [minus_one, 1], "{signed:?}");
            assert_eq!([Min, Max].map(|f| one(f, unsigned, a, b, 0)), [1, minus_one], "{unsigned:?}");
        }
    }
}

#[test]
fn distances_are_those_of_signed_or_of_unsigned_numbers() {
    let minus_two = |ty: Type| -2i64 as u64 & (u64::MAX >> (64 - ty.bits()));
    for (signed, unsigned) in [(Type::S16, Type::U16), (Type::S32, Type::U32), (Type::S64, Type::U64)] {
        assert_eq!(one(AluFn::Sad, signed, minus_two(signed), 1, 10), 13, "{signed:?}");
        assert_eq!(
            one(AluFn::Sad, unsigned, minus_two(unsigned), 1, 10),
            minus_two(unsigned).wrapping_add(9) & (u64::MAX >> (64 - unsigned.bits())),
            "{unsigned:?}"
        );
    }
}

#[test]
fn saturation_stops_at_the_ends_of_s32() {
    let sat = |f| AluOp { sat: true, ..AluOp::new(f, Type::S32) };
    assert_eq!(alu(&sat(AluFn::Add), &[0x7fff_ffff], &[1], &[0]), [0x7fff_ffff]);
    assert_eq!(alu(&sat(AluFn::Sub), &[0x8000_0000], &[1], &[0]), [0x8000_0000]);
    assert_eq!(alu(&sat(AluFn::MadHi), &[0x7fff_ffff], &[0x7fff_ffff], &[0x7fff_ffff]), [0x7fff_ffff]);
    assert_eq!(alu(&sat(AluFn::MadHi), &[0xffff_ffff], &[1], &[5]), [4]);
}

#[test]
fn fields_counts_and_orders_of_bits() {
    use AluFn::{Bfe, Brev, Clz, Popc};
    assert_eq!(one(Bfe, Type::U32, 0xabcd_ef12, 8, 12), 0xdef);
    assert_eq!(one(Bfe, Type::S32, 0xabcd_ef12, 8, 8), 0xffff_ffef);
    assert_eq!(one(Bfe, Type::S32, 0x8000_0000, 30, 9), 0xffff_fffe);
    assert_eq!(one(Bfe, Type::S32, 0x8000_0000, 200, 200), 0xffff_ffff);
    assert_eq!(one(Bfe, Type::U32, 0xffff_ffff, 0, 0), 0);
    assert_eq!(one(Bfe, Type::S32, 0xffff_ffff, 0, 0), 0);
    assert_eq!(one(Bfe, Type::U64, u64::MAX, 0, 64), u64::MAX);
    assert_eq!(one(Popc, Type::B64, u64::MAX, 0, 0), 64);
    assert_eq!(one(Clz, Type::B32, 1, 0, 0), 31);
    assert_eq!(one(Clz, Type::B64, 0, 0, 0), 64);
    assert_eq!(one(Brev, Type::B32, 1, 0, 0), 1 << 31);
}

#[test]
fn funnel_shifts_rotate_when_both_words_are_one() {
    use AluFn::{FunnelLeft, FunnelRight};
    assert_eq!(one(FunnelLeft, Type::B32, 0x8000_0001, 0x8000_0001, 4), 0x18);
    assert_eq!(one(FunnelRight, Type::B32, 0x8000_0001, 0x8000_0001, 36), 0x1800_0000);
    assert_eq!(one(FunnelLeft, Type::B32, 0xf000_0000, 0x1, 4), 0x1f);
    assert_eq!(one(FunnelLeft, Type::B32, 5, 6, 32), 6);
    assert_eq!(one(FunnelRight, Type::B32, 5, 6, 0), 5);
}

#[test]
fn bits_above_the_type_are_ignored_and_come_out_zero() {
    let dirt = 0xdead_beef_0000_0000;
    assert_eq!(one(AluFn::Add, Type::U32, dirt | 1, dirt | 2, 0), 3);
    assert_eq!(one(AluFn::Div, Type::S16, 0xffff_0000_0000_0000 | 9, 0x10_0003, 0), 3);
    assert_eq!(one(AluFn::Not, Type::B16, 0, 0, 0), 0xffff);
    assert_eq!(one(AluFn::MulWide, Type::U32, dirt | 3, dirt | 4, 0), 12);
    assert_eq!(one(AluFn::Neg, Type::S16, 1, 0, 0), 0xffff);
    assert_eq!(one(AluFn::Abs, Type::S64, -5i64 as u64, 0, 0), 5);
}

const FUNCTIONS: [AluFn; 25] = [
    AluFn::Add,
    AluFn::Sub,
    AluFn::Mul,
    AluFn::MulHi,
    AluFn::MulWide,
    AluFn::Mad,
    AluFn::MadHi,
    AluFn::MadWide,
    AluFn::Div,
    AluFn::Rem,
    AluFn::Abs,
    AluFn::Neg,
    AluFn::Min,
    AluFn::Max,
    AluFn::And,
    AluFn::Or,
    AluFn::Xor,
    AluFn::Not,
    AluFn::Shl,
    AluFn::Shr,
    AluFn::Bfe,
    AluFn::Fma,
    AluFn::Sqrt,
    AluFn::Rcp,
    AluFn::Rsqrt,
];

const TYPES: [Type; 8] = [Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64, Type::F32, Type::F64];

fn exists(f: AluFn, ty: Type) -> bool {
    use AluFn::*;
    match f {
        Add | Sub | Mul | Div | Abs | Neg | Min | Max => true,
        Fma | Sqrt | Rcp | Rsqrt => ty.is_float(),
        MulWide | MadWide => ty.widen().is_some(),
        Bfe => ty.is_integer() && ty.bits() >= 32,
        _ => !ty.is_float(),
    }
}

/// Generates a random operation, with a function that exists for the type of the operation.
fn operation() -> impl Strategy<Value = AluOp> {
    let modes = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
    let parts = (prop::sample::select(FUNCTIONS.to_vec()), prop::sample::select(TYPES.to_vec()));
    (parts, prop::sample::select(modes.to_vec()), any::<bool>(), any::<bool>())
        .prop_filter("the function exists for the type", |((f, ty), ..)| exists(*f, *ty))
        .prop_map(|((f, ty), rounding, ftz, sat)| {
            let directed =
                matches!(f, AluFn::Add | AluFn::Sub | AluFn::Mul | AluFn::Fma | AluFn::Div | AluFn::Sqrt | AluFn::Rcp);
            AluOp {
                rounding: if directed && ty.is_float() { rounding } else { Rounding::Nearest },
                ftz: ftz && ty == Type::F32,
                sat: sat && ty == Type::S32,
                ..AluOp::new(f, ty)
            }
        })
}

/// Generates random operand values, including corner cases of every type.
fn lanes() -> impl Strategy<Value = [u64; 32]> {
    let value = prop_oneof![
        any::<u64>(),
        any::<f32>().prop_map(|x| u64::from(x.to_bits())),
        any::<f64>().prop_map(f64::to_bits),
        0..40u64,
        prop::sample::select(vec![
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            u64::MAX,
            1 << 63,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            1,
            0x007f_ffff,
            0x0080_0000,
            0x3f80_0000,
        ]),
    ];
    prop::array::uniform32(value)
}

proptest! {
    #[test]
    fn a_warp_computes_what_its_lanes_compute_alone(
        op in operation(), a in lanes(), b in lanes(), c in lanes(),
    ) {
        let together = alu(&op, &a, &b, &c);
        let alone: [u64; 32] = from_fn(|i| alu(&op, &[a[i]], &[b[i]], &[c[i]])[0]);
        prop_assert_eq!(together, alone);
        prop_assert!(together.iter().all(|r| r.leading_zeros() >= 64 - op.result().bits()));
        if op.is_word() {
            let [a, b, c] = [a, b, c].map(|x| x.map(|x| x as u32));
            prop_assert_eq!(alu32(&op, &a, &b, &c).map(u64::from), together);
        }
    }

    /// Compares narrow integer operations, which the model computes on 64-bit integers, with the narrow
    /// integer arithmetic of the host CPU.
    #[test]
    fn narrow_integers_agree_with_the_host(a: i16, b: i16, c: i16) {
        let bits = |x: i16| u64::from(x as u16);
        let run = |f, ty| one(f, ty, bits(a), bits(b), bits(c)) as u16 as i16;
        prop_assert_eq!(run(AluFn::Mad, Type::S16), a.wrapping_mul(b).wrapping_add(c));
        prop_assert_eq!(run(AluFn::Max, Type::S16), a.max(b));
        prop_assert_eq!(run(AluFn::Min, Type::U16) as u16, (a as u16).min(b as u16));
        prop_assert_eq!(run(AluFn::Abs, Type::S16), a.wrapping_abs());
        let high = (i32::from(a) * i32::from(b)) >> 16;
        prop_assert_eq!(run(AluFn::MulHi, Type::S16), high as i16);
        if b != 0 {
            prop_assert_eq!(run(AluFn::Div, Type::S16), a.wrapping_div(b));
            prop_assert_eq!(run(AluFn::Rem, Type::U16) as u16, a as u16 % b as u16);
        }
    }
}
