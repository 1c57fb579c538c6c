//! Synthetic kernels in Kepler instructions, with known memory access patterns.
//!
//! Every warp executes 5 instructions outside a loop and 11 in each iteration of the loop. An iteration loads
//! from two arrays, computes, and stores to a third array. The kernels differ only in the addresses that they
//! access.

use std::io::{self, Write};

use isa::recorded::code::Operands;
use isa::recorded::opcode::OpcodeTable;
use isa::recorded::{Architecture, Code, Cta, Header, LANES, Operation, Register, Warp};
use trace::TraceWriter;

/// Number of warps per CTA.
const WARPS: u64 = 8;
const FIRST: u64 = 0x1000_0000;
const SECOND: u64 = 0x2000_0000;
const THIRD: u64 = 0x3000_0000;

/// Memory access pattern of a synthetic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Streaming: accesses every line once.
    Stream,
    /// Tile: every warp repeatedly reads its own tile of 2 KiB, and all warps read a shared table of 8 KiB.
    Tile,
    /// Gather: accesses random words in an array of 1 MiB.
    Gather,
    /// Column: all lanes access the same column of a matrix with 512-byte rows, each lane in a different row.
    /// Each lane therefore accesses a different line.
    Column,
}

/// All memory access patterns.
pub const KINDS: [Kind; 4] = [Kind::Stream, Kind::Tile, Kind::Gather, Kind::Column];

/// Size of a synthetic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of CTAs of 256 threads.
    pub ctas: u32,
    /// Number of loop iterations.
    pub iterations: u32,
}

/// Synthetic kernel whose trace is to be written.
#[derive(Clone, Debug)]
pub struct Synthetic {
    kind: Kind,
    size: Size,
    code: Code,
    /// State of the random number generator for [`Kind::Gather`].
    state: u32,
}

impl Synthetic {
    /// Creates a synthetic kernel with the given access pattern and size.
    #[must_use]
    pub fn new(kind: Kind, size: Size) -> Self {
        Synthetic { kind, size, code: Code::new(OpcodeTable::new(Some(Architecture::Kepler))), state: 12345 }
    }

    /// Header of the kernel's trace.
    #[must_use]
    pub fn header(&self) -> Header {
        Header {
            name: format!("{:?}", self.kind).to_lowercase(),
            grid: [self.size.ctas, 1, 1],
            block: [32 * WARPS as u32, 1, 1],
            registers: 20,
            binary_version: 35,
            shared_base: 0x7f00_0000_0000,
            local_base: 0x7f10_0000_0000,
            ..Header::default()
        }
    }

    /// Writes the kernel's trace.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub fn write(mut self, out: impl Write) -> io::Result<()> {
        let mut writer = TraceWriter::new(out, &self.header())?;
        for index in 0..self.size.ctas {
            let mut cta = Cta { index: [index, 0, 0], ..Cta::default() };
            for id in 0..WARPS {
                let warp = self.warp(index, id);
                cta.warps.push(warp);
            }
            writer.cta(&cta, &self.code)?;
        }
        writer.finish()?;
        Ok(())
    }

    fn warp(&mut self, cta: u32, id: u64) -> Warp {
        let mut warp = Warp::new(id as u32);
        let number = u64::from(cta) * WARPS + id;
        let all = u64::from(self.size.ctas) * WARPS;
        self.plain(&mut warp, 0x00, "S2R", &[0], &[]);
        self.plain(&mut warp, 0x10, "S2R", &[1], &[]);
        self.plain(&mut warp, 0x20, "IMAD", &[2], &[0, 1, 255]);
        self.plain(&mut warp, 0x30, "ISCADD", &[3], &[2, 255]);
        for k in 0..u64::from(self.size.iterations) {
            let streamed = (k * all + number) * 128;
            let row = |base: u64| std::array::from_fn(|lane| base + 4 * lane as u64);
            let (first, second) = match self.kind {
                Kind::Stream => (row(FIRST + streamed), row(SECOND + streamed)),
                Kind::Tile => (row(FIRST + number * 2048 + k % 16 * 128), row(SECOND + (k * 7 + id) % 64 * 128)),
                Kind::Gather => (std::array::from_fn(|_| FIRST + self.random(1 << 18) * 4), row(SECOND + streamed)),
                Kind::Column => {
                    let top = FIRST + number * 32 * 512 + k % 128 * 4;
                    (std::array::from_fn(|lane| top + 512 * lane as u64), row(SECOND + k * 128))
                }
            };
            self.access(&mut warp, 0x40, "LD.E", &[4], &[2], &first);
            self.access(&mut warp, 0x50, "LD.E", &[5], &[3], &second);
            for j in 0..4 {
                self.plain(&mut warp, 0x60 + 16 * u32::from(j), "FFMA", &[6 + j], &[4, 5, 6 + j]);
            }
            self.plain(&mut warp, 0xa0, "IADD", &[2], &[2]);
            self.plain(&mut warp, 0xb0, "IADD", &[3], &[3]);
            self.access(&mut warp, 0xc0, "ST.E", &[], &[3, 6], &row(THIRD + streamed));
            self.plain(&mut warp, 0xd0, "ISETP", &[], &[2]);
            self.plain(&mut warp, 0xe0, "BRA", &[], &[]);
        }
        self.plain(&mut warp, 0xf0, "EXIT", &[], &[]);
        warp
    }

    /// Linear congruential generator: returns pseudo-random numbers below `limit`.
    fn random(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_mul(1_103_515_245).wrapping_add(12345) & 0x7fff_ffff;
        u64::from(self.state >> 4) % limit
    }

    fn plain(&mut self, warp: &mut Warp, pc: u32, opcode: &str, dests: &[u8], sources: &[u8]) {
        let operation = self.operation(pc, opcode, dests, sources, 0);
        warp.push(operation, u32::MAX);
    }

    fn access(
        &mut self,
        warp: &mut Warp,
        pc: u32,
        opcode: &str,
        dests: &[u8],
        sources: &[u8],
        addresses: &[u64; LANES],
    ) {
        let operation = self.operation(pc, opcode, dests, sources, 4);
        warp.push_access(operation, u32::MAX, addresses);
    }

    fn operation(&mut self, pc: u32, opcode: &str, dests: &[u8], sources: &[u8], recorded_width: u16) -> u32 {
        let registers = |numbers: &[u8]| numbers.iter().map(|&number| Register::vector(number)).collect::<Vec<_>>();
        let operands = Operands::new(&registers(dests), &registers(sources)).expect("at most four registers");
        let opcode = self.code.add_opcode(opcode).expect("an opcode of Kepler");
        let operation = Operation { pc, opcode, recorded_width, line: 0, immediate: 0, operands };
        self.code.add(operation).expect("sixteen instructions")
    }
}
