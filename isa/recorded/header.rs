//! Header of a recorded kernel: its properties before the first instruction.

use super::opcode::{Architecture, Space};

/// Tracer version assumed for a header that states none.
pub const USUAL_VERSION: u32 = 5;
/// Size in bytes of the shared memory window and of the local memory window in the generic address space.
/// NVBit gives both windows this size.
const WINDOW_BYTES: u64 = 16 << 20;

/// Properties of a recorded kernel launch, from the header of its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Mangled name of the kernel.
    pub name: String,
    /// Number of the kernel launch.
    pub id: u64,
    /// Shape of the grid: number of CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Shape of a CTA: number of threads in x, y and z.
    pub block: [u32; 3],
    /// Static and dynamic shared memory of a CTA, in bytes.
    pub shared_bytes: u64,
    /// Number of registers per thread.
    pub registers: u32,
    /// Compute capability of the code, such as 70 for `sm_70`.
    pub binary_version: u32,
    /// Number of the CUDA stream.
    pub stream: u64,
    /// First generic address of the shared memory window; 0 if unknown.
    pub shared_base: u64,
    /// First generic address of the local memory window; 0 if unknown.
    pub local_base: u64,
    /// Version of NVBit, the instrumentation tool.
    pub nvbit_version: String,
    /// Version of the trace format.
    pub tracer_version: u32,
    /// True if each instruction line of the trace contains a source line number.
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
    /// Returns the GPU architecture, or `None` if the compute capability is unknown.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        Architecture::of_version(self.binary_version)
    }

    /// Number of CTAs of the grid.
    #[must_use]
    pub fn num_ctas(&self) -> u64 {
        self.grid.iter().fold(1, |product, &n| product.saturating_mul(n.into()))
    }

    /// Number of threads per CTA.
    #[must_use]
    pub fn num_threads(&self) -> u64 {
        self.block.iter().fold(1, |product, &n| product.saturating_mul(n.into()))
    }

    /// Number of warps per CTA.
    #[must_use]
    pub fn num_warps(&self) -> u32 {
        self.num_threads().div_ceil(32) as u32
    }

    /// True if the bases of the shared memory window and of the local memory window are known.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        self.shared_base != 0 && self.local_base != 0
    }

    /// Returns the space of a generic address. Returns shared memory if the windows are unknown.
    ///
    /// The shared window may be above or below the local window. If their bases are closer than the window
    /// size, the lower window ends where the upper one begins.
    #[must_use]
    pub fn space_of(&self, address: u64) -> Space {
        if !self.has_windows() {
            return Space::Shared;
        }
        let windows = [(self.shared_base, Space::Shared), (self.local_base, Space::Local)];
        let offsets = windows.into_iter().filter_map(|(base, space)| Some((address.checked_sub(base)?, space)));
        offsets.filter(|(offset, _)| *offset < WINDOW_BYTES).min().map_or(Space::Global, |(_, space)| space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_address_means_the_window_that_it_lies_in_whatever_their_order() {
        const LOW: u64 = 0x7f7c_0000_0000;
        const MIB: u64 = 1 << 20;
        use Space::{Global, Local, Shared};
        // Columns of the test cases: distance of the upper base from the lower base, offset of an address
        // from the lower base, and expected space of the address if the lower window is that of shared
        // memory.
        let cases = [
            (512 * MIB, 0, Shared),
            (512 * MIB, 16 * MIB - 1, Shared),
            (512 * MIB, 16 * MIB, Global),
            (512 * MIB, 512 * MIB - 1, Global),
            (512 * MIB, 512 * MIB, Local),
            (512 * MIB, 512 * MIB + 20 * 1024, Local),
            (512 * MIB, 528 * MIB - 1, Local),
            (512 * MIB, 528 * MIB, Global),
            (16 * MIB, 16 * MIB - 1, Shared),
            (16 * MIB, 16 * MIB, Local),
            (4 * MIB, 4 * MIB - 1, Shared),
            (4 * MIB, 4 * MIB, Local),
            (4 * MIB, 20 * MIB - 1, Local),
            (4 * MIB, 20 * MIB, Global),
        ];
        for (distance, offset, expected) in cases {
            let upward = Header { shared_base: LOW, local_base: LOW + distance, ..Header::default() };
            assert_eq!(upward.space_of(LOW + offset), expected, "{distance:#x} {offset:#x}");
            let downward = Header { shared_base: LOW + distance, local_base: LOW, ..Header::default() };
            let swapped = match expected {
                Shared => Local,
                Local => Shared,
                other => other,
            };
            assert_eq!(downward.space_of(LOW + offset), swapped, "{distance:#x} {offset:#x}");
            assert_eq!([upward, downward].map(|header| header.space_of(LOW - 1)), [Global; 2]);
        }
        let last = Header { shared_base: 0x1000, local_base: u64::MAX - 0xfff, ..Header::default() };
        assert_eq!(last.space_of(u64::MAX), Local);
    }

    #[test]
    fn without_its_windows_every_generic_address_is_one_of_shared_memory() {
        for (shared_base, local_base) in [(0, 0), (0, 0x1000), (0x1000, 0)] {
            let header = Header { shared_base, local_base, ..Header::default() };
            assert_eq!(header.space_of(0x7f00_0000_0000), Space::Shared);
        }
    }
}
