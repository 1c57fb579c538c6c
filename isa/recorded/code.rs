//! Distinct instructions of a recorded kernel.
//!
//! A trace repeats the same few instructions millions of times. Each distinct instruction is stored once, and
//! the steps of a warp refer to it by number. A simulator can therefore decode each instruction once.

use rustc_hash::FxHashMap;

use super::opcode::{Opcode, OpcodeTable, Space, first_token};

/// Maximum number of distinct instructions of a kernel: sixteen times as many as the largest known kernels
/// have.
pub const MAX_OPERATIONS: usize = 1 << 20;
/// Maximum number of distinct opcodes of a kernel.
pub const MAX_OPCODES: usize = 1 << 14;
/// Maximum number of register operands of an instruction, destinations and sources together.
pub const MAX_REGISTERS: usize = 10;

/// Register file to which a SASS register belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// Vector registers `R`: one 32-bit word per lane.
    #[default]
    Vector,
    /// Uniform registers `UR`: one 32-bit word per warp.
    Uniform,
    /// Predicates `P`: one bit per lane.
    Predicate,
    /// Uniform predicates `UP`: one bit per warp.
    UniformPredicate,
}

/// Register of a SASS instruction. The last register of each file always reads as zero (`R255`, `UR63`) or
/// true (`P7`, `UP7`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Register file of the register.
    pub file: RegisterFile,
    /// Number of the register within its file.
    pub number: u8,
}

impl Register {
    /// Returns the vector register with this number.
    #[must_use]
    pub fn vector(number: u8) -> Self {
        Register { file: RegisterFile::Vector, number }
    }
}

/// Register operands of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operands {
    registers: [Register; MAX_REGISTERS],
    num_dests: u8,
    num_sources: u8,
}

impl Operands {
    /// Creates a list of operands, or returns `None` if there are more than [`MAX_REGISTERS`].
    #[must_use]
    pub fn new(dests: &[Register], sources: &[Register]) -> Option<Self> {
        let mut registers = [Register::default(); MAX_REGISTERS];
        let place = registers.get_mut(..dests.len() + sources.len())?;
        place[..dests.len()].copy_from_slice(dests);
        place[dests.len()..].copy_from_slice(sources);
        Some(Operands { registers, num_dests: dests.len() as u8, num_sources: sources.len() as u8 })
    }
}

/// Static properties of an instruction, which are the same at each execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Address of the instruction in the code of its function, in bytes.
    pub pc: u32,
    /// Number of the opcode among the opcodes in [`Code`].
    pub opcode: u16,
    /// Value of the field `mem_width` in the trace; nonzero if the trace has addresses for the instruction.
    /// It is not the access width itself: that is derived from this value and the opcode.
    pub recorded_width: u16,
    /// Line number in the source file of the kernel; 0 if the trace does not contain it.
    pub line: u32,
    /// For a `DEPBAR`, the maximum number of groups of asynchronous copies that may still be in flight when
    /// the `DEPBAR` completes.
    pub immediate: i64,
    /// Destination and source registers.
    pub operands: Operands,
}

impl Operation {
    /// Destination registers.
    #[must_use]
    pub fn dests(&self) -> &[Register] {
        let Operands { registers, num_dests, .. } = &self.operands;
        &registers[..usize::from(*num_dests)]
    }

    /// Source registers.
    #[must_use]
    pub fn sources(&self) -> &[Register] {
        let Operands { registers, num_dests, num_sources } = &self.operands;
        &registers[usize::from(*num_dests)..][..usize::from(*num_sources)]
    }
}

/// Distinct instructions and opcodes of a kernel. The number of an instruction or opcode never changes.
#[derive(Clone, Debug)]
pub struct Code {
    table: OpcodeTable,
    operations: Vec<Operation>,
    opcodes: Vec<Opcode>,
    numbers: FxHashMap<Operation, u32>,
    opcode_numbers: FxHashMap<Box<[u8]>, u16>,
    /// Numbers of instructions that were copied with a specific space in place of the generic space. The key
    /// consists of the number of the original instruction and the specific space; the value is the number of
    /// the copy.
    resolved: FxHashMap<(u32, Space), u32>,
    /// Numbers of opcodes that were copied with another access width. The key consists of the number of the
    /// original opcode and the new width in bytes; the value is the number of the copy.
    widths: FxHashMap<(u16, u8), u16>,
}

impl Code {
    /// Creates an empty collection of instructions. `table` gives the classes of the opcodes that are added
    /// later.
    #[must_use]
    pub fn new(table: OpcodeTable) -> Self {
        Code {
            table,
            operations: Vec::new(),
            opcodes: Vec::new(),
            numbers: FxHashMap::default(),
            opcode_numbers: FxHashMap::default(),
            resolved: FxHashMap::default(),
            widths: FxHashMap::default(),
        }
    }

    /// Distinct instructions, indexed by number.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Distinct opcodes, indexed by number.
    #[must_use]
    pub fn opcodes(&self) -> &[Opcode] {
        &self.opcodes
    }

    /// Returns the opcode of an instruction.
    ///
    /// # Panics
    /// Panics if `operation` does not belong to this collection.
    #[must_use]
    pub fn opcode(&self, operation: &Operation) -> &Opcode {
        &self.opcodes[usize::from(operation.opcode)]
    }

    /// Adds an instruction unless it is already known, and returns its number. Returns `None` if the kernel
    /// has too many instructions.
    pub fn add(&mut self, operation: Operation) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&operation) {
            return Some(number);
        }
        if self.operations.len() >= MAX_OPERATIONS {
            return None;
        }
        let number = self.operations.len() as u32;
        self.operations.push(operation);
        self.numbers.insert(operation, number);
        Some(number)
    }

    /// Adds a copy of instruction `number` in which `space` replaces the generic space, and returns its
    /// number. If the instruction has no generic addresses, returns `number` itself. Returns `None` if the
    /// kernel has too many instructions.
    ///
    /// # Panics
    /// Panics if no instruction has this number.
    pub fn in_space(&mut self, number: u32, space: Space) -> Option<u32> {
        let mut operation = self.operations[number as usize];
        let opcode = self.opcode(&operation);
        let class = opcode.class.in_space(space);
        if class == opcode.class {
            return Some(number);
        }
        if let Some(&resolved) = self.resolved.get(&(number, space)) {
            return Some(resolved);
        }
        operation.opcode = self.number_of(Opcode { class, ..opcode.clone() })?;
        let resolved = self.add(operation)?;
        self.resolved.insert((number, space), resolved);
        Some(resolved)
    }

    /// Adds a copy of opcode number `opcode` with an access width of `width` bytes per lane, and returns its
    /// number. Returns `opcode` itself if it already has that width. Returns `None` if the kernel has too
    /// many opcodes.
    ///
    /// # Panics
    /// Panics if no opcode has that number.
    pub fn with_width(&mut self, opcode: u16, width: u8) -> Option<u16> {
        let own = &self.opcodes[usize::from(opcode)];
        if own.width == width {
            return Some(opcode);
        }
        if let Some(&known) = self.widths.get(&(opcode, width)) {
            return Some(known);
        }
        let number = self.number_of(Opcode { width, ..own.clone() })?;
        self.widths.insert((opcode, width), number);
        Some(number)
    }

    /// Adds an opcode unless it is already known, and returns its number. Returns `None` if the kernel has
    /// too many opcodes.
    fn number_of(&mut self, wanted: Opcode) -> Option<u16> {
        let known = self.opcodes.iter().position(|opcode| *opcode == wanted);
        let place = known.unwrap_or(self.opcodes.len());
        let number = u16::try_from(place).ok().filter(|&place| usize::from(place) < MAX_OPCODES)?;
        if known.is_none() {
            self.opcodes.push(wanted);
        }
        Some(number)
    }

    /// Adds the opcode with the text `text` unless it is already known, and returns its number. Returns
    /// `None` if its first token is unknown, or if the kernel has too many opcodes.
    pub fn add_opcode(&mut self, text: &str) -> Option<u16> {
        if let Some(&number) = self.opcode_numbers.get(text.as_bytes()) {
            return Some(number);
        }
        let class = self.table.class(first_token(text))?;
        let number = u16::try_from(self.opcodes.len()).ok().filter(|&number| usize::from(number) < MAX_OPCODES)?;
        self.opcodes.push(Opcode::new(text, class));
        self.opcode_numbers.insert(text.as_bytes().into(), number);
        Some(number)
    }

    /// Returns the number of the opcode with the text `text`, or `None` if it has not been added.
    #[must_use]
    pub fn known_opcode(&self, text: &[u8]) -> Option<u16> {
        self.opcode_numbers.get(text).copied()
    }

    /// Table that gives the class of each opcode.
    #[must_use]
    pub fn table(&self) -> &OpcodeTable {
        &self.table
    }
}
