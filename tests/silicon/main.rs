//! Compares single instructions of the functional interpreter with a GPU. An H200 has computed each
//! instruction for 512 operands (`machines/silicon/forms.py`). The results must be equal, except where PTX
//! leaves them open: the payload of a NaN, the last digits of approximations within stated bounds, and the
//! cases in [`OTHERWISE`].

mod banks;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use golden::interp::{Launch, run};
use golden::memory::FlatMemory;
use isa::program::Addresses;
use lzma_rust2::XzReader;
use ptx::Source;
use serde_json::Value;

const THREADS: usize = 512;
const PLACES: [u64; 4] = [0x10_0000, 0x20_0000, 0x30_0000, 0x40_0000];

/// Maximum error that the PTX ISA allows for an approximate instruction. The number is the base-2 logarithm
/// of the error.
enum Bound {
    /// Error relative to the result.
    Relative(f64),
    /// Error relative to the result if the magnitude of the result exceeds one; absolute error otherwise.
    RelativeAboveOne(f64),
    /// Absolute error.
    Absolute(f64),
    /// Absolute error for operands of at most one turn (2 pi) in magnitude. For other operands, the error is
    /// not bounded.
    OfOneTurn(f64),
}

/// Error bounds of approximate instructions. Each entry has the beginning of the instruction's name, the
/// instruction's type, and the bound. The first entry that matches applies.
const APPROXIMATE: [(&str, &str, Bound); 17] = [
    ("div.approx", "f32", Bound::Relative(-22.0)),
    ("div.full", "f32", Bound::Relative(-22.0)),
    ("rcp.approx", "f32", Bound::Relative(-22.9)),
    ("rcp.approx", "f64", Bound::Relative(-20.0)),
    ("sqrt.approx", "f32", Bound::Relative(-22.9)),
    ("rsqrt.approx.ftz", "f64", Bound::Relative(-20.0)),
    ("rsqrt.approx", "f64", Bound::Relative(-51.0)),
    ("rsqrt.approx", "f32", Bound::Relative(-22.4)),
    ("sin.approx", "f32", Bound::OfOneTurn(-20.5)),
    ("cos.approx", "f32", Bound::OfOneTurn(-20.5)),
    ("ex2.approx", "f32", Bound::Relative(-22.0)),
    ("ex2.approx", "f16", Bound::Relative(-9.9)),
    ("ex2.approx", "bf16", Bound::Relative(-7.0)),
    ("lg2.approx", "f32", Bound::RelativeAboveOne(-22.0)),
    ("tanh.approx", "f32", Bound::Relative(-10.9)),
    ("tanh.approx", "f16", Bound::Absolute(-10.9)),
    ("tanh.approx", "bf16", Bound::Relative(-7.9)),
];

/// Instructions for which the GPU returns results that the PTX ISA does not specify. Each has its name, the
/// number of operands with such a result, and a description of what the GPU does.
const OTHERWISE: &[(&str, usize, &str)] = &[
    ("vadd.u32.u32.u32.sat.add", 29, SECOND),
    ("vadd.u32.u32.s32.sat.add", 2, SECOND),
    ("vsub.u32.u32.s32.sat.add", 6, SECOND),
    ("vabsdiff.u32.u32.s32.sat.add", 6, SECOND),
    ("div.rp.ftz.f32", 1, "flushes a quotient that rounds up to the least normal number"),
    ("cvt.rm.ftz.f16.f32", 16, KEPT),
    ("cvt.rp.ftz.f16.f32", 34, KEPT),
    ("cvt.rp.ftz.sat.f16.f32", 34, KEPT),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 475, CUT),
    ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 3, CUT),
    ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 455, CUT),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 488, CUT),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 484, CUT),
    ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 451, CUT),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 467, CUT),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 271, CUT),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32", 333, CUT),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", 225, CUT),
    ("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16", 349, CUT),
    ("mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16", 340, CUT),
    ("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32", 243, CUT),
    ("mma.sync.aligned.m16n8k16.row.col.f32.e5m2.e5m2.f32", 222, CUT),
    ("cvt.rna.tf32.f32", 16, PAYLOAD),
    ("cvt.rna.satfinite.tf32.f32", 16, PAYLOAD),
];
/// Number of measured instructions that the interpreter rejects because they are not modeled.
const NOT_MODELED: usize = 8;
const SECOND: &str = "the second operation takes what the first left before it was saturated";
const CUT: &str = "PTX leaves open how a row and a column are summed: the GPU aligns the products and cuts them off";
const PAYLOAD: &str = "a NaN keeps its upper digits";
const KEPT: &str = "subnormal operands are rounded up or down, not flushed first";

/// Returns the width of a floating-point type and the width of its fraction, both in bits.
fn float_of(name: &str) -> Option<(u32, u32)> {
    match name.trim_end_matches("x2") {
        "f16" => Some((16, 10)),
        "bf16" => Some((16, 7)),
        "f32" => Some((32, 23)),
        "f64" => Some((64, 52)),
        _ => None,
    }
}

fn is_nan((bits, fraction): (u32, u32), x: u64) -> bool {
    let magnitude = x & (u64::MAX >> (65 - bits));
    magnitude >> fraction == (1 << (bits - fraction - 1)) - 1 && magnitude & ((1 << fraction) - 1) != 0
}

fn value((bits, fraction): (u32, u32), x: u64) -> f64 {
    match (bits, fraction) {
        (64, _) => f64::from_bits(x),
        (32, _) => f32::from_bits(x as u32).into(),
        (_, 7) => f32::from_bits((x as u32) << 16).into(),
        _ => {
            let (exponent, digits) = ((x >> 10 & 31) as i32, (x & 0x3ff) as f64);
            let magnitude = match exponent {
                0 => digits * 2f64.powi(-24),
                31 => f64::INFINITY,
                _ => (1024.0 + digits) * 2f64.powi(exponent - 25),
            };
            if x >> 15 & 1 != 0 { -magnitude } else { magnitude }
        }
    }
}

/// True if two results of an instruction agree as far as PTX specifies them.
fn agree(form: &str, kind: &str, operand: u64, ours: u64, theirs: u64) -> bool {
    let Some(float) = float_of(kind) else { return ours == theirs };
    let lanes = if kind.ends_with("x2") { 2 } else { 1 };
    let bound = APPROXIMATE.iter().find(|(name, of, _)| form.starts_with(name) && *of == kind.trim_end_matches("x2"));
    (0..lanes).all(|lane| {
        let [operand, ours, theirs] =
            [operand, ours, theirs].map(|x| x >> (lane * float.0) & (u64::MAX >> (64 - float.0)));
        if ours == theirs || is_nan(float, ours) && is_nan(float, theirs) {
            return true;
        }
        let Some((_, _, bound)) = bound else { return false };
        let [operand, ours, theirs] = [operand, ours, theirs].map(|x| value(float, x));
        // The exact result is also rounded to the type, which adds an error of up to one unit in the last
        // place. For a subnormal result, this unit is the smallest positive number of the type.
        let least = value(float, 1);
        let digit = (2f64.powi(-(float.1 as i32) - 1) * ours.abs()).max(2.0 * least);
        let off = (ours - theirs).abs() - digit;
        match bound {
            Bound::Relative(power) => off <= 2f64.powf(*power) * ours.abs(),
            Bound::RelativeAboveOne(power) => off <= 2f64.powf(*power) * ours.abs().max(1.0),
            Bound::Absolute(power) => off <= 2f64.powf(*power),
            Bound::OfOneTurn(power) => operand.abs() > std::f64::consts::TAU || off <= 2f64.powf(*power),
        }
    })
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).collect()
}

/// Returns the results that the interpreter computes for the operands of an instruction.
fn results(text: &str, columns: [&[u64]; 3]) -> Result<Vec<u64>, String> {
    let source = Source::new("form.ptx", text);
    source.parse().map_err(|e| e.to_string())?;
    let mut program = source.kernel("form").map_err(|e| e.to_string())?;
    let nothing = Addresses { globals: Vec::new(), constants: 0, textures: Vec::new(), bound: [].into() };
    program.link(&nothing).map_err(|e| e.to_string())?;
    let mut memory = FlatMemory::new();
    for ((name, place), column) in ["a", "b", "c"].into_iter().zip(PLACES).zip(columns) {
        memory.place(name, place, column.iter().flat_map(|x| x.to_le_bytes()).collect()).unwrap();
    }
    memory.place("out", PLACES[3], vec![0xee; 8 * THREADS]).unwrap();
    let params: Vec<u8> = PLACES.iter().flat_map(|place| place.to_le_bytes()).collect();
    let block = [THREADS as u32 / 2, 1, 1];
    let launch = Launch {
        program: &program,
        grid: [2, 1, 1],
        block,
        dynamic_shared: 0,
        params: &params,
        max_instructions: 1 << 20,
    };
    run(&launch, &mut memory).map_err(|e| e.to_string())?;
    let bytes = memory.buffer("out").unwrap().bytes.chunks_exact(8);
    Ok(bytes.map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect())
}

#[test]
fn single_instructions_give_what_an_h200_gives() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/silicon/data/h200-sxm/forms.jsonl.xz");
    let lines = BufReader::new(XzReader::new(File::open(path).unwrap(), true)).lines();
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let around = &lines[0];
    let operands: Vec<(&str, Vec<Vec<u64>>)> = lines
        .iter()
        .filter_map(|line| Some((line["operands"].as_str()?, line["values"].as_array()?.iter().map(numbers).collect())))
        .collect();
    let forms: Vec<&Value> = lines.iter().filter(|line| line["results"].is_array()).collect();
    let not_modeled = std::sync::atomic::AtomicUsize::new(0);
    let compare = |line: &Value| -> Option<String> {
        let name = line["form"].as_str().unwrap();
        let widen = &around["widen"][line["bits"].to_string()];
        let text = format!("{}{}", around["head"].as_str().unwrap(), around["body"].as_str().unwrap());
        let text = text.replace("{statement}", line["text"].as_str().unwrap());
        let text = text.replace("{widen}", widen.as_str().unwrap()).replace("{{", "{").replace("}}", "}");
        let classes: Vec<&str> = line["classes"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
        let of = |at: usize| -> &[u64] {
            let class = classes[at.min(classes.len() - 1)];
            &operands.iter().find(|(name, _)| *name == class).unwrap().1[at]
        };
        let columns = [of(0), of(1), of(2)];
        let ours = match results(&text, columns) {
            Ok(ours) => ours,
            Err(error) if error.contains("is not modeled") => {
                not_modeled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                return None;
            }
            Err(error) => return Some(format!("{name}: {error}")),
        };
        let theirs = numbers(&line["results"]);
        let kind = line["type"].as_str().unwrap();
        let wrong: Vec<usize> =
            (0..THREADS).filter(|&at| !agree(name, kind, columns[0][at], ours[at], theirs[at])).collect();
        let known = OTHERWISE.iter().find(|(form, _, _)| *form == name).map_or(0, |(_, count, _)| *count);
        if wrong.len() == known {
            return None;
        }
        let Some(&at) = wrong.first() else {
            return Some(format!("{name}: does what the GPU does, expected {known} to differ"));
        };
        let inputs: Vec<String> = columns[..classes.len()].iter().map(|column| format!("{:#x}", column[at])).collect();
        let (count, inputs) = (wrong.len(), inputs.join(", "));
        Some(format!("{name}: {count} differ: of {inputs} {:#x}, the GPU {:#x}", ours[at], theirs[at]))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = forms
            .chunks(forms.len().div_ceil(threads))
            .map(|part| scope.spawn(move || part.iter().filter_map(|line| compare(line)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {} forms:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
    assert_eq!((forms.len(), not_modeled.into_inner()), (2248, NOT_MODELED));
}
