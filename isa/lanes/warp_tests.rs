use super::*;
use crate::lanes::AluFn;
use crate::types::SignHandling;

const EIGHTS: u32 = 0x18 << 8;

/// Performs a shuffle in which the value of each lane is its lane number. Returns the results, and the mask
/// of lanes whose source lane is in range.
fn shuffle(mode: ShuffleMode, b: u32, c: u32) -> ([u64; 32], u32) {
    let lanes = from_fn(|lane| lane as u64);
    let inputs = WarpInputs { a: &lanes, b: &[b; 32], c: &[c; 32], pred: 0 };
    let result = warp(&WarpOp::Shuffle { mode, sync: true }, u32::MAX, inputs);
    (result.values, result.preds)
}

fn vote(mode: VoteMode, active: u32, pred: u32) -> WarpResult {
    let inputs = WarpInputs { a: &[0; 32], b: &[0; 32], c: &[0; 32], pred };
    warp(&WarpOp::Vote { mode, sync: false }, active, inputs)
}

#[test]
fn shuffles_stay_within_their_segment() {
    let (values, inside) = shuffle(ShuffleMode::Down, 2, EIGHTS | 31);
    assert_eq!(values[..8], [2, 3, 4, 5, 6, 7, 6, 7]);
    assert_eq!(inside & 0xff, 0x3f);
    let (values, inside) = shuffle(ShuffleMode::Up, 3, EIGHTS);
    assert_eq!(values[8..16], [8, 9, 10, 8, 9, 10, 11, 12]);
    assert_eq!(inside >> 8 & 0xff, 0xf8);
    let (values, _) = shuffle(ShuffleMode::Butterfly, 5, 31);
    assert_eq!(values, from_fn(|lane| lane as u64 ^ 5));
    let (values, inside) = shuffle(ShuffleMode::Index, 9, EIGHTS | 31);
    assert_eq!((values[0], values[17], inside), (1, 17, u32::MAX));
    assert_eq!(shuffle(ShuffleMode::Index, 0, 31).0, [0; 32]);
}

#[test]
fn a_shuffle_from_an_absent_lane_brings_the_own_value() {
    let lanes = from_fn(|lane| lane as u64 + 100);
    let inputs = WarpInputs { a: &lanes, b: &[1; 32], c: &[31; 32], pred: 0 };
    let op = WarpOp::Shuffle { mode: ShuffleMode::Down, sync: false };
    assert_eq!(warp(&op, 0b1011, inputs).values[..4], [101, 101, 103, 103]);
    assert_eq!(without_source(ShuffleMode::Down, 0b1011, &[1; 32], &[31; 32]), 0b1010);
    // Lane 3 is the last lane of its segment, so its only source lane is itself.
    let segments_of_four = 28 << 8 | 31;
    assert_eq!(without_source(ShuffleMode::Down, 0b1011, &[1; 32], &[segments_of_four; 32]), 0b0010);
}

#[test]
fn a_transposed_matrix_has_rows_for_columns() {
    // Element (row, column) is `16 * row + column`. According to the PTX ISA, lane `l` holds two elements of
    // row `l / 4`, from column `2 * (l % 4)` on.
    let pair = |first: u64, second: u64| second << 16 | first;
    let rows = from_fn(|lane| {
        pair(lane as u64 / 4 * 16 + lane as u64 % 4 * 2, lane as u64 / 4 * 16 + lane as u64 % 4 * 2 + 1)
    });
    // The upper words of 64-bit values are ignored.
    let inputs = WarpInputs { a: &rows.map(|value| value | 7 << 32), b: &[0; 32], c: &[0; 32], pred: 0 };
    let columns = from_fn(|lane| {
        let (row, column) = (lane as u64 / 4, lane as u64 % 4 * 2);
        pair(column * 16 + row, (column + 1) * 16 + row)
    });
    let result = warp(&WarpOp::Transpose, u32::MAX, inputs);
    assert_eq!(result.values, columns);
    assert_eq!(warp(&WarpOp::Transpose, u32::MAX, WarpInputs { a: &result.values, ..inputs }).values, rows);
}

#[test]
fn votes_ask_the_active_lanes_only() {
    assert_eq!(vote(VoteMode::All, 0b110, 0b111).preds, u32::MAX);
    assert_eq!(vote(VoteMode::All, 0b110, 0b101).preds, 0);
    assert_eq!(vote(VoteMode::Any, 0b110, 0b001).preds, 0);
    assert_eq!(vote(VoteMode::Any, 0b110, 0b010).preds, u32::MAX);
    assert_eq!(vote(VoteMode::Uniform, 0b110, 0b001).preds, u32::MAX);
    assert_eq!(vote(VoteMode::Uniform, 0b110, 0b011).preds, 0);
    assert_eq!(vote(VoteMode::Ballot, 0b110, 0b011).values[2], 0b010);
}

#[test]
fn lanes_find_their_equals() {
    let lanes = from_fn(|lane| (lane as u64 % 3) | (lane as u64) << 32);
    let inputs = WarpInputs { a: &lanes, b: &[0; 32], c: &[0; 32], pred: 0 };
    let any = warp(&WarpOp::Match { all: false, ty: Type::B32 }, 0xff, inputs);
    assert_eq!(any.values[..3], [0b0100_1001, 0b1001_0010, 0b0010_0100]);
    let all = warp(&WarpOp::Match { all: true, ty: Type::B32 }, 0b1001, inputs);
    assert_eq!((all.values[0], all.preds), (0b1001, u32::MAX));
    let wide = warp(&WarpOp::Match { all: true, ty: Type::B64 }, 0b1001, inputs);
    assert_eq!((wide.values[0], wide.preds), (0, 0));
}

#[test]
fn a_reduction_gives_every_lane_the_same() {
    let lanes = from_fn(|lane| lane as u64);
    let inputs = WarpInputs { a: &lanes, b: &[0; 32], c: &[0; 32], pred: 0 };
    let of = |f| warp(&WarpOp::Reduce(AluOp::new(f, Type::U32)), 0b1110, inputs).values;
    assert_eq!(of(AluFn::Add), [6; 32]);
    assert_eq!(of(AluFn::Min), [1; 32]);
    assert_eq!(of(AluFn::Xor), [0; 32]);
}

#[test]
fn a_reduction_of_floats_reads_magnitudes_and_spreads_nan_if_it_says_so() {
    let reduce = |op: AluOp, active: u32, lanes: &[f32]| {
        let lanes = from_fn(|lane| u64::from(lanes.get(lane).copied().unwrap_or(9.0).to_bits()));
        let inputs = WarpInputs { a: &lanes, b: &[0; 32], c: &[0; 32], pred: 0 };
        f32::from_bits(warp(&WarpOp::Reduce(op), active, inputs).values[31] as u32)
    };
    let of = |f| AluOp::new(f, Type::F32);
    let absolute = |f| AluOp { signs: SignHandling::Absolute, ..of(f) };
    let lanes = [1.0, -3.0, f32::NAN, 2.0];
    assert_eq!(reduce(of(AluFn::Min), 0b1111, &lanes), -3.0);
    assert_eq!(reduce(of(AluFn::Max), 0b1111, &lanes), 2.0);
    assert_eq!(reduce(absolute(AluFn::Max), 0b1111, &lanes), 3.0);
    assert_eq!(reduce(absolute(AluFn::Min), 0b0010, &lanes), 3.0);
    assert!(reduce(of(AluFn::MaxNan), 0b1111, &lanes).is_nan());
    assert!(reduce(of(AluFn::Max), 0b0100, &lanes).is_nan());
}
