use proptest::prelude::*;

use super::*;

const ALL: [Cmp; 14] = [
    Cmp::Eq,
    Cmp::Ne,
    Cmp::Lt,
    Cmp::Le,
    Cmp::Gt,
    Cmp::Ge,
    Cmp::Equ,
    Cmp::Neu,
    Cmp::Ltu,
    Cmp::Leu,
    Cmp::Gtu,
    Cmp::Geu,
    Cmp::Num,
    Cmp::Nan,
];

fn op(cmp: Cmp, ty: Type) -> CompareOp {
    CompareOp { cmp, ty, ftz: false, combine: None }
}

fn row(ty: Type, a: u64, b: u64) -> String {
    let holds = |cmp| compare(&op(cmp, ty), &[a], &[b]) == 1;
    if ty.bits() <= 32 {
        let words = |cmp| compare32(&op(cmp, ty), &[a as u32], &[b as u32]) == 1;
        assert!(ALL.iter().all(|&cmp| words(cmp) == holds(cmp)), "{ty:?} {a:#x} {b:#x} on 32-bit lanes");
    }
    ALL.iter().map(|&cmp| if holds(cmp) { '1' } else { '.' }).collect()
}

#[test]
fn every_relation_holds_exactly_where_it_should() {
    let single = |x: f32| u64::from(x.to_bits());
    // Columns of each expected text: Eq, Ne, Lt, Le, Gt and Ge, then the forms of these six operators that
    // are true if an operand is NaN, then Num and Nan. A `1` stands for true, a dot for false.
    assert_eq!(row(Type::F32, single(1.0), single(2.0)), ".111...111..1.");
    assert_eq!(row(Type::F32, single(2.0), single(2.0)), "1..1.11..1.11.");
    assert_eq!(row(Type::F32, single(3.0), single(2.0)), ".1..11.1..111.");
    assert_eq!(row(Type::F32, single(f32::NAN), single(2.0)), "......111111.1");
    assert_eq!(row(Type::F32, single(0.0), single(-0.0)), "1..1.11..1.11.");
    assert_eq!(row(Type::F64, f64::NAN.to_bits(), f64::NAN.to_bits()), "......111111.1");
    assert_eq!(row(Type::S32, 0xffff_ffff, 0), ".111...111..1.");
    assert_eq!(row(Type::U32, 0xffff_ffff, 0), ".1..11.1..111.");
    assert_eq!(row(Type::B16, 0x1_0005, 5), "1..1.11..1.11.");
}

#[test]
fn flushed_subnormals_equal_zero() {
    let flushed = CompareOp { ftz: true, ..op(Cmp::Eq, Type::F32) };
    assert_eq!(compare(&flushed, &[1], &[0x8000_0001]), 1);
    assert_eq!(compare(&op(Cmp::Eq, Type::F32), &[1], &[0]), 0);
}

#[test]
fn the_result_and_its_complement_are_both_combined() {
    let with = |logic| CompareOp { combine: Some(logic), ..op(Cmp::Eq, Type::U32) };
    let (yes, no) = with(Logic::And).combine_masks(0b0011, 0b0101);
    assert_eq!((yes & 15, no & 15), (0b0001, 0b0100));
    let (yes, no) = with(Logic::Or).combine_masks(0b0011, 0b0101);
    assert_eq!((yes & 15, no & 15), (0b0111, 0b1101));
    let (yes, no) = with(Logic::Xor).combine_masks(0b0011, 0b0101);
    assert_eq!((yes & 15, no & 15), (0b0110, 0b1001));
}

proptest! {
    #[test]
    fn a_warp_compares_as_its_lanes_do(
        cmp in prop::sample::select(ALL.to_vec()),
        ty in prop::sample::select(vec![Type::U16, Type::S32, Type::U64, Type::F32, Type::F64]),
        a: [u64; 32],
        b: [u64; 32],
        same: u32,
    ) {
        let mut b = b;
        for i in 0..32 {
            if same >> i & 1 == 1 {
                b[i] = a[i];
            }
        }
        let mask = compare(&op(cmp, ty), &a, &b);
        let alone = (0..32).map(|i| compare(&op(cmp, ty), &[a[i]], &[b[i]]) << i).sum::<u64>();
        prop_assert_eq!(mask, alone);
    }
}
