//! # Which request leaves a buffer of queues by warp
//! One list of all requests in the order of their arrival; which of them is next is found by looking
//! through all of it (khairy2015 section 5 and Table 4).

/// Which warp's requests go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest group that has any.
    Fixed,
    /// The next group after the last one.
    RoundRobin,
    /// The group that has most, the lowest of several.
    LongestFirst,
}

/// How the buffer is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Groups of warps, by warp number.
    pub groups: usize,
    /// Requests of a group.
    pub depth: usize,
    /// Which group goes first.
    pub order: Order,
    /// Whether a group goes on until it has nothing.
    pub greedy: bool,
    /// Cycles from arrival to the first one in which a request can leave.
    pub delay: u64,
}

/// The requests of the buffer, each named by a `T`.
#[derive(Clone, Debug)]
pub struct Mrpb<T> {
    config: Config,
    /// Cycle of arrival, group, request.
    waiting: Vec<(u64, usize, T)>,
    last: usize,
}

impl<T: Copy> Mrpb<T> {
    /// An empty buffer.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, waiting: Vec::new(), last: 0 }
    }

    /// Whether a request of a warp finds room.
    #[must_use]
    pub fn has_room(&self, warp: usize) -> bool {
        let group = warp % self.config.groups;
        self.waiting.iter().filter(|(_, of, _)| *of == group).count() < self.config.depth
    }

    /// A request of a warp arrives.
    pub fn arrive(&mut self, cycle: u64, warp: usize, request: T) {
        self.waiting.push((cycle, warp % self.config.groups, request));
    }

    /// Which request may leave in a cycle. Must be asked once for every cycle, even if it cannot go.
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

    /// The request that [`Self::next`] named last leaves.
    pub fn leave(&mut self) {
        if let Some(at) = self.waiting.iter().position(|(_, group, _)| *group == self.last) {
            self.waiting.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What leaves, a request a cycle, of requests that all arrive ahead of it.
    fn order(order: Order, greedy: bool, arrivals: &[(usize, char)]) -> String {
        let mut buffer = Mrpb::new(Config { groups: 4, depth: 8, order, greedy, delay: 0 });
        arrivals.iter().for_each(|(warp, request)| buffer.arrive(0, *warp, *request));
        let mut left = String::new();
        while let Some(request) = buffer.next(9) {
            left.push(request);
            buffer.leave();
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
