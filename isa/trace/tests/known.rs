//! Tests of the cache of instruction lines: a line that hits in the cache must give the same result as
//! without the cache.

use proptest::prelude::*;

use super::super::{KernelTrace, Limits, TraceError};
use super::{VOLTA, kernel_of};

/// Returns a line of the instruction with number `kind`, with active lanes `mask` and addresses in mode
/// `mode`.
fn line(kind: usize, mask: u32, mode: usize, (base, stride): (u64, i64)) -> String {
    let text = ["1 R4 LDG.E 1 R2 4", "0 ST.E 2 R3 R6 4", "1 R8 FFMA 3 R4 R5 R8 0", "1 R5 LDS 1 R3 8"][kind];
    let lanes = mask.count_ones() as usize;
    let addresses = match mode {
        _ if kind == 2 => String::new(),
        0 => {
            (0..lanes as i64).map(|at| format!(" 0x{:x}", base.wrapping_add_signed(stride.wrapping_mul(at)))).collect()
        }
        1 => format!(" 0x{base:x} {stride}"),
        _ => format!(" 0x{base:x}{}", format!(" {stride}").repeat(lanes.saturating_sub(1))),
    };
    let mode = if kind == 2 { String::new() } else { format!(" {mode}") };
    format!("0{kind}40 {mask:08x} {text}{mode}{addresses} 0")
}

/// Reads a kernel with these instruction lines. Returns the addresses and warnings of the last line, or its
/// error with the position.
fn last(lines: &[String]) -> Result<String, String> {
    let text = kernel_of(VOLTA, &lines.join("\n"));
    let read = || -> Result<String, TraceError> {
        let mut kernel = KernelTrace::new(std::io::Cursor::new(text.into_bytes()), "t", Limits::default())?;
        let cta = kernel.next_cta()?.unwrap_or_default();
        let warp = &cta.warps[0];
        let step = warp.steps().last().unwrap();
        let code = kernel.code();
        let operation = &code.operations()[step.operation as usize];
        let opcode = &code.opcode(operation).text;
        Ok(format!(
            "{opcode} {:x} {:?} {:?} {:x?} {:x}",
            step.mask,
            operation.dests(),
            operation.sources(),
            warp.addresses(step),
            kernel.highest_address(),
        ))
    };
    read().map_err(|error| error.to_string().splitn(3, ':').nth(2).unwrap().to_owned())
}

fn mask() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(u32::MAX),
        Just(0),
        Just(1 << 31),
        any::<u32>(),
        (0u32..32, 0u32..32).prop_map(|(a, b)| u32::MAX >> a << b)
    ]
}

fn place() -> impl Strategy<Value = (u64, i64)> {
    let stride = prop_oneof![-512i64..512, any::<i64>(), Just(i64::from(i32::MAX) + 1)];
    (prop_oneof![0u64..1 << 40, any::<u64>()], stride)
}

proptest! {
    #[test]
    fn a_line_seen_before_is_read_as_if_it_stood_alone(
        kind in 0usize..4,
        mode in 0usize..3,
        masks in [mask(), mask()],
        places in [place(), place()],
        damage in proptest::option::of((any::<prop::sample::Index>(), prop_oneof![Just(b' '), Just(b'-'), Just(b'x'), Just(b'\t'), Just(b'9'), 33u8..127])),
    ) {
        let first = line(kind, masks[0], mode, (places[0].0 >> 24 | 1 << 20, places[0].1 % 512));
        let mut second = line(kind, masks[1], mode, places[1]).into_bytes();
        if let Some((at, byte)) = damage {
            let at = at.index(second.len());
            second[at] = byte;
        }
        let second = String::from_utf8(second).unwrap();
        let warmed = last(&[first.clone(), second.clone()]);
        // The highest address depends on all lines read so far. Here the first line has no active lanes, so
        // that it accesses no address.
        let lane = line(kind, 0, mode, (0, 0));
        let alone = last(&[lane, second.clone()]);
        let without_highest = |read: Result<String, String>| read.map(|text| text.rsplit_once(' ').unwrap().0.to_owned());
        prop_assert_eq!(without_highest(warmed), without_highest(alone.clone()), "{} after {}", &second, &first);
        prop_assert_eq!(alone.clone(), last(std::slice::from_ref(&second)), "{}", &second);
    }
}
