//! Keys in the statistics of a run, in the order in which they are written.

use golden::l1::reuse::Histograms;
use rtl::kernel::{Counted, CounterReader, Key, Quantity, ScopeKind, Value, count_classes, count_units};
use rtl::l1::stats::L1Features;
use rtl::scheme_counts::SchemeCounts;

use super::table::{Entry, StatisticsTable};
use crate::config::ResolvedMachine;
use crate::estimate::{Energy, Events, Unit};
use crate::run::{Counters, LoadCounters, MachineFeatures, Outcome, RunReport, SchemeUnits, Verdict};

/// Version of the set of statistics keys.
pub const SCHEMA: u32 = 1;

/// Description of the statistics key `idle`.
const IDLE: &str = "Scheduler cycles of SMs in launches in which they had no warp, included in `stalls.no_warp`.";

/// Collects the statistics of a run. They include its energy, if the energy was estimated.
#[must_use]
pub fn of_run(resolved: &ResolvedMachine, report: &RunReport, energy: Option<&Energy>) -> StatisticsTable {
    let mut table = StatisticsTable::new(false);
    let run = Run {
        machine: &resolved.machine.name,
        designs: &resolved.designs,
        config_hash: &resolved.hash(),
        has: MachineFeatures::of(&resolved.config),
        report,
        energy,
    };
    run.list(&mut table);
    table
}

/// Lists every key that the statistics of any machine may have.
#[must_use]
pub fn dictionary() -> Vec<Entry> {
    let events = Events { name: "".into(), event: "".into(), count: 0, pj_each: None };
    let mut unit = Unit {
        block: "".into(),
        units: 1,
        dynamic_pj: 0.0,
        leakage_pj: 0.0,
        events: vec![events],
        children: Vec::new(),
    };
    unit.children = vec![unit.clone()];
    let energy = Energy { node_nm: 0, hop_mm: 0.0, dynamic_pj: 0.0, leakage_pj: 0.0, blocks: vec![unit] };
    let counters = Counters { schemes: SchemeUnits::linked(), ..Counters::default() };
    let report = RunReport { counters, ..RunReport::default() };
    let run = Run {
        machine: "",
        designs: &[String::new()],
        config_hash: "",
        // Keys with the value null are listed too, so most of the optional hardware can be absent in this
        // configuration. An L1 that serves stores must be present, because some keys do not exist for an L1
        // that serves only loads.
        has: MachineFeatures { l1: L1Features { stores: true, ..L1Features::default() }, ..MachineFeatures::default() },
        report: &report,
        energy: Some(&energy),
    };
    let mut table = StatisticsTable::new(true);
    run.list(&mut table);
    table.entries()
}

/// Data of a run from which its statistics are derived.
struct Run<'a> {
    machine: &'a str,
    designs: &'a [String],
    config_hash: &'a str,
    has: MachineFeatures,
    report: &'a RunReport,
    energy: Option<&'a Energy>,
}

const fn cycles(name: &'static str, about: &'static str) -> Key {
    Key::new(name, about).in_unit(Quantity::Cycles)
}

/// Gives the counter reader a key whose value is a ratio.
fn number(to: &mut dyn CounterReader, name: &'static str, about: &'static str, number: f64) {
    to.counter(&Key::plain(name, about), Value::Number(number));
}

/// Gives the counter reader a key whose value is a number with a unit.
fn measure(to: &mut dyn CounterReader, name: &'static str, about: &'static str, unit: Quantity, number: f64) {
    to.counter(&Key::new(name, about).in_unit(unit), Value::Number(number));
}

fn text(to: &mut dyn CounterReader, name: &'static str, about: &'static str, text: &str) {
    to.counter(&Key::plain(name, about), Value::Text(text));
}

fn count(to: &mut dyn CounterReader, name: &'static str, about: &'static str, count: impl Into<u64>) {
    to.counter(&Key::plain(name, about), Value::Count(count.into()));
}

/// Gives the counter reader a key whose value is a list of words.
fn words<'a>(to: &mut dyn CounterReader, key: &Key, words: impl IntoIterator<Item = &'a str>) {
    if to.enter(key, ScopeKind::List) {
        words.into_iter().for_each(|word| to.counter(key, Value::Text(word)));
        to.leave();
    }
}

/// Gives the counter reader a key whose value is a list of groups. If the list is empty and the reader lists
/// all possible keys, the element `any` is passed as an example.
fn elements<T>(
    to: &mut dyn CounterReader,
    key: &Key,
    items: &[T],
    any: Option<&T>,
    list: impl Fn(&T, &mut dyn CounterReader),
) {
    if to.enter(key, ScopeKind::List) {
        let any = any.filter(|_| items.is_empty() && to.lists_all());
        for item in items.iter().chain(any) {
            if to.enter(key, ScopeKind::Element) {
                list(item, to);
                to.leave();
            }
        }
        to.leave();
    }
}

/// Passes a group of keys to the counter reader, or null if the machine does not have this group.
fn group(to: &mut dyn CounterReader, key: &Key, is_there: bool, list: impl FnOnce(&mut dyn CounterReader)) {
    if to.enter(key, if is_there { ScopeKind::Group } else { ScopeKind::Absent }) {
        list(to);
        to.leave();
    }
}

impl Run<'_> {
    fn list(&self, to: &mut dyn CounterReader) {
        let Self { machine, designs, config_hash, has, report, energy } = self;
        let counters = &report.counters;
        let totals = counters.totals();
        count(to, "schema", "Version of the keys.", SCHEMA);
        let outcome = match report.outcome {
            Outcome::Finished => "finished",
            Outcome::NoProgress(_) => "no-progress",
            Outcome::CycleLimit(_) => "cycle-limit",
            Outcome::Interrupted(_) => "interrupted",
        };
        text(to, "outcome", "How the run ended: `finished`, `no-progress`, `cycle-limit` or `interrupted`.", outcome);
        text(to, "machine", "Name of the machine.", machine);
        let designs = designs.iter().map(String::as_str);
        words(to, &Key::plain("designs", "Names of the designs applied to the machine, in order."), designs);
        text(to, "config_hash", "Hash of the values of all fields of the configuration.", config_hash);
        self.list_kernels(to);
        let about = "Core cycles from the first launch to the end of the last: until the dispatcher has been notified \
                     of the end of every CTA and no LSU has an access in flight. The time until memory is idle counts \
                     after each launch but the last.";
        to.counter(&cycles("cycles", about).nsight("sm__cycles_elapsed.max"), Value::Count(counters.cycles));
        count(to, "schedulers", "Warp schedulers per SM.", counters.schedulers);
        measure(to, "core_mhz", "Clock of the cores.", Quantity::Megahertz, f64::from(counters.core_khz) / 1000.0);
        number(to, "ipc", "Thread instructions per core cycle.", counters.ipc());
        group(to, &Key::plain("candel2018", "Measures of candel2018 section 5."), true, |to| {
            number(to, "opc", "Scalar operations per core cycle.", counters.opc());
            number(to, "mpko", "L2 misses per thousand scalar operations.", counters.mpko());
            let about = "Average time from the lookup that missed to the departure of the fetch.";
            measure(to, "miss_delay", about, Quantity::Cycles, counters.miss_delay());
            let about = "Fraction of the misses that were fetched into the FRC at once; only with an FRC.";
            let share = if has.l2.frc { Value::Number(counters.frc_share()) } else { Value::Absent };
            to.counter(&Key::plain("frc_share", about), share);
        });
        counters.slots().list(&has.icache, to);
        to.counter(&cycles("idle", IDLE), Value::Count(counters.idle.iter().sum()));
        totals.list(has, to);
        let about = "Kinds of caches that had fills but no eviction and no bypass, in a run that finished: no \
                     replacement, index or bypass scheme can save a miss there.";
        let evictions = report.evictions();
        let none = evictions.iter().filter(|of| of.has_none);
        words(to, &Key::plain("no_evictions", about), none.map(|of| of.key));
        let about = "Estimated energy in pJ, by block; only where structures were counted.";
        group(to, &Key::plain("energy", about), energy.is_some(), |to| {
            if let Some(energy) = energy {
                list_energy(energy, to);
            }
        });
        let about = "Issued block copies of a trace by opcode; their traffic is not modeled; only if there are any.";
        let copies: Vec<_> = counters.block_copies().collect();
        group(to, &Key::new("block_copies", about), !copies.is_empty(), |to| {
            for (opcode, number) in &copies {
                to.counter(&Key::new(opcode, "Block copies with this opcode."), Value::Count(*number));
            }
        });
        let about = "Issued operations of a trace by opcode on tensor memory, or to initialize shared memory; they are \
                     not modeled, and take no time; only if there are any.";
        let operations: Vec<_> = counters.engine_operations().collect();
        group(to, &Key::new("engine_operations", about), !operations.is_empty(), |to| {
            for (opcode, number) in &operations {
                to.counter(&Key::new(opcode, "Operations with this opcode."), Value::Count(*number));
            }
        });
        let about = "CUDA streams of a trace, 0 for a launch file. Kernels of several streams ran one after the other, \
                     in the order of the list: kernels side by side are not modeled.";
        count(to, "streams", about, report.streams);
        self.list_loads(to);
        let about = "Reuse of the lines of the L1Ds; only with `--check`.";
        group(to, &Key::plain("reuse", about), report.reuse.is_some(), |to| {
            let Histograms { distances, reuses } = report.reuse.map(|[all, _]| all).unwrap_or_default();
            let about = "Loads of a line accessed before, by the accesses in between: 0, up to 1, 3, 7 and so on.";
            count_classes(to, &Key::new("distances", about), true, &distances);
            let about = "Lines by their number of reuses: 0, 1, 2 and so on.";
            count_classes(to, &Key::new("reuses", about), true, &reuses);
        });
        let about = "Verdict of `--check`: `passed`, `failed`, `order-dependent`, `undefined`, or `off` if there was \
                     nothing to compare with.";
        let check = match report.verdict {
            Verdict::Off => "off",
            Verdict::Passed => "passed",
            Verdict::OrderDependent => "order-dependent",
            Verdict::Undefined => "undefined",
            Verdict::Failed(_) => "failed",
        };
        text(to, "check", about, check);
        let [wall, cpu] = [report.simulating.wall, report.simulating.cpu].map(|time| time.as_secs_f64());
        group(to, &Key::plain("host", "Run time on this host."), true, |to| {
            measure(to, "wall_seconds", "Wall time of the simulation.", Quantity::Seconds, wall);
            measure(to, "cpu_seconds", "CPU time of the simulation, summed over all threads.", Quantity::Seconds, cpu);
            let rate = if cpu > 0.0 { counters.cycles as f64 / cpu } else { 0.0 };
            number(to, "cycles_per_cpu_second", "Core cycles simulated per second of `cpu_seconds`.", rate);
        });
        group(to, &Key::plain("units", "The counters of each unit, one element per unit."), true, |to| {
            self.list_units(counters, to)
        });
    }

    fn list_kernels(&self, to: &mut dyn CounterReader) {
        let RunReport { kernels, warp_limits, .. } = self.report;
        let any = (String::new(), 0);
        elements(to, &Key::plain("kernels", "The kernels that ran."), kernels, Some(&any), |(name, launches), to| {
            text(to, "name", "Name of the kernel.", name);
            count(to, "launches", "Number of launches.", *launches);
            let limit = warp_limits.iter().find(|(known, _)| known == name).map(|(_, limit)| *limit);
            let about = "Warps per scheduler that the throttle found best for the kernel; only with `dwt-cs`.";
            to.counter(
                &Key::plain("warp_limit", about),
                limit.map_or(Value::Absent, |limit| Value::Count(limit.into())),
            );
        });
    }

    fn list_loads(&self, to: &mut dyn CounterReader) {
        let any = LoadCounters::default();
        let key = Key::plain("loads", "Each load instruction with its line requests; only for PTX kernels.");
        elements(to, &key, &self.report.loads, Some(&any), |load, to| {
            let LoadCounters { kernel, pc, line, column: _, stats } = load;
            text(to, "kernel", "Kernel.", kernel);
            count(to, "pc", "Program counter.", *pc);
            count(to, "line", "Line in the PTX file.", *line);
            stats.list(&(), to);
        });
    }

    fn list_units(&self, counters: &Counters, to: &mut dyn CounterReader) {
        let MachineFeatures { core, icache, l1, l2, .. } = &self.has;
        let Counters { schemes, .. } = counters;
        let cores = (0..).zip(&counters.cores).zip(&counters.stalls).zip(&counters.idle);
        let cores = cores.map(|(((i, core), slots), idle)| (*core, *slots, *idle, schemes.core.get::<usize>(i)));
        let cores: Vec<_> = cores.collect();
        let any = (Default::default(), Default::default(), 0, schemes.core.first());
        elements(to, &Key::plain("sm", "Each SM."), &cores, Some(&any), |(cores, slots, idle, schemes), to| {
            cores.list(core, to);
            schemes.iter().for_each(|schemes| schemes.list(to));
            slots.list(icache, to);
            to.counter(&cycles("idle", IDLE), Value::Count(*idle));
        });
        let read_only = self.has.read_only();
        count_units(to, &Key::plain("icache", "Each instruction cache."), &counters.icache, &());
        units(to, &Key::plain("l1", "Each L1D."), (&counters.l1, &schemes.l1), l1);
        let caches = (&*counters.const_cache, &*schemes.const_cache);
        units(to, &Key::plain("const_cache", "Each constant cache."), caches, &read_only);
        let caches = (&*counters.texture_cache, &*schemes.texture_cache);
        units(to, &Key::plain("texture_cache", "Each texture cache."), caches, &read_only);
        units(to, &Key::plain("l2", "Each bank of the L2."), (&counters.l2, &schemes.l2), l2);
        let banks = (&*counters.trackers, &*schemes.tracker);
        units(to, &Key::plain("tracker", "Each bank of the sharing tracker."), banks, &());
        units(to, &Key::plain("dram", "Each DRAM channel."), (&counters.dram, &schemes.dram), &());
    }
}

/// Passes a list to the counter reader, with one element per hardware unit: the counters of the unit, then
/// those of its schemes. `schemes` is empty if the schemes declare no counters.
fn units<C: Counted>(to: &mut dyn CounterReader, key: &Key, (units, schemes): (&[C], &[SchemeCounts]), has: &C::Has) {
    let units: Vec<_> = (0..).zip(units).map(|(i, unit)| (*unit, schemes.get::<usize>(i))).collect();
    elements(to, key, &units, Some(&(C::default(), schemes.first())), |(unit, schemes), to| {
        unit.list(has, to);
        schemes.iter().for_each(|schemes| schemes.list(to));
    });
}

fn list_energy(energy: &Energy, to: &mut dyn CounterReader) {
    let Energy { node_nm, hop_mm, dynamic_pj, leakage_pj, blocks } = energy;
    let node = Key::new("node_nm", "Technology node.").in_unit(Quantity::Nanometres);
    to.counter(&node, Value::Count((*node_nm).into()));
    measure(
        to,
        "hop_mm",
        "Distance of a byte across a crossbar, or from one router to the next.",
        Quantity::Millimetres,
        *hop_mm,
    );
    list_pj(*dynamic_pj, *leakage_pj, to);
    let about = "Outermost blocks, then the wires of the networks and the DRAM devices.";
    elements(to, &Key::plain("blocks", about), blocks, None, list_unit);
}

fn list_pj(dynamic_pj: f64, leakage_pj: f64, to: &mut dyn CounterReader) {
    measure(to, "dynamic_pj", "Dynamic energy of all events.", Quantity::Picojoules, dynamic_pj);
    measure(to, "leakage_pj", "Leakage energy of all structures over the run.", Quantity::Picojoules, leakage_pj);
}

fn list_unit(unit: &Unit, to: &mut dyn CounterReader) {
    let Unit { block, units, dynamic_pj, leakage_pj, events, children } = unit;
    text(to, "block", "Name of the block, without an index if there are several in one scope.", block);
    count(to, "units", "Number of blocks with this name.", *units);
    list_pj(*dynamic_pj, *leakage_pj, to);
    elements(to, &Key::plain("events", "Events of the blocks themselves."), events, None, |event, to| {
        let Events { name, event, count: number_of, pj_each } = event;
        text(to, "name", "Memory or wire of the events.", name);
        text(to, "event", "Kind of the events: `read`, `write`, `search`, `byte`.", event);
        count(to, "count", "Number of events.", *number_of);
        let each = pj_each.map_or(Value::Absent, Value::Number);
        to.counter(&Key::new("pj_each", "Energy per event.").in_unit(Quantity::Picojoules), each);
    });
    elements(to, &Key::plain("children", "Blocks inside."), children, None, list_unit);
}
