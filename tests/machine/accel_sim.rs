//! Validator of traces. It accepts what Accel-Sim's trace reader accepts, except for traces that the reader
//! would misread.
//!
//! The validator is derived from the source code of that reader (gpu-simulator/trace-parser, ISA_Def and
//! trace-driven, revision 2260456, with the requirements of later revisions). It shares no code with
//! `isa/trace`. `docs/traces.md` has the grammar. For an invalid trace, the reader stops at an assertion
//! without naming the line, or continues with wrong values. This validator reports the line and the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// Opcodes that Accel-Sim knows, by execution unit and binary version (GPU architecture).
const OPCODES: &str = include_str!("accel_sim/opcodes.txt");
/// Opcodes for which Accel-Sim asserts that they have addresses.
const ACCESSES: [&str; 12] = ["LD", "LDG", "LDL", "LDS", "LDSM", "ST", "STG", "STL", "STS", "ATOM", "ATOMG", "ATOMS"];

/// Summary of a valid kernel trace: the features that restrict which Accel-Sim configurations can run it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceContents {
    pub instructions: u64,
    /// Execution units that the opcodes of the trace need.
    pub units: BTreeSet<String>,
}

/// Returns the kernel trace files that a kernel list (`kernelslist.g`) names.
pub(crate) fn list(text: &str) -> Result<Vec<&str>, String> {
    whole_lines(text)?;
    let mut kernels = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        let fields: Vec<_> = line.split(',').collect();
        match &fields[..] {
            ["MemcpyHtoD", address, bytes] => {
                hexadecimal(address).and(decimal::<u64>(bytes)).map_err(|e| format!("line {at}: {e}"))?;
            }
            [name] if name.starts_with("kernel") && [".traceg", ".traceg.xz"].iter().any(|end| name.ends_with(end)) => {
                kernels.push(*name);
            }
            _ => return Err(format!("line {at}: `{line}` is no command")),
        }
    }
    Ok(kernels)
}

/// Validates the trace of a kernel.
pub(crate) fn kernel(text: &str) -> Result<TraceContents, String> {
    whole_lines(text)?;
    let mut lines = Lines { rest: text.lines(), number: 0 };
    let header = Header::read(&mut lines)?;
    let mut judge = Judge::new(&header).map_err(|e| lines.wrong(&e))?;
    let [nx, ny, nz] = header.grid;
    for number in 0..nx * ny * nz {
        let index = [number % nx, number / nx % ny, number / (nx * ny)];
        cta(&mut lines, &header, &mut judge, index).map_err(|e| lines.wrong(&e))?;
    }
    match lines.next() {
        None => Ok(judge.found),
        Some(_) => Err(lines.wrong(&"a CTA behind the last one")),
    }
}

/// Rejects a text whose last line has no line break, since Accel-Sim's reader asserts that it has one.
fn whole_lines(text: &str) -> Result<(), String> {
    if text.ends_with('\n') { Ok(()) } else { Err("the last line has no end".to_owned()) }
}

/// Reads the nonempty lines of a trace.
struct Lines<'a> {
    rest: std::str::Lines<'a>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a str> {
        loop {
            let line = self.rest.next()?;
            self.number += 1;
            if !line.is_empty() {
                return Some(line);
            }
        }
    }

    fn expect(&mut self, wanted: &str) -> Result<&'a str, String> {
        let line = self.next().unwrap_or_default();
        line.strip_prefix(wanted).ok_or_else(|| format!("`{line}` stands where `{wanted}` should"))
    }

    fn wrong(&self, why: &impl Display) -> String {
        format!("line {}: {why}", self.number)
    }
}

struct Header {
    grid: [u32; 3],
    threads: u32,
    version: u32,
    has_line_numbers: bool,
}

impl Header {
    fn read(lines: &mut Lines<'_>) -> Result<Self, String> {
        let mut keys = BTreeMap::new();
        loop {
            let line = lines.next().ok_or("no `#` ends the header")?;
            if line.starts_with('#') {
                break;
            }
            let pair = line.strip_prefix('-').and_then(|line| line.split_once(" = "));
            let (key, value) = pair.ok_or_else(|| lines.wrong(&format!("`{line}` is no `-key = value`")))?;
            keys.insert(key, value);
        }
        let get = |key| keys.get(key).copied().ok_or_else(|| format!("the header has no `{key}`"));
        // Accel-Sim's reader parses these numbers with `%d`, so they must fit an `int`.
        let number = |key| decimal::<u32>(get(key)?).and_then(|n| fits_int(n, key));
        for key in ["kernel id", "shmem", "nregs"] {
            number(key)?;
        }
        for key in ["shmem base_addr", "local mem base_addr"] {
            hexadecimal(get(key)?)?;
        }
        decimal::<u64>(get("cuda stream id")?)?;
        if get("kernel name")?.is_empty() {
            return Err("the kernel has no name".to_owned());
        }
        if !(3..=5).contains(&number("accelsim tracer version")?) {
            return Err("lines of another tracer version".to_owned());
        }
        let [x, y, z] = shape(get("block dim")?)?;
        let version = number("binary version")?;
        let has_line_numbers = keys.get("enable lineinfo").is_some_and(|&value| value != "0");
        Ok(Self { grid: shape(get("grid dim")?)?, threads: x * y * z, version, has_line_numbers })
    }
}

fn fits_int(number: u32, what: &str) -> Result<u32, String> {
    if i32::try_from(number).is_ok() { Ok(number) } else { Err(format!("{what} {number} is no `int`")) }
}

fn shape(text: &str) -> Result<[u32; 3], String> {
    let inside = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    triple(inside.ok_or_else(|| format!("`{text}` is no shape"))?)
}

fn triple(text: &str) -> Result<[u32; 3], String> {
    let numbers: Result<Vec<_>, _> = text.split(',').map(decimal::<u32>).collect();
    numbers?.try_into().map_err(|_| format!("`{text}` is not three numbers"))
}

/// Validates a CTA: each of its warps has at least one instruction, and each thread executes exactly one
/// exit.
fn cta(lines: &mut Lines<'_>, header: &Header, judge: &mut Judge, index: [u32; 3]) -> Result<(), String> {
    lines.expect("#BEGIN_TB")?;
    let found = triple(lines.expect("thread block = ")?)?;
    if found != index {
        return Err(format!("CTA {found:?} stands where {index:?} should"));
    }
    for warp in 0..header.threads.div_ceil(32) {
        lines.expect(&format!("warp = {warp}")).and_then(nothing)?;
        let insts: u32 = decimal(lines.expect("insts = ")?)?;
        if insts == 0 {
            return Err("a warp without instructions".to_owned());
        }
        let mut alive = match header.threads - 32 * warp {
            threads @ ..32 => (1 << threads) - 1,
            _ => u32::MAX,
        };
        for _ in 0..insts {
            let line = lines.next().unwrap_or_default();
            let ended = judge.instruction(line)?;
            if ended & !alive != 0 {
                return Err("a thread ends that is not there".to_owned());
            }
            alive &= !ended;
        }
        if alive != 0 {
            return Err(format!("threads {alive:#010x} of warp {warp} do not end"));
        }
    }
    lines.expect("#END_TB").and_then(nothing)
}

fn nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("`{rest}` stands behind the end")) }
}

struct Judge {
    has_line_numbers: bool,
    units: BTreeMap<&'static str, &'static str>,
    found: TraceContents,
}

impl Judge {
    fn new(header: &Header) -> Result<Self, String> {
        let table = match header.version {
            60 | 61 => "60",
            80 | 86 => "80",
            version @ (70 | 75) => {
                if version == 70 {
                    "70"
                } else {
                    "75"
                }
            }
            version => return Err(format!("unsupported binary version: {version}")),
        };
        let rows = OPCODES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
        let having = rows.filter(|(head, _)| head.split(' ').any(|version| version == table));
        let units = having.flat_map(|(head, tokens)| {
            let unit = head.split(' ').next().unwrap_or_default();
            tokens.split(' ').map(move |token| (token, unit))
        });
        Ok(Self { has_line_numbers: header.has_line_numbers, units: units.collect(), found: TraceContents::default() })
    }

    /// Validates an instruction. Returns a mask of the lanes that end with it: its active lanes if it is an
    /// exit, otherwise 0.
    fn instruction(&mut self, line: &str) -> Result<u32, String> {
        let mut words = Words(line.split(' ').filter(|word| !word.is_empty()));
        if self.has_line_numbers {
            words.decimal::<u32>("a source line")?;
        }
        words.narrow("a PC")?;
        let mask = words.narrow("a mask")?;
        words.registers(1, "destinations")?;
        let opcode = words.next("an opcode")?;
        words.registers(4, "sources")?;
        let has_addresses = words.decimal::<u32>("an access width")? > 0;
        if has_addresses {
            words.addresses(mask)?;
        }
        words.decimal::<i32>("an immediate")?;
        if let Ok(word) = words.next("") {
            return Err(format!("`{word}` stands behind the immediate"));
        }
        let name = self.opcode(opcode, has_addresses)?;
        self.found.instructions += 1;
        Ok(if name == "EXIT" { mask } else { 0 })
    }

    /// Checks that the GPU architecture of the trace has an opcode, and returns the opcode's name, such as
    /// `LDG` for `LDG.E.64`.
    fn opcode<'a>(&mut self, opcode: &'a str, has_addresses: bool) -> Result<&'a str, String> {
        let mut tokens = opcode.split('.');
        let name = tokens.next().unwrap_or_default();
        let unit = self.units.get(name).ok_or_else(|| format!("undefined instruction: {opcode}"))?;
        if !self.found.units.contains(*unit) {
            self.found.units.insert((*unit).to_owned());
        }
        let is_access = name == "RED" || ACCESSES.contains(&name);
        if is_access && !has_addresses {
            return Err(format!("{opcode} has no addresses"));
        }
        // Accel-Sim's reader looks for the first component of the opcode that is a number, with or without a
        // preceding `U`, and takes it as the access width. `S8` and `S16` are no such components, so the
        // reader would assume an access of 4 bytes.
        if is_access && tokens.any(|token| token == "S8" || token == "S16") {
            return Err(format!("{opcode} would be taken for an access of 4 bytes"));
        }
        Ok(name)
    }
}

/// Words of a trace line that have not been parsed yet.
struct Words<I>(I);

impl<'a, I: Iterator<Item = &'a str>> Words<I> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.0.next().ok_or_else(|| format!("the line ends where {what} should stand"))
    }

    fn decimal<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.next(what)?;
        decimal(word).map_err(|_| format!("`{word}` stands where {what} should"))
    }

    fn narrow(&mut self, what: &str) -> Result<u32, String> {
        let word = self.next(what)?;
        u32::from_str_radix(word, 16).map_err(|_| format!("`{word}` stands where {what} should"))
    }

    /// Parses a number of vector registers, followed by the registers themselves.
    fn registers(&mut self, most: u32, what: &str) -> Result<(), String> {
        let count: u32 = self.decimal(what)?;
        if count > most {
            return Err(format!("{count} {what}, of which there can be {most}"));
        }
        for _ in 0..count {
            let word = self.next("a register")?;
            let number = word.strip_prefix('R').map(decimal::<u8>);
            number.and_then(Result::ok).ok_or_else(|| format!("`{word}` is no register that is read"))?;
        }
        Ok(())
    }

    fn addresses(&mut self, mask: u32) -> Result<(), String> {
        match self.next("an address mode")? {
            "0" => (0..mask.count_ones()).try_for_each(|_| self.address()),
            "1" => {
                self.address()?;
                self.decimal::<i32>("a stride of 32 bits")?;
                let run = mask >> mask.trailing_zeros().min(31);
                // In address mode 1, Accel-Sim's reader stops at the first idle lane after an active one. The
                // active lanes must therefore be contiguous.
                if run & run.wrapping_add(1) == 0 { Ok(()) } else { Err("a stride across idle lanes".to_owned()) }
            }
            "2" if mask != 0 => {
                self.address()?;
                // In address mode 2, each active lane after the first has the distance to the previous
                // address. The oldest version of Accel-Sim's reader parses one distance too many (the
                // immediate), but does not use it.
                (1..mask.count_ones()).try_for_each(|_| self.decimal::<i64>("a distance").map(|_| ()))
            }
            mode => Err(format!("address mode {mode} with mask {mask:08x}")),
        }
    }

    fn address(&mut self) -> Result<(), String> {
        hexadecimal(self.next("an address")?).map(|_| ())
    }
}

fn decimal<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no decimal number of its range"))
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").ok_or_else(|| format!("`{text}` does not begin with `0x`"))?;
    u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no address"))
}

/// Returns the trace of a kernel with one warp of 4 threads that executes these instructions.
fn of(version: u32, instructions: &str) -> String {
    let insts = instructions.lines().count();
    format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (4,1,1)\n-shmem = 0\n-nregs = 8\n\
         -binary version = {version}\n-cuda stream id = 0\n-shmem base_addr = 0x0\n-local mem base_addr = 0x0\n\
         -nvbit version = \n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n#traces format\n\n#BEGIN_TB\n\n\
         thread block = 0,0,0\n\nwarp = 0\ninsts = {insts}\n{instructions}\n\n#END_TB\n"
    )
}

const EXIT: &str = "0100 0000000f 0 EXIT 0 0 0";

fn judge(version: u32, instruction: &str) -> Result<TraceContents, String> {
    kernel(&of(version, &format!("{instruction}\n{EXIT}")))
}

#[test]
fn what_the_reader_takes_is_taken() {
    for line in [
        "0000 0000000f 1 R2 LDG.E.64.STRONG.GPU 4 R1 R2 R3 R255 8 1 0x1000 -8 0",
        "0000 0000000d 1 R2 LDG.E 1 R4 4 2 0x1000 8 -1099511627776 0",
        "0000 00000003 1 R2 LDG.E 1 R4 4 0 0x0000000000001000 0xffffffffffffffff 0",
        "0000 00000004 0 STG.E.U8 2 R4 R5 1 2 0x1000 0",
        "0000 00000000 1 R2 LDG.E 1 R4 4 1 0x0 0 0",
        "0000 00000000 1 R2 FADD 2 R4 R5 0 0 ",
    ] {
        assert_eq!(judge(60, line).map(|found| found.instructions), Ok(2), "{line}");
    }
}

#[test]
fn each_form_that_exports_once_had_is_refused() {
    for (line, why) in [
        ("0000 0000000f 2 R2 R3 LDG.E.64 1 R4 8 1 0x1000 8 0", "2 destinations, of which there can be 1"),
        ("0000 0000000f 0 STG.E.128 5 R2 R3 R4 R5 R6 16 1 0x0 16 0", "5 sources, of which there can be 4"),
        ("0000 0000000f 1 P0 ISETP 2 R4 R5 0 0", "`P0` is no register that is read"),
        ("0000 0000000f 1 R1 SEL 2 R4 UP0 0 0", "`UP0` is no register that is read"),
        ("7 0000 0000000f 1 R1 MOV 1 R4 0 0", "`0000000f` stands where destinations should"),
        ("0000 0000000f 1 R2 LDG.E.S8 1 R4 1 1 0x0 1 0", "LDG.E.S8 would be taken for an access of 4 bytes"),
        ("0000 00000003 1 R2 LDG.E 1 R4 4 1 0x0 2147483648 0", "`2147483648` stands where a stride of 32 bits should"),
        ("0000 0000000f 1 R2 LDG.E 1 R4 0 0", "LDG.E has no addresses"),
        ("0000 0000000d 1 R2 LDG.E 1 R4 4 1 0x0 4 0", "a stride across idle lanes"),
        ("0000 0000000f 1 R2 LDG.E 1 R4 4 2 0x0 4 4 0", "the line ends where an immediate should stand"),
        ("0000 0000000f 1 R2 FADD 2 R4 R5 0", "the line ends where an immediate should stand"),
        ("0000 0000000f 1 R2 HMMA 2 R4 R5 0 0", "undefined instruction: HMMA"),
    ] {
        assert_eq!(judge(60, line), Err(format!("line 23: {why}")), "{line}");
    }
}

#[test]
fn opcodes_and_units_are_those_of_the_version() {
    let units = |version, line| judge(version, line).map(|found| found.units.into_iter().collect::<Vec<_>>().join(" "));
    let branch = "0000 0000000f 0 BRA 0 0 0";
    assert_eq!([60, 70].map(|version| units(version, branch)), ["BRANCH EXIT", "EXIT UNIT1"].map(|s| Ok(s.to_owned())));
    assert!(units(70, "0000 0000000f 1 R2 XMAD 1 R4 0 0").is_err() && units(61, branch).is_ok());
    assert_eq!(units(90, branch), Err("line 15: unsupported binary version: 90".to_owned()));
}

#[test]
fn every_thread_ends_once() {
    let ends = |lines: &str| kernel(&of(60, lines)).map(|found| found.instructions);
    assert_eq!(ends("0000 00000005 0 EXIT 0 0 0\n0010 0000000a 0 EXIT 0 0 0"), Ok(2));
    assert_eq!(ends("0000 00000005 0 EXIT 0 0 0"), Err("line 23: threads 0x0000000a of warp 0 do not end".to_owned()));
    for mask in ["0000000f", "00000010"] {
        let line = format!("0000 00000005 0 EXIT 0 0 0\n0010 {mask} 0 EXIT 0 0 0");
        assert_eq!(ends(&line), Err("line 24: a thread ends that is not there".to_owned()));
    }
}

#[test]
fn a_file_is_complete_and_in_order() {
    let text = of(60, EXIT);
    let change = |from, to| kernel(&text.replace(from, to)).map(|_| ());
    for (from, to, why) in [
        ("insts = 1", "insts = 0", "a warp without instructions"),
        ("insts = 1", "insts = 2", "`#END_TB` stands where a PC should"),
        ("= 0,0,0", "= 1,0,0", "stands where [0, 0, 0] should"),
        ("(4,1,1)", "(36,1,1)", "do not end"),
        ("dim = (1,1,1)", "dim = (2,1,1)", "`` stands where `#BEGIN_TB` should"),
        ("dim = (1,1,1)", "dim = 1", "`1` is no shape"),
        ("-cuda stream id = 0\n", "", "no `cuda stream id`"),
        ("-shmem = 0", "-shmem = 4294967295", "is no `int`"),
        ("= 0x0", "= 0", "does not begin with `0x`"),
        ("version = 5", "version = 2", "another tracer version"),
        ("#END_TB\n", "#END_TB", "no end"),
        ("#END_TB\n", "#END_TB\n#BEGIN_TB\n", "behind the last one"),
    ] {
        let found = change(from, to).unwrap_err();
        assert!(found.contains(why), "{to}: {found}");
    }
}

#[test]
fn a_list_has_copies_of_three_fields_and_kernels() {
    assert_eq!(list("MemcpyHtoD,0x0000000010000000,4096\nkernel-1.traceg\n"), Ok(vec!["kernel-1.traceg"]));
    for line in
        ["MemcpyHtoD,0x10", "MemcpyHtoD,0x10,4,4", "MemcpyHtoD,10,4", "MemcpyDtoH,0x10,4", "kernel-1.traceg.zst", "x"]
    {
        assert!(list(&format!("{line}\n")).is_err(), "{line}");
    }
    assert!(list("kernel-1.traceg").is_err());
}
