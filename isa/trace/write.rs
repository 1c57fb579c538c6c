//! Writer of a kernel's trace in the format of tracer version 5. Addresses are packed as the tracer packs
//! them.
//!
//! If the active lanes are consecutive and their addresses have a constant distance that fits in 32 bits, a
//! base and a stride are written. Otherwise a base and the distances between addresses are written. Without
//! packing, every address is written.

use std::fmt::Write as _;
use std::io::{self, Write};

use isa::recorded::code::{Code, Operation, Register, RegisterFile};
use isa::recorded::header::Header;
use isa::recorded::record::{Cta, LANES, Step, Warp, lanes_of};

/// Tracer version of the written format.
const VERSION: u32 = 5;

/// Writer of one kernel's trace.
pub struct TraceWriter<W: Write> {
    out: W,
    has_line_numbers: bool,
    is_compressed: bool,
    line: String,
}

impl<W: Write> TraceWriter<W> {
    /// Creates the writer and writes the header. The tracer version in it is always 5, whatever version
    /// `header` has.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let Header { name, id, grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes, registers, .. } = header;
        let Header { binary_version, stream, shared_base, local_base, nvbit_version, has_line_numbers, .. } = header;
        let lineinfo = u8::from(*has_line_numbers);
        write!(
            out,
            "-kernel name = {name}\n\
             -kernel id = {id}\n\
             -grid dim = ({gx},{gy},{gz})\n\
             -block dim = ({bx},{by},{bz})\n\
             -shmem = {shared_bytes}\n\
             -nregs = {registers}\n\
             -binary version = {binary_version}\n\
             -cuda stream id = {stream}\n\
             -shmem base_addr = 0x{shared_base:016x}\n\
             -local mem base_addr = 0x{local_base:016x}\n\
             -nvbit version = {nvbit_version}\n\
             -accelsim tracer version = {VERSION}\n\
             -enable lineinfo = {lineinfo}\n\
             \n\
             #traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width \
             [adrrescompress?] [mem_addresses] immediate\n"
        )?;
        Ok(TraceWriter { out, has_line_numbers: *has_line_numbers, is_compressed: true, line: String::new() })
    }

    /// Returns the writer with the packing of addresses turned off: every address is written.
    #[must_use]
    pub fn without_compression(mut self) -> Self {
        self.is_compressed = false;
        self
    }

    /// Writes a CTA, whose instructions are in `code`.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    ///
    /// # Panics
    /// Panics if a step refers to an instruction that is not in `code`.
    pub fn cta(&mut self, cta: &Cta, code: &Code) -> io::Result<()> {
        let [x, y, z] = cta.index;
        write!(self.out, "\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n")?;
        if let Some(cluster) = cta.cluster {
            let ([ix, iy, iz], [cx, cy, cz]) = (cluster.id, cluster.cta);
            writeln!(self.out, "cluster id = {ix},{iy},{iz}\ncluster cta = {cx},{cy},{cz}")?;
            writeln!(self.out, "cluster rank = {}", cluster.rank)?;
        }
        for warp in &cta.warps {
            write!(self.out, "\nwarp = {}\ninsts = {}\n", warp.id, warp.steps().len())?;
            for step in warp.steps() {
                self.instruction(warp, step, code)?;
            }
        }
        self.out.write_all(b"\n#END_TB\n")
    }

    /// Flushes and returns the output, after all CTAs are written.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn instruction(&mut self, warp: &Warp, step: &Step, code: &Code) -> io::Result<()> {
        let operation = &code.operations()[step.operation as usize];
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        // Writing to a string cannot fail.
        let _ = self.describe(&mut line, warp, step, operation, code);
        line.push('\n');
        let written = self.out.write_all(line.as_bytes());
        self.line = line;
        written
    }

    fn describe(
        &self,
        line: &mut String,
        warp: &Warp,
        step: &Step,
        operation: &Operation,
        code: &Code,
    ) -> std::fmt::Result {
        if self.has_line_numbers {
            write!(line, "{} ", operation.line)?;
        }
        write!(line, "{:04x} {:08x} {} ", operation.pc, step.mask, operation.dests().len())?;
        registers(line, operation.dests())?;
        write!(line, "{} {} ", code.opcode(operation).text, operation.sources().len())?;
        registers(line, operation.sources())?;
        match warp.addresses(step) {
            Some(addresses) => {
                // An access width of 0 would tell readers of the format that the line has no addresses. If no
                // width was recorded, the width of the opcode is written.
                let width = match operation.recorded_width {
                    0 => code.opcode(operation).width.into(),
                    recorded => recorded,
                };
                write!(line, "{width} ")?;
                self.addresses(line, step.mask, &addresses)?;
            }
            None => line.push_str("0 "),
        }
        write!(line, "{}", operation.immediate)
    }

    fn addresses(&self, line: &mut String, mask: u32, addresses: &[u64; LANES]) -> std::fmt::Result {
        let lanes: Vec<usize> = lanes_of(mask).collect();
        let Some(&first) = lanes.first() else { return line.write_str("1 0x0 0 ") };
        let base = addresses[first];
        let pairs = lanes.windows(2).map(|pair| addresses[pair[1]].checked_signed_diff(addresses[pair[0]]));
        let distances: Option<Vec<i64>> = if self.is_compressed { pairs.collect() } else { None };
        // A distance of 2^63 or more does not fit in a signed number, so all addresses are written. No real
        // trace has such a distance.
        let Some(distances) = distances else {
            line.push_str("0 ");
            return lanes.iter().try_for_each(|&lane| write!(line, "0x{:016x} ", addresses[lane]));
        };
        let is_one_run = lanes[lanes.len() - 1] - first + 1 == lanes.len();
        // Accel-Sim reads a stride as a 32-bit number, but distances as 64-bit numbers.
        if let (true, Some(stride)) = (is_one_run, distances.first())
            && i32::try_from(*stride).is_ok()
            && distances.iter().all(|distance| distance == stride)
        {
            return write!(line, "1 0x{base:x} {stride} ");
        }
        write!(line, "2 0x{base:x} ")?;
        distances.iter().try_for_each(|distance| write!(line, "{distance} "))
    }
}

fn registers(line: &mut String, registers: &[Register]) -> std::fmt::Result {
    registers.iter().try_for_each(|register| {
        let file = match register.file {
            RegisterFile::Vector => "R",
            RegisterFile::Uniform => "UR",
            RegisterFile::Predicate => "P",
            RegisterFile::UniformPredicate => "UP",
        };
        write!(line, "{file}{} ", register.number)
    })
}
