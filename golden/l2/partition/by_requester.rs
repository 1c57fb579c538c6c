//! # Static partition by groups of SMs
//! Each group of SMs may own a fixed number of lines of each set (column caching, Chiou et al., DAC 2000).

use serde::Deserialize;

use super::{Partition, Scheme, groups_of_sms};

/// Configuration of a static partition.
#[derive(Clone, Debug, Deserialize)]
pub struct ByRequester {
    ways: Vec<usize>,
    sms: Vec<usize>,
}

#[typetag::deserialize(name = "by-requester")]
impl Scheme for ByRequester {
    fn twin(&self, sms: usize, _ways: usize) -> Option<Box<dyn Partition>> {
        let group_of = groups_of_sms(&self.sms, self.ways.len(), sms);
        Some(Box::new(Shares { group_of, shares: self.ways.clone() }))
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
