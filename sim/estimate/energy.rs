//! Energy of a run. Dynamic energy is the sum of the energies of all memory accesses, of all bytes on the
//! networks, and of all bytes read from or written to the DRAM. Leakage energy is leakage power times run
//! time.
//!
//! Memories count the accesses at their ports. Channels, logic, and flip-flops outside memories contribute
//! only leakage, because their switching is not counted.

use std::borrow::Cow;

use area::{Kind, Node, Technology};
use serde::{Deserialize, Serialize};

use super::{Array, Block};
use crate::readers::{ArrayCount, Counts};
use crate::run::RunReport;

/// Number of picojoules in one millijoule, the energy of 1 mW over 1 s.
const PJ_PER_MJ: f64 = 1e9;

/// Activity of a run from which its energy is computed.
#[derive(Clone, Copy, Debug)]
pub struct Activity<'a> {
    /// Structures of the machine, with the number of accesses to each memory.
    pub structures: &'a Counts,
    /// Simulated time of the run, in seconds.
    pub seconds: f64,
    /// Traffic of the request network and of the reply network, in bytes. On a crossbar, a byte is counted
    /// once. On other topologies, it is counted once for each link on its route.
    pub crossed: [u64; 2],
    /// Number of bytes read from and written to the DRAM.
    pub dram_bytes: u64,
}

impl<'a> Activity<'a> {
    /// Extracts the activity from the report of a run. Returns `None` if the run did not count the structures
    /// of the machine.
    #[must_use]
    pub fn of(report: &'a RunReport) -> Option<Self> {
        let counters = &report.counters;
        let crossed =
            [&counters.requests, &counters.replies].map(|outputs| outputs.iter().map(|o| o.bytes + o.hop_bytes).sum());
        Some(Self {
            structures: report.structures.as_ref()?,
            seconds: counters.cycles as f64 / (f64::from(counters.core_khz) * 1e3),
            crossed,
            dram_bytes: counters.totals().dram.bytes,
        })
    }
}

/// Energy of a run, divided among the units of the machine. The energy of a unit includes that of the units
/// inside it. The energies of all units in `blocks` add up to the total.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Energy {
    /// Semiconductor technology node, in nm.
    pub node_nm: u32,
    /// Wire length in mm of one network hop: the distance across a crossbar, or between adjacent routers of
    /// another network.
    pub hop_mm: f64,
    /// Dynamic energy of all events in the run, in pJ.
    pub dynamic_pj: f64,
    /// Leakage energy of all structures over the simulated time, in pJ.
    pub leakage_pj: f64,
    /// Outermost units of the machine, followed by the wires of the networks and the DRAM devices.
    pub blocks: Vec<Unit>,
}

/// Energy of a hardware unit, such as the L1 of an SM. It is the sum over all instances of the unit, that is,
/// all units whose names differ only in their numbers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Unit {
    /// Name of the unit. If the enclosing scope has several such units, their numbers are omitted from the
    /// name.
    pub block: Cow<'static, str>,
    /// Number of instances of the unit.
    pub units: u64,
    /// Dynamic energy of all events in the unit, in pJ.
    pub dynamic_pj: f64,
    /// Leakage energy of the unit's structures over the simulated time, in pJ.
    pub leakage_pj: f64,
    /// Events in the unit itself. Events of the units inside it are not included.
    pub events: Vec<Events>,
    /// Units inside this unit.
    pub children: Vec<Self>,
}

/// Number of events of one kind in a run, and the energy of one event.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Events {
    /// Name of the memory or other resource in which the events occur.
    pub name: Cow<'static, str>,
    /// Event type: `read`, `write`, `search` or `byte`.
    pub event: Cow<'static, str>,
    /// Number of events.
    pub count: u64,
    /// Energy of one event, in pJ; `None` if unknown.
    pub pj_each: Option<f64>,
}

impl Events {
    /// Number of events times the energy of one event, in pJ; 0 if the energy of one event is unknown.
    #[must_use]
    pub fn pj(&self) -> f64 {
        self.count as f64 * self.pj_each.unwrap_or(0.0)
    }
}

impl Energy {
    /// Computes the energy of a run with the given activity. `hop_mm` is the length of a network hop in mm.
    #[must_use]
    pub fn of(activity: &Activity<'_>, technology: &Technology, node: Node, hop_mm: f64) -> Self {
        Self::at_costs(activity, &Block::of(activity.structures, technology, node), technology, node, hop_mm)
    }

    /// Computes the energy of a run like [`Energy::of`], but with the given costs of the structures. `costs`
    /// has the same scopes as the machine.
    #[must_use]
    pub fn at_costs(activity: &Activity<'_>, costs: &Block, technology: &Technology, node: Node, hop_mm: f64) -> Self {
        let &Activity { structures, seconds, crossed: [requests, replies], dram_bytes } = activity;
        let whole = Unit::of(structures, costs, seconds);
        let published = technology.table43();
        let bytes = |name: &'static str, count: u64, each: f64| Events {
            name: name.into(),
            event: "byte".into(),
            count,
            pj_each: Some(each),
        };
        let hop = published.interconnect_pj_per_byte_mm * hop_mm;
        let burst = published.dram_pj_per_access / f64::from(published.dram_bytes_per_access);
        let mut blocks = whole.children;
        blocks.push(Unit::leaf("wires", vec![bytes("request", requests, hop), bytes("reply", replies, hop)]));
        blocks.push(Unit::leaf("dram-devices", vec![bytes("bus", dram_bytes, burst)]));
        let dynamic_pj = sum(blocks.iter().map(|unit| unit.dynamic_pj));
        let leakage_pj = sum(blocks.iter().map(|unit| unit.leakage_pj));
        Self { node_nm: node.nm(), hop_mm, dynamic_pj, leakage_pj, blocks }
    }

    /// Total energy of the run, in pJ.
    #[must_use]
    pub fn pj(&self) -> f64 {
        self.dynamic_pj + self.leakage_pj
    }
}

impl Unit {
    /// Creates a unit for energy that is not consumed in a modeled structure, such as the energy of wires.
    fn leaf(name: &'static str, events: Vec<Events>) -> Self {
        let dynamic_pj = sum(events.iter().map(Events::pj));
        Self { block: name.into(), units: 1, dynamic_pj, leakage_pj: 0.0, events, children: Vec::new() }
    }

    /// Computes the energy of a scope from its access counts and from its costs in `block`.
    fn of(counts: &Counts, block: &Block, seconds: f64) -> Self {
        let events: Vec<_> =
            counts.arrays.iter().zip(&block.arrays).flat_map(|(count, array)| events(count, array)).collect();
        let mut children: Vec<Self> = Vec::new();
        for (inner, priced) in counts.children.iter().zip(&block.children) {
            let mut unit = Self::of(inner, priced, seconds);
            let is_alike = |other: &&Counts| stem(&other.block) == stem(&inner.block);
            if counts.children.iter().filter(is_alike).nth(1).is_some() {
                unit.block = stem(&inner.block).to_owned().into();
            }
            add_to(&mut children, unit);
        }
        Self {
            block: counts.block.clone(),
            units: 1,
            dynamic_pj: sum(children.iter().map(|unit| unit.dynamic_pj).chain(events.iter().map(Events::pj))),
            leakage_pj: block.leakage_mw * seconds * PJ_PER_MJ,
            events,
            children,
        }
    }

    /// Adds the energies and events of another instance of the same unit.
    fn add(&mut self, other: Self) {
        let Self { block: _, units, dynamic_pj, leakage_pj, events, children } = other;
        self.units += units;
        self.dynamic_pj += dynamic_pj;
        self.leakage_pj += leakage_pj;
        for new in events {
            let is_same =
                |old: &&mut Events| (&old.name, &old.event, old.pj_each) == (&new.name, &new.event, new.pj_each);
            match self.events.iter_mut().find(is_same) {
                Some(old) => old.count += new.count,
                None => self.events.push(new),
            }
        }
        children.into_iter().for_each(|child| add_to(&mut self.children, child));
    }
}

/// Sums floating-point values. The sum of no values is 0, whereas the standard library returns -0.
fn sum(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |sum, part| sum + part)
}

/// Removes the number from the name of a scope: `sm3` becomes `sm`, `entry[3]` becomes `entry`, and
/// `from_l2_3` becomes `from_l2`.
fn stem(name: &str) -> &str {
    let name = name.strip_suffix(']').map_or(name, |open| open.trim_end_matches(|c: char| c.is_ascii_digit()));
    let name = name.strip_suffix('[').unwrap_or_else(|| name.trim_end_matches(|c: char| c.is_ascii_digit()));
    name.strip_suffix('_').unwrap_or(name)
}

fn add_to(units: &mut Vec<Unit>, unit: Unit) {
    match units.iter_mut().find(|other| other.block == unit.block) {
        Some(other) => other.add(unit),
        None => units.push(unit),
    }
}

/// Lists the read (or search) and write events of a memory that occurred in the run.
fn events(count: &ArrayCount, array: &Array) -> impl Iterator<Item = Events> {
    let reading = if array.memory.kind == Kind::Cam { "search" } else { "read" };
    let both =
        [(reading, count.accesses.reads, array.cost.read_pj), ("write", count.accesses.writes, array.cost.write_pj)];
    let happened = both.into_iter().filter(|&(_, count, _)| count > 0);
    happened.map(|(event, count, pj_each)| Events { name: array.name.into(), event: event.into(), count, pj_each })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::config::{Request, ResolvedMachine};
    use crate::run::{RunOptions, run};

    fn report() -> RunReport {
        let request = Request { machine: "fermi".to_owned(), ..Request::default() };
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vadd/small");
        let options = RunOptions { structures: true, ..RunOptions::default() };
        run(&launch, &ResolvedMachine::new(&request).unwrap().config, &options, &mut |_| {}).unwrap()
    }

    fn energy(activity: &Activity<'_>, hop_mm: f64) -> Energy {
        Energy::of(activity, Technology::built_in().unwrap(), Node::N45, hop_mm)
    }

    /// Returns a copy of `counts` with all access counts multiplied by `times`.
    fn multiply_accesses(counts: &Counts, times: u64) -> Counts {
        let mut more = counts.clone();
        for array in &mut more.arrays {
            array.accesses.reads *= times;
            array.accesses.writes *= times;
        }
        more.children = counts.children.iter().map(|child| multiply_accesses(child, times)).collect();
        more
    }

    fn walk<'a>(units: &'a [Unit], visit: &mut impl FnMut(&'a Unit)) {
        for unit in units {
            visit(unit);
            walk(&unit.children, visit);
        }
    }

    fn find_unit<'a>(units: &'a [Unit], name: &str) -> &'a Unit {
        units.iter().find(|unit| unit.block == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    #[test]
    fn the_blocks_add_up_to_the_whole_and_their_events_to_what_is_dynamic() {
        let report = report_once();
        let energy = energy(&Activity::of(report).unwrap(), 10.0);
        let sum: f64 = energy.blocks.iter().map(|unit| unit.dynamic_pj + unit.leakage_pj).sum();
        let mut events = 0.0;
        walk(&energy.blocks, &mut |unit| events += unit.events.iter().map(Events::pj).sum::<f64>());
        assert!(energy.dynamic_pj > 0.0 && is_near(sum, energy.pj()) && is_near(events, energy.dynamic_pj));
    }

    #[test]
    fn leakage_is_that_of_the_whole_machine_over_the_time() {
        let report = report_once();
        let activity = Activity::of(report).unwrap();
        let block = Block::of(activity.structures, Technology::built_in().unwrap(), Node::N45);
        assert!(is_near(energy(&activity, 0.0).leakage_pj, block.leakage_mw * activity.seconds * 1e9));
    }

    #[test]
    fn fifteen_sms_are_one_unit_with_the_accesses_of_all() {
        let report = report_once();
        let energy = energy(&Activity::of(report).unwrap(), 10.0);
        let sms = find_unit(&energy.blocks, "sm");
        let l1 = find_unit(&sms.children, "l1");
        assert_eq!((sms.units, l1.units), (15, 15));
        let fills = l1.events.iter().find(|events| (&*events.name, &*events.event) == ("data", "write")).unwrap();
        let misses: u64 = report.counters.totals().l1.misses;
        assert_eq!(fills.count, misses, "a line that nobody stores to is written once, by its fill");
    }

    #[test]
    fn every_event_has_an_energy() {
        let energy = energy(&Activity::of(report_once()).unwrap(), 10.0);
        let mut nameless = Vec::new();
        walk(&energy.blocks, &mut |unit| {
            let unknown = unit.events.iter().filter(|events| events.pj_each.is_none());
            nameless.extend(unknown.map(|events| format!("{}.{}", unit.block, events.name)));
        });
        assert_eq!(nameless, Vec::<String>::new());
    }

    #[test]
    fn every_flit_that_leaves_a_crossbar_was_written_once_and_read_once() {
        let report = report_once();
        let energy = energy(&Activity::of(report).unwrap(), 10.0);
        let (mut written, mut read) = (0, 0);
        walk(&energy.blocks, &mut |unit| {
            for events in unit.events.iter().filter(|events| events.name == "flits") {
                *if events.event == "write" { &mut written } else { &mut read } += events.count;
            }
        });
        let outputs = report.counters.requests.iter().chain(&report.counters.replies);
        let flits: u64 = outputs.map(|output| output.flits).sum();
        assert_eq!((written, read), (flits, flits));
    }

    #[test]
    fn the_dram_takes_the_published_energy_of_each_access() {
        let report = report_once();
        let activity = Activity::of(report).unwrap();
        let dram = energy(&activity, 10.0);
        let accesses = activity.dram_bytes as f64 / 32.0;
        assert!(is_near(find_unit(&dram.blocks, "dram-devices").dynamic_pj, accesses * 4480.0));
    }

    proptest! {
        #[test]
        fn a_run_made_so_many_times_over_takes_as_many_times_the_energy(times in 1u64..1000, hop_mm in 0.0..50.0) {
            let report = report_once();
            let once = Activity::of(report).unwrap();
            let structures = multiply_accesses(once.structures, times);
            let many = Activity {
                structures: &structures,
                seconds: once.seconds * times as f64,
                crossed: once.crossed.map(|bytes| bytes * times),
                dram_bytes: once.dram_bytes * times,
            };
            let (one, all) = (energy(&once, hop_mm), energy(&many, hop_mm));
            prop_assert!(is_near(all.dynamic_pj, one.dynamic_pj * times as f64));
            prop_assert!(is_near(all.leakage_pj, one.leakage_pj * times as f64));
        }

        #[test]
        fn only_the_wires_depend_on_their_length_and_in_proportion(hop_mm in 0.1..50.0) {
            let activity = Activity::of(report_once()).unwrap();
            let (short, long) = (energy(&activity, hop_mm), energy(&activity, 2.0 * hop_mm));
            let wires = find_unit(&short.blocks, "wires").dynamic_pj;
            prop_assert!(wires > 0.0 && is_near(long.dynamic_pj - short.dynamic_pj, wires));
        }
    }

    fn report_once() -> &'static RunReport {
        static REPORT: std::sync::OnceLock<RunReport> = std::sync::OnceLock::new();
        REPORT.get_or_init(report)
    }
}
