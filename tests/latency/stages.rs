//! Splits the latency of one load into stages. A stage ends when the load leaves a block, or when the next
//! block dequeues it.
//!
//! The times are read from a waveform. The level of a channel is its occupancy in beats. A beat counts from
//! the clock edge at which it is sent to the edge at which it is received. The level therefore rises when the
//! load leaves a block, and falls when the load enters the next block. The file docs/latency.md contains the
//! tables printed here, with the reason for each stage, and must be updated when they change.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use warpsieve::run::WaveOptions;
use wellen::simple::Waveform;

use super::{CONFLICT, Chase, L1_HIT, L2_HIT, ROW_HIT, UNROLLED, VOLTA};

/// Stages of the statistics: key, waveform stage before the first one that it covers, and last waveform stage
/// that it covers. Both waveform stages end at clock edges.
const COUNTED: [(&str, &str, &str); 5] = [
    ("tags", "link to the LSU", "coalescer, queue, tags"),
    ("miss_queue", "coalescer, queue, tags", "miss queue"),
    ("requests", "miss queue", "link to the L2"),
    ("l2", "link to the L2", "reply queue"),
    ("replies", "reply queue", "link to the SM"),
];

/// Position of the measured load, counted back from the last load of the chain. It is in the middle of an
/// iteration, far from both ends of the chain.
const FROM_LAST: usize = 12;

/// Event of a load in the waveform.
pub(super) struct Sight {
    /// Name of the stage that ends with the event.
    stage: &'static str,
    /// Beginning and end of the path of the signal.
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

/// Events in the order in which a load passes them. A load that does not pass an event omits its stage.
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

/// Changes of signals: path, true if the value rose, time in picoseconds.
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

    /// Returns the times of all rises or falls of matching signals, in ascending order.
    pub(super) fn of(&self, (begin, end): (&str, &str), up: bool) -> Vec<u64> {
        let is_it = |name: &str, way: bool| way == up && name.starts_with(begin) && name.ends_with(end);
        let mut times: Vec<_> = self.0.iter().filter(|(name, way, _)| is_it(name, *way)).map(|c| c.2).collect();
        times.sort_unstable();
        times
    }
}

/// Returns the stages between two times, with their durations in core cycles.
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

/// Returns the stages of one load of a chain.
fn stages(chase: &Chase) -> Vec<(&'static str, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chase.vcd");
    let globs = SIGHTS.iter().map(|sight| sight.signal).chain([ISSUE]);
    // The signals of either form of channel, private or shared by partitions, are absent from the other
    // machine.
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

/// Formats stages as in the documentation.
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
        // Only the last launch is measured.
        let run = |launches| chase.run(32 / UNROLLED, launches, None).totals().stages;
        let (before, after) = (run(chase.launches - 1), run(chase.launches));
        for ((name, before), (_, after)) in before.named_stays().into_iter().zip(after.named_stays()) {
            let (_, first, last) = COUNTED.into_iter().find(|(counted, ..)| *counted == name).unwrap();
            let upto = |sight| seen.iter().position(|(stage, _)| *stage == sight).unwrap() + 1;
            let expected: f64 = seen[upto(first)..upto(last)].iter().map(|(_, cycles)| cycles).sum();
            assert_eq!(after.number - before.number, 32, "{name} on {}", chase.machine);
            let counted = (after.cycles - before.cycles) as f64 / 32.0;
            // The counters drop fractions of a cycle, and the waveform has whole picoseconds.
            assert!(
                (-0.01..1.0).contains(&(expected - counted)),
                "{name} on {}: {counted} counted, {expected} seen",
                chase.machine
            );
        }
    }
}
