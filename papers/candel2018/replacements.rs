//! Simulates candel2018 Figure 2 on one L2 bank: three replacements of the same line. The figure shows the
//! cycle in which each request is served. The replies to B, C and D leave the bank one cycle later.
//!
//! In the figure, the fetch of line C starts at cycle 90, without a lookup. Here it starts at cycle 100,
//! after the lookup of line C has missed.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rtl::index::linear::Linear;
use rtl::kernel::digest_of;
use rtl::l2::bypass::none::NoBypass;
use rtl::l2::partition::none::NoPartition;
use rtl::l2::prefetch::PrefetchLimits;
use rtl::l2::prefetch::none::NoPrefetcher;
use rtl::l2::{BankPlace, Coherence, FrcConfig, HostCopies, L2Config, TransientConfig, VictimBind};
use rtl::mshr_policy::none::NoMshrPolicy;
use rtl::noc::interleave::Interleave;
use rtl::replacement::lru::Lru;
use warpsieve::bank::{BankAlone, DramReply, Edge, InvalidateAck, PacketShape, Ports, Request};
use warpsieve::readers::WaveError;

/// Cycle of the simulation that corresponds to cycle 0 of the figure. Line A is fetched long before this
/// cycle.
const START: u64 = 1000;
/// Names of the lines in the figure. The index of a name is the number of the line.
const NAMES: [&str; 5] = ["-", "A", "B", "C", "D"];
const A: u64 = 1;
const B: u64 = 2;
const C: u64 = 3;
const D: u64 = 4;

/// Requests to the L2 bank: for each, the cycle in which the bank accepts it, and the number of the requested
/// line.
const READS: [(u64, u64); 4] = [(1, A), (START, B), (START + 90, C), (START + 240, D)];

/// Size of a line in bytes. A single DRAM burst transfers a whole line.
const LINE_BYTES: u32 = 64;
/// Number of the memory partition that contains the L2 bank, and number of all partitions.
const PARTITION: u8 = 2;
const PARTITIONS: u32 = 6;

/// Duration of each step of a replacement, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Duration of a tag lookup, in cycles.
    pub look_up: u32,
    /// Duration of recalling a line from the L1s and evicting it, in cycles.
    pub evict: u64,
    /// Duration of fetching a line from memory, in cycles.
    pub fetch: u64,
}

impl Times {
    /// Durations that the figure assumes. No other durations agree with the cycles in the paper's text.
    pub const OF_THE_FIGURE: Self = Self { look_up: 10, evict: 80, fetch: 110 };

    /// Returns a cycle by which all replacements are complete, even if they run one after the other.
    fn end(self) -> u64 {
        let [.., (last, _)] = READS;
        // Each request gets 10 additional cycles for links and queues, which the durations do not include.
        last + READS.len() as u64 * (u64::from(self.look_up) + self.evict + self.fetch + 10)
    }
}

/// Times of one replacement, in cycles counted as in the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replacement {
    /// Cycle in which the replacement begins. The first step of a replacement is the recall of the victim or,
    /// if there is an FRC, the fetch of the new line.
    pub attended: u64,
    /// Cycle in which the request that caused the replacement is served.
    pub complete: u64,
    /// Cycle in which the eviction of the victim is complete, which also frees the victim's FRC entry.
    pub gone: u64,
}

/// Kind of event in a replacement, in the order of the columns of the event table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Request,
    Recall,
    Gone,
    Fetch,
    Served,
}

/// Events of the figure, ordered by cycle. As text, they form a table with one column per kind of event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventTable(BTreeMap<(u64, Event), &'static str>);

impl EventTable {
    /// Adds an event, unless it occurs before cycle 0 of the figure.
    fn add(&mut self, cycle: u64, event: Event, line: u64) {
        if let Some(cycle) = cycle.checked_sub(START) {
            self.0.insert((cycle, event), NAMES[line as usize]);
        }
    }

    /// Returns the cycle in which the given event of a line occurs, or 0 if it does not occur.
    fn cycle(&self, event: Event, line: u64) -> u64 {
        let is_it = |((_, other), name): &(&(u64, Event), &&str)| *other == event && **name == NAMES[line as usize];
        self.0.iter().find(is_it).map_or(0, |((cycle, _), _)| *cycle)
    }
}

impl fmt::Display for EventTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COLUMNS: [(Event, &str); 5] = [
            (Event::Request, "request"),
            (Event::Recall, "recall"),
            (Event::Gone, "evicted"),
            (Event::Fetch, "fetch"),
            (Event::Served, "served"),
        ];
        let mut rows: BTreeMap<u64, [&str; COLUMNS.len()]> = BTreeMap::new();
        for (&(cycle, event), name) in &self.0 {
            rows.entry(cycle).or_insert(["."; COLUMNS.len()])[event as usize] = name;
        }
        let mut line = |cycle: &str, cells: [&str; COLUMNS.len()]| {
            let cells = COLUMNS.iter().zip(cells).map(|((_, head), cell)| format!("{cell:width$}", width = head.len()));
            let line = format!("{cycle:5}  {}", cells.collect::<Vec<_>>().join("  "));
            writeln!(f, "{}", line.trim_end())
        };
        line("cycle", COLUMNS.map(|(_, head)| head))?;
        rows.iter().try_for_each(|(cycle, cells)| line(&cycle.to_string(), *cells))
    }
}

/// The L2 bank of the figure, connected to SMs, L1s and memory by links with a delay of one cycle.
struct Figure {
    bank: BankAlone,
    times: Times,
    /// Requests that are still to be sent, each with the cycle in which it is sent.
    reads: VecDeque<(u64, Request)>,
    /// Replies of the memory and acknowledgments of the L1s that have not been sent yet, each with the cycle
    /// in which it is sent.
    fetches: VecDeque<(u64, DramReply)>,
    recalls: VecDeque<(u64, u64, InvalidateAck)>,
    events: EventTable,
}

impl Figure {
    fn new(frc_entries: u32, times: Times) -> Self {
        let bank = BankAlone::at_place(&config(frc_entries, times), place());
        let read = |(cycle, line): (u64, u64), id: u32| {
            let (sm, partition, ticket) = (3, PARTITION, u64::from(id));
            (cycle - 1, Request { id, line: bank.line(line), sm, partition, ticket, ..Request::default() })
        };
        let reads = READS.into_iter().zip(0..).map(|(at, id)| read(at, id)).collect();
        let (fetches, recalls) = (VecDeque::new(), VecDeque::new());
        Self { bank, times, reads, fetches, recalls, events: EventTable::default() }
    }

    /// Simulates the cycles in the given range.
    fn run(&mut self, cycles: std::ops::Range<u64>) -> io::Result<()> {
        let Self { bank, times, reads, fetches, recalls, events } = self;
        for _ in cycles {
            bank.cycle(|mut ports, at| {
                send_reads(&mut ports, at, reads, events);
                fetch(&mut ports, at, times.fetch, fetches, events);
                recall(&mut ports, at, times.evict, recalls, events);
                if ports.rsp.peek(at).is_some() {
                    let line = number(ports.rsp.pop(at).line);
                    events.add(at.cycle - 2, Event::Served, line);
                }
            })?;
        }
        Ok(())
    }
}

/// Returns the number of a line within the L2 bank: the line number in memory divided by the number of memory
/// partitions.
fn number(line: u64) -> u64 {
    line / u64::from(PARTITIONS)
}

fn send_reads(ports: &mut Ports<'_>, at: &mut Edge<'_>, reads: &mut VecDeque<(u64, Request)>, events: &mut EventTable) {
    if let Some((_, request)) = reads.pop_front_if(|(due, _)| *due <= at.cycle) {
        events.add(at.cycle + 1, Event::Request, number(request.line));
        ports.req.push(at, request);
    }
}

/// Sends the reply to a fetch `latency` cycles after the request; two of these cycles are the delays of the
/// links.
fn fetch(
    ports: &mut Ports<'_>,
    at: &mut Edge<'_>,
    latency: u64,
    fetches: &mut VecDeque<(u64, DramReply)>,
    events: &mut EventTable,
) {
    if let Some((_, reply)) = fetches.pop_front_if(|(due, _)| *due <= at.cycle) {
        ports.dram_rsp.at(0).push(at, reply);
    }
    if ports.dram_req.at(0).peek(at).is_some() {
        let request = ports.dram_req.at(0).pop(at);
        let data = std::array::from_fn(|byte| digest_of(&(request.burst, byte)) as u8);
        events.add(at.cycle - 1, Event::Fetch, request.burst);
        let reply = DramReply { id: request.id, burst: request.burst, tag: request.tag, is_ack: false, data };
        fetches.push_back((at.cycle + latency - 2, reply));
    }
}

/// Sends the acknowledgment of a recall `latency` cycles after the recall; two of these cycles are the delays
/// of the links.
fn recall(
    ports: &mut Ports<'_>,
    at: &mut Edge<'_>,
    latency: u64,
    recalls: &mut VecDeque<(u64, u64, InvalidateAck)>,
    events: &mut EventTable,
) {
    if let Some((_, line, ack)) = recalls.pop_front_if(|(due, ..)| *due <= at.cycle) {
        events.add(at.cycle + 1, Event::Gone, line);
        ports.inv_ack.push(at, ack);
    }
    if ports.inv.peek(at).is_some() {
        let message = ports.inv.pop(at);
        let line = number(message.line);
        events.add(at.cycle - 1, Event::Recall, line);
        let ack = InvalidateAck { partition: PARTITION, leaver: message.leaver };
        recalls.push_back((at.cycle + latency - 2, line, ack));
    }
}

/// Returns the configuration of an L2 bank with one way. Its queues are so large that they never fill up.
fn config(frc_entries: u32, times: Times) -> L2Config {
    let frc = FrcConfig { entries: frc_entries, swap_latency: 0, victim_bind: VictimBind::Swap };
    let flow = TransientConfig {
        pending_queue: 4,
        serve_transient: true,
        acknowledged: false,
        coherence: Coherence::None,
        frc,
    };
    L2Config {
        sets: 1,
        ways: 1,
        line_bytes: LINE_BYTES,
        split_requests: 4,
        index: Linear {}.into(),
        replacement: Lru {}.into(),
        hints: false,
        lookup_latency: times.look_up,
        mshr_entries: 4,
        mshr_merges: 4,
        mshr_policy: NoMshrPolicy {}.into(),
        reply_queue: 8,
        data_ports: 1,
        atomic_buffer: false,
        bypass: NoBypass {}.into(),
        partition: NoPartition {}.into(),
        prefetch: NoPrefetcher {}.into(),
        prefetch_limits: PrefetchLimits { queue: 1, mshr_share: 1, miss_queue_share: 1, page_bytes: 4096 },
        host_copies: HostCopies::Update,
        flow: flow.into(),
    }
}

/// Returns the parameters that the L2 bank gets from its machine. This machine has 15 SMs, and before the
/// bank evicts a line, it recalls the line from all their L1s.
fn place() -> BankPlace {
    let line_bits = 32 - LINE_BYTES.ilog2();
    BankPlace {
        packets: PacketShape {
            tracked: false,
            hints: false,
            line_bits,
            line_bytes: LINE_BYTES,
            sm_bits: 4,
            partition_bits: 3,
        },
        interleave: Interleave::new(PARTITIONS, LINE_BYTES, LINE_BYTES),
        partition: PARTITION.into(),
        channels: Interleave::new(1, LINE_BYTES, LINE_BYTES),
        sharers: Interleave::new(1, LINE_BYTES, LINE_BYTES),
        line_bytes: LINE_BYTES,
        burst_bytes: LINE_BYTES,
        coherent_l1s: 15,
        requester_bits: None,
        sms: 15,
    }
}

/// Returns the three replacements of the figure for a given number of FRC entries and given latencies, and a
/// table of all events.
///
/// # Errors
/// Returns no error in practice: only writing a waveform can fail, and this function writes none.
pub fn replacements(frc_entries: u32, times: Times) -> io::Result<([Replacement; 3], EventTable)> {
    let mut figure = Figure::new(frc_entries, times);
    figure.run(0..times.end())?;
    let events = figure.events;
    let replacements = [(A, B), (B, C), (C, D)].map(|(old, new)| {
        let [recalled, fetched] = [events.cycle(Event::Recall, old), events.cycle(Event::Fetch, new)];
        Replacement {
            attended: fetched.min(recalled),
            complete: events.cycle(Event::Served, new),
            gone: events.cycle(Event::Gone, old),
        }
    });
    Ok((replacements, events))
}

/// Writes the figure as a waveform with its save files, and returns all paths. The waveform shows the bank,
/// its only way, and `frc_entries` FRC entries. Cycle 0 of the figure is at 1000 ns, with 1 ns per cycle.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn waveform(frc_entries: u32, path: &Path) -> Result<Vec<PathBuf>, WaveError> {
    let mut figure = Figure::new(frc_entries, Times::OF_THE_FIGURE);
    figure.run(0..START)?;
    let globs = ["l2", "l2.tags[0]", "l2.frc.entry[*]"];
    figure.bank.record(path, if frc_entries > 0 { &globs } else { &globs[..2] })?;
    figure.run(START..START + 603)?;
    Ok(figure.bank.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waveform_shows_the_states_of_the_way_and_of_the_entries_in_the_cycles_of_the_figure() {
        let folder = tempfile::tempdir().unwrap();
        let states = |frc_entries, signal: &str| {
            let path = folder.path().join("figure.vcd");
            waveform(frc_entries, &path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            changes(&text, signal)
        };
        // Codes of states in the waveform. For the way: RESERVED is 1, VALID is 2, T_INV is 4. For an FRC
        // entry: FREE is 0, FETCH is 1, VICT_INV is 3.
        let way = [
            (1000, 2),
            (1010, 4),
            (1090, 1),
            (1200, 2),
            (1210, 4),
            (1290, 1),
            (1400, 2),
            (1410, 4),
            (1490, 1),
            (1600, 2),
        ];
        assert_eq!(states(0, "machine.l2.tags[0].state"), way);
        assert_eq!(states(2, "machine.l2.tags[0].state"), [(1000, 2)]);
        let entry = [(1000, 0), (1010, 1), (1120, 3), (1200, 0), (1250, 1), (1360, 3), (1440, 0)];
        assert_eq!(states(2, "machine.l2.frc.entry[0].state"), entry);
    }

    /// Returns each change of a signal in a VCD waveform, as the time in ns and the new value.
    fn changes(vcd: &str, signal: &str) -> Vec<(u64, u64)> {
        let (mut scope, mut code, mut time, mut found) = (Vec::new(), None, 0, Vec::new());
        for line in vcd.lines() {
            match *line.split_whitespace().collect::<Vec<_>>() {
                ["$scope", _, name, "$end"] => scope.push(name),
                ["$upscope", "$end"] => drop(scope.pop()),
                ["$var", _, _, id, name, ..] if format!("{}.{name}", scope.join(".")) == signal => code = Some(id),
                [tick] if tick.starts_with('#') => time = tick[1..].parse::<u64>().unwrap() / 1000,
                [value, id] if Some(id) == code => found.push((time, u64::from_str_radix(&value[1..], 2).unwrap())),
                _ => {}
            }
        }
        found
    }

    #[test]
    fn the_three_replacements_are_attended_to_and_complete_as_the_text_says() {
        let at = |attended, complete, gone| Replacement { attended, complete, gone };
        let replacements = |frc_entries| replacements(frc_entries, Times::OF_THE_FIGURE).unwrap();
        assert_eq!(replacements(0).0, [at(10, 200, 90), at(210, 400, 290), at(410, 600, 490)]);
        assert_eq!(replacements(2).0, [at(10, 120, 200), at(100, 210, 290), at(250, 360, 440)]);
    }
}
