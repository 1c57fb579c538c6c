//! # Channels, like by like
//! What all channels of a machine do together, whatever they carry.

use super::Machine;
use crate::kernel::{Chan, ChanSpec, Payload};
use crate::throttle::side::SideBand;

/// Like channels, whatever they carry.
pub(in crate::machine) trait Channels {
    /// Starts to keep digests of all beats.
    fn record(&mut self);
    /// Digest of all beats so far.
    fn history(&self) -> u64;
    /// True when none holds a beat.
    fn are_empty(&self) -> bool;
}

impl Channels for Vec<SideBand> {
    fn record(&mut self) {
        self.iter_mut().for_each(SideBand::record);
    }

    fn history(&self) -> u64 {
        self.iter().fold(0, |sum: u64, side| sum.rotate_left(7) ^ side.history())
    }

    fn are_empty(&self) -> bool {
        self.iter().all(SideBand::is_empty)
    }
}

impl<T: Payload> Channels for Vec<Chan<T>> {
    fn record(&mut self) {
        self.iter_mut().for_each(Chan::record);
    }

    fn history(&self) -> u64 {
        self.iter().fold(0, |sum: u64, channel| sum.rotate_left(7) ^ channel.history())
    }

    fn are_empty(&self) -> bool {
        self.iter().all(Chan::is_empty)
    }
}

pub(in crate::machine) fn open<T: Payload>(specs: Vec<ChanSpec>, shape: &T::Shape) -> Vec<Chan<T>> {
    specs.into_iter().map(|spec| Chan::new(spec, shape.clone())).collect()
}

impl Machine {
    /// True when no channel holds a beat.
    #[must_use]
    pub(in crate::machine) fn channels_empty(&self) -> bool {
        self.channels().all(|channels| channels.are_empty())
    }

    /// Every channel of the machine, like by like.
    pub(super) fn channels(&self) -> impl Iterator<Item = &dyn Channels> {
        let always: [&dyn Channels; 11] = [
            &self.launch,
            &self.done,
            &self.mem,
            &self.wb,
            &self.inject,
            &self.to_l2,
            &self.from_l2,
            &self.deliver,
            &self.memory.dram_req,
            &self.memory.dram_rsp,
            &self.side,
        ];
        let duel = self.duel.iter().flat_map(|duel| [&duel.seen as &dyn Channels, &duel.mode]);
        let recalls = self.recalls.iter().flat_map(|recalls| recalls.channels());
        let tracking = self.tracking.iter().flat_map(|tracking| tracking.channels());
        let fetching = self.fetching.iter().flat_map(|fetching| fetching.channels());
        always.into_iter().chain(duel).chain(recalls).chain(tracking).chain(fetching)
    }

    pub(super) fn for_channels(&mut self, each: impl FnMut(&mut dyn Channels)) {
        let always: [&mut dyn Channels; 11] = [
            &mut self.launch,
            &mut self.done,
            &mut self.mem,
            &mut self.wb,
            &mut self.inject,
            &mut self.to_l2,
            &mut self.from_l2,
            &mut self.deliver,
            &mut self.memory.dram_req,
            &mut self.memory.dram_rsp,
            &mut self.side,
        ];
        let duel = self.duel.iter_mut().flat_map(|duel| [&mut duel.seen as &mut dyn Channels, &mut duel.mode]);
        let recalls = self.recalls.iter_mut().flat_map(|recalls| recalls.channels_mut());
        let tracking = self.tracking.iter_mut().flat_map(|tracking| tracking.channels_mut());
        let fetching = self.fetching.iter_mut().flat_map(|fetching| fetching.channels_mut());
        always.into_iter().chain(duel).chain(recalls).chain(tracking).chain(fetching).for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{BlockId, Edge, Wake};
    use crate::throttle::ThrottleConfig;
    use crate::throttle::ccws::CcwsConfig;
    use crate::throttle::message::Miss;
    use crate::throttle::side::Ends;

    #[test]
    fn what_crosses_a_side_band_is_in_the_digest() {
        let block = |slot| BlockId { domain: 0, slot };
        let ends = Ends { core: block(0), l1: block(1), hub: block(2) };
        let throttle = ThrottleConfig::from(CcwsConfig::default());
        let digest = |warps: &[u8]| {
            let mut sides: Vec<SideBand> = SideBand::new(&throttle, None, 0, 1, ends).into_iter().collect();
            Channels::record(&mut sides);
            let mut wake = Wake::new(&[1]);
            for (tick, warp) in (1..).zip(warps) {
                sides[0].misses.tx().push(&mut Edge::new(tick, tick, &mut wake), Miss { warp: *warp, lost: false });
            }
            sides.history()
        };
        let seen = [digest(&[]), digest(&[3]), digest(&[4]), digest(&[3, 4])];
        assert!((1..4).all(|at| !seen[..at].contains(&seen[at])), "{seen:x?}");
    }
}
