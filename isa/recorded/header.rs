//! What a trace says of a kernel before its instructions.

use super::opcode::{Architecture, Space};

/// The tracer version whose lines a header without one is taken to have.
pub const USUAL_VERSION: u32 = 5;
/// Bytes of a window of generic addresses, from its base on. NVBit gives both windows this size.
const WINDOW_BYTES: u64 = 16 << 20;

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
    /// First generic address that means shared memory; 0 if not known.
    pub shared_base: u64,
    /// First generic address that means local memory; 0 if not known.
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

    /// True if both windows of generic addresses are known.
    #[must_use]
    pub fn has_windows(&self) -> bool {
        self.shared_base != 0 && self.local_base != 0
    }

    /// Returns the space that a generic address means; shared memory for all of them if the windows are not known.
    ///
    /// The windows may lie in either order. Where they are closer than their size, the lower one ends at the upper base.
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
        // Distance of the upper base from the lower, offset from the lower base, the space if shared memory is the lower.
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
