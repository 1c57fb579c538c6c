//! Instruction and memory-access statistics of a recorded kernel, computed without timing.

use std::collections::BTreeMap;

use isa::recorded::{Class, Code, Cta, LANES};

use super::footprint::Footprint;

/// Maximum number of different strides that are counted separately. All further strides are counted together.
const MAX_STRIDES: usize = 256;

/// Statistics of a recorded kernel.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Size of a cache line, in bytes.
    pub line_bytes: u64,
    /// Number of CTAs of the kernel.
    pub ctas: u64,
    /// Number of warps with at least one instruction.
    pub warps: u64,
    /// Number of warp instructions.
    pub warp_instructions: u64,
    /// Number of thread instructions: the active lanes, summed over all warp instructions.
    pub thread_instructions: u64,
    /// Number of warp instructions that have no active lane.
    pub without_lanes: u64,
    /// Number of warp instructions of each class. A generic memory access is counted in the class of the
    /// specific space that it accesses.
    pub classes: BTreeMap<Class, u64>,
    /// Accesses to device memory (global and local) for each class of instructions.
    pub traffic: BTreeMap<Class, Traffic>,
    /// Lines of device memory that the kernel accessed.
    pub footprint: Footprint,
    /// Strides between the addresses of adjacent lanes, for accesses to device memory.
    pub strides: Strides,
}

/// Line accesses by the instructions of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of instructions with at least one active lane.
    pub instructions: u64,
    /// Number of line accesses: an instruction makes one line access for each line of which it accesses a
    /// part.
    pub transactions: u64,
    /// Maximum number of lines that a single instruction accessed.
    pub most: u64,
}

impl Traffic {
    /// Average number of lines per instruction; `None` without instructions.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        (self.instructions > 0).then(|| self.transactions as f64 / self.instructions as f64)
    }
}

/// Number of memory instructions by the stride between the addresses of adjacent lanes, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// Number of instructions for each constant stride.
    pub constant: BTreeMap<i64, u64>,
    /// Number of instructions with a constant stride that is not counted separately, because the maximum
    /// number of strides was reached.
    pub others: u64,
    /// Number of instructions with at least two active lanes whose stride is not constant.
    pub irregular: u64,
    /// Number of instructions with a single active lane, which have no stride.
    pub single: u64,
}

impl Profile {
    /// Creates an empty profile for the given size of cache lines.
    ///
    /// # Panics
    /// Panics if the size is not a power of two.
    #[must_use]
    pub fn new(line_bytes: u64) -> Self {
        assert!(line_bytes.is_power_of_two(), "lines of {line_bytes} bytes");
        Profile {
            line_bytes,
            ctas: 0,
            warps: 0,
            warp_instructions: 0,
            thread_instructions: 0,
            without_lanes: 0,
            classes: BTreeMap::new(),
            traffic: BTreeMap::new(),
            footprint: Footprint::default(),
            strides: Strides::default(),
        }
    }

    /// Adds a CTA to the profile. `code` contains the instructions to which the CTA refers.
    ///
    /// # Panics
    /// Panics if an instruction of the CTA is not in `code`.
    pub fn add(&mut self, cta: &Cta, code: &Code) {
        self.ctas += 1;
        for warp in &cta.warps {
            self.warps += u64::from(!warp.steps().is_empty());
            for step in warp.steps() {
                let opcode = code.opcode(&code.operations()[step.operation as usize]);
                self.warp_instructions += 1;
                self.thread_instructions += u64::from(step.mask.count_ones());
                self.without_lanes += u64::from(step.mask == 0);
                let addresses = warp.addresses(step);
                let class = opcode.class;
                if let (Some(addresses), false, true) = (&addresses, step.mask == 0, class.is_device_memory()) {
                    self.access(class, step.mask, addresses, opcode.width);
                }
                *self.classes.entry(class).or_default() += 1;
            }
        }
    }

    fn access(&mut self, class: Class, mask: u32, addresses: &[u64; LANES], width: u8) {
        let mut lines = [0; 2 * LANES];
        let mut touched = 0;
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
            let last_byte = addresses[lane].saturating_add(u64::from(width) - 1);
            let (first, last) = (addresses[lane] / self.line_bytes, last_byte / self.line_bytes);
            lines[touched] = first;
            lines[touched + 1] = last;
            touched += 2;
        }
        let lines = &mut lines[..touched];
        lines.sort_unstable();
        let mut transactions = 0;
        let mut before = None;
        for &line in lines.iter() {
            if before.replace(line) != Some(line) {
                self.footprint.touch(line);
                transactions += 1;
            }
        }
        let traffic = self.traffic.entry(class).or_default();
        traffic.instructions += 1;
        traffic.transactions += transactions;
        traffic.most = traffic.most.max(transactions);
        self.strides.add(mask, addresses);
    }
}

impl Strides {
    fn add(&mut self, mask: u32, addresses: &[u64; LANES]) {
        let mut lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        let Some(first) = lanes.next() else { return };
        let Some(second) = lanes.next() else {
            self.single += 1;
            return;
        };
        let distance = |lane: usize| addresses[lane].wrapping_sub(addresses[first]).cast_signed();
        let stride = distance(second) / (second - first) as i64;
        let fits = |lane: usize| stride.checked_mul((lane - first) as i64) == Some(distance(lane));
        if !(fits(second) && lanes.all(fits)) {
            self.irregular += 1;
        } else if let Some(times) = self.constant.get_mut(&stride) {
            *times += 1;
        } else if self.constant.len() < MAX_STRIDES {
            self.constant.insert(stride, 1);
        } else {
            self.others += 1;
        }
    }

    /// Returns the constant strides with their counts, the most frequent stride first.
    #[must_use]
    pub fn most_frequent(&self) -> Vec<(i64, u64)> {
        let mut strides: Vec<_> = self.constant.iter().map(|(&stride, &times)| (stride, times)).collect();
        strides.sort_by_key(|&(stride, times)| (std::cmp::Reverse(times), stride));
        strides
    }
}

#[cfg(test)]
mod tests {
    use isa::recorded::Space;
    use proptest::prelude::*;
    use trace::{KernelTrace, Limits};

    use super::super::synthetic::{Kind, Size, Synthetic};
    use super::*;

    fn profile(text: String) -> Profile {
        let mut kernel = KernelTrace::new(std::io::Cursor::new(text.into_bytes()), "t", Limits::default()).unwrap();
        let mut profile = Profile::new(128);
        while let Some(cta) = kernel.next_cta().unwrap() {
            profile.add(&cta, kernel.code());
        }
        profile
    }

    fn volta(line: &str) -> Profile {
        profile(format!(
            "-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-binary version = 70\n-shmem base_addr = 0x1000\n\
             -local mem base_addr = 0x9000\n#\n#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n{line}\n#END_TB\n"
        ))
    }

    fn synthetic(kind: Kind) -> Profile {
        let mut text = Vec::new();
        Synthetic::new(kind, Size { ctas: 3, iterations: 10 }).write(&mut text).unwrap();
        profile(String::from_utf8(text).unwrap())
    }

    #[test]
    fn a_straddling_access_touches_both_lines() {
        let profile = volta("0000 00000001 1 R2 LDG.E.128 1 R4 16 2 0xfff78 0");
        assert_eq!(profile.traffic[&Class::Load(Space::Global)].transactions, 2);
    }

    #[test]
    fn generic_accesses_count_where_their_address_leads() {
        let class = |address: &str| {
            let profile = volta(&format!("0000 00000001 1 R2 LD.E 1 R4 4 2 {address} 0"));
            profile.classes.into_keys().next().unwrap()
        };
        assert_eq!(class("0x1000"), Class::Load(Space::Shared));
        assert_eq!(class("0x9000"), Class::Load(Space::Local));
        assert_eq!(class("0xffff0000"), Class::Load(Space::Global));
    }

    #[test]
    fn strides_are_told_apart() {
        let strides =
            |mask: &str, addresses: &str| volta(&format!("0000 {mask} 1 R2 LDG.E 1 R4 4 {addresses} 0")).strides;
        let constant = |stride| Strides { constant: [(stride, 1)].into(), ..Strides::default() };
        assert_eq!(strides("f", "1 0x100000 -64"), constant(-64));
        assert_eq!(strides("5", "0 0x100000 0x100008"), constant(4));
        assert_eq!(strides("7", "2 0x100000 4 8"), Strides { irregular: 1, ..Strides::default() });
        assert_eq!(strides("8", "2 0x100000"), Strides { single: 1, ..Strides::default() });
    }

    #[test]
    fn coalesced_kernels_have_one_line_an_access() {
        for kind in [Kind::Stream, Kind::Tile] {
            let profile = synthetic(kind);
            let loads = profile.traffic[&Class::Load(Space::Global)];
            assert_eq!((loads.instructions, loads.transactions, loads.most), (3 * 8 * 20, 3 * 8 * 20, 1));
            assert_eq!(profile.traffic[&Class::Store(Space::Global)].transactions, 3 * 8 * 10);
            assert_eq!(profile.warp_instructions, 3 * 8 * (5 + 11 * 10));
        }
        let stream = synthetic(Kind::Stream);
        assert_eq!((stream.footprint.lines(), stream.footprint.accesses()), (720, 720));
    }

    #[test]
    fn a_column_walk_has_a_line_for_every_lane() {
        let profile = synthetic(Kind::Column);
        let loads = profile.traffic[&Class::Load(Space::Global)];
        assert_eq!((loads.instructions, loads.transactions, loads.most), (480, 240 * 33, 32));
        assert_eq!(profile.strides.most_frequent(), [(4, 480), (512, 240)]);
    }

    #[test]
    fn a_gather_has_almost_as_many_lines_as_lanes_and_no_stride() {
        let profile = synthetic(Kind::Gather);
        let loads = profile.traffic[&Class::Load(Space::Global)];
        assert_eq!(profile.strides.irregular, 240);
        let gathered = loads.transactions - 240;
        assert!((240 * 31..240 * 32).contains(&gathered), "{gathered}");
    }

    proptest! {
        #[test]
        fn transactions_are_those_of_the_golden_coalescer(mask: u32, words in prop::collection::vec(0u64..4096, LANES)) {
            let mut profile = Profile::new(128);
            let addresses = std::array::from_fn(|lane| words[lane] * 8);
            profile.access(Class::Load(Space::Global), mask, &addresses, 8);
            let golden = golden::l1::coalescer::WarpAccess { active: mask, addresses, width: 8 };
            let lines = golden::l1::coalescer::coalesce(&golden, 128).unwrap();
            prop_assert_eq!(profile.footprint.accesses(), lines.len() as u64);
        }
    }
}
