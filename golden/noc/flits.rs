//! # Twin of a mesh or ring
//! Moves every flit by itself: it enters a buffer one cycle and leaves it another. A packet carries the whole of its way, worked
//! out when it is sent. Where the block keeps the cycles at which something will happen, nothing here looks ahead.
//!
//! Sources: XY routing, Dally and Towles, *Principles and Practices of Interconnection Networks*, section 8.4.2; channels of a
//! ring, Dally and Seitz, *Deadlock-Free Message Routing in Multiprocessor Interconnection Networks*, section 3; virtual
//! cut-through, Dally and Towles, section 13.2.2.

use std::collections::VecDeque;

/// How routers are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Rows of routers.
    Mesh {
        /// Routers of a row.
        columns: usize,
        /// Rows.
        rows: usize,
    },
    /// A circle of this many routers.
    Ring(usize),
}

/// A network, and the routers at which its inputs and outputs are.
#[derive(Clone, Debug)]
pub struct Network {
    /// How routers are joined.
    pub shape: Shape,
    /// Virtual channels of a link between routers.
    pub channels: usize,
    /// Flits of a buffer.
    pub buffer: usize,
    /// Cycles from router to router.
    pub hop: u64,
    /// Packets that a link to or from a site holds.
    pub site_depth: usize,
    /// Router of each input.
    pub inputs: Vec<usize>,
    /// Router of each output.
    pub outputs: Vec<usize>,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Number of the packet.
    pub id: u32,
    /// Output to which it goes.
    pub to: usize,
    /// How long it is.
    pub flits: usize,
    /// Not sent before this cycle.
    pub not_before: u64,
}

impl Shape {
    fn routers(self) -> usize {
        match self {
            Self::Mesh { columns, rows } => columns * rows,
            Self::Ring(all) => all,
        }
    }

    /// Routers beside one, those of its row first.
    fn beside(self, router: usize) -> Vec<usize> {
        let all = 0..self.routers();
        match self {
            Self::Mesh { columns, .. } => {
                let (x, y) = (router % columns, router / columns);
                let is_at = |other: usize, x: usize, y: usize| (other % columns, other / columns) == (x, y);
                let beside = [(x + 1, y), (x.wrapping_sub(1), y), (x, y + 1), (x, y.wrapping_sub(1))];
                beside.into_iter().filter_map(|(x, y)| all.clone().find(|&other| is_at(other, x, y))).collect()
            }
            Self::Ring(1) => Vec::new(),
            Self::Ring(2) => vec![1 - router],
            Self::Ring(count) => vec![(router + 1) % count, (router + count - 1) % count],
        }
    }

    /// Routers on the way from one to another, each with the virtual channel by which it is reached.
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
                // The last hop between the two ends of the row of numbers, if there is one.
                let last_across = (0..way.len()).rfind(|&hop| before[hop].abs_diff(way[hop]) == all - 1 && all > 2);
                let last_across = last_across.or((all == 2 && way == [0]).then_some(0));
                let channel =
                    |hop| destination % half + if last_across.is_some_and(|last| hop <= last) { 0 } else { half };
                way.iter().enumerate().map(|(hop, &router)| (router, channel(hop))).collect()
            }
        }
    }
}

/// A packet under way.
#[derive(Clone, Debug)]
struct Moving {
    id: u32,
    output: usize,
    flits: usize,
    /// Routers still to be reached.
    way: VecDeque<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Flit {
    number: usize,
    /// Cycle in which it entered.
    since: u64,
}

/// A link and the buffer behind it; a link to a site has none.
#[derive(Clone, Debug, Default)]
struct Queue {
    depth: usize,
    /// Cycles until its other side knows.
    delay: u64,
    /// Packets in the link, with the cycle from which each is seen.
    in_link: VecDeque<(u64, Moving)>,
    /// Cycles from which the sender knows of places that were freed.
    freed: VecDeque<u64>,
    /// Packets of which flits are in the buffer, or are about to enter it.
    packets: VecDeque<Moving>,
    /// The next flit of the packet that enters last, if it has not entered as a whole.
    entering: Option<usize>,
    buffer: VecDeque<Flit>,
    /// Cycle in which a flit left last: one leaves a cycle.
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

    /// One flit enters the buffer, if there is one: the header of a packet only if the buffer has room for all of it.
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

    /// The packet whose header has been here since an earlier cycle and can leave now.
    fn head(&self, now: u64) -> Option<&Moving> {
        if self.left == Some(now) {
            return None;
        }
        self.buffer.front().filter(|flit| flit.number == 0 && flit.since < now)?;
        self.packets.front()
    }

    /// The flit at the front leaves; returns the packet if that was its tail.
    fn leave(&mut self, now: u64) -> Option<Moving> {
        let Some(flit) = self.buffer.pop_front().filter(|flit| flit.since < now) else {
            panic!("cycle {now}: a flit leaves that is not here")
        };
        self.left = Some(now);
        if self.packets.front().is_some_and(|packet| packet.flits == flit.number + 1) {
            return self.packets.pop_front();
        }
        None
    }
}

/// Wires out of a router.
#[derive(Clone, Debug)]
struct Wire {
    /// Where they lead to.
    to: To,
    /// Queues of their virtual channels.
    queues: Vec<usize>,
    /// The input that was granted last.
    last: Option<usize>,
    /// The input and the channel of the packet that passes.
    passing: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Router(usize),
    Site(usize),
}

#[derive(Clone, Debug, Default)]
struct Router {
    /// Queues of its inputs: links from routers in the order of these and of their channels, then from sites.
    inputs: Vec<usize>,
    wires: Vec<Wire>,
}

/// A network at work.
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

    /// Links between routers on the way from an input to an output.
    #[must_use]
    pub fn hops(&self, input: usize, output: usize) -> usize {
        self.shape.way(self.inputs[input], self.outputs[output], output, self.channels).len()
    }

    /// Sends the packets of each input, and takes the packets of each output not before the cycles given, one by one. Returns
    /// for each output the cycles in which packets were taken, and their numbers.
    ///
    /// # Panics
    /// If nothing moves for longer than any stall: the network is at a deadlock.
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
    /// One cycle of all routers.
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
    /// The input granted, and the channel by which its packet goes on: the first behind that granted last.
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
            // Seen by the first router in 11; four routers; a cycle to the site.
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
}
