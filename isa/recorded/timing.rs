//! Latencies of opcodes on the GPUs of each architecture.
//!
//! Accel-Sim gives each class of opcodes a latency and an initiation interval, for each GPU against which it
//! was validated. The numbers are from the `trace.config` files of its tested configurations (revision
//! 2260456). They hold for a whole warp instruction, regardless of the number of lanes of the execution unit.

use super::opcode::{Architecture, Class, Opcode};

/// Latency and initiation interval of a warp instruction on an execution unit, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Core cycles from issue until the result is available.
    pub latency: u16,
    /// Core cycles from issue until the execution unit accepts the next instruction.
    pub interval: u16,
}

/// Timing of the execution units of a GPU: pairs of latency and initiation interval, in core cycles.
struct Gpu {
    architecture: Architecture,
    int: (u16, u16),
    sp: (u16, u16),
    dp: (u16, u16),
    sfu: (u16, u16),
    /// Timing of texture fetches, which use Accel-Sim's specialized unit 2. Up to Pascal, a texture fetch
    /// takes as long as a move.
    texture: (u16, u16),
    /// Timing of matrix products, which use Accel-Sim's specialized unit 3. The unit exists from Volta on.
    tensor: (u16, u16),
    /// Timing of the uniform data path, which is Accel-Sim's specialized unit 4. The unit exists from Turing
    /// on.
    uniform: (u16, u16),
}

use Architecture::{Ampere, Kepler, Pascal, Turing, Volta};

/// Timing from Accel-Sim's configurations SM3_KEPLER_TITAN, SM6_TITANX, SM7_QV100, SM75_RTX2060 and
/// SM86_RTX3070.
#[rustfmt::skip]
const GPUS: [Gpu; 5] = [
    Gpu { architecture: Kepler, int: (4, 1), sp: (4, 1), dp: (20, 2),  sfu: (200, 2), texture: (4, 1),   tensor: (4, 1),   uniform: (4, 1) },
    Gpu { architecture: Pascal, int: (4, 1), sp: (4, 1), dp: (20, 8),  sfu: (20, 4),  texture: (4, 1),   tensor: (4, 1),   uniform: (4, 1) },
    Gpu { architecture: Volta,  int: (2, 2), sp: (2, 2), dp: (8, 4),   sfu: (20, 8),  texture: (200, 4), tensor: (2, 2),   uniform: (2, 2) },
    Gpu { architecture: Turing, int: (2, 2), sp: (2, 2), dp: (64, 64), sfu: (21, 8),  texture: (200, 4), tensor: (16, 16), uniform: (4, 1) },
    Gpu { architecture: Ampere, int: (2, 2), sp: (2, 1), dp: (64, 64), sfu: (21, 8),  texture: (200, 4), tensor: (32, 32), uniform: (4, 1) },
];

/// Opcodes of the uniform data path whose names do not begin with `U`.
const UNIFORM: [&str; 4] = ["R2UR", "S2UR", "VOTEU", "REDUX"];

impl Timing {
    /// Returns the timing of an arithmetic opcode. Returns `None` for other opcodes, and for an architecture
    /// for which Accel-Sim has no numbers.
    #[must_use]
    pub fn of(architecture: Architecture, opcode: &Opcode) -> Option<Self> {
        let gpu = GPUS.iter().find(|gpu| gpu.architecture == architecture)?;
        let name = opcode.name();
        let (latency, interval) = match opcode.class {
            Class::Int | Class::Alu if name.starts_with('U') || UNIFORM.contains(&name) => gpu.uniform,
            Class::Int | Class::Alu => gpu.int,
            // Half-precision opcodes have twice the throughput of single-precision ones.
            Class::Sp if name.starts_with('H') => (gpu.sp.0, gpu.sp.1.div_ceil(2)),
            Class::Sp => gpu.sp,
            Class::Dp => gpu.dp,
            Class::Sfu => gpu.sfu,
            Class::Texture => gpu.texture,
            Class::Tensor => gpu.tensor,
            _ => return None,
        };
        Some(Self { latency, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::super::opcode::OpcodeTable;
    use super::*;

    fn timing(architecture: Architecture, text: &str) -> Option<(u16, u16)> {
        let class = OpcodeTable::new(Some(architecture)).class(super::super::opcode::first_token(text)).unwrap();
        Timing::of(architecture, &Opcode::new(text, class)).map(|Timing { latency, interval }| (latency, interval))
    }

    #[test]
    fn an_opcode_takes_as_long_as_on_the_gpus_of_its_architecture() {
        let each =
            |text| [Kepler, Pascal, Volta, Turing, Ampere].map(|architecture| timing(architecture, text).unwrap());
        assert_eq!(each("IMAD.WIDE"), [(4, 1), (4, 1), (2, 2), (2, 2), (2, 2)]);
        assert_eq!(each("FFMA"), [(4, 1), (4, 1), (2, 2), (2, 2), (2, 1)]);
        assert_eq!(each("DFMA"), [(20, 2), (20, 8), (8, 4), (64, 64), (64, 64)]);
        assert_eq!(each("MUFU.RCP"), [(200, 2), (20, 4), (20, 8), (21, 8), (21, 8)]);
        assert_eq!(each("TEX"), [(4, 1), (4, 1), (200, 4), (200, 4), (200, 4)]);
        assert_eq!(timing(Volta, "HMMA.884.F32"), Some((2, 2)));
        assert_eq!(timing(Ampere, "HMMA.16816.F32"), Some((32, 32)));
    }

    #[test]
    fn half_precision_and_the_uniform_path_have_their_own() {
        assert_eq!([timing(Volta, "HFMA2.MMA"), timing(Ampere, "HADD2")], [Some((2, 1)); 2]);
        assert_eq!(
            [timing(Turing, "UIADD3"), timing(Turing, "S2UR"), timing(Volta, "MOV")],
            [Some((4, 1)), Some((4, 1)), Some((2, 2))]
        );
    }

    #[test]
    fn what_is_no_arithmetic_has_none() {
        assert_eq!(["LDG.E", "BRA", "EXIT", "BAR.SYNC"].map(|text| timing(Volta, text)), [None; 4]);
        assert_eq!(timing(Architecture::Hopper, "FFMA"), None);
    }
}
