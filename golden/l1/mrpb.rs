//! # Memory request prioritization buffer (MRPB)
//! Reorders requests between the coalescer and the L1D. Each group of warps has its own queue (khairy2015
//! section 5 and Table 4). The hardware has one queue per group. The model keeps instead a single list in
//! order of arrival, and searches it for the next request.

/// Priority among the warp groups, each of which has a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fixed priority: the lowest-numbered group that has a request.
    Fixed,
    /// Round robin: the next group with a request, after the group that was served last.
    RoundRobin,
    /// The group with the most requests; among equals, the group with the lowest number.
    LongestFirst,
}

/// Parameters of the memory request prioritization buffer (MRPB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of warp groups; a warp belongs to group `warp % groups`.
    pub groups: usize,
    /// Maximum number of requests in the queue of each group.
    pub depth: usize,
    /// Priority among the groups.
    pub order: Order,
    /// True if a selected group stays selected until its queue is empty.
    pub greedy: bool,
    /// Number of core cycles from the arrival of a request until it may be dequeued.
    pub delay: u64,
}

/// State of the memory request prioritization buffer (MRPB). The type `T` identifies a request.
#[derive(Clone, Debug)]
pub struct Mrpb<T> {
    config: Config,
    /// Buffered requests in order of arrival. Each has its arrival cycle, its group and the request itself.
    waiting: Vec<(u64, usize, T)>,
    last: usize,
}

impl<T: Copy> Mrpb<T> {
    /// Creates an empty request buffer.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, waiting: Vec::new(), last: 0 }
    }

    /// True if the queue of the warp's group has a free slot.
    #[must_use]
    pub fn has_room(&self, warp: usize) -> bool {
        let group = warp % self.config.groups;
        self.waiting.iter().filter(|(_, of, _)| *of == group).count() < self.config.depth
    }

    /// Adds a request of a warp to the queue of the warp's group.
    pub fn enqueue(&mut self, cycle: u64, warp: usize, request: T) {
        self.waiting.push((cycle, warp % self.config.groups, request));
    }

    /// Selects a group for cycle `cycle`, and returns the oldest request of the group. Must be called exactly
    /// once per cycle, even if the request then stalls, because each call records the selected group.
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

    /// Returns the requests in the order in which they are dequeued, one per cycle. All of them arrive before
    /// the first is dequeued.
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
