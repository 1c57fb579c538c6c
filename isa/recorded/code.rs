//! The distinct instructions of a kernel.
//!
//! A trace repeats the same few instructions millions of times. Here each is kept once; the steps of
//! a warp refer to it by number, so that whoever runs a trace can decode it once, too.

use rustc_hash::FxHashMap;

use super::opcode::{Opcode, OpcodeTable, Space, first_token};

/// Distinct instructions of a kernel at most: sixteen times the largest kernels known to us.
pub const MOST_OPERATIONS: usize = 1 << 20;
/// Distinct opcodes of a kernel at most.
pub const MOST_OPCODES: usize = 1 << 14;
/// Register operands of an instruction at most, destinations and sources together.
pub const MOST_REGISTERS: usize = 10;

/// The four kinds of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegisterFile {
    /// `R`: a word for every lane.
    #[default]
    Vector,
    /// `UR`: a word for the warp.
    Uniform,
    /// `P`: a bit for every lane.
    Predicate,
    /// `UP`: a bit for the warp.
    UniformPredicate,
}

/// A register. The last of each kind always reads as zero or true: `R255`, `UR63`, `P7`, `UP7`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Its kind.
    pub file: RegisterFile,
    /// Its number.
    pub number: u8,
}

impl Register {
    /// The vector register of a number.
    #[must_use]
    pub fn vector(number: u8) -> Self {
        Register { file: RegisterFile::Vector, number }
    }
}

/// The registers of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operands {
    registers: [Register; MOST_REGISTERS],
    num_dests: u8,
    num_sources: u8,
}

impl Operands {
    /// These registers, or `None` if they are more than [`MOST_REGISTERS`].
    #[must_use]
    pub fn new(dests: &[Register], sources: &[Register]) -> Option<Self> {
        let mut registers = [Register::default(); MOST_REGISTERS];
        let place = registers.get_mut(..dests.len() + sources.len())?;
        place[..dests.len()].copy_from_slice(dests);
        place[dests.len()..].copy_from_slice(sources);
        Some(Operands { registers, num_dests: dests.len() as u8, num_sources: sources.len() as u8 })
    }
}

/// All of an instruction that is the same whenever it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Address in the code, in bytes.
    pub pc: u32,
    /// Number of its opcode in [`Code`].
    pub opcode: u16,
    /// The field `mem_width`: more than 0 if addresses were recorded. The width of the opcode says what it means.
    pub recorded_width: u16,
    /// Line in the source; 0 if not recorded.
    pub line: u32,
    /// For `DEPBAR`: how many groups of copies may stay under way.
    pub immediate: i64,
    /// Its registers.
    pub operands: Operands,
}

impl Operation {
    /// Registers written.
    #[must_use]
    pub fn dests(&self) -> &[Register] {
        let Operands { registers, num_dests, .. } = &self.operands;
        &registers[..usize::from(*num_dests)]
    }

    /// Registers read.
    #[must_use]
    pub fn sources(&self) -> &[Register] {
        let Operands { registers, num_dests, num_sources } = &self.operands;
        &registers[usize::from(*num_dests)..][..usize::from(*num_sources)]
    }
}

/// The distinct instructions of a kernel. Numbers once given stay.
#[derive(Clone, Debug)]
pub struct Code {
    table: OpcodeTable,
    operations: Vec<Operation>,
    opcodes: Vec<Opcode>,
    numbers: FxHashMap<Operation, u32>,
    opcode_numbers: FxHashMap<Box<[u8]>, u16>,
    /// What instructions with generic addresses are in each space.
    resolved: FxHashMap<(u32, Space), u32>,
    /// Opcodes whose accesses were recorded with another width than their own.
    widths: FxHashMap<(u16, u8), u16>,
}

impl Code {
    /// No instruction yet; opcodes will be those of the table.
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

    /// The instructions, by number.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The opcodes, by number.
    #[must_use]
    pub fn opcodes(&self) -> &[Opcode] {
        &self.opcodes
    }

    /// The opcode of an instruction.
    ///
    /// # Panics
    /// If the instruction is not one of this code.
    #[must_use]
    pub fn opcode(&self, operation: &Operation) -> &Opcode {
        &self.opcodes[usize::from(operation.opcode)]
    }

    /// The number of an instruction, which may be new; `None` if there are too many.
    pub fn add(&mut self, operation: Operation) -> Option<u32> {
        if let Some(&number) = self.numbers.get(&operation) {
            return Some(number);
        }
        if self.operations.len() >= MOST_OPERATIONS {
            return None;
        }
        let number = self.operations.len() as u32;
        self.operations.push(operation);
        self.numbers.insert(operation, number);
        Some(number)
    }

    /// The number of the same instruction with its generic addresses in `space`, which may be new; its
    /// own if it has none. `None` if there are too many.
    ///
    /// # Panics
    /// If the instruction is not one of this code.
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

    /// Returns the number of the opcode of number `opcode` with lanes that access `width` bytes, which may be new; `None`
    /// if there are too many.
    ///
    /// # Panics
    /// If no opcode has that number.
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

    /// The number of an opcode with these properties, which may be new; `None` if there are too many.
    fn number_of(&mut self, wanted: Opcode) -> Option<u16> {
        let known = self.opcodes.iter().position(|opcode| *opcode == wanted);
        let place = known.unwrap_or(self.opcodes.len());
        let number = u16::try_from(place).ok().filter(|&place| usize::from(place) < MOST_OPCODES)?;
        if known.is_none() {
            self.opcodes.push(wanted);
        }
        Some(number)
    }

    /// The number of an opcode, which may be new; `None` if its first token is unknown or there are
    /// too many.
    pub fn add_opcode(&mut self, text: &str) -> Option<u16> {
        if let Some(&number) = self.opcode_numbers.get(text.as_bytes()) {
            return Some(number);
        }
        let class = self.table.class(first_token(text))?;
        let number = u16::try_from(self.opcodes.len()).ok().filter(|&number| usize::from(number) < MOST_OPCODES)?;
        self.opcodes.push(Opcode::new(text, class));
        self.opcode_numbers.insert(text.as_bytes().into(), number);
        Some(number)
    }

    /// The number of an opcode that was named before.
    #[must_use]
    pub fn known_opcode(&self, text: &[u8]) -> Option<u16> {
        self.opcode_numbers.get(text).copied()
    }

    /// The opcodes that instructions may have.
    #[must_use]
    pub fn table(&self) -> &OpcodeTable {
        &self.table
    }
}
