//! Traced kernels as the core sees them: an image without a program, and decode table rows for the recorded
//! instructions.
//!
//! The class of a SASS instruction selects its pipe. Its latency is that of the corresponding PTX instruction
//! or, if so configured, that of the recorded architecture. A matrix product uses the tensor pipe and
//! occupies it for a time that depends on its number of multiplications. In an SM without a tensor pipe,
//! matrix products use the SP pipe. Texture and surface accesses, for which a trace has no addresses, use the
//! SFU pipe.

use std::sync::Arc;

use isa::lanes::{AluFn, AluOp, AtomicFn};
use isa::program::{Form, Inst, LaunchLimits, MemOp, NO_PC, Op, Program, RegMask};
use isa::recorded::{Class, Code, Header, Opcode, Operation, Register, RegisterFile, Space as TraceSpace, Timing};
use isa::tensor;
use isa::types::{Scope, Space, Type};

use super::stream::CtaSource;
use crate::sm::core::Loaded;
use crate::sm::execute::operands::Identity;
use crate::sm::front::decode::{DecodedInst, Pipe, decode};
use crate::sm::{AddressMap, KernelImage, LaunchError, SmConfig, TraceTiming};

/// Maximum plausible register count per thread in a trace header; larger values are not taken as a register
/// count.
const MAX_REGISTERS: u32 = 255;
/// Pseudo-predicate that represents outstanding asynchronous copies. No instruction writes it, and an
/// instruction that waits for copies reads it.
pub(in crate::sm) const COPIES: RegMask = RegMask { words: [0; 4], preds: 1 << 31 };
/// Index of the predicate that represents uniform predicate 0; lower indices represent the per-lane
/// predicates.
const UNIFORM_PREDICATES: u16 = 8;
/// Index of the register that represents uniform register 0. A few kernels have more vector registers than
/// this. In these kernels, an instruction may wait for a write to an unrelated register.
const UNIFORM_WORDS: u16 = 192;

/// Role of an instruction in asynchronous copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Role {
    /// Neither copies asynchronously nor waits for copies.
    Plain,
    /// Starts an asynchronous copy.
    Copy,
    /// Commits a group of asynchronous copies (`LDGDEPBAR`).
    EndGroup,
    /// Waits until at most the given number of groups have copies in flight (`DEPBAR`).
    Wait(u32),
    /// Operation of an engine that the model lacks, such as a bulk copy; the value is the index of its opcode in [`isa::recorded::opcode::UNMODELED`].
    Unmodeled(u8),
}

/// Properties of a traced instruction that are not in its row of the decode table.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct TracedInstruction {
    /// Address of the instruction.
    pub pc: u32,
    /// Source line of the instruction; 0 if not recorded.
    pub line: u32,
    /// Mask of the lanes that supply an address for the access; the addresses of the other lanes are not
    /// used.
    pub lanes: u32,
    pub role: Role,
}

/// Traced kernel: the source of its CTAs, and its instructions known so far.
#[derive(Clone, Debug)]
pub(in crate::sm) struct TracedKernel {
    pub source: Arc<dyn CtaSource>,
    /// Properties of each instruction known so far, in the order of the decode table.
    pub places: Vec<TracedInstruction>,
    /// Number of register words that the instructions known so far use.
    pub words: u16,
}

impl TracedKernel {
    pub fn new(source: &Arc<dyn CtaSource>) -> Self {
        Self { source: Arc::clone(source), places: Vec::new(), words: 0 }
    }
}

impl KernelImage {
    /// Creates the image of a traced kernel whose CTAs come from `source`; `file` names the trace in
    /// messages.
    ///
    /// # Errors
    /// Returns an error if no SM can run a kernel of this shape.
    pub fn from_trace(header: &Header, file: &str, source: Arc<dyn CtaSource>) -> Result<Self, LaunchError> {
        let shared_bytes = u32::try_from(header.shared_bytes).unwrap_or(u32::MAX);
        let regs = if header.registers > MAX_REGISTERS { 0 } else { header.registers as u16 };
        let program = Program {
            name: header.name.clone(),
            file: file.into(),
            form: Form::Physical,
            params: Vec::new(),
            param_bytes: 0,
            insts: Vec::new(),
            regs,
            preds: 0,
            shared_bytes,
            shared_align: 1,
            local_bytes: 0,
            stack_bytes: 0,
            spill_bytes: 0,
            const_bytes: 0,
            const_base: 0,
            textures: Arc::from([]),
            relocations: Vec::new(),
            limits: LaunchLimits::default(),
            names: [].into(),
            max_regs: None,
            min_ctas: None,
        };
        let map = Arc::new(AddressMap::default());
        let mut image = Self::new(program, Vec::new(), header.grid, header.block, 0, header.id, map)?;
        image.source = Some(source);
        Ok(image)
    }
}

impl Loaded {
    /// Adds decode table rows for the instructions of `code` that the table lacks.
    pub fn learn(&mut self, code: &Code, config: &SmConfig, identity: Identity) {
        let Some(recorded) = &mut self.recorded else { return };
        let known = recorded.places.len();
        let new = &code.operations()[known..];
        if new.is_empty() {
            return;
        }
        let has_tensor = config.pipes.has_tensor();
        let mut part = (*self.image).clone();
        part.program.insts =
            new.iter().map(|operation| instruction(operation, code.opcode(operation), has_tensor)).collect();
        for inst in &part.program.insts {
            let highest = [inst.reads, inst.writes].iter().map(words).max();
            recorded.words = recorded.words.max(highest.unwrap_or(0));
        }
        recorded.places.extend(new.iter().map(|operation| place(operation, code.opcode(operation))));
        let (mut rows, _) = decode(&part, config, identity);
        if let (TraceTiming::BinaryVersion, Some(architecture)) = (config.trace_timing, code.table().architecture()) {
            for (row, operation) in rows.iter_mut().zip(new) {
                retime(row, Timing::of(architecture, code.opcode(operation)), config);
            }
        }
        self.table.extend(rows);
    }
}

/// If `timing` is given, replaces the latency and the initiation interval of an arithmetic instruction. The
/// new interval applies to the whole warp, whatever the number of lanes that the pipe processes per cycle.
fn retime(row: &mut DecodedInst, timing: Option<Timing>, config: &SmConfig) {
    let computes = matches!(row.pipe, Pipe::Sp | Pipe::Int | Pipe::Sfu | Pipe::Dp | Pipe::Tensor);
    if let (true, Some(Timing { latency, interval })) = (computes, timing) {
        row.latency = config.pipes.operand_read + latency;
        row.interval = interval;
    }
}

/// Returns one more than the highest register index in a set; 0 for an empty set.
fn words(set: &RegMask) -> u16 {
    let ends =
        (0..).zip(set.words).map(|(at, word)| if word == 0 { 0 } else { 64 * (at + 1) - word.leading_zeros() as u16 });
    ends.max().unwrap_or(0)
}

fn place(operation: &Operation, opcode: &Opcode) -> TracedInstruction {
    let role = match (opcode.class, opcode.name()) {
        (Class::AsyncCopy, _) => Role::Copy,
        (Class::Wait, "LDGDEPBAR") => Role::EndGroup,
        (Class::Wait, "DEPBAR") => Role::Wait(u32::try_from(operation.immediate).unwrap_or(0)),
        (Class::Bulk | Class::Engine, _) => opcode.unmodeled().map_or(Role::Plain, Role::Unmodeled),
        _ => Role::Plain,
    };
    TracedInstruction { pc: operation.pc, line: operation.line, lanes: opcode.addressing_lanes(), role }
}

/// Returns the PTX instruction by which the model represents a traced instruction. The PTX instruction
/// occupies the same pipe for the same time, and uses the same registers.
fn instruction(operation: &Operation, opcode: &Opcode, has_tensor: bool) -> Inst {
    let mut inst = Inst::new(match opcode.class {
        Class::Tensor if has_tensor => {
            let multiplications = tensor::multiplications_of(&opcode.text).unwrap_or(tensor::OF_UNKNOWN_SHAPE);
            Op::Tensor(tensor::recorded_step(multiplications))
        }
        _ => meaning(opcode, operation.recorded_width > 0),
    });
    inst.line = operation.line;
    for &register in operation.sources() {
        insert(&mut inst.reads, register, 1);
    }
    // In a trace, a load of several words names only the first of its destination registers.
    let width = match (opcode.class, operation.dests()) {
        (Class::Load(_) | Class::Atomic(_), [_]) => opcode.result_words(),
        _ => 1,
    };
    for &register in operation.dests() {
        insert(&mut inst.writes, register, width);
    }
    if matches!(place(operation, opcode).role, Role::Wait(_)) {
        inst.reads.insert(&COPIES);
    }
    inst
}

/// Adds `words` consecutive registers to a set, except the last register of a register file, which always
/// reads as a constant.
fn insert(set: &mut RegMask, Register { file, number }: Register, words: u16) {
    let number = u16::from(number);
    match file {
        RegisterFile::Vector => (number..255.min(number + words)).for_each(|word| insert_word(set, word)),
        RegisterFile::Uniform if number < 63 => insert_word(set, UNIFORM_WORDS + number),
        RegisterFile::Predicate if number < 7 => set.insert_pred(number),
        RegisterFile::UniformPredicate if number < 7 => set.insert_pred(UNIFORM_PREDICATES + number),
        // The last register of the uniform, predicate and uniform-predicate register files is a constant, so
        // it is not added.
        RegisterFile::Uniform | RegisterFile::Predicate | RegisterFile::UniformPredicate => {}
    }
}

fn insert_word(set: &mut RegMask, word: u16) {
    set.words[usize::from(word / 64)] |= 1 << (word % 64);
}

/// Returns the PTX operation that has the timing of a traced instruction. If the addresses are unknown, a
/// load of constants is treated as a load of parameters.
fn meaning(opcode: &Opcode, has_addresses: bool) -> Op {
    let name = opcode.name();
    let alu = |f, ty| Op::Alu(AluOp::new(f, ty));
    match opcode.class {
        Class::Sp => alu(function(&name[1..]), Type::F32),
        Class::Dp => alu(function(&name[1..]), Type::F64),
        Class::Int => alu(function(&name[1..]), Type::S32),
        Class::Tensor => alu(AluFn::Fma, Type::F32),
        Class::Sfu | Class::Texture | Class::Surface => alu(AluFn::Ex2, Type::F32),
        Class::Alu => Op::Mov(Type::B32),
        Class::Load(TraceSpace::Constant) if has_addresses => Op::Load(access(opcode, Space::Const)),
        Class::Load(space) => Op::Load(access(opcode, space_of(space))),
        Class::Store(space) => Op::Store(access(opcode, space_of(space))),
        // Every atomic is modeled as an exchange that writes a word derived from the address. Each word in
        // memory then still contains a value that matches its address; the data of each reply are checked for
        // this match.
        Class::Atomic(space) => Op::Atomic(AtomicFn::Exchange, access(opcode, space_of(space))),
        Class::AsyncCopy => Op::Load(access(opcode, Space::Global)),
        Class::Barrier => Op::Barrier { id: 0 },
        Class::Membar => Op::Fence(Scope::Device),
        Class::Branch => Op::Branch { target: 0, reconverge: NO_PC, uniform: true },
        Class::Exit => Op::Exit,
        Class::Bulk | Class::Engine | Class::Wait | Class::Nop => Op::Nop,
    }
}

/// Returns the function of an arithmetic opcode, given its name without the letter for the data type.
fn function(name: &str) -> AluFn {
    match name {
        _ if name.starts_with("FMA") || name.starts_with("MAD") => AluFn::Mad,
        _ if name.starts_with("MUL") => AluFn::Mul,
        _ if name.starts_with("MNMX") => AluFn::Max,
        _ => AluFn::Add,
    }
}

fn space_of(space: TraceSpace) -> Space {
    match space {
        TraceSpace::Global | TraceSpace::Local | TraceSpace::Generic => Space::Global,
        TraceSpace::Shared => Space::Shared,
        TraceSpace::Constant => Space::Param,
    }
}

fn access(opcode: &Opcode, space: Space) -> MemOp {
    let (ty, lanes) = match opcode.width {
        // The atomic unit supports words of 2, 4 and 8 bytes.
        2 if matches!(opcode.class, Class::Atomic(_)) => (Type::B16, 1),
        width if matches!(opcode.class, Class::Atomic(_)) => (if width < 8 { Type::B32 } else { Type::B64 }, 1),
        1 => (Type::U8, 1),
        2 => (Type::U16, 1),
        8 => (Type::B64, 1),
        16 => (Type::B64, 2),
        _ => (Type::B32, 1),
    };
    MemOp {
        space,
        ty,
        lanes,
        cache: opcode.cache_operator(),
        l2_priority: None,
        volatile: false,
        base: None,
        offset: 0,
    }
}

#[cfg(test)]
mod tests {
    use isa::recorded::Architecture;
    use isa::recorded::code::Operands;
    use isa::recorded::opcode::OpcodeTable;

    use super::*;

    fn lower(opcode: &str, dests: &[u8], sources: &[u8]) -> Inst {
        lower_with_width(opcode, dests, sources, 0)
    }

    fn lower_with_width(opcode: &str, dests: &[u8], sources: &[u8], recorded_width: u16) -> Inst {
        let mut code = Code::new(OpcodeTable::new(Some(Architecture::Ampere)));
        let registers = |numbers: &[u8]| numbers.iter().copied().map(Register::vector).collect::<Vec<_>>();
        let opcode = code.add_opcode(opcode).unwrap();
        let operands = Operands::new(&registers(dests), &registers(sources)).unwrap();
        let operation = Operation { opcode, operands, recorded_width, ..Operation::default() };
        instruction(&operation, &code.opcodes()[usize::from(opcode)], true)
    }

    #[test]
    fn arithmetic_gets_the_function_whose_latency_it_has() {
        let function = |opcode| match lower(opcode, &[1], &[]).op {
            Op::Alu(AluOp { f, ty, .. }) => (f, ty),
            other => panic!("{opcode} became {other:?}"),
        };
        assert_eq!(function("FFMA"), (AluFn::Mad, Type::F32));
        assert_eq!(function("IMAD.WIDE"), (AluFn::Mad, Type::S32));
        assert_eq!(function("DMUL"), (AluFn::Mul, Type::F64));
        assert_eq!(function("IADD3"), (AluFn::Add, Type::S32));
        assert_eq!(function("MUFU.RCP"), (AluFn::Ex2, Type::F32));
    }

    #[test]
    fn a_wide_load_writes_all_its_registers() {
        let writes = |opcode, dest| lower(opcode, &[dest], &[]).writes.words;
        assert_eq!(writes("LDG.E", 4), [0x10, 0, 0, 0]);
        assert_eq!(writes("LDG.E.128", 4), [0xf0, 0, 0, 0]);
        assert_eq!(writes("LDS.64", 63), [1 << 63, 1, 0, 0]);
    }

    #[test]
    fn a_load_of_matrices_writes_a_register_each_and_heeds_the_addresses_of_their_rows() {
        let loads = ["LDSM.16.M88", "LDSM.16.M88.2", "LDSM.16.MT88.4"];
        assert_eq!(loads.map(|text| lower(text, &[4], &[]).writes.words[0]), [0x10, 0x30, 0xf0]);
        let lanes = |text| {
            let class = OpcodeTable::new(Some(Architecture::Ampere)).class("LDSM").unwrap();
            place(&Operation::default(), &Opcode::new(text, class)).lanes
        };
        assert_eq!(loads.map(lanes), [0xff, 0xffff, u32::MAX]);
    }

    #[test]
    fn registers_of_the_four_kinds_are_told_apart() {
        use RegisterFile::{Predicate, Uniform, UniformPredicate, Vector};
        let kinds =
            [(Vector, 5), (Uniform, 5), (Predicate, 5), (UniformPredicate, 5), (Uniform, 4), (UniformPredicate, 4)];
        let sets = kinds.map(|(file, number)| {
            let mut set = RegMask::default();
            insert(&mut set, Register { file, number }, 1);
            (set.words, set.preds)
        });
        let uniform = usize::from(UNIFORM_WORDS / 64);
        assert_eq!(sets[0].0[0], 1 << 5);
        assert_eq!((sets[1].0[uniform], sets[4].0[uniform]), (1 << 5, 1 << 4));
        assert_eq!(sets[2].1, 1 << 5);
        assert_eq!((sets[3].1, sets[5].1), (1 << (UNIFORM_PREDICATES + 5), 1 << (UNIFORM_PREDICATES + 4)));
    }

    #[test]
    fn the_register_that_is_zero_is_never_waited_for() {
        assert!(lower("LDG.E", &[255], &[255]).writes.is_empty());
    }

    #[test]
    fn atomics_exchange_words_that_the_atomic_unit_knows() {
        let word = |opcode| match lower(opcode, &[1], &[2]).op {
            Op::Atomic(AtomicFn::Exchange, mem) => (mem.space, mem.ty, mem.lanes),
            other => panic!("{opcode} became {other:?}"),
        };
        assert_eq!(word("ATOMG.E.ADD"), (Space::Global, Type::B32, 1));
        assert_eq!(word("ATOM.E.CAS.64"), (Space::Global, Type::B64, 1));
        assert_eq!(word("RED.E.MAX.S16"), (Space::Global, Type::B16, 1));
        assert_eq!(word("ATOMG.E.CAS.16"), (Space::Global, Type::B16, 1));
        assert_eq!(word("ATOMG.E.ADD.F16"), (Space::Global, Type::B16, 1));
        assert_eq!(word("ATOMG.E.CAS.128"), (Space::Global, Type::B64, 1));
        assert_eq!(word("ATOMG.E.ADD.F64.RN"), (Space::Global, Type::B64, 1));
        assert_eq!(word("RED.E.ADD.F16x2.RN"), (Space::Global, Type::B32, 1));
        assert_eq!(word("ATOMS.ADD"), (Space::Shared, Type::B32, 1));
    }

    #[test]
    fn constants_are_parameters_unless_their_addresses_are_known() {
        let space = |width| lower_with_width("LDC.64", &[2], &[4], width).mem().map(|mem| mem.space);
        assert_eq!((space(0), space(8)), (Some(Space::Param), Some(Space::Const)));
    }

    #[test]
    fn memory_barriers_are_fences() {
        assert_eq!(lower("MEMBAR.SC.GPU", &[], &[]).op, Op::Fence(Scope::Device));
    }

    #[test]
    fn words_are_counted_to_the_last_one_named() {
        assert_eq!(words(&RegMask::default()), 0);
        assert_eq!(words(&RegMask { words: [1, 0, 0, 0], preds: 1 }), 1);
        assert_eq!(words(&RegMask { words: [1, 0, 2, 0], preds: 0 }), 130);
    }
}
