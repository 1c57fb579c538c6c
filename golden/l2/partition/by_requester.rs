//! # Static partition by groups of SMs
//! Each group of SMs may own a fixed number of lines of each set (column caching, Chiou et al., DAC 2000).

use serde::Deserialize;

use super::{Partition, Scheme};

/// Configuration of a static partition.
#[derive(Clone, Debug, Deserialize)]
pub struct ByRequester {
    ways: Vec<usize>,
    sms: Vec<usize>,
}

#[typetag::deserialize(name = "by-requester")]
impl Scheme for ByRequester {
    fn twin(&self, sms: usize, _ways: usize) -> Option<Box<dyn Partition>> {
        let Self { ways: shares, sms: group_of } = self.clone();
        if !group_of.is_empty() {
            return Some(Box::new(Shares { group_of, shares }));
        }
        // The SMs are divided evenly, so the number of SMs per group may be a fraction. Group g begins with
        // the first SM whose number is at least g times this fraction.
        let first = |group: usize| (group * sms).div_ceil(shares.len());
        let members = (0..shares.len()).flat_map(|group| (first(group)..first(group + 1)).map(move |_| group));
        Some(Box::new(Shares { group_of: members.collect(), shares }))
    }
}

/// Groups of the SMs, and the number of lines of a set that each group may own.
#[derive(Debug)]
struct Shares {
    group_of: Vec<usize>,
    shares: Vec<usize>,
}

impl Partition for Shares {
    fn group(&self, sm: usize) -> usize {
        self.group_of[sm]
    }

    fn share(&self, group: usize) -> usize {
        self.shares[group]
    }
}
