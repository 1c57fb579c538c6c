//! Location of the instructions in memory, on machines that fetch them through instruction caches.
//!
//! Neither PTX nor traces contain encoded instructions. Every instruction word in memory therefore holds its
//! own address, like the data memory in the replay of a trace ([`rtl::recorded`]). This allows a check to
//! detect wrong instruction bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rtl::machine::MachineConfig;
use rtl::recorded::{UNTOUCHED, WORD_BYTES, word};
use rtl::sm::{InstructionStore, NamedRange};

use super::modules::Module;

/// Alignment of the code of a kernel in bytes, as a linker would align functions.
const ALIGNMENT: u64 = 128;
/// Distance between the start addresses of two kernels of a trace, in bytes.
const OF_A_KERNEL: u64 = 1 << 20;

/// Location in memory of the instructions of all launched kernels.
pub(super) struct Code {
    pub(super) range: NamedRange,
    /// Start address of the code of each kernel, by PTX file and kernel name.
    starts: BTreeMap<(PathBuf, String), u64>,
}

impl Code {
    /// Places the code of all kernels after the data, one kernel after another. `end` is the end address of
    /// the data. Returns `None` if the machine does not fetch instructions from memory.
    pub(super) fn place(modules: &BTreeMap<PathBuf, Module>, end: u64, config: &MachineConfig) -> Option<Self> {
        let InstructionStore::Cache(icache) = &config.sm.icache else { return None };
        let first = end.next_multiple_of(ALIGNMENT);
        let (mut at, mut starts) = (first, BTreeMap::new());
        for (file, module) in modules {
            for program in &module.programs {
                starts.insert((file.clone(), program.name.clone()), at);
                let bytes = program.insts.len() as u64 * u64::from(icache.instruction_bytes);
                at = (at + bytes).next_multiple_of(ALIGNMENT);
            }
        }
        let range = NamedRange { name: "instructions".to_owned(), start: first, bytes: at - first };
        Some(Self { range, starts })
    }

    /// Start address of the code of a kernel.
    pub(super) fn start_of(&self, file: &Path, kernel: &str) -> u64 {
        self.starts.get(&(file.to_owned(), kernel.to_owned())).copied().unwrap_or(self.range.start)
    }

    /// Returns the memory contents of all instructions.
    pub(super) fn bytes(&self) -> Vec<u8> {
        bytes(self.range.start..self.range.end())
    }
}

/// Returns the memory contents of the instructions in the given range of addresses.
pub(super) fn bytes(range: Range<u64>) -> Vec<u8> {
    range.step_by(WORD_BYTES as usize).flat_map(|address| word(address, UNTOUCHED).to_le_bytes()).collect()
}

/// Locations of the kernels of a trace, whose program counters start at 0 in each kernel. The kernels are in
/// the last sixteenth of the address range. With 32-bit addresses, this range begins at 0xf0000000, as in
/// GPGPU-Sim. Kernels with the same name have the same location.
#[derive(Debug, Default)]
pub(super) struct TracedCode(Vec<String>);

impl TracedCode {
    /// Start address of the code of a kernel.
    pub(super) fn start_of(&mut self, kernel: &str, addr_bits: u32) -> u64 {
        let number = self.0.iter().position(|known| known == kernel).unwrap_or_else(|| {
            self.0.push(kernel.to_owned());
            self.0.len() - 1
        });
        let sixteenth = 1 << (addr_bits - 4);
        15 * sixteenth + number as u64 * OF_A_KERNEL % sixteenth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_a_trace_has_one_place_in_the_last_sixteenth() {
        let mut code = TracedCode::default();
        let starts = ["a", "b", "a"].map(|kernel| code.start_of(kernel, 32));
        assert_eq!(starts, [0xf000_0000, 0xf010_0000, 0xf000_0000]);
        let many: Vec<_> = (0..300).map(|number| code.start_of(&number.to_string(), 32)).collect();
        assert!(many.iter().all(|start| start >> 28 == 15 && start % ALIGNMENT == 0));
        assert_eq!(code.start_of("a", 20), 0xf_0000);
    }
}
