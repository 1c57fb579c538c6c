//! Divides one on-chip memory between L1D and shared memory (NVIDIA, CUDA C programming guide, compute
//! capability 7.0; Accel-Sim's adaptive cache configuration).

use std::collections::BTreeSet;

/// Returns the number of L1D ways per set while a kernel needs `needed` bytes of shared memory per SM. The
/// first argument describes an L1D that uses the whole memory: number of sets, number of ways, line size in
/// bytes. Shared memory gets the smallest size in `parts` that is at least `needed`, or the largest size if
/// all are smaller.
#[must_use]
pub fn ways([sets, ways, line_bytes]: [u64; 3], parts: &[u32], needed: u64) -> u64 {
    let parts: BTreeSet<u64> = parts.iter().copied().map(u64::from).collect();
    let taken = parts.range(needed..).next().or(parts.last()).copied().unwrap_or(0);
    (sets * ways * line_bytes - taken) / sets / line_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v100_has_128_kb_of_which_shared_memory_takes_up_to_96() {
        let parts = [0, 8, 16, 32, 64, 96].map(|kb| kb << 10);
        let kb = |needed| ways([4, 256, 128], &parts, needed) * 4 * 128 / 1024;
        let table = [(0, 128), (1, 120), (8 << 10, 120), (8193, 112), (40 << 10, 64), (65_536, 64), (98_304, 32)];
        assert_eq!(table.map(|(needed, _)| kb(needed)), table.map(|(_, left)| left));
    }
}
