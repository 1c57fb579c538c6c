//! # Least attained service (ATLAS)
//! Requests that have waited for more than a limit come first, then requests of the SM with the least
//! attained service, then row hits (Kim et al., HPCA 2010, rule 2). The service of a request is the time from
//! its first command to the end of its data. At the end of a quantum, the total service of an SM becomes
//! `total - total / 2^decay + service / 2^decay`, where `service` is the service of the SM in the quantum.
//! Each quotient is rounded down. The SMs are then ranked by their totals for the next quantum.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::command::Kind;
use super::{ChannelInfo, Policy, Requests, Scheme, Waiting};

/// Configuration of the ATLAS arbitration policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Length of a quantum in command clocks.
    pub quantum: u64,
    /// Waiting time in command clocks beyond which a request precedes all other requests.
    pub starvation: u64,
    /// Exponent of the weight that a new quantum gets in the total service of an SM: the weight is `1 /
    /// 2^decay`.
    pub decay: u32,
}

#[typetag::deserialize(name = "atlas")]
impl Scheme for Config {
    fn twin(&self, channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(Atlas {
            config: *self,
            channel: *channel,
            service: BTreeMap::new(),
            totals: BTreeMap::new(),
            first: BTreeMap::new(),
        })
    }
}

/// Reference model of ATLAS. Records the service that each SM has received; `None` stands for the L2 itself.
/// Service is measured from the first command for a request, so the cycle of this command is recorded for
/// each request.
#[derive(Clone, Debug)]
struct Atlas {
    config: Config,
    channel: ChannelInfo,
    service: BTreeMap<Option<u32>, u64>,
    totals: BTreeMap<Option<u32>, u64>,
    first: BTreeMap<u64, u64>,
}

impl Policy for Atlas {
    fn begin(&mut self, cycle: u64, _waiting: &Requests) {
        if cycle > 0 && cycle.is_multiple_of(self.config.quantum) {
            let share = 2u64.pow(self.config.decay);
            for sm in (0..self.channel.num_sms).map(Some).chain([None]) {
                let total = self.totals.entry(sm).or_default();
                *total = *total - *total / share + self.service.remove(&sm).unwrap_or(0) / share;
            }
        }
    }

    fn priority(&self, cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64> {
        let waits_long = cycle - request.accept > self.config.starvation;
        let total = self.totals.get(&request.sm).copied().unwrap_or(0);
        vec![u64::from(waits_long), u64::MAX - total, u64::from(is_hit)]
    }

    fn issue(&mut self, cycle: u64, request: &Waiting, command: Kind, _waiting: &Requests) {
        let first = *self.first.entry(request.number).or_insert(cycle);
        if command.is_column() {
            self.first.remove(&request.number);
            let ChannelInfo { read_latency, write_latency, .. } = self.channel;
            let latency = if request.write { write_latency } else { read_latency };
            *self.service.entry(request.sm).or_default() += cycle + latency - first;
        }
    }
}
