//! Tests of round trips: a trace is read and written again, or written and read again.

use std::io::Cursor;

use proptest::prelude::*;

use isa::recorded::{Architecture, Code, Cta, Header, LANES, OpcodeTable, Operands, Operation, Register, Warp};

use super::super::{KernelTrace, Limits, TraceWriter};
use super::{open, volta};

fn written(header: &Header, ctas: &[Cta], code: &Code, is_compressed: bool) -> String {
    let mut writer = TraceWriter::new(Vec::new(), header).unwrap();
    if !is_compressed {
        writer = writer.without_compression();
    }
    for cta in ctas {
        writer.cta(cta, code).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn again(text: &str, is_compressed: bool) -> String {
    let mut kernel = open(text).unwrap();
    let ctas: Vec<_> = kernel.by_ref().map(Result::unwrap).collect();
    written(kernel.header(), &ctas, kernel.code(), is_compressed)
}

/// Reads a trace with these instruction lines and writes it again. Returns the written instruction lines.
fn lines(instructions: &str, is_compressed: bool) -> Vec<String> {
    let text = again(&volta(instructions), is_compressed);
    text.lines().skip_while(|line| !line.starts_with("insts")).skip(1).map(str::to_owned).collect()
}

#[test]
fn modes_are_chosen_as_the_tracer_does() {
    let list = |mask: &str, addresses: &str| format!("0000 {mask} 1 R2 LDG.E 1 R4 4 0 {addresses} 0");
    let mode = |mask, addresses| {
        let line = lines(&list(mask, addresses), true).remove(0);
        line.split_once("R4 4 ").unwrap().1.to_owned()
    };
    assert_eq!(mode("0000000e", "0x100 0x104 0x108"), "1 0x100 4 0");
    assert_eq!(mode("0000000e", "0x100 0x100 0x100"), "1 0x100 0 0");
    assert_eq!(mode("0000000e", "0x100 0x104 0x100"), "2 0x100 4 -4 0");
    assert_eq!(mode("0000000d", "0x100 0x108 0x10c"), "2 0x100 8 4 0");
    assert_eq!(mode("0000000c", "0x0 0x7fffffff"), "1 0x0 2147483647 0");
    assert_eq!(mode("0000000c", "0x0 0x80000000"), "2 0x0 2147483648 0");
    assert_eq!(mode("00000010", "0x100"), "2 0x100 0");
    assert_eq!(mode("00000000", ""), "1 0x0 0 0");
    assert_eq!(mode("00000003", "0x0 0xffffffffffffffff"), "0 0x0000000000000000 0xffffffffffffffff 0");
}

#[test]
fn without_compression_every_address_is_listed() {
    let line = lines("0000 00000003 1 R2 LDG.E 1 R4 4 1 0x100 4 0", false).remove(0);
    assert_eq!(line, "0000 00000003 1 R2 LDG.E 1 R4 4 0 0x0000000000000100 0x0000000000000104 0");
}

#[test]
fn a_text_as_the_tracer_writes_it_comes_back_byte_by_byte() {
    let text = again(&volta("0010 ffffffff 1 R2 LDG.E.64 1 R4 8 1 0x100 8 0\n0020 ffffffff 0 EXIT 0 0 0"), true);
    assert!(text.contains("\n0010 ffffffff 1 R2 LDG.E.64 1 R4 8 1 0x100 8 0\n"), "{text}");
    assert_eq!(again(&text, true), text);
}

/// Instruction of a random trace: index of its opcode, mask of active lanes, stride of the addresses, and
/// deviations of the addresses from that stride.
type RandomStep = (usize, u32, i64, Vec<u64>);

/// Opcodes used in random traces, with their access widths in bytes.
fn opcodes() -> [(&'static str, u16); 6] {
    [("FFMA", 0), ("EXIT", 0), ("LDG.E.128.SYS", 16), ("STG.E", 4), ("LDS.U", 4), ("DEPBAR", 0)]
}

fn cta(index: u32, warps: &[Vec<RandomStep>], code: &mut Code) -> Cta {
    let mut cta = Cta { index: [index, 0, 0], ..Cta::default() };
    for (id, steps) in warps.iter().enumerate() {
        let mut warp = Warp::new(id as u32);
        for (opcode, mask, stride, noise) in steps {
            let (text, recorded_width) = opcodes()[*opcode];
            let (dests, sources) = ([Register::vector(1)], [Register::vector(255), Register::vector(0)]);
            let operation = Operation {
                pc: 16 * *opcode as u32,
                opcode: code.add_opcode(text).unwrap(),
                recorded_width,
                line: 0,
                immediate: *stride,
                operands: Operands::new(&dests[..opcode % 2], &sources[..opcode % 3]).unwrap(),
            };
            let operation = code.add(operation).unwrap();
            if recorded_width > 0 {
                let lane = |lane: usize| (1 << 48) + (lane as i64 * stride + (1 << 40)) as u64 + noise[lane];
                let addresses: [u64; LANES] = std::array::from_fn(lane);
                warp.push_access(operation, *mask, &addresses);
            } else {
                warp.push(operation, *mask);
            }
        }
        cta.warps.push(warp);
    }
    cta
}

fn drawn_step() -> impl Strategy<Value = RandomStep> {
    let mask = prop_oneof![Just(u32::MAX), Just(0), any::<u32>(), (0u32..32).prop_map(|bit| 1 << bit)];
    let noise = prop_oneof![
        Just(vec![0; LANES]),
        prop::collection::vec(0u64..1 << 10, LANES),
        prop::collection::vec(0u64..1 << 47, LANES),
    ];
    (0..opcodes().len(), mask, -1000i64..1000, noise)
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        ctas in prop::collection::vec(prop::collection::vec(prop::collection::vec(drawn_step(), 0..12), 0..4), 0..4),
        is_compressed: bool,
    ) {
        let header = Header {
            name: "_Z1kPf".to_owned(),
            grid: [4, 1, 1],
            block: [128, 1, 1],
            binary_version: 70,
            shared_base: 1 << 40,
            ..Header::default()
        };
        let mut code = Code::new(OpcodeTable::new(Some(Architecture::Volta)));
        let ctas: Vec<_> = ctas.iter().enumerate().map(|(at, warps)| cta(at as u32, warps, &mut code)).collect();
        let text = written(&header, &ctas, &code, is_compressed);
        let mut kernel = KernelTrace::new(Cursor::new(text.into_bytes()), "round", Limits::default()).unwrap();
        let read: Vec<_> = kernel.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(kernel.header(), &header);
        prop_assert_eq!(kernel.code().operations(), code.operations());
        prop_assert_eq!(kernel.code().opcodes(), code.opcodes());
        prop_assert_eq!(read, ctas);
    }
}
