//! Recorded instructions of a CTA, packed in memory.
//!
//! Each instruction that a warp issues is a *step*, which takes 12 bytes. The lane addresses of a step are
//! packed in one of three forms. Addresses with a constant stride take 16 bytes. Addresses whose distances
//! fit in 32 bits take 16 bytes, plus 4 for each active lane except the first. Other addresses take 16 bytes,
//! plus 8 for each active lane.

/// Number of lanes of a warp.
pub const LANES: usize = 32;

/// Instructions that the warps of a CTA issued, as recorded in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cta {
    /// Index of the CTA in the grid.
    pub index: [u32; 3],
    /// Position of the CTA in a cluster, if the trace has it.
    pub cluster: Option<Cluster>,
    /// Warps in ascending order of their numbers. A warp that issued no instruction may be missing.
    pub warps: Vec<Warp>,
}

impl Cta {
    /// Returns the approximate memory footprint of the recorded CTA in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.warps.iter().map(Warp::bytes).sum()
    }

    /// Number of instructions that all warps of the CTA issued.
    #[must_use]
    pub fn num_steps(&self) -> u64 {
        self.warps.iter().map(|warp| warp.steps.len() as u64).sum()
    }
}

/// Position of a CTA in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Index of the cluster in the grid.
    pub id: [u32; 3],
    /// Index of the CTA in the cluster.
    pub cta: [u32; 3],
    /// Number of the CTA in its cluster, counted linearly over x, y and z.
    pub rank: u32,
}

/// Instructions that a warp issued, as recorded in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warp {
    /// Number of the warp in its CTA.
    pub id: u32,
    steps: Vec<Step>,
    accesses: Vec<Access>,
    distances: Vec<i32>,
    addresses: Vec<u64>,
}

/// Execution of one instruction by a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the instruction in [`super::Code`].
    pub operation: u32,
    /// Mask of active lanes, with bit `i` for lane `i`; 0 if the predicate was false in all lanes.
    pub mask: u32,
    /// Index in `Warp::accesses` of the lane addresses of this step, or [`NO_ACCESS`].
    access: u32,
}

const NO_ACCESS: u32 = u32::MAX;

/// Packed lane addresses of an instruction that a warp issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Constant stride: lane `i` accesses `base + (i - lowest) * stride`, where `lowest` is the lowest active
    /// lane.
    Stride { base: u64, stride: i32 },
    /// Distances: the lowest active lane accesses `base`. For every other active lane, a distance is stored,
    /// which is added to the address of the next lower active lane.
    Distances { base: u64, from: u32 },
    /// Full addresses of all active lanes.
    Each { from: u32 },
}

impl Step {
    /// True if the trace has lane addresses for this instruction.
    #[must_use]
    pub fn has_addresses(&self) -> bool {
        self.access != NO_ACCESS
    }
}

/// Returns the lanes in a mask, that is, the positions of its set bits, in ascending order.
pub fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Returns the distance from one address to another, wrapping at the end of the address space.
fn distance(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

impl Warp {
    /// Creates a warp that has not issued any instruction.
    #[must_use]
    pub fn new(id: u32) -> Self {
        Warp { id, ..Warp::default() }
    }

    /// Instructions that the warp issued, in program order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Appends an issued instruction without lane addresses.
    pub fn push(&mut self, operation: u32, mask: u32) {
        self.steps.push(Step { operation, mask, access: NO_ACCESS });
    }

    /// Appends an issued instruction with the addresses of the lanes in `mask`. Entries of `addresses` for
    /// other lanes are ignored.
    pub fn push_access(&mut self, operation: u32, mask: u32, addresses: &[u64; LANES]) {
        let access = self.accesses.len() as u32;
        self.steps.push(Step { operation, mask, access });
        let packed = self.pack(mask, addresses);
        self.accesses.push(packed);
    }

    /// Appends an issued instruction whose lane addresses have a constant stride: lane `i` accesses `base +
    /// (i - lowest) * stride`, where `lowest` is the lowest lane in `mask`.
    pub fn push_stride(&mut self, operation: u32, mask: u32, base: u64, stride: i64) {
        // If `mask` has a single lane, no second address exists from which a stride could follow, so the
        // stride is set to 0.
        let stride = if mask.is_power_of_two() { 0 } else { stride };
        let Ok(stride) = i32::try_from(stride) else {
            let lowest = mask.trailing_zeros() as i64;
            let addresses =
                std::array::from_fn(|lane| base.wrapping_add_signed(stride.wrapping_mul(lane as i64 - lowest)));
            return self.push_access(operation, mask, &addresses);
        };
        let access = self.accesses.len() as u32;
        self.steps.push(Step { operation, mask, access });
        self.accesses.push(Access::Stride { base, stride });
    }

    fn pack(&mut self, mask: u32, addresses: &[u64; LANES]) -> Access {
        let mut lanes = lanes_of(mask);
        let Some(first) = lanes.next() else { return Access::Stride { base: 0, stride: 0 } };
        let base = addresses[first];
        let Some(second) = lanes.next() else { return Access::Stride { base, stride: 0 } };
        if let Ok(stride) = i32::try_from(distance(base, addresses[second]) / (second - first) as i64) {
            let expected = |lane: usize| base.wrapping_add_signed((lane - first) as i64 * i64::from(stride));
            if lanes_of(mask).all(|lane| addresses[lane] == expected(lane)) {
                return Access::Stride { base, stride };
            }
        }
        let from = self.distances.len();
        let mut before = base;
        for lane in lanes_of(mask).skip(1) {
            let Ok(step) = i32::try_from(distance(before, addresses[lane])) else {
                self.distances.truncate(from);
                let from = self.addresses.len() as u32;
                self.addresses.extend(lanes_of(mask).map(|lane| addresses[lane]));
                return Access::Each { from };
            };
            self.distances.push(step);
            before = addresses[lane];
        }
        Access::Distances { base, from: from as u32 }
    }

    /// Returns the addresses of the lanes in the step's mask and 0 for the other lanes, or `None` if the
    /// trace has no addresses for the step.
    ///
    /// # Panics
    /// Panics if the step is not from this warp.
    #[must_use]
    pub fn addresses(&self, step: &Step) -> Option<[u64; LANES]> {
        let mut addresses = [0; LANES];
        self.unpack(step, &mut addresses).then_some(addresses)
    }

    /// Writes the addresses of the lanes in the step's mask to `addresses`, and 0 for the other lanes. If the
    /// trace has no addresses for the step, returns false and leaves `addresses` unchanged.
    ///
    /// # Panics
    /// Panics if the step is not from this warp.
    pub fn unpack(&self, step: &Step, addresses: &mut [u64; LANES]) -> bool {
        if !step.has_addresses() {
            return false;
        }
        if let (Access::Stride { base, stride }, u32::MAX) = (self.accesses[step.access as usize], step.mask) {
            let mut at = base;
            for address in addresses {
                *address = at;
                at = at.wrapping_add_signed(stride.into());
            }
            return true;
        }
        addresses.fill(0);
        let mut lanes = lanes_of(step.mask);
        match self.accesses[step.access as usize] {
            Access::Stride { base, stride } => {
                let first = step.mask.trailing_zeros() as usize;
                for lane in lanes {
                    addresses[lane] = base.wrapping_add_signed((lane - first) as i64 * i64::from(stride));
                }
            }
            Access::Distances { base, from } => {
                let mut at = base;
                lanes.next().into_iter().for_each(|lane| addresses[lane] = at);
                for (lane, &distance) in lanes.zip(&self.distances[from as usize..]) {
                    at = at.wrapping_add_signed(distance.into());
                    addresses[lane] = at;
                }
            }
            Access::Each { from } => {
                for (lane, &address) in lanes.zip(&self.addresses[from as usize..]) {
                    addresses[lane] = address;
                }
            }
        }
        true
    }

    /// Returns the approximate memory footprint of the recorded warp in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Step>() * self.steps.len()
            + size_of::<Access>() * self.accesses.len()
            + size_of::<i32>() * self.distances.len()
            + size_of::<u64>() * self.addresses.len()
    }

    /// Frees the memory that was reserved for further instructions.
    pub fn shrink(&mut self) {
        self.steps.shrink_to_fit();
        self.accesses.shrink_to_fit();
        self.distances.shrink_to_fit();
        self.addresses.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pack_and_unpack(mask: u32, addresses: &[u64; LANES]) -> (Access, [u64; LANES]) {
        let mut warp = Warp::new(0);
        warp.push_access(7, mask, addresses);
        (warp.accesses[0], warp.addresses(&warp.steps[0]).unwrap())
    }

    #[test]
    fn a_constant_distance_is_kept_as_one_even_across_idle_lanes() {
        let addresses = std::array::from_fn(|lane| 0x1000 + 8 * lane as u64);
        let (access, again) = pack_and_unpack(0x8421_0010, &addresses);
        assert_eq!(access, Access::Stride { base: 0x1020, stride: 8 });
        assert_eq!((again[4], again[16], again[31], again[5]), (0x1020, 0x1080, 0x10f8, 0));
    }

    #[test]
    fn near_addresses_take_four_bytes_a_lane_and_far_ones_eight() {
        let near = std::array::from_fn(|lane| 0x1000 + (lane as u64 % 3) * 64);
        let far = std::array::from_fn(|lane| (lane as u64 % 3) << 40);
        let bytes = |addresses| {
            let mut warp = Warp::new(0);
            warp.push_access(0, u32::MAX, addresses);
            warp.bytes()
        };
        assert_eq!([bytes(&near), bytes(&far)], [12 + 16 + 31 * 4, 12 + 16 + 32 * 8]);
    }

    #[test]
    fn a_step_takes_twelve_bytes() {
        assert_eq!((size_of::<Step>(), size_of::<Access>()), (12, 16));
    }

    proptest! {
        #[test]
        fn a_stride_is_kept_as_its_addresses_are(mask in 1u32.., base: u64, stride in -(1i64 << 40)..1 << 40, is_near: bool) {
            let stride = if is_near { stride >> 30 } else { stride };
            let lowest = mask.trailing_zeros() as i64;
            let addresses = std::array::from_fn(|lane| base.wrapping_add_signed(stride * (lane as i64 - lowest)));
            let (mut one, mut other) = (Warp::new(0), Warp::new(0));
            one.push_stride(7, mask, base, stride);
            other.push_access(7, mask, &addresses);
            prop_assert_eq!(one, other);
        }

        #[test]
        fn unpacking_gives_what_was_packed(
            mask: u32,
            base: u64,
            stride in -1000i64..1000,
            shift in 0u32..40,
            noise in prop::collection::vec(0u64..3, LANES),
            is_noisy: bool,
        ) {
            let addresses: [u64; LANES] = std::array::from_fn(|lane| {
                let noise = if is_noisy { noise[lane] << shift } else { 0 };
                base.wrapping_add_signed(lane as i64 * stride).wrapping_add(noise)
            });
            let (_, again) = pack_and_unpack(mask, &addresses);
            for lane in 0..LANES {
                prop_assert_eq!(again[lane], if mask >> lane & 1 == 1 { addresses[lane] } else { 0 });
            }
        }
    }
}
