//! Opcodes of NVIDIA's machine code (SASS), classified for a memory model.
//!
//! A trace contains opcodes in SASS notation, such as `LDG.E.128.SYS`. The first token names the operation;
//! the other tokens are modifiers. Each architecture has its own set of first tokens; `KINDS` assigns a class
//! to each of them. The sets follow the lists of NVIDIA's CUDA Binary Utilities manual.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::types::CacheOp;

/// Instruction set of a GPU generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Architecture {
    /// Compute capabilities sm_35 and sm_37.
    Kepler,
    /// Compute capabilities sm_60 to sm_62; Maxwell's sm_50 to sm_53 have the same instructions.
    Pascal,
    /// Compute capabilities sm_70 and sm_72.
    Volta,
    /// Compute capability sm_75.
    Turing,
    /// Compute capabilities sm_80 to sm_89.
    Ampere,
    /// Compute capability sm_90, with the instructions of Accel-Sim 2.0.
    Hopper,
    /// Compute capabilities sm_100 to sm_121.
    Blackwell,
}

impl Architecture {
    /// Returns the architecture of a header's `binary version`, or `None` if the version is unknown.
    #[must_use]
    pub fn of_version(version: u32) -> Option<Self> {
        match version {
            30..=37 => Some(Self::Kepler),
            50..=53 | 60..=62 => Some(Self::Pascal),
            70 | 72 => Some(Self::Volta),
            75 => Some(Self::Turing),
            80..=89 => Some(Self::Ampere),
            90 => Some(Self::Hopper),
            100 | 101 | 103 | 110 | 120 | 121 => Some(Self::Blackwell),
            _ => None,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Memory space of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory, accessed through L1 and L2.
    Global,
    /// Private memory of a thread, accessed through L1 and L2.
    Local,
    /// Shared memory of the CTA.
    Shared,
    /// Constant memory.
    Constant,
    /// Shared, local or global memory, depending on the address ([`super::Header::space_of`]).
    Generic,
}

/// Class of an instruction, which determines the resource of the SM that executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Single-precision and half-precision arithmetic.
    Sp,
    /// Integer arithmetic, logic and comparisons.
    Int,
    /// Moves, selections, conversions, and exchanges between lanes.
    Alu,
    /// Special functions.
    Sfu,
    /// Double-precision arithmetic.
    Dp,
    /// Matrix products.
    Tensor,
    /// Texture fetches.
    Texture,
    /// Surface accesses.
    Surface,
    /// Loads from a space.
    Load(Space),
    /// Stores to a space.
    Store(Space),
    /// Atomic read-modify-write, with or without a result.
    Atomic(Space),
    /// Asynchronous copy from global to shared memory that reads through the L1 (`LDGSTS`).
    AsyncCopy,
    /// Bulk copy of contiguous data between global and shared memory by a copy engine (`UTMALDG`, ...).
    Bulk,
    /// Asynchronous operation on memory inside the SM by an engine that the model lacks: matrix product in
    /// tensor memory (`UTCHMMA`, ...), copy to tensor memory, or initialization of shared memory.
    Engine,
    /// Barriers of a CTA or a cluster.
    Barrier,
    /// Memory fences.
    Membar,
    /// Waits for earlier asynchronous operations (`DEPBAR`, ...).
    Wait,
    /// Branches, calls, and instructions that prepare them.
    Branch,
    /// Exit instructions, which end the active threads.
    Exit,
    /// Instructions without an effect.
    Nop,
}

impl Class {
    /// Name of the class, as shown in tables of the output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sp => "sp",
            Self::Int => "int",
            Self::Alu => "alu",
            Self::Sfu => "sfu",
            Self::Dp => "dp",
            Self::Tensor => "tensor",
            Self::Texture => "texture",
            Self::Surface => "surface",
            Self::Load(Global) => "load_global",
            Self::Load(Local) => "load_local",
            Self::Load(Shared) => "load_shared",
            Self::Load(Constant) => "load_constant",
            Self::Load(Generic) => "load_generic",
            Self::Store(Global) => "store_global",
            Self::Store(Local) => "store_local",
            Self::Store(Shared) => "store_shared",
            Self::Store(Constant) => "store_constant",
            Self::Store(Generic) => "store_generic",
            Self::Atomic(Global) => "atomic_global",
            Self::Atomic(Local) => "atomic_local",
            Self::Atomic(Shared) => "atomic_shared",
            Self::Atomic(Constant) => "atomic_constant",
            Self::Atomic(Generic) => "atomic_generic",
            Self::AsyncCopy => "copy",
            Self::Bulk => "bulk",
            Self::Engine => "engine",
            Self::Barrier => "barrier",
            Self::Membar => "membar",
            Self::Wait => "wait",
            Self::Branch => "branch",
            Self::Exit => "exit",
            Self::Nop => "nop",
        }
    }

    /// Returns this class with the generic space replaced by the space `generic`. Classes without generic
    /// addresses stay unchanged.
    #[must_use]
    pub fn in_space(self, generic: Space) -> Self {
        match self {
            Self::Load(Generic) => Self::Load(generic),
            Self::Store(Generic) => Self::Store(generic),
            Self::Atomic(Generic) => Self::Atomic(generic),
            other => other,
        }
    }

    /// True if the instruction accesses device memory, through the L1 or the L2.
    #[must_use]
    pub fn is_device_memory(self) -> bool {
        match self {
            Self::Load(space) | Self::Store(space) | Self::Atomic(space) => matches!(space, Global | Local | Generic),
            Self::AsyncCopy => true,
            _ => false,
        }
    }

    /// True if each lane has its own address, at which it accesses as many bytes as the access width of the
    /// opcode.
    #[must_use]
    pub fn has_width(self) -> bool {
        matches!(self, Self::Load(_) | Self::Store(_) | Self::Atomic(_) | Self::AsyncCopy)
    }

    /// True if a memory model needs the addresses that the lanes access. Loads of constants often have no
    /// lane address, so they are excluded.
    #[must_use]
    pub fn needs_addresses(self) -> bool {
        match self {
            Self::Load(space) | Self::Store(space) | Self::Atomic(space) => space != Constant,
            Self::AsyncCopy => true,
            _ => false,
        }
    }
}

/// SASS opcode with all its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Text of the opcode in the trace.
    pub text: Box<str>,
    /// Class of the opcode.
    pub class: Class,
    /// Number of bytes that each lane accesses in a memory instruction: 1, 2, 4, 8 or 16.
    pub width: u8,
    /// True for a load that bypasses the L1. The reason may be that the load must observe the stores of other
    /// SMs, or that a modifier requests the bypass.
    pub bypasses_l1: bool,
}

/// Opcodes that load or store matrices. Each participating lane supplies the address of one row.
const MATRIX_ACCESSES: [&str; 2] = ["LDSM", "STSM"];
/// Size in bytes of a row of an 8 x 8 matrix with 16-bit elements.
const ROW_BYTES: u8 = 16;
/// Number of rows of a matrix that an `LDSM` loads or an `STSM` stores.
const ROWS: u32 = 8;
/// Number of bytes that a lane accesses if no token of the opcode gives a width.
const WORD_BYTES: u8 = 4;

/// True if one lane can access `bytes` bytes at once.
fn is_width(bytes: u32) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8 | 16)
}

impl Opcode {
    /// Creates an opcode from its text, whose class is already known.
    #[must_use]
    pub fn new(text: &str, class: Class) -> Self {
        let width = if MATRIX_ACCESSES.contains(&first_token(text)) {
            ROW_BYTES
        } else {
            text.split('.').skip(1).find_map(bytes_of).unwrap_or(WORD_BYTES)
        };
        Opcode { text: text.into(), class, width, bypasses_l1: bypasses_l1(text) }
    }

    /// Returns the cache operator or eviction priority of a memory instruction: evict first (`EF`), evict
    /// last (`EL`), and the operators `CS` and `LU` of older architectures. The model has none for `EU`
    /// (evict unchanged) and `NA` (no allocation).
    #[must_use]
    pub fn cache_operator(&self) -> CacheOp {
        if self.bypasses_l1 {
            return CacheOp::Cg;
        }
        let of_token = |token: &str| match token {
            "EF" => Some(CacheOp::EvictFirst),
            "EL" => Some(CacheOp::EvictLast),
            "CS" => Some(CacheOp::Cs),
            "LU" => Some(CacheOp::Lu),
            _ => None,
        };
        self.text.split('.').skip(1).find_map(of_token).unwrap_or_default()
    }

    /// First token of the opcode.
    #[must_use]
    pub fn name(&self) -> &str {
        first_token(&self.text)
    }

    /// Returns the number of bytes that each lane accesses if the trace has the access width `recorded`.
    /// Returns `None` if no lane can access that many bytes at once.
    ///
    /// The recorded width takes precedence over the width that the text of the opcode states, with two
    /// exceptions. First, tracers from version 3 on derive the width from the text by a rule that recognizes
    /// fewer tokens: it assumes 4 bytes for `F64` and `S8`. If the recorded width equals the result of this
    /// rule, the width from the text is used. Second, loads and stores of matrices always use the width from
    /// the text.
    #[must_use]
    pub fn recorded_width(&self, recorded: u16) -> Option<u8> {
        let recorded = u32::from(recorded);
        if recorded == width_by_tracer(&self.text) || MATRIX_ACCESSES.contains(&self.name()) {
            return Some(self.width);
        }
        is_width(recorded).then_some(recorded as u8)
    }

    /// Returns the number of consecutive 32-bit registers that a load, or an atomic with one destination
    /// operand, writes.
    #[must_use]
    pub fn result_words(&self) -> u16 {
        self.num_matrices().unwrap_or_else(|| u16::from(self.width).div_ceil(4))
    }

    /// Returns the mask of lanes that supply an address. In a load or store of matrices, one lane per row
    /// supplies an address; otherwise all lanes do.
    #[must_use]
    pub fn addressing_lanes(&self) -> u32 {
        self.num_matrices().map_or(u32::MAX, |matrices| u32::MAX >> (32 - ROWS * u32::from(matrices)))
    }

    /// Returns the number of matrices that an opcode loads or stores, or `None` for opcodes that do not
    /// access matrices.
    fn num_matrices(&self) -> Option<u16> {
        let is_one = MATRIX_ACCESSES.contains(&self.name());
        is_one.then(|| match self.text.rsplit('.').next() {
            Some("4") => 4,
            Some("2") => 2,
            _ => 1,
        })
    }

    /// Returns the index of an opcode in [`UNMODELED`], or `None` for any other opcode.
    #[must_use]
    pub fn unmodeled(&self) -> Option<u8> {
        UNMODELED.iter().position(|(name, _)| *name == self.name()).map(|at| at as u8)
    }
}

/// True if the modifiers of a load make it bypass the L1.
///
/// `STRONG` requests memory order within a scope. The L1 serves the scopes `CTA` and `SM`; accesses with a
/// wider scope (`GPU`, or `SYS` as for volatile loads) are ordered at the L2. Accesses to devices (`MMIO`),
/// loads that are cached only in the L2 (`CG` and `CV` of older architectures), and copies marked `BYPASS`
/// also bypass the L1. On Volta, `SYS` without `STRONG` marks an ordinary load.
fn bypasses_l1(text: &str) -> bool {
    let has = |tokens: &[&str]| text.split('.').skip(1).any(|token| tokens.contains(&token));
    has(&["STRONG"]) && !has(&["CTA", "SM"]) || has(&["MMIO", "CG", "CV", "BYPASS"])
}

/// Returns the opcode up to its first dot.
#[must_use]
pub fn first_token(text: &str) -> &str {
    text.split('.').next().unwrap_or(text)
}

/// Returns the number of bytes that a token of an opcode specifies. The token gives a number of bits, with or
/// without the letters of a type (`64`, `U8`, `S16`, `F64`, `B32`, `BF16`). A count of values may follow
/// (`F16x2`, `BF16_V2`, `64x2`).
fn bytes_of(token: &str) -> Option<u8> {
    let bits_at = token.find(|c: char| c.is_ascii_digit())?;
    let (letters, rest) = token.split_at(bits_at);
    let (bits, count) = rest.split_once('x').or_else(|| rest.split_once("_V")).unwrap_or((rest, "1"));
    let (bits, count): (u32, u32) = (bits.parse().ok()?, count.parse().ok()?);
    let is_type = matches!(letters, "" | "U" | "S" | "B" | "F" | "BF");
    let bytes = bits.checked_mul(count).filter(|bits| is_type && bits.is_multiple_of(8))? / 8;
    is_width(bytes).then_some(bytes as u8)
}

/// Returns the access width in bytes that tracers from version 3 on record for an opcode. They use the first
/// token that is a number of bits, with or without `U`. Without such a token, the width is 4.
fn width_by_tracer(text: &str) -> u32 {
    let bits = |token: &str| token.strip_prefix('U').unwrap_or(token).parse::<u32>().ok();
    text.split('.').find_map(bits).map_or(u32::from(WORD_BYTES), |bits| bits / 8)
}

const K: u8 = Architecture::Kepler.bit();
const P: u8 = Architecture::Pascal.bit();
const V: u8 = Architecture::Volta.bit();
const T: u8 = Architecture::Turing.bit();
const A: u8 = Architecture::Ampere.bit();
const H: u8 = Architecture::Hopper.bit();
const B: u8 = Architecture::Blackwell.bit();
const ALL: u8 = K | P | V | T | A | H | B;
/// Bit set of the architectures Kepler and Pascal.
const OLD: u8 = K | P;
/// Bit set of Volta and later architectures.
const NEW: u8 = V | T | A | H | B;
/// Bit set of Turing and later architectures, which have the uniform data path.
const UNIFORM: u8 = T | A | H | B;

use Class::{
    Alu, AsyncCopy, Atomic, Barrier, Branch, Bulk, Dp, Engine, Exit, Int, Load, Membar, Nop, Sfu, Sp, Store, Surface,
    Tensor, Texture, Wait,
};
use Space::{Constant, Generic, Global, Local, Shared};

/// Opcodes whose work is done by engines that the model lacks, each with its class. Such an instruction takes an
/// issue slot, but moves no data and takes no further time.
pub const UNMODELED: [(&str, Class); 14] = [
    ("UBLKCP", Bulk),
    ("UBLKPF", Bulk),
    ("UBLKRED", Bulk),
    ("UTMALDG", Bulk),
    ("UTMAPF", Bulk),
    ("UTMAREDG", Bulk),
    ("UTMASTG", Bulk),
    ("UMEMSETS", Engine),
    ("UTCCP", Engine),
    ("UTCHMMA", Engine),
    ("UTCIMMA", Engine),
    ("UTCOMMA", Engine),
    ("UTCQMMA", Engine),
    ("UTCSHIFT", Engine),
];

/// Opcode table. Each entry has a class, the bit set of architectures that have the opcodes, and the first
/// tokens of the opcodes.
#[rustfmt::skip]
const KINDS: &[(Class, u8, &str)] = &[
    (Sp, ALL, "FADD FADD32I FCHK FFMA FFMA32I FMNMX FMUL FMUL32I FSET FSETP"),
    (Sp, OLD, "FCMP RRO"),
    (Sp, K, "FSWZ"),
    (Sp, P | NEW, "FSWZADD"),
    (Sp, NEW, "FSEL"),
    // Half-precision opcodes process two values per lane on the single-precision units.
    (Sp, P | NEW, "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2"),
    (Sp, A | H | B, "HMNMX2"),
    (Sp, H | B, "FADD2 FFMA2 FMUL2 FHADD FHFMA VHMNMX"),
    (Sp, B, "FMNMX3 UFADD UFFMA UFMNMX UFMUL UFSEL UFSET UFSETP"),
    // These opcodes are not in NVIDIA's manual, but compilers emit them for sm_100 and sm_120.
    (Sp, B, "QADD4 QFMA4 QMUL4 UFHADD UFHFMA"),
    (Dp, ALL, "DADD DFMA DMUL DSETP"),
    (Dp, OLD, "DMNMX DSET"),
    (Sfu, ALL, "MUFU"),
    (Int, ALL, "FLO IADD IADD32I IMAD IMNMX IMUL IMUL32I ISCADD ISCADD32I ISETP LOP LOP32I POPC SHF SHL SHR"),
    (Int, OLD, "BFE BFI ICMP IMADSP ISET"),
    (Int, K, "IMAD32I ISAD ISUB VABSDIFF VABSDIFF4 VADD VADD2 VADD4 VMAD VMNMX VMNMX2 VMNMX4 VSET VSET2 VSET4 VSETP \
              VSHL VSHR VSUB2 VSUB4"),
    (Int, P, "IMAD32I VABSDIFF VABSDIFF4 VADD VMAD VMNMX VSET VSETP VSHL VSHR XMAD"),
    (Int, P | NEW, "IADD3 IDE IDP LEA LOP3"),
    (Int, NEW, "BMSK BREV IABS IDP4A SGXT VABSDIFF VABSDIFF4"),
    (Int, UNIFORM, "UBMSK UBREV UFLO UIADD3 UIMAD UISETP ULEA ULOP ULOP3 ULOP32I UPOPC USGXT USHF USHL USHR"),
    (Int, H | B, "UIABS UIMNMX VIADD VIADDMNMX VIMNMX VIMNMX3"),
    (Int, B, "UVIADD UVIMNMX"),
    (Alu, ALL, "F2F F2I I2F I2I MOV MOV32I P2R PRMT PSETP R2P S2R SEL SHFL VOTE B2R"),
    (Alu, OLD, "CSET CSETP PSET"),
    (Alu, P | NEW, "CS2R R2B"),
    (Alu, NEW, "FRND I2IP MATCH PLOP3 QSPC RPCMOV BMOV CSMTEST GETLMEMBASE SETLMEMBASE SETCTAID LEPC S2UR"),
    (Alu, OLD, "GETLMEMBASE SETLMEMBASE SETCRSPTR GETCRSPTR LEPC"),
    // `VOTE_VTG` is in Accel-Sim's opcode tables from Volta on.
    (Alu, NEW, "VOTE_VTG"),
    (Alu, UNIFORM, "F2FP MOVM R2UR UCLEA UF2F UMOV UP2UR UPLOP3 UPRMT UPSETP UR2UP USEL VOTEU"),
    (Alu, A | H | B, "F2IP I2FP REDUX UF2FP SUQUERY"),
    (Alu, H | B, "ELECT UVOTE UR2R USETMAXREG USETSHMSZ SETMAXREG"),
    (Alu, H, "WARPGROUP WARPGROUPSET"),
    (Alu, B, "CREDUX CS2UR UF2I UF2IP UFRND UGETNEXTWORKID UI2F UI2FP UI2I UI2IP ULEPC UVIRTCOUNT"),
    (Alu, B, "MOV64IUR"),
    // These opcodes move registers from and to tensor memory, and allocate tensor memory.
    (Alu, B, "LDT LDTM STT STTM UTCATOMSWS"),
    // These opcodes control caches and counters; they move no data.
    (Alu, ALL, "CCTL CCTLL"),
    (Alu, P | NEW, "CCTLT"),
    (Alu, H | B, "UTMACCTL"),
    (Tensor, NEW, "HMMA IMMA"),
    (Tensor, T | A | H, "BMMA"),
    (Tensor, A | H | B, "DMMA"),
    // The class Ampere includes sm_89 (Ada), the only architecture in it that has `QMMA`.
    (Tensor, A | B, "QMMA"),
    (Tensor, H, "BGMMA HGMMA IGMMA QGMMA"),
    (Tensor, B, "OMMA"),
    (Texture, ALL, "TEX TLD TLD4 TXQ TXD"),
    (Texture, P, "TEXS TLDS TLD4S"),
    (Texture, P | NEW, "TMML"),
    (Texture, K, "TXA TMML"),
    (Surface, K, "SUCLAMP SUBFM SUEAU SULDGA SUSTGA SULDB SULEA SUSTB SURED"),
    (Surface, P | NEW, "SUATOM SULD SURED SUST"),
    (Load(Global), ALL, "LDG"),
    (Load(Global), B, "LDGMC"),
    // Kepler's `LD` can use generic addresses, but Accel-Sim classifies it as a load of global memory, and so
    // does this table.
    (Load(Global), K, "LD"),
    (Load(Generic), P | NEW, "LD"),
    (Load(Local), ALL, "LDL"),
    (Load(Shared), ALL, "LDS"),
    (Load(Shared), K, "LDSLK"),
    (Load(Shared), UNIFORM, "LDSM"),
    (Load(Constant), ALL, "LDC"),
    (Load(Constant), K, "LDU"),
    (Load(Constant), T | A | H, "ULDC"),
    (Load(Constant), B, "LDCU"),
    (Store(Global), K, "ST STG"),
    (Store(Generic), P | NEW, "ST"),
    (Store(Global), P | NEW, "STG"),
    (Store(Local), ALL, "STL"),
    (Store(Shared), ALL, "STS"),
    (Store(Shared), K, "STSCUL STSUL"),
    (Store(Shared), H | B, "STSM STAS"),
    (Store(Global), B, "USTGR"),
    (Atomic(Global), K, "ATOM RED"),
    (Atomic(Generic), P | NEW, "ATOM"),
    (Atomic(Global), P | V | T | A | H, "RED"),
    (Atomic(Global), NEW, "ATOMG"),
    (Atomic(Global), H | B, "REDG UREDGR"),
    (Atomic(Shared), P | NEW, "ATOMS"),
    (Atomic(Shared), H | B, "REDAS"),
    (Atomic(Shared), B, "REDS"),
    (AsyncCopy, A | H | B, "LDGSTS"),
    (Bulk, H | B, "UBLKCP UBLKPF UBLKRED UTMALDG UTMAPF UTMAREDG UTMASTG"),
    (Engine, B, "UMEMSETS UTCCP UTCHMMA UTCIMMA UTCOMMA UTCQMMA UTCSHIFT"),
    (Barrier, ALL, "BAR"),
    (Barrier, H | B, "UCGABAR_ARV UCGABAR_WAIT SYNCS"),
    (Membar, ALL, "MEMBAR"),
    (Membar, NEW, "ERRBAR"),
    (Membar, H | B, "CGAERRBAR FENCE"),
    (Wait, ALL, "DEPBAR"),
    (Wait, OLD, "TEXDEPBAR"),
    (Wait, A | H | B, "ARRIVES LDGDEPBAR"),
    (Wait, H | B, "ACQBULK ENDCOLLECTIVE PREEXIT UTMACMDFLUSH"),
    (Wait, H, "WARPGROUPDEPBAR WARPGROUPARRIVE"),
    (Wait, B, "ACQSHMINIT UTCBAR"),
    (Branch, ALL, "BRA BRX JMP JMX RET BPT"),
    (Branch, OLD, "BRK CAL CONT JCAL LONGJMP PBK PCNT PLONGJMP PRET SSY"),
    (Branch, P, "SYNC"),
    (Branch, NEW, "BREAK BSSY BSYNC CALL NANOSLEEP WARPSYNC YIELD RTT"),
    (Branch, OLD, "RTT RAM SAM"),
    (Branch, UNIFORM, "BRXU JMXU"),
    (Exit, ALL, "EXIT"),
    (Exit, OLD, "KIL"),
    (Exit, P, "PEXIT"),
    (Exit, NEW, "KILL"),
    (Nop, ALL, "NOP PMTRIG"),
    // `REPLAY_START` and `REPLAY_END` are pseudo-instructions that tracers insert before and after a spin
    // loop; no GPU has them.
    (Nop, ALL, "REPLAY_START REPLAY_END"),
    // Accel-Sim also accepts the following opcodes in traces of Pascal, although no Pascal GPU has them.
    (Sp, P, "FSEL"),
    (Int, P, "BMSK BREV IABS IDP4A SGXT"),
    (Alu, P, "BMOV CSMTEST FRND I2IP MATCH PLOP3 QSPC RPCMOV SETCTAID VOTE_VTG"),
    (Tensor, P, "IMMA"),
    (Atomic(Global), P, "ATOMG"),
    (Membar, P, "ERRBAR"),
    (Branch, P, "BREAK BSSY BSYNC CALL NANOSLEEP WARPSYNC YIELD"),
    (Exit, P, "KILL"),
];

/// Table that gives the class of an opcode by its first token.
#[derive(Clone, Debug)]
pub struct OpcodeTable {
    architecture: Option<Architecture>,
    classes: FxHashMap<&'static str, Class>,
}

impl OpcodeTable {
    /// Creates the table of an architecture. If `architecture` is `None`, the table holds the opcodes of all
    /// architectures. If a token has different classes in several architectures, the table has the class in
    /// the latest of these architectures.
    #[must_use]
    pub fn new(architecture: Option<Architecture>) -> Self {
        let mut classes = FxHashMap::default();
        let archs = architecture.map_or(vec![K, P, V, T, A, H, B], |one| vec![one.bit()]);
        for arch in archs {
            let kinds = KINDS.iter().filter(|(_, having, _)| having & arch != 0);
            for (class, _, tokens) in kinds {
                classes.extend(tokens.split_whitespace().map(|token| (token, *class)));
            }
        }
        OpcodeTable { architecture, classes }
    }

    /// Returns the class of opcodes whose first token is `token`, or `None` if the token is unknown.
    #[must_use]
    pub fn class(&self, token: &str) -> Option<Class> {
        self.classes.get(token).copied()
    }

    /// GPU architecture of the table, or `None` if it holds the opcodes of all architectures.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// Returns all first tokens of opcodes in the table, sorted.
    #[must_use]
    pub fn tokens(&self) -> Vec<&'static str> {
        let mut tokens: Vec<_> = self.classes.keys().copied().collect();
        tokens.sort_unstable();
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: [Architecture; 7] = [
        Architecture::Kepler,
        Architecture::Pascal,
        Architecture::Volta,
        Architecture::Turing,
        Architecture::Ampere,
        Architecture::Hopper,
        Architecture::Blackwell,
    ];

    #[test]
    fn no_architecture_has_a_token_in_two_classes() {
        for arch in EACH {
            let mut seen: FxHashMap<&str, Class> = FxHashMap::default();
            for (class, _, tokens) in KINDS.iter().filter(|(_, having, _)| having & arch.bit() != 0) {
                for token in tokens.split_whitespace() {
                    assert_eq!(seen.insert(token, *class), None, "{token} of {arch}");
                }
            }
        }
    }

    #[test]
    fn the_same_token_means_what_its_architecture_means_by_it() {
        let class = |arch, token| OpcodeTable::new(Some(arch)).class(token);
        assert_eq!(class(Architecture::Kepler, "LD"), Some(Load(Global)));
        assert_eq!(class(Architecture::Volta, "LD"), Some(Load(Generic)));
        assert_eq!(class(Architecture::Pascal, "XMAD"), Some(Int));
        assert_eq!(class(Architecture::Volta, "XMAD"), None);
        assert_eq!(class(Architecture::Turing, "LDGSTS"), None);
        assert_eq!(class(Architecture::Ampere, "LDGSTS"), Some(AsyncCopy));
        assert_eq!(class(Architecture::Volta, "UIADD3"), None);
        assert_eq!(class(Architecture::Turing, "UIADD3"), Some(Int));
    }

    #[test]
    fn every_architecture_has_the_instructions_that_every_kernel_uses() {
        for arch in EACH {
            let table = OpcodeTable::new(Some(arch));
            for token in "FFMA FADD FMUL IMAD IADD ISETP MUFU DFMA MOV SEL SHFL S2R LDG LDS STS LDC BRA BAR MEMBAR EXIT"
                .split(' ')
            {
                assert!(table.class(token).is_some(), "{token} of {arch}");
            }
        }
    }

    #[test]
    fn without_an_architecture_all_opcodes_are_known_and_the_latest_meaning_wins() {
        let table = OpcodeTable::new(None);
        assert_eq!(table.class("XMAD"), Some(Int));
        assert_eq!(table.class("UTMALDG"), Some(Bulk));
        assert_eq!(table.class("LD"), Some(Load(Generic)));
    }

    /// Columns of the test cases: opcode, access width in bytes per lane, and width in bytes that tracers
    /// from version 3 on record for the opcode.
    const WIDTHS: &[(&str, u8, u16)] = &[
        ("LD.E", 4, 4),
        ("LD.E.64.STRONG.SYS", 8, 8),
        ("LDG.E", 4, 4),
        ("LDG.E.128.SYS", 16, 16),
        ("LDG.E.64", 8, 8),
        ("LDG.E.64.CONSTANT", 8, 8),
        ("LDG.E.U8", 1, 1),
        ("LDG.E.S8.SYS", 1, 4),
        ("LDG.E.U16", 2, 2),
        ("LDG.E.S16.SYS", 2, 4),
        ("LDG.E.U.64", 8, 8),
        ("LDG.E.LTC128B.64", 8, 8),
        ("LDG.E.LTC128B", 4, 4),
        ("LDG.E.CI.128", 16, 16),
        ("LDGSTS.E", 4, 4),
        ("LDGSTS.E.BYPASS.LTC128B.128", 16, 16),
        ("LDL.128", 16, 16),
        ("LDS.U.64", 8, 8),
        ("LDS.S8", 1, 4),
        ("LDC.U8", 1, 1),
        ("ULDC.64", 8, 8),
        ("LDSM.16.M88", 16, 2),
        ("LDSM.16.MT88.4", 16, 2),
        ("STSM.16.M88.2", 16, 2),
        ("STG.E.U8", 1, 1),
        ("STS.128", 16, 16),
        ("STL.S16", 2, 4),
        ("ATOM.E.ADD.F64.RN", 8, 4),
        ("ATOM.E.CAS.64", 8, 8),
        ("ATOMG.E.ADD.F64.RN", 8, 4),
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU", 4, 4),
        ("ATOMG.E.ADD.F16x2.RN", 4, 4),
        ("ATOMG.E.ADD.BF16x2.RN", 4, 4),
        ("ATOMG.E.ADD.BF16_V2.RN", 4, 4),
        ("ATOMG.E.ADD.S32", 4, 4),
        ("ATOMG.E.MAX.S64", 8, 4),
        ("ATOMG.E.CAS.128", 16, 16),
        ("ATOMS.ADD.U32", 4, 4),
        ("ATOMS.CAST.SPIN.64", 8, 8),
        ("ATOMS.POPC.INC.32", 4, 4),
        ("RED.E.ADD.F64.RN.STRONG.GPU", 8, 4),
        ("RED.E.ADD.64", 8, 8),
        ("RED.E.ADD.64x2", 16, 4),
        ("REDG.E.ADD.F32x2.RN", 8, 4),
        ("REDG.E.ADD.F32x4.RN", 16, 4),
        ("REDG.E.ADD.F16x8.RN", 16, 4),
    ];

    #[test]
    fn the_width_is_that_of_the_first_token_which_names_one() {
        for &(text, bytes, by_tracer) in WIDTHS {
            let opcode = Opcode::new(text, Load(Global));
            assert_eq!((opcode.width, width_by_tracer(text)), (bytes, by_tracer.into()), "{text}");
            // Tests which width is used. If a trace has the width that tracers derive from the opcode, the
            // width from the text of the opcode is used. Any other recorded width takes precedence over the
            // text.
            assert_eq!(opcode.recorded_width(by_tracer), Some(bytes), "{text}");
            let is_matrix = MATRIX_ACCESSES.contains(&opcode.name());
            for recorded in [1, 2, 4, 8, 16].into_iter().filter(|&recorded| recorded != by_tracer && !is_matrix) {
                assert_eq!(opcode.recorded_width(recorded), Some(recorded as u8), "{text} {recorded}");
            }
            for recorded in [3, 5, 12, 32, 256, u16::MAX] {
                assert_eq!(opcode.recorded_width(recorded), is_matrix.then_some(16), "{text} {recorded}");
            }
        }
    }

    #[test]
    fn numbers_that_are_no_width_are_none() {
        for token in ["E", "M88", "MT88", "4", "LTC128B", "X8", "256", "12", "F8x", "x2", "64x3", "16816", "U", "F64RN"]
        {
            assert_eq!(bytes_of(token), None, "{token}");
        }
    }

    #[test]
    fn matrices_have_a_word_each_and_addresses_of_their_rows() {
        let of = |text| {
            let opcode = Opcode::new(text, Load(Shared));
            (opcode.result_words(), opcode.addressing_lanes())
        };
        assert_eq!(of("LDSM.16.M88"), (1, 0xff));
        assert_eq!(of("LDSM.16.MT88.2"), (2, 0xffff));
        assert_eq!(of("LDSM.16.M88.4"), (4, u32::MAX));
        assert_eq!(of("LDS.128"), (4, u32::MAX));
        assert_eq!(of("LDS.U8"), (1, u32::MAX));
    }

    #[test]
    fn eviction_priorities_and_operators_are_known_unless_the_load_bypasses_the_l1() {
        for (text, expected) in [
            ("LDG.E.EF.128.CONSTANT", CacheOp::EvictFirst),
            ("LDG.E.EL.64", CacheOp::EvictLast),
            ("LD.E.CS.32", CacheOp::Cs),
            ("LD.E.LU.32", CacheOp::Lu),
            ("LDG.E.EF.STRONG.GPU", CacheOp::Cg),
            ("LDG.E.EU.SYS", CacheOp::Default),
            ("LDG.E.NA", CacheOp::Default),
        ] {
            assert_eq!(Opcode::new(text, Load(Global)).cache_operator(), expected, "{text}");
        }
    }

    #[test]
    fn a_load_bypasses_the_l1_where_its_scope_is_wider_than_the_sm() {
        let cases = [
            ("LDG.E", false),
            ("LDG.E.SYS", false),
            ("LDG.E.64.CONSTANT.SYS", false),
            ("LDG.E.WEAK", false),
            ("LDG.E.STRONG.CTA", false),
            ("LDG.E.STRONG.SM", false),
            ("LDG.E.STRONG.GPU", true),
            ("LDG.E.64.STRONG.GPU", true),
            ("LDG.E.STRONG.SYS", true),
            ("LD.E.U8.STRONG.SYS", true),
            ("LDG.E.STRONG", true),
            ("LDG.E.MMIO.SYS", true),
            ("LDG.E.MMIO.GPU", true),
            ("LD.E.CG.64", true),
            ("LDG.E.CV", true),
            ("LDG.E.CI.128", false),
            ("LDGSTS.E.BYPASS.128", true),
            ("LDGSTS.E.128", false),
        ];
        for (text, bypasses) in cases {
            assert_eq!(Opcode::new(text, Load(Global)).bypasses_l1, bypasses, "{text}");
        }
    }

    /// Checks opcodes that were found in real traces. Each must be known for the architectures that are
    /// listed for it, and unknown for all other architectures.
    #[test]
    fn opcodes_that_traces_have_had_are_known_where_they_stood() {
        use Architecture::{Ampere, Blackwell, Hopper, Kepler, Pascal, Turing, Volta};
        let cases: &[(&[Architecture], &str, Class)] = &[
            (&[Turing, Ampere, Hopper, Blackwell], "F2FP", Alu),
            (&[Pascal, Volta, Turing, Ampere, Hopper, Blackwell], "VOTE_VTG", Alu),
            (&[Hopper, Blackwell], "CGAERRBAR", Membar),
            (&[Hopper, Blackwell], "USETSHMSZ", Alu),
            (&[Hopper, Blackwell], "STSM", Store(Shared)),
            (&[Turing, Ampere, Hopper], "ULDC", Load(Constant)),
            (&[Blackwell], "LDCU", Load(Constant)),
            (&[Kepler, Pascal, Volta, Turing, Ampere, Hopper], "RED", Atomic(Global)),
            (&[Ampere, Blackwell], "QMMA", Tensor),
            (&[Hopper], "HGMMA", Tensor),
            (&[Blackwell], "UTCHMMA", Engine),
            (&[Blackwell], "LDTM", Alu),
            (&EACH, "REPLAY_START", Nop),
            (&EACH, "REPLAY_END", Nop),
        ];
        for (architectures, token, class) in cases {
            for arch in EACH {
                let expected = architectures.contains(&arch).then_some(*class);
                assert_eq!(OpcodeTable::new(Some(arch)).class(token), expected, "{token} of {arch}");
            }
        }
    }

    #[test]
    fn what_the_model_lacks_is_listed_with_its_class() {
        let lacking = KINDS.iter().filter(|(class, ..)| matches!(class, Bulk | Engine));
        let of_table = lacking.flat_map(|(class, _, tokens)| tokens.split(' ').map(|token| (token, *class)));
        assert_eq!(of_table.collect::<Vec<_>>(), UNMODELED);
        let place = |text| Opcode::new(text, Bulk).unmodeled();
        let expected = [Some(3), Some(0), Some(9), None];
        assert_eq!(["UTMALDG.2D", "UBLKCP.S.G", "UTCHMMA.2CTA", "UTMACCTL.PF"].map(place), expected);
    }

    #[test]
    fn binary_versions_from_100_on_are_blackwell() {
        let of = |version| Architecture::of_version(version);
        for version in [100, 101, 103, 110, 120, 121] {
            assert_eq!(of(version), Some(Architecture::Blackwell), "{version}");
        }
        assert_eq!([91, 99, 102, 122].map(of), [None; 4]);
    }
}
