//! # Memory request prioritization buffer (MRPB)
//! Reorders requests between the coalescer and the L1D, with one queue per group of warps (khairy2015 section
//! 5 and Table 4). The model keeps a single list in order of arrival and searches all of it for the next
//! request.

/// Priority between the queues of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest nonempty group first.
    Fixed,
    /// Round robin: the next nonempty group after the last one served.
    RoundRobin,
    /// Group with the most requests; ties go to the lowest group.
    LongestFirst,
}

/// Parameters of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of groups; a warp belongs to group `warp % groups`.
    pub groups: usize,
    /// Capacity per group in requests.
    pub depth: usize,
    /// Priority between the queues of the groups.
    pub order: Order,
    /// True if a group keeps its grant until its queue is empty.
    pub greedy: bool,
    /// Delay from arrival until a request may be dequeued [core cycles].
    pub delay: u64,
}

/// Buffer state; `T` identifies a request.
#[derive(Clone, Debug)]
pub struct Mrpb<T> {
    config: Config,
    /// Arrival cycle, group and request of each entry, in order of arrival.
    waiting: Vec<(u64, usize, T)>,
    last: usize,
}

impl<T: Copy> Mrpb<T> {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, waiting: Vec::new(), last: 0 }
    }

    /// True if the group of the warp has a free slot.
    #[must_use]
    pub fn has_room(&self, warp: usize) -> bool {
        let group = warp % self.config.groups;
        self.waiting.iter().filter(|(_, of, _)| *of == group).count() < self.config.depth
    }

    /// Enqueues a request of a warp.
    pub fn enqueue(&mut self, cycle: u64, warp: usize, request: T) {
        self.waiting.push((cycle, warp % self.config.groups, request));
    }

    /// Returns the request at the head in `cycle`. Must be called exactly once per cycle, even if the request
    /// then stalls, because each call updates which group was served last.
    pub fn next(&mut self, cycle: u64) -> Option<T> {
        let Config { groups, order, greedy, delay, .. } = self.config;
        let mut sizes = vec![0_usize; groups];
        for (_, group, _) in self.waiting.iter().filter(|(arrived, ..)| arrived + delay <= cycle) {
            sizes[*group] += 1;
        }
        let last = self.last;
        let turn = |group: usize| (group + groups - last - 1) % groups;
        let holders = (0..groups).filter(|group| sizes[*group] > 0);
        let chosen = match order {
            _ if greedy && sizes[last] > 0 => Some(last),
            Order::Fixed => holders.min(),
            Order::RoundRobin => holders.min_by_key(|group| turn(*group)),
            Order::LongestFirst => holders.min_by_key(|group| (std::cmp::Reverse(sizes[*group]), *group)),
        }?;
        self.last = chosen;
        self.waiting.iter().find(|(_, group, _)| *group == chosen).map(|(.., request)| *request)
    }

    /// Dequeues the request that [`Self::next`] returned last.
    pub fn dequeue(&mut self) {
        if let Some(at) = self.waiting.iter().position(|(_, group, _)| *group == self.last) {
            self.waiting.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the dequeue order at one request per cycle, if all requests arrive before the first dequeue.
    fn order(order: Order, greedy: bool, arrivals: &[(usize, char)]) -> String {
        let mut buffer = Mrpb::new(Config { groups: 4, depth: 8, order, greedy, delay: 0 });
        arrivals.iter().for_each(|(warp, request)| buffer.enqueue(0, *warp, *request));
        let mut left = String::new();
        while let Some(request) = buffer.next(9) {
            left.push(request);
            buffer.dequeue();
        }
        left
    }

    #[test]
    fn each_order_groups_the_requests_of_warps_in_its_own_way() {
        let arrivals = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (3, 'f')];
        assert_eq!(order(Order::Fixed, false, &arrivals), "bedacf");
        assert_eq!(order(Order::RoundRobin, false, &arrivals), "bdaecf");
        assert_eq!(order(Order::RoundRobin, true, &arrivals), "bedacf");
        assert_eq!(order(Order::LongestFirst, false, &arrivals), "abcedf");
        assert_eq!(order(Order::LongestFirst, true, &arrivals), "acfbed");
    }
}
