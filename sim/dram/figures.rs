//! Latency statistics of the DRAM requests in a run.

use std::collections::BTreeMap;

use super::alone::ServedRequest;

/// Latencies below this number of cycles are counted in a vector. Longer latencies are rare and are counted
/// in a map.
const DENSE: usize = 1 << 14;

/// Histogram of the latencies of DRAM requests in cycles, from acceptance by the channel to the end of the
/// data transfer.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    dense: Vec<u64>,
    long: BTreeMap<u64, u64>,
    count: u64,
    sum: u64,
}

impl Latencies {
    /// Adds the latency of a served request to the histogram.
    pub fn add(&mut self, served: &ServedRequest) {
        let latency = served.complete - served.accept;
        let place = latency as usize;
        if place < DENSE {
            if place >= self.dense.len() {
                self.dense.resize(place + 1, 0);
            }
            self.dense[place] += 1;
        } else {
            *self.long.entry(latency).or_default() += 1;
        }
        self.count += 1;
        self.sum += latency;
    }

    /// Iterates over the latencies that occurred, in ascending order, each with its number of requests.
    fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let dense = (0..).zip(&self.dense).filter(|(_, count)| **count > 0);
        dense
            .map(|(latency, count)| (latency, *count))
            .chain(self.long.iter().map(|(latency, count)| (*latency, *count)))
    }

    /// Returns the mean latency in cycles; `None` if there were no requests.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns a quantile of the latencies. `part` is between 0 and 1: 0 gives the shortest latency, 0.5 the
    /// median, and 1 the longest latency.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let wanted = ((self.count as f64 * part).ceil() as u64).max(1);
        let mut below = 0;
        self.iter().find_map(|(latency, count)| {
            below += count;
            (below >= wanted).then_some(latency)
        })
    }

    /// Returns the histogram of the latencies with one bin per power of two, from the shortest latency that
    /// occurred to the longest. Each element holds the first latency of a bin, its last latency, and its
    /// number of requests.
    #[must_use]
    pub fn classes(&self) -> Vec<(u64, u64, u64)> {
        let mut classes: Vec<(u64, u64, u64)> = Vec::new();
        for (latency, count) in self.iter() {
            let first = 1 << latency.max(1).ilog2();
            while classes.last().is_some_and(|&(last, ..)| last < first) {
                let next = classes.last().map_or(first, |&(last, ..)| 2 * last);
                classes.push((next, 2 * next - 1, 0));
            }
            if classes.is_empty() {
                classes.push((first, 2 * first - 1, 0));
            }
            if let Some((.., requests)) = classes.last_mut() {
                *requests += count;
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(all: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        all.iter().for_each(|&latency| {
            latencies.add(&ServedRequest { accept: 5, complete: 5 + latency, ..ServedRequest::default() })
        });
        latencies
    }

    #[test]
    fn quantiles_are_latencies_that_occurred() {
        let all = latencies(&[15, 15, 15, 27, 1 << 40]);
        assert_eq!([0.0, 0.5, 0.6, 0.8, 1.0].map(|part| all.quantile(part)), [15, 15, 15, 27, 1 << 40].map(Some));
        assert_eq!(latencies(&[10, 20]).mean(), Some(15.0));
    }

    #[test]
    fn classes_double_and_have_no_gap() {
        assert_eq!(
            latencies(&[15, 27, 28, 130]).classes(),
            [(8, 15, 1), (16, 31, 2), (32, 63, 0), (64, 127, 0), (128, 255, 1)]
        );
    }

    #[test]
    fn without_requests_there_is_no_latency() {
        let none = Latencies::default();
        assert_eq!((none.mean(), none.quantile(0.5), none.classes().len()), (None, None, 0));
    }
}
