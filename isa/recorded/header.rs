//! What a trace says of a kernel before its instructions.

use super::opcode::{Architecture, Space};

/// The tracer version whose lines a header without one is taken to have.
pub const USUAL_VERSION: u32 = 5;
/// Bytes of local memory that generic addresses reach behind `local mem base_addr`.
const LOCAL_WINDOW: u64 = 16 << 10;

/// What is said of a kernel before its instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Mangled name.
    pub name: String,
    /// Number of the launch.
    pub id: u64,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Bytes of shared memory of a CTA, static and dynamic.
    pub shared_bytes: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Architecture as `sm_` number.
    pub binary_version: u32,
    /// CUDA stream.
    pub stream: u64,
    /// Where generic addresses begin to mean shared memory.
    pub shared_base: u64,
    /// Where generic addresses begin to mean local memory.
    pub local_base: u64,
    /// NVBit's version.
    pub nvbit_version: String,
    /// Version of the lines.
    pub tracer_version: u32,
    /// Lines begin with the number of the source line.
    pub has_line_numbers: bool,
}

impl Default for Header {
    fn default() -> Self {
        Header {
            name: String::new(),
            id: 1,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            registers: 0,
            binary_version: 0,
            stream: 0,
            shared_base: 0,
            local_base: 0,
            nvbit_version: String::new(),
            tracer_version: USUAL_VERSION,
            has_line_numbers: false,
        }
    }
}

impl Header {
    /// Its instruction set, if we know it.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        Architecture::of_version(self.binary_version)
    }

    /// Number of CTAs.
    #[must_use]
    pub fn num_ctas(&self) -> u64 {
        self.grid.iter().fold(1, |product, &n| product.saturating_mul(n.into()))
    }

    /// Threads of a CTA.
    #[must_use]
    pub fn num_threads(&self) -> u64 {
        self.block.iter().fold(1, |product, &n| product.saturating_mul(n.into()))
    }

    /// Warps of a CTA.
    #[must_use]
    pub fn num_warps(&self) -> u32 {
        self.num_threads().div_ceil(32) as u32
    }

    /// What a generic access means whose first active lane has this address.
    #[must_use]
    pub fn space_of(&self, address: u64) -> Space {
        let Header { shared_base, local_base, .. } = *self;
        if shared_base == 0 || local_base == 0 || (shared_base..local_base).contains(&address) {
            Space::Shared
        } else if (local_base..local_base.saturating_add(LOCAL_WINDOW)).contains(&address) {
            Space::Local
        } else {
            Space::Global
        }
    }
}
