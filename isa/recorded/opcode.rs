//! Opcodes of NVIDIA's machine code and what they mean to a memory model.
//!
//! A trace writes an opcode as SASS does, `LDG.E.128.SYS`: the first token says what it does, the
//! others how. Each architecture has its own set of first tokens; `KINDS` puts every one into a
//! class. The sets follow the lists of NVIDIA's CUDA Binary Utilities manual.

use std::fmt;

use rustc_hash::FxHashMap;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Architecture {
    /// sm_35, sm_37.
    Kepler,
    /// sm_60 to sm_62; Maxwell's sm_50 to sm_53 have the same instructions.
    Pascal,
    /// sm_70, sm_72.
    Volta,
    /// sm_75.
    Turing,
    /// sm_80 to sm_89.
    Ampere,
    /// sm_90: the instructions of Accel-Sim 2.0.
    Hopper,
}

impl Architecture {
    /// The one of a header's `binary version`, or nothing.
    #[must_use]
    pub fn of_version(version: u32) -> Option<Self> {
        match version {
            30..=37 => Some(Self::Kepler),
            50..=53 | 60..=62 => Some(Self::Pascal),
            70 | 72 => Some(Self::Volta),
            75 => Some(Self::Turing),
            80..=89 => Some(Self::Ampere),
            90 => Some(Self::Hopper),
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

/// Where a memory instruction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory through L1 and L2.
    Global,
    /// A thread's own memory, through L1 and L2.
    Local,
    /// The CTA's scratchpad.
    Shared,
    /// Constants.
    Constant,
    /// Shared, local or global, as the address says ([`super::Header::space_of`]).
    Generic,
}

/// What an instruction asks of the SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Single and half precision arithmetic.
    Sp,
    /// Integer arithmetic, logic and comparison.
    Int,
    /// Moves, selection, conversion, exchange between lanes.
    Alu,
    /// Special functions.
    Sfu,
    /// Double precision arithmetic.
    Dp,
    /// Matrix products.
    Tensor,
    /// Texture fetches.
    Texture,
    /// Surface accesses.
    Surface,
    /// Loads.
    Load(Space),
    /// Stores.
    Store(Space),
    /// Read-modify-write, with or without a result.
    Atomic(Space),
    /// A copy from global to shared memory that reads through the L1 (`LDGSTS`).
    AsyncCopy,
    /// A copy of a whole block between global and shared memory by the engine for it (`UTMALDG`, ...).
    Bulk,
    /// Barriers of a CTA or a cluster.
    Barrier,
    /// Memory barriers.
    Membar,
    /// Waits for earlier instructions (`DEPBAR`, ...).
    Wait,
    /// Jumps, calls, and what prepares them.
    Branch,
    /// The end of lanes.
    Exit,
    /// Nothing.
    Nop,
}

impl Class {
    /// Its name in tables.
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
            Self::Barrier => "barrier",
            Self::Membar => "membar",
            Self::Wait => "wait",
            Self::Branch => "branch",
            Self::Exit => "exit",
            Self::Nop => "nop",
        }
    }

    /// The space of a load, store or atomic, once `generic` is resolved.
    #[must_use]
    pub fn in_space(self, generic: Space) -> Self {
        match self {
            Self::Load(Generic) => Self::Load(generic),
            Self::Store(Generic) => Self::Store(generic),
            Self::Atomic(Generic) => Self::Atomic(generic),
            other => other,
        }
    }

    /// Whether it goes through the L1 or the L2.
    #[must_use]
    pub fn is_device_memory(self) -> bool {
        match self {
            Self::Load(space) | Self::Store(space) | Self::Atomic(space) => matches!(space, Global | Local | Generic),
            Self::AsyncCopy => true,
            _ => false,
        }
    }

    /// Whether lanes have addresses that a memory model needs. Constants are often fetched by a
    /// number alone.
    #[must_use]
    pub fn needs_addresses(self) -> bool {
        match self {
            Self::Load(space) | Self::Store(space) | Self::Atomic(space) => space != Constant,
            Self::AsyncCopy => true,
            _ => false,
        }
    }
}

/// An opcode with all its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// As the trace has it.
    pub text: Box<str>,
    /// What it asks of the SM.
    pub class: Class,
    /// Bytes each lane accesses, if it accesses memory: from the first token that is a width in bits
    /// (`64`, `U8`, `S16`), otherwise 4.
    pub width: u8,
    /// A load that other SMs' stores must be visible to, which the L1 cannot promise.
    pub bypasses_l1: bool,
}

impl Opcode {
    /// An opcode whose class is known.
    #[must_use]
    pub fn new(text: &str, class: Class) -> Self {
        let width = text.split('.').skip(1).find_map(bytes_of).unwrap_or(4);
        Opcode { text: text.into(), class, width, bypasses_l1: text.contains(".STRONG.GPU") }
    }

    /// Its first token.
    #[must_use]
    pub fn name(&self) -> &str {
        first_token(&self.text)
    }
}

/// An opcode up to its first dot.
#[must_use]
pub fn first_token(text: &str) -> &str {
    text.split('.').next().unwrap_or(text)
}

fn bytes_of(token: &str) -> Option<u8> {
    let bits = token.strip_prefix(['U', 'S']).unwrap_or(token);
    match bits {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}

const K: u8 = Architecture::Kepler.bit();
const P: u8 = Architecture::Pascal.bit();
const V: u8 = Architecture::Volta.bit();
const T: u8 = Architecture::Turing.bit();
const A: u8 = Architecture::Ampere.bit();
const H: u8 = Architecture::Hopper.bit();
const ALL: u8 = K | P | V | T | A | H;
/// Kepler to Pascal.
const OLD: u8 = K | P;
/// Volta and later.
const NEW: u8 = V | T | A | H;
/// Turing and later: with the uniform data path.
const UNIFORM: u8 = T | A | H;

use Class::{
    Alu, AsyncCopy, Atomic, Barrier, Branch, Bulk, Dp, Exit, Int, Load, Membar, Nop, Sfu, Sp, Store, Surface, Tensor,
    Texture, Wait,
};
use Space::{Constant, Generic, Global, Local, Shared};

/// Class, architectures that have them, first tokens.
#[rustfmt::skip]
const KINDS: &[(Class, u8, &str)] = &[
    (Sp, ALL, "FADD FADD32I FCHK FFMA FFMA32I FMNMX FMUL FMUL32I FSET FSETP"),
    (Sp, OLD, "FCMP RRO"),
    (Sp, K, "FSWZ"),
    (Sp, P | NEW, "FSWZADD"),
    (Sp, NEW, "FSEL"),
    // Half precision runs two values a lane on the single precision units.
    (Sp, P | NEW, "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2"),
    (Sp, A | H, "HMNMX2"),
    (Sp, H, "FADD2 FFMA2 FMUL2 FHADD FHFMA VHMNMX"),
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
    (Int, H, "UIABS UIMNMX VIADD VIADDMNMX VIMNMX VIMNMX3"),
    (Alu, ALL, "F2F F2I I2F I2I MOV MOV32I P2R PRMT PSETP R2P S2R SEL SHFL VOTE B2R"),
    (Alu, OLD, "CSET CSETP PSET"),
    (Alu, P | NEW, "CS2R R2B"),
    (Alu, NEW, "FRND I2IP MATCH PLOP3 QSPC RPCMOV BMOV CSMTEST GETLMEMBASE SETLMEMBASE SETCTAID LEPC S2UR"),
    (Alu, OLD, "GETLMEMBASE SETLMEMBASE SETCRSPTR GETCRSPTR LEPC"),
    (Alu, UNIFORM, "MOVM R2UR UCLEA UF2F UMOV UP2UR UPLOP3 UPRMT UPSETP UR2UP USEL VOTEU"),
    (Alu, A | H, "F2FP F2IP I2FP REDUX UF2FP SUQUERY"),
    (Alu, H, "ELECT UVOTE UR2R USETMAXREG SETMAXREG WARPGROUP WARPGROUPSET"),
    // The instructions that set up caches and counters move no data.
    (Alu, ALL, "CCTL CCTLL"),
    (Alu, P | NEW, "CCTLT"),
    (Alu, H, "UTMACCTL"),
    (Tensor, NEW, "HMMA IMMA"),
    (Tensor, UNIFORM, "BMMA"),
    (Tensor, A | H, "DMMA"),
    (Tensor, H, "BGMMA HGMMA IGMMA QGMMA"),
    (Texture, ALL, "TEX TLD TLD4 TXQ TXD"),
    (Texture, P, "TEXS TLDS TLD4S"),
    (Texture, P | NEW, "TMML"),
    (Texture, K, "TXA TMML"),
    (Surface, K, "SUCLAMP SUBFM SUEAU SULDGA SUSTGA SULDB SULEA SUSTB SURED"),
    (Surface, P | NEW, "SUATOM SULD SURED SUST"),
    (Load(Global), ALL, "LDG"),
    // Kepler has no other load of global memory, and Accel-Sim takes it as one; so do we.
    (Load(Global), K, "LD"),
    (Load(Generic), P | NEW, "LD"),
    (Load(Local), ALL, "LDL"),
    (Load(Shared), ALL, "LDS"),
    (Load(Shared), K, "LDSLK"),
    (Load(Shared), UNIFORM, "LDSM"),
    (Load(Constant), ALL, "LDC"),
    (Load(Constant), K, "LDU"),
    (Load(Constant), UNIFORM, "ULDC"),
    (Store(Global), K, "ST STG"),
    (Store(Generic), P | NEW, "ST"),
    (Store(Global), P | NEW, "STG"),
    (Store(Local), ALL, "STL"),
    (Store(Shared), ALL, "STS"),
    (Store(Shared), K, "STSCUL STSUL"),
    (Store(Shared), H, "STSM STAS"),
    (Atomic(Global), K, "ATOM RED"),
    (Atomic(Generic), P | NEW, "ATOM"),
    (Atomic(Global), P | NEW, "RED"),
    (Atomic(Global), NEW, "ATOMG"),
    (Atomic(Global), H, "REDG UREDGR"),
    (Atomic(Shared), P | NEW, "ATOMS"),
    (Atomic(Shared), H, "REDAS"),
    (AsyncCopy, A | H, "LDGSTS"),
    (Bulk, H, "UBLKCP UBLKPF UBLKRED UTMALDG UTMAPF UTMAREDG UTMASTG"),
    (Barrier, ALL, "BAR"),
    (Barrier, H, "UCGABAR_ARV UCGABAR_WAIT SYNCS"),
    (Membar, ALL, "MEMBAR"),
    (Membar, NEW, "ERRBAR"),
    (Membar, H, "FENCE"),
    (Wait, ALL, "DEPBAR"),
    (Wait, OLD, "TEXDEPBAR"),
    (Wait, A | H, "ARRIVES LDGDEPBAR"),
    (Wait, H, "ACQBULK ENDCOLLECTIVE PREEXIT UTMACMDFLUSH WARPGROUPDEPBAR WARPGROUPARRIVE"),
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
];

/// Classes by first token.
#[derive(Clone, Debug)]
pub struct OpcodeTable {
    architecture: Option<Architecture>,
    classes: FxHashMap<&'static str, Class>,
}

impl OpcodeTable {
    /// The opcodes of an architecture, or of all of them, where those of a later one win.
    #[must_use]
    pub fn new(architecture: Option<Architecture>) -> Self {
        let mut classes = FxHashMap::default();
        let archs = architecture.map_or(vec![K, P, V, T, A, H], |one| vec![one.bit()]);
        for arch in archs {
            let kinds = KINDS.iter().filter(|(_, having, _)| having & arch != 0);
            for (class, _, tokens) in kinds {
                classes.extend(tokens.split_whitespace().map(|token| (token, *class)));
            }
        }
        OpcodeTable { architecture, classes }
    }

    /// The class of a first token.
    #[must_use]
    pub fn class(&self, token: &str) -> Option<Class> {
        self.classes.get(token).copied()
    }

    /// The architecture whose opcodes these are; nothing if all.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// The first tokens, sorted.
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

    const EACH: [Architecture; 6] = [
        Architecture::Kepler,
        Architecture::Pascal,
        Architecture::Volta,
        Architecture::Turing,
        Architecture::Ampere,
        Architecture::Hopper,
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

    #[test]
    fn the_width_is_the_first_token_that_is_one() {
        let width = |text| Opcode::new(text, Load(Global)).width;
        assert_eq!(width("LDG.E.128.SYS"), 16);
        assert_eq!(width("LDG.E.64"), 8);
        assert_eq!(width("LDG.E.U8"), 1);
        assert_eq!(width("LDG.E.S16.SYS"), 2);
        assert_eq!(width("LDG.E"), 4);
        assert_eq!(width("LDG.E.LTC128B.64"), 8);
        assert_eq!(width("LDSM.16.M88.4"), 2);
    }

    #[test]
    fn a_load_of_the_whole_gpu_bypasses_the_l1() {
        assert!(Opcode::new("LDG.E.STRONG.GPU", Load(Global)).bypasses_l1);
        assert!(!Opcode::new("LDG.E.CONSTANT", Load(Global)).bypasses_l1);
    }
}
