//! # Reference model of a network of routers
//! Simulates the network flit by flit: a flit enters a buffer in one cycle and leaves it in a later one. A
//! packet carries its complete route, which is computed when the packet is sent. The clocked network model
//! schedules future events; this model never looks ahead.
//!
//! Sources: XY routing, Dally and Towles, *Principles and Practices of Interconnection Networks*, section
//! 8.4.2; channels of a ring, Dally and Seitz, *Deadlock-Free Message Routing in Multiprocessor
//! Interconnection Networks*, section 3; virtual cut-through, Dally and Towles, section 13.2.2. The two-level
//! network models a GPU whose SMs form clusters, as described in `rtl/noc/topology.rs`.

use std::collections::VecDeque;

/// Topology of the network: how its routers are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two-dimensional mesh, with routers numbered row by row.
    Mesh {
        /// Number of columns of the mesh, that is, routers per row.
        columns: usize,
        /// Number of rows of the mesh.
        rows: usize,
    },
    /// Ring with the given number of routers.
    Ring(usize),
    /// Two-level network: every cluster router is connected to every central router. The cluster routers have
    /// the lower numbers.
    TwoLevel {
        /// Number of cluster routers, each of which connects the SMs of one cluster.
        clusters: usize,
        /// Number of central routers, and thus of links from each cluster router.
        links: usize,
    },
}

/// Configuration of a network, including the routers to which its inputs and outputs connect.
#[derive(Clone, Debug)]
pub struct Network {
    /// Topology of the network.
    pub shape: Shape,
    /// Number of virtual channels on each link between routers.
    pub channels: usize,
    /// Capacity in flits of each input buffer of a router.
    pub buffer: usize,
    /// Latency in network cycles of a link from router to router.
    pub hop: u64,
    /// Number of packets that a link between a router and an endpoint can hold.
    pub site_depth: usize,
    /// For each input of the network, the router to which it connects.
    pub inputs: Vec<usize>,
    /// For each output of the network, the router to which it connects.
    pub outputs: Vec<usize>,
}

/// Packet that an input is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Number that identifies the packet.
    pub id: u32,
    /// Output of the network to which the packet is sent.
    pub to: usize,
    /// Length of the packet in flits.
    pub flits: usize,
    /// Earliest cycle in which the packet may be sent.
    pub not_before: u64,
}

impl Shape {
    /// Returns the smallest topology of kind `kind`, "mesh" or "ring", that has a router for each of `sites`
    /// endpoints. `None` for any other kind.
    #[must_use]
    pub fn of_kind(kind: &str, sites: usize) -> Option<Self> {
        match kind {
            "mesh" => {
                // Takes as many columns as the smallest square mesh with enough routers, and only as many
                // rows as needed.
                let columns = (1..).find(|side| side * side >= sites)?;
                Some(Self::Mesh { columns, rows: sites.div_ceil(columns) })
            }
            "ring" => Some(Self::Ring(sites)),
            _ => None,
        }
    }

    fn routers(self) -> usize {
        match self {
            Self::Mesh { columns, rows } => columns * rows,
            Self::Ring(all) => all,
            Self::TwoLevel { clusters, links } => clusters + links,
        }
    }

    /// Returns the neighbors of a router; in a mesh, the neighbors in its row come first.
    fn beside(self, router: usize) -> Vec<usize> {
        let all = 0..self.routers();
        match self {
            Self::Mesh { columns, .. } => {
                let (x, y) = (router % columns, router / columns);
                let is_at = |other: usize, x: usize, y: usize| (other % columns, other / columns) == (x, y);
                let beside = [(x + 1, y), (x.wrapping_sub(1), y), (x, y + 1), (x, y.wrapping_sub(1))];
                beside.into_iter().filter_map(|(x, y)| all.clone().find(|&other| is_at(other, x, y))).collect()
            }
            Self::TwoLevel { clusters, .. } => {
                let is_cluster = |router: usize| router < clusters;
                all.filter(|other| is_cluster(*other) != is_cluster(router)).collect()
            }
            Self::Ring(1) => Vec::new(),
            Self::Ring(2) => vec![1 - router],
            Self::Ring(count) => vec![(router + 1) % count, (router + count - 1) % count],
        }
    }

    /// Returns the route from router `from` to router `to`: each router after `from`, and the virtual channel
    /// through which the packet reaches that router. `destination` is the network output of the packet; the
    /// virtual channel and, in a two-level network, the central router depend on it.
    ///
    /// # Panics
    /// Panics for a route between two central routers, which no packet takes.
    fn way(self, from: usize, to: usize, destination: usize, channels: usize) -> VecDeque<(usize, usize)> {
        match self {
            Self::Mesh { columns, .. } => {
                let ((x, y), (to_x, to_y)) = ((from % columns, from / columns), (to % columns, to / columns));
                let steps = |from: usize, to: usize| -> Vec<usize> {
                    if from < to { (from + 1..=to).collect() } else { (to..from).rev().collect() }
                };
                let along_row = steps(x, to_x).into_iter().map(|x| y * columns + x);
                let along_column = steps(y, to_y).into_iter().map(|y| y * columns + to_x);
                along_row.chain(along_column).map(|router| (router, destination % channels)).collect()
            }
            Self::Ring(all) => {
                let forwards: Vec<usize> = (1..=(to + all - from) % all).map(|step| (from + step) % all).collect();
                let backwards: Vec<usize> =
                    (1..=(from + all - to) % all).map(|step| (from + all - step) % all).collect();
                let way = if forwards.len() <= backwards.len() { forwards } else { backwards };
                let half = channels / 2;
                let before = [&[from], way.as_slice()].concat();
                // Index of the last hop at which the route crosses the dateline; `None` if it never does. The
                // dateline is the link between the first and the last router of the ring.
                let last_across = (0..way.len()).rfind(|&hop| before[hop].abs_diff(way[hop]) == all - 1 && all > 2);
                let last_across = last_across.or((all == 2 && way == [0]).then_some(0));
                let channel =
                    |hop| destination % half + if last_across.is_some_and(|last| hop <= last) { 0 } else { half };
                way.iter().enumerate().map(|(hop, &router)| (router, channel(hop))).collect()
            }
            Self::TwoLevel { clusters, links } => {
                assert!(from.min(to) < clusters || from == to, "a packet from central router {from} to {to}");
                let through_center = (from.max(to) < clusters).then(|| clusters + destination % links);
                let way = through_center.into_iter().chain([to]).filter(|_| from != to);
                way.map(|router| (router, destination / links % channels)).collect()
            }
        }
    }
}

/// Packet in flight, with the remaining part of its route.
#[derive(Clone, Debug)]
struct Moving {
    id: u32,
    output: usize,
    flits: usize,
    /// Routers that the packet has yet to reach, each with the virtual channel to use.
    way: VecDeque<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Flit {
    number: usize,
    /// Cycle in which the flit entered its buffer.
    since: u64,
}

/// One virtual channel of a link, with the input buffer of the router at its end. A link to an endpoint has
/// no buffer.
#[derive(Clone, Debug, Default)]
struct Queue {
    depth: usize,
    /// Latency of the link in network cycles, for packets and also for credits in the opposite direction.
    delay: u64,
    /// Packets on the link, each with the cycle from which the receiver can take it.
    in_link: VecDeque<(u64, Moving)>,
    /// Credits in flight: for each, the cycle from which the sender can use the freed slot.
    freed: VecDeque<u64>,
    /// Packets that have flits in the buffer or are entering it.
    packets: VecDeque<Moving>,
    /// Index of the flit of the newest packet that enters the buffer next; `None` if this packet has entered
    /// completely.
    entering: Option<usize>,
    buffer: VecDeque<Flit>,
    /// Cycle in which a flit last left the buffer. At most one flit leaves per cycle.
    left: Option<u64>,
}

impl Queue {
    fn new(depth: usize, delay: u64) -> Self {
        Self { depth, delay, ..Self::default() }
    }

    fn has_place(&mut self, now: u64) -> bool {
        while self.freed.front().is_some_and(|&from| from <= now) {
            self.freed.pop_front();
        }
        self.in_link.len() + self.freed.len() < self.depth
    }

    fn push(&mut self, now: u64, packet: Moving) {
        self.in_link.push_back((now + self.delay, packet));
    }

    fn take(&mut self, now: u64) -> Option<Moving> {
        self.in_link.front().filter(|(seen_from, _)| *seen_from <= now)?;
        self.freed.push_back(now + self.delay);
        self.in_link.pop_front().map(|(_, packet)| packet)
    }

    /// Moves at most one flit from the link into the buffer, whose capacity is `buffer` flits. A header flit
    /// enters only if there is room for the whole packet.
    fn enter(&mut self, now: u64, buffer: usize) {
        let number = match self.entering.take() {
            Some(number) => number,
            None => {
                let Some((seen_from, next)) = self.in_link.front() else { return };
                if *seen_from > now || self.buffer.len() + next.flits > buffer {
                    return;
                }
                let taken = self.take(now);
                self.packets.extend(taken);
                0
            }
        };
        self.buffer.push_back(Flit { number, since: now });
        let flits = self.packets.back().map_or(0, |packet| packet.flits);
        self.entering = Some(number + 1).filter(|next| *next < flits);
    }

    /// Returns the packet at the head of the buffer if it may start to leave now. Its header flit must have
    /// entered in an earlier cycle, and no other flit may have left in this cycle.
    fn head(&self, now: u64) -> Option<&Moving> {
        if self.left == Some(now) {
            return None;
        }
        self.buffer.front().filter(|flit| flit.number == 0 && flit.since < now)?;
        self.packets.front()
    }

    /// Removes the flit at the head of the buffer. If this is the tail flit of its packet, returns the
    /// packet.
    fn leave(&mut self, now: u64) -> Option<Moving> {
        let Some(flit) = self.buffer.pop_front().filter(|flit| flit.since < now) else {
            panic!("cycle {now}: a flit leaves that is not present")
        };
        self.left = Some(now);
        if self.packets.front().is_some_and(|packet| packet.flits == flit.number + 1) {
            return self.packets.pop_front();
        }
        None
    }
}

/// Output port of a router.
#[derive(Clone, Debug)]
struct Wire {
    /// Router or network output to which the port leads.
    to: To,
    /// Indices of the queues of the port's link, one per virtual channel.
    queues: Vec<usize>,
    /// Router input that was granted last, for round-robin arbitration.
    last: Option<usize>,
    /// Router input and outgoing virtual channel of the packet that is using the port; `None` if the port is
    /// free.
    passing: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Router(usize),
    Site(usize),
}

#[derive(Clone, Debug, Default)]
struct Router {
    /// Indices of the input queues of the router. First come the queues of links from other routers, sorted
    /// by router and virtual channel, then the queues of links from endpoints.
    inputs: Vec<usize>,
    wires: Vec<Wire>,
}

/// State of the network during a simulation.
struct Work<'a> {
    network: &'a Network,
    queues: Vec<Queue>,
    routers: Vec<Router>,
    from_sites: Vec<usize>,
    to_sites: Vec<usize>,
}

impl Network {
    fn build(&self) -> Work<'_> {
        let all = self.shape.routers();
        let (mut queues, mut routers) = (Vec::new(), vec![Router::default(); all]);
        for from in 0..all {
            for to in self.shape.beside(from) {
                let first = queues.len();
                queues.extend((0..self.channels).map(|_| Queue::new(2 * self.hop as usize, self.hop)));
                let channels: Vec<usize> = (first..queues.len()).collect();
                routers[to].inputs.extend(&channels);
                routers[from].wires.push(Wire { to: To::Router(to), queues: channels, last: None, passing: None });
            }
        }
        let site = |queues: &mut Vec<Queue>| {
            queues.push(Queue::new(self.site_depth, 1));
            queues.len() - 1
        };
        let from_sites: Vec<usize> = self.inputs.iter().map(|_| site(&mut queues)).collect();
        let to_sites: Vec<usize> = self.outputs.iter().map(|_| site(&mut queues)).collect();
        for (&queue, &router) in from_sites.iter().zip(&self.inputs) {
            routers[router].inputs.push(queue);
        }
        for (output, (&queue, &router)) in to_sites.iter().zip(&self.outputs).enumerate() {
            let wire = Wire { to: To::Site(output), queues: vec![queue], last: None, passing: None };
            routers[router].wires.push(wire);
        }
        Work { network: self, queues, routers, from_sites, to_sites }
    }

    /// Returns the number of router-to-router links on the route from network input `input` to network output
    /// `output`.
    #[must_use]
    pub fn hops(&self, input: usize, output: usize) -> usize {
        self.shape.way(self.inputs[input], self.outputs[output], output, self.channels).len()
    }

    /// Simulates until all packets are delivered. `scripts` lists the packets that each input sends. Output
    /// `o` dequeues its n-th packet no earlier than cycle `takes[o][n]`. Returns, for each output, the cycle
    /// and the identifier of every packet that it dequeues.
    ///
    /// # Panics
    /// Panics if the packets are not delivered within a generous time limit: the network has deadlocked.
    #[must_use]
    pub fn deliver(&self, scripts: &[Vec<Packet>], takes: &[Vec<u64>]) -> Vec<Vec<(u64, u32)>> {
        let mut work = self.build();
        let mut scripts: Vec<VecDeque<Packet>> =
            scripts.iter().map(|script| script.iter().copied().collect()).collect();
        let mut sent_until = vec![0; scripts.len()];
        let (mut taken, mut taken_until) = (vec![Vec::new(); self.outputs.len()], vec![0; self.outputs.len()]);
        let expected: usize = scripts.iter().map(VecDeque::len).sum();
        let stalls = scripts.iter().flatten().map(|packet| packet.not_before).chain(takes.iter().flatten().copied());
        let limit = stalls.max().unwrap_or(0) + 1000 * (1 + expected as u64);
        for now in 0.. {
            if taken.iter().map(Vec::len).sum::<usize>() == expected {
                break;
            }
            assert!(now < limit, "cycle {now}: {taken:?} of {expected} packets have arrived");
            work.step(now);
            for (output, taken) in taken.iter_mut().enumerate() {
                let not_before = takes[output].get(taken.len()).copied().unwrap_or(0).max(taken_until[output]);
                if now >= not_before
                    && let Some(packet) = work.queues[work.to_sites[output]].take(now)
                {
                    taken.push((now, packet.id));
                    taken_until[output] = now + 1;
                }
            }
            for (input, script) in scripts.iter_mut().enumerate() {
                let queue = work.from_sites[input];
                let Some(next) = script.front() else { continue };
                if now >= next.not_before.max(sent_until[input]) && work.queues[queue].has_place(now) {
                    let &Packet { id, to, flits, .. } = next;
                    let way = self.shape.way(self.inputs[input], self.outputs[to], to, self.channels);
                    work.queues[queue].push(now, Moving { id, output: to, flits, way });
                    script.pop_front();
                    sent_until[input] = now + 1;
                }
            }
        }
        taken
    }
}

impl Work<'_> {
    /// Advances all routers by one cycle.
    fn step(&mut self, now: u64) {
        let Self { network, queues, routers, .. } = self;
        for queue in routers.iter().flat_map(|router| &router.inputs) {
            queues[*queue].enter(now, network.buffer);
        }
        for Router { inputs, wires } in routers {
            for wire in wires {
                if wire.passing.is_none() {
                    wire.passing = wire.grant(now, inputs, queues);
                    if let (Some((input, channel)), To::Router(_)) = (wire.passing, wire.to)
                        && let Some(packet) = queues[inputs[input]].packets.front()
                    {
                        let mut packet = packet.clone();
                        packet.way.pop_front();
                        queues[wire.queues[channel]].push(now, packet);
                    }
                }
                let Some((input, channel)) = wire.passing else { continue };
                if let Some(packet) = queues[inputs[input]].leave(now) {
                    wire.passing = None;
                    if matches!(wire.to, To::Site(_)) {
                        queues[wire.queues[channel]].push(now, packet);
                    }
                }
            }
        }
    }
}

impl Wire {
    /// Grants the port to a router input, round robin from the input after the one granted last. Returns the
    /// input, and the virtual channel on which its packet leaves.
    fn grant(&mut self, now: u64, inputs: &[usize], queues: &mut [Queue]) -> Option<(usize, usize)> {
        let first = self.last.map_or(0, |last| last + 1);
        for input in (0..inputs.len()).map(|turn| (first + turn) % inputs.len()) {
            let Some(packet) = queues[inputs[input]].head(now) else { continue };
            let channel = match (self.to, packet.way.front()) {
                (To::Router(to), Some(&(next, channel))) if next == to => channel,
                (To::Site(output), None) if packet.output == output => 0,
                _ => continue,
            };
            if queues[self.queues[channel]].has_place(now) {
                self.last = Some(input);
                return Some((input, channel));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(to: usize, flits: usize, not_before: u64) -> Packet {
        Packet { id: not_before as u32, to, flits, not_before }
    }

    fn row(buffer: usize) -> Network {
        let shape = Shape::Mesh { columns: 4, rows: 1 };
        Network { shape, channels: 1, buffer, hop: 1, site_depth: 4, inputs: vec![0, 1], outputs: vec![3] }
    }

    #[test]
    fn a_packet_takes_two_cycles_a_router_and_one_a_flit() {
        for flits in 1..=5 {
            let arrived = row(8).deliver(&[vec![packet(0, flits, 10)], vec![]], &[vec![]]);
            // The packet has F flits, is sent in cycle 10 and reaches the first router in cycle 11. It passes
            // N = 4 routers, which takes 2 N + F - 2 cycles, and then the link to the endpoint, which takes
            // one more cycle.
            assert_eq!(arrived, [vec![(11 + 2 * 4 + flits as u64 - 2 + 1, 10)]]);
        }
    }

    #[test]
    fn packets_that_meet_at_a_wire_go_one_behind_the_other() {
        let arrived = row(8).deliver(&[vec![packet(0, 5, 0)], vec![packet(0, 5, 2)]], &[vec![]]);
        assert_eq!(arrived[0].iter().map(|(_, id)| *id).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(arrived[0][1].0 - arrived[0][0].0, 5);
    }

    #[test]
    fn a_ring_takes_the_shorter_way_and_changes_channels_behind_its_end() {
        let ring = Shape::Ring(6);
        assert_eq!(ring.way(1, 3, 0, 2), [(2, 1), (3, 1)]);
        assert_eq!(ring.way(4, 1, 0, 2), [(5, 0), (0, 0), (1, 1)]);
        assert_eq!(ring.way(1, 5, 0, 2), [(0, 0), (5, 0)]);
        assert_eq!(ring.way(0, 3, 0, 2), [(1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn a_mesh_goes_along_the_row_first() {
        let mesh = Shape::Mesh { columns: 3, rows: 3 };
        assert_eq!(mesh.way(0, 8, 5, 2), [(1, 1), (2, 1), (5, 1), (8, 1)]);
        assert_eq!(mesh.way(8, 3, 4, 2), [(7, 0), (6, 0), (3, 0)]);
    }
    #[test]
    fn a_two_level_network_crosses_the_center_only_between_clusters() {
        let shape = Shape::TwoLevel { clusters: 3, links: 2 };
        assert_eq!(shape.way(1, 4, 3, 2), [(4, 1)]);
        assert_eq!(shape.way(3, 2, 9, 2), [(2, 0)]);
        assert_eq!(shape.way(0, 2, 9, 2), [(4, 0), (2, 0)]);
        assert!(shape.way(2, 2, 9, 2).is_empty());
        assert_eq!((shape.beside(0), shape.beside(4)), (vec![3, 4], vec![0, 1, 2]));
    }
}
