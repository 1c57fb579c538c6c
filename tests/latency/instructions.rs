//! Splits the latency of an instruction fetch into stages, as the module `stages` does for a load. The fetch
//! misses in the instruction cache and hits in the L2.
//!
//! One thread executes a loop whose instructions occupy more cache lines than the instruction cache has.
//! Every line therefore misses in each iteration of the loop. From the second iteration on, the lines are in
//! the L2.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Outcome, RunOptions, RunReport, WaveOptions, run};

use super::L2_HIT;
use super::stages::{Changes, SIGHTS, Sight, between, down, render, up};

/// Number of instruction-cache lines that the loop occupies. The cache has only 16 lines. A line holds 16
/// instructions.
const LINES: u64 = 40;
const PER_LINE: u64 = 16;

/// Index of the measured miss, counted from the first miss of the run. It is in the middle of the second
/// iteration.
const MISS: usize = 60;

const LOOK_UP: (&str, &str) = ("sm0.", "core.icache.used");

/// Waveform events at the beginning of an instruction miss. They are followed by events that also occur for a
/// load, and then by the events in `LAST`.
const FIRST: [Sight; 1] = [down("link to the LSU", ("sm0.", "l1.wanted.level"))];
const LAST: [Sight; 2] =
    [down("link to the core", ("sm0.", "core.brought.level")), up("fetch, decode", ("sm0.", "core.fetch.head_valid"))];

/// Returns all waveform events of an instruction miss, in order. The events from the request crossbar to the
/// end of the reply link to the SM are those that a load has too.
fn sights() -> Vec<&'static Sight> {
    let own = SIGHTS[4..16].iter().filter(|sight| sight.signal.0 != "channel");
    FIRST.iter().chain(own).chain(&LAST).collect()
}

/// Writes a launch file of a kernel that executes a loop `rounds` times.
fn launch(folder: &Path, rounds: u64) -> PathBuf {
    let mut ptx = ".version 3.2\n.target sm_35\n.address_size 64\n.visible .entry loop(.param .u32 rounds)\n{\n\
                   .reg .pred %p<2>; .reg .b32 %r<9>;\nld.param.u32 %r1, [rounds];\nLOOP:\n"
        .to_owned();
    // The loop ends with three instructions that decrement a counter and jump, so three fewer instructions
    // are generated here. The load of the parameter is in front of the loop and executes once.
    for at in 0..LINES * PER_LINE - 3 {
        writeln!(ptx, "mov.u32 %r{}, {at};", 2 + at % 6).unwrap();
    }
    ptx.push_str("add.s32 %r1, %r1, -1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra LOOP;\nret;\n}\n");
    fs::write(folder.join("loop.ptx"), ptx).unwrap();
    let path = folder.join("loop.toml");
    let text = format!(
        "ptx = \"loop.ptx\"\n[[step]]\n[[step.launch]]\nkernel = \"loop\"\ngrid = [1]\nblock = [1]\n\
         args = [{{ u32 = {rounds} }}]\n"
    );
    fs::write(&path, text).unwrap();
    path
}

fn ran(rounds: u64, designs: &[&str], wave: Option<WaveOptions>) -> RunReport {
    let folder = tempfile::tempdir().unwrap();
    let launch = launch(folder.path(), rounds);
    let designs = designs.iter().map(|&design| design.to_owned()).collect();
    let resolved =
        ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs, ..Request::default() }).unwrap();
    let options = RunOptions { wave, ..RunOptions::default() };
    let report = run(&launch, &resolved.config, &options, &mut |_| {}).unwrap();
    assert_eq!(report.outcome, Outcome::Finished);
    report
}

/// Returns the cycles and the instruction-cache misses of one iteration of the loop, when all lines of the
/// loop are in the L2.
fn of_a_round(designs: &[&str]) -> (u64, u64) {
    let [less, more] = [3, 4].map(|rounds| {
        let counters = ran(rounds, designs, None).counters;
        (counters.cycles, counters.totals().icache.misses)
    });
    (more.0 - less.0, more.1 - less.1)
}

#[test]
fn a_miss_that_the_l2_answers_delays_a_fetch_by_139_cycles() {
    let ((cached, misses), (perfect, none)) = (of_a_round(&["icache"]), of_a_round(&[]));
    // The loop has as many instructions as `LINES` cache lines hold. The parameter load in front of the loop
    // shifts the loop by one instruction, so the loop occupies `LINES + 1` lines.
    assert_eq!((misses, none), (LINES + 1, 0));
    let delay = (cached - perfect) as f64 / misses as f64;
    println!("{delay:.2} cycles a miss");
    assert!((138.0..140.0).contains(&delay), "{delay}");
}

#[test]
fn the_stages_of_a_miss_are_those_of_the_documentation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("miss.vcd");
    let globs = sights().into_iter().map(|sight| sight.signal).chain([LOOK_UP]);
    let scopes =
        globs.map(|(begin, end)| if begin == "sm0." { format!("{begin}{end}") } else { format!("{begin}*{end}") });
    let wave = WaveOptions { path: path.clone(), scopes: scopes.collect(), ..WaveOptions::default() };
    ran(2, &["icache"], Some(wave));
    let changes = Changes::read(&path);
    let look_up = changes.of(LOOK_UP, true)[MISS];
    // The fetch ends when an instruction buffer is filled for the first time after the lookup.
    let [_, Sight { signal, up, .. }] = &LAST;
    let filled = changes.of(*signal, *up).into_iter().find(|at| *at > look_up).unwrap();
    let stages = between(&changes, &sights(), (look_up, filled + 1), &L2_HIT);
    let table = render(&stages);
    println!("{table}");
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/latency.md")).unwrap();
    assert!(docs.contains(&table), "docs/latency.md lacks:\n{table}");
}
