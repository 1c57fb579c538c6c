//! Splits the latency of one load into stages. A stage ends when the load leaves a hardware block, or when
//! the next block removes it from its input channel.
//!
//! The times are read from a waveform, which shows how many messages are in each channel (its level). A
//! message counts from the clock edge at which it is sent to the edge at which it is received. The level
//! therefore rises when the load leaves a block, and falls when the load enters the next block. The file
//! `docs/latency.md` contains the tables that this test prints, with the reason for each stage. It must be
//! updated when the tables change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use warpsieve::run::WaveOptions;
use wellen::simple::Waveform;

use super::{CONFLICT, Chase, L1_HIT, L2_HIT, ROW_HIT, UNROLLED, VOLTA};

/// Times that both the statistics and the waveform show. Each entry has the key of a counter and two latency
/// stages of the waveform. The counter adds up the times from the end of the first stage to the end of the
/// second stage.
const COUNTED: [(&str, &str, &str); 5] = [
    ("tags", "link to the LSU", "coalescer, queue, tags"),
    ("miss_queue", "coalescer, queue, tags", "miss queue"),
    ("requests", "miss queue", "link to the L2"),
    ("l2", "link to the L2", "reply queue"),
    ("replies", "reply queue", "link to the SM"),
];

/// Position of the measured load in the chain, counted back from the last load. The measured load is in the
/// middle of an iteration of the kernel's loop, far from the first and the last load of the chain.
const FROM_LAST: usize = 12;

/// Event in the waveform that shows how far a load has advanced.
pub(super) struct Sight {
    /// Name of the latency stage that ends with this event.
    stage: &'static str,
    /// Beginning and end of the signal's path in the waveform. The part of the path in between may be
    /// anything.
    pub(super) signal: (&'static str, &'static str),
    pub(super) up: bool,
}

pub(super) const fn up(stage: &'static str, signal: (&'static str, &'static str)) -> Sight {
    Sight { stage, signal, up: true }
}

pub(super) const fn down(stage: &'static str, signal: (&'static str, &'static str)) -> Sight {
    Sight { stage, signal, up: false }
}

const ISSUE: (&str, &str) = ("sm0.", "core.address_unit.valid");

/// Waveform events of a load, in the order in which they occur. If an event does not occur for a load, the
/// stage that it would end is omitted.
pub(super) const SIGHTS: [Sight; 18] = [
    up("address unit", ("sm0.", "l1.core_req.level")),
    down("link to the LSU", ("sm0.", "l1.core_req.level")),
    down("coalescer, queue, tags", ("sm0.", "l1.queue.level")),
    up("miss queue", ("xbar_req.", "inject0.level")),
    down("link to the crossbar", ("xbar_req.", "inject0.level")),
    up("request crossbar", ("partition", ".l2.req.level")),
    down("link to the L2", ("partition", ".l2.req.level")),
    down("L2 look-up", ("partition", ".l2.looking.level")),
    up("fetch queue", ("partition", ".dram.req.level")),
    up("fetch queue", ("channel", ".dram.req0.level")),
    up("fetch queue", ("channel", ".dram.req1.level")),
    up("DRAM, all bursts", ("partition", ".l2.dram_rsp.level")),
    down("link from the DRAM", ("partition", ".l2.dram_rsp.level")),
    up("reply queue", ("xbar_rsp.from_l2_", ".level")),
    up("reply link and crossbar", ("sm0.", "l1.mem_rsp.level")),
    down("link to the SM", ("sm0.", "l1.mem_rsp.level")),
    up("answer", ("sm0.", "core.wb.level")),
    down("link to the core", ("sm0.", "core.wb.level")),
];
const LAST_STAGE: &str = "writeback, scoreboard, issue";

/// Changes of signals in the waveform. Each has the path of the signal, true if the value rose, and the time
/// in picoseconds.
pub(super) struct Changes(Vec<(String, bool, u64)>);

impl Changes {
    pub(super) fn read(path: &Path) -> Self {
        let mut wave: Waveform = wellen::simple::read(path).unwrap();
        let times = wave.time_table().to_vec();
        let hierarchy = wave.hierarchy();
        let named = |var: wellen::VarRef| (hierarchy[var].full_name(hierarchy), hierarchy[var].signal_ref());
        let vars: Vec<(String, wellen::SignalRef)> = hierarchy.all_vars().map(named).collect();
        wave.load_signals(&vars.iter().map(|(_, signal)| *signal).collect::<Vec<_>>());
        let mut all = Vec::new();
        for (name, signal) in &vars {
            let mut before = 0;
            for (at, value) in wave.get_signal(*signal).unwrap().iter_changes() {
                let now = u64::from_str_radix(&value.to_bit_string().unwrap(), 2).unwrap();
                if now != before {
                    all.push((name.trim_start_matches("machine.").to_owned(), now > before, times[at as usize]));
                }
                before = now;
            }
        }
        Self(all)
    }

    /// Returns the times in ascending order at which any signal that matches the path rises (or falls, if
    /// `up` is false).
    pub(super) fn of(&self, (begin, end): (&str, &str), up: bool) -> Vec<u64> {
        let is_it = |name: &str, way: bool| way == up && name.starts_with(begin) && name.ends_with(end);
        let mut times: Vec<_> = self.0.iter().filter(|(name, way, _)| is_it(name, *way)).map(|c| c.2).collect();
        times.sort_unstable();
        times
    }
}

/// Returns the latency stages that end between the times `start` and `end`, with their durations in core
/// cycles.
pub(super) fn between(
    changes: &Changes,
    sights: &[&Sight],
    (start, end): (u64, u64),
    chase: &Chase,
) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    let mut before = start;
    let cycles_per_ps = chase.cycles_per_ps();
    for sight in sights {
        let seen = changes.of(sight.signal, sight.up);
        if let Some(&at) = seen.iter().rfind(|at| (start..end).contains(at)) {
            assert!(at >= before, "{}: {} ends before the stage ahead of it", chase.name, sight.stage);
            found.push((sight.stage, (at - before) as f64 * cycles_per_ps));
            before = at;
        }
    }
    found
}

/// Runs a chain of dependent loads and returns the latency stages of the measured load.
fn stages(chase: &Chase) -> Vec<(&'static str, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chase.vcd");
    let globs = SIGHTS.iter().map(|sight| sight.signal).chain([ISSUE]);
    // On some machines, each memory partition has its own DRAM channels. On other machines, several
    // partitions share a channel. Signals of the kind that the machine lacks are not selected for the
    // waveform.
    let absent = if chase.machine == "volta" { ("partition", ".dram.req.level") } else { ("channel", "") };
    let globs = globs.filter(|(begin, end)| *begin != absent.0 || !end.ends_with(absent.1));
    let scopes = globs.map(|(begin, end)| match begin {
        "partition" | "channel" => format!("{begin}*{end}"),
        "xbar_rsp.from_l2_" => format!("{begin}*{end}"),
        _ => format!("{begin}{end}"),
    });
    let mut scopes: Vec<String> = scopes.collect();
    scopes.dedup();
    let wave = WaveOptions { path: path.clone(), scopes, ..WaveOptions::default() };
    chase.run(32 / UNROLLED, chase.launches, Some(wave));
    let changes = Changes::read(&path);
    let issues = changes.of(ISSUE, true);
    let load = issues.len() - FROM_LAST;
    let (start, end) = (issues[load], issues[load + 1]);
    let mut found = between(&changes, &SIGHTS.each_ref(), (start, end), chase);
    let seen: f64 = found.iter().map(|(_, cycles)| cycles).sum();
    found.push((LAST_STAGE, (end - start) as f64 * chase.cycles_per_ps() - seen));
    found
}

/// Formats a list of stages as the documentation shows it.
pub(super) fn render(stages: &[(&'static str, f64)]) -> String {
    let mut text = String::new();
    let mut row = |name: &str, cycles: f64| writeln!(text, "{name:28} {cycles:7.2}").unwrap();
    stages.iter().for_each(|(stage, cycles)| row(stage, *cycles));
    row("sum", stages.iter().map(|(_, cycles)| cycles).sum());
    text
}

#[test]
fn the_stages_of_a_load_are_those_of_the_documentation() {
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/latency.md")).unwrap();
    let mut missing = String::new();
    for chase in [L1_HIT, L2_HIT, ROW_HIT, CONFLICT].into_iter().chain(VOLTA) {
        let table = render(&stages(&chase));
        println!("{}: {}\n{table}", chase.machine, chase.name);
        if !docs.contains(&table) {
            writeln!(missing, "{}: {}\n{table}", chase.machine, chase.name).unwrap();
        }
    }
    assert!(missing.is_empty(), "docs/latency.md lacks:\n{missing}");
}

#[test]
fn the_stages_that_are_counted_are_those_of_the_waveform() {
    for chase in [L2_HIT, VOLTA[1]] {
        let seen = stages(&chase);
        // Only the last kernel launch is measured, so the counters of the earlier launches are subtracted.
        let run = |launches| chase.run(32 / UNROLLED, launches, None).totals().stages;
        let (before, after) = (run(chase.launches - 1), run(chase.launches));
        for ((name, before), (_, after)) in before.named_stays().into_iter().zip(after.named_stays()) {
            let (_, first, last) = COUNTED.into_iter().find(|(counted, ..)| *counted == name).unwrap();
            let upto = |sight| seen.iter().position(|(stage, _)| *stage == sight).unwrap() + 1;
            let expected: f64 = seen[upto(first)..upto(last)].iter().map(|(_, cycles)| cycles).sum();
            assert_eq!(after.number - before.number, 32, "{name} on {}", chase.machine);
            let counted = (after.cycles - before.cycles) as f64 / 32.0;
            // The counters omit fractions of a cycle, while the waveform is exact to a picosecond.
            assert!(
                (-0.01..1.0).contains(&(expected - counted)),
                "{name} on {}: {counted} counted, {expected} seen",
                chase.machine
            );
        }
    }
}
