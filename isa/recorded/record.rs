//! A CTA of a trace in memory.
//!
//! A step takes 12 bytes. Lane addresses are packed: a constant distance from lane to lane takes 16
//! bytes, distances of 32 bits another 4 for each active lane but the first, anything else 8 for each.

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A thread block and what its warps did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cta {
    /// Its place in the grid.
    pub index: [u32; 3],
    /// Its place in a cluster, if the trace says so.
    pub cluster: Option<Cluster>,
    /// Its warps, in ascending order. A warp that did nothing may be missing.
    pub warps: Vec<Warp>,
}

impl Cta {
    /// Bytes it takes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.warps.iter().map(Warp::bytes).sum()
    }

    /// Steps of all its warps.
    #[must_use]
    pub fn num_steps(&self) -> u64 {
        self.warps.iter().map(|warp| warp.steps.len() as u64).sum()
    }
}

/// The place of a CTA in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Which cluster.
    pub id: [u32; 3],
    /// Which CTA in it.
    pub cta: [u32; 3],
    /// The same as a number.
    pub rank: u32,
}

/// A warp and what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warp {
    /// Its number in the CTA.
    pub id: u32,
    steps: Vec<Step>,
    accesses: Vec<Access>,
    distances: Vec<i32>,
    addresses: Vec<u64>,
}

/// One instruction that a warp issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which instruction: its number in [`super::Code`].
    pub operation: u32,
    /// Lanes that took part, bit `i` for lane `i`; none if the predicate was false for all.
    pub mask: u32,
    /// Number of the access, or [`NO_ACCESS`].
    access: u32,
}

const NO_ACCESS: u32 = u32::MAX;

/// The addresses of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Lane `i` is at `base + (i - lowest) * stride`, `lowest` being the lowest active lane.
    Stride { base: u64, stride: i32 },
    /// The lowest active lane is at `base`; each later one a distance from the one before.
    Distances { base: u64, from: u32 },
    /// Every active lane on its own.
    Each { from: u32 },
}

impl Step {
    /// Whether the trace has addresses for it.
    #[must_use]
    pub fn has_addresses(&self) -> bool {
        self.access != NO_ACCESS
    }
}

/// The set bits of a mask, ascending.
pub fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The distance of two addresses, going round at the end of the address space.
fn distance(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from).cast_signed()
}

impl Warp {
    /// A warp that has done nothing yet.
    #[must_use]
    pub fn new(id: u32) -> Self {
        Warp { id, ..Warp::default() }
    }

    /// What it did, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Adds a step without addresses.
    pub fn push(&mut self, operation: u32, mask: u32) {
        self.steps.push(Step { operation, mask, access: NO_ACCESS });
    }

    /// Adds a step with the address of every lane in the mask; those of others are ignored.
    pub fn push_access(&mut self, operation: u32, mask: u32, addresses: &[u64; LANES]) {
        let access = self.accesses.len() as u32;
        self.steps.push(Step { operation, mask, access });
        let packed = self.packed(mask, addresses);
        self.accesses.push(packed);
    }

    /// Adds a step whose lanes are a constant distance apart: lane `i` is at `base + (i - lowest) * stride`, `lowest`
    /// being the lowest lane in the mask.
    pub fn push_stride(&mut self, operation: u32, mask: u32, base: u64, stride: i64) {
        // A lane alone has no distance.
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

    fn packed(&mut self, mask: u32, addresses: &[u64; LANES]) -> Access {
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

    /// The address of every lane in the step's mask, 0 for the others; `None` if the trace has none.
    ///
    /// # Panics
    /// If the step is not one of this warp.
    #[must_use]
    pub fn addresses(&self, step: &Step) -> Option<[u64; LANES]> {
        let mut addresses = [0; LANES];
        self.unpack(step, &mut addresses).then_some(addresses)
    }

    /// The same into `addresses`; false, and nothing changed, if the trace has none.
    ///
    /// # Panics
    /// If the step is not one of this warp.
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

    /// Bytes it takes in memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Step>() * self.steps.len()
            + size_of::<Access>() * self.accesses.len()
            + size_of::<i32>() * self.distances.len()
            + size_of::<u64>() * self.addresses.len()
    }

    /// Gives back what growing left over.
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

    fn packed(mask: u32, addresses: &[u64; LANES]) -> (Access, [u64; LANES]) {
        let mut warp = Warp::new(0);
        warp.push_access(7, mask, addresses);
        (warp.accesses[0], warp.addresses(&warp.steps[0]).unwrap())
    }

    #[test]
    fn a_constant_distance_is_kept_as_one_even_across_idle_lanes() {
        let addresses = std::array::from_fn(|lane| 0x1000 + 8 * lane as u64);
        let (access, again) = packed(0x8421_0010, &addresses);
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
            let (_, again) = packed(mask, &addresses);
            for lane in 0..LANES {
                prop_assert_eq!(again[lane], if mask >> lane & 1 == 1 { addresses[lane] } else { 0 });
            }
        }
    }
}
