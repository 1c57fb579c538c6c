//! Compares counters of runs, to the cycle, with tables in `tests/machine/counts/`. If a change to the model
//! alters the timing or a counter of any hardware block, a line in a table changes.
//!
//! Each line describes one run. It has the most important totals, a hash of all counters of all units, and
//! hashes of the final state and of all messages. The runs cover every machine, design and kernel, and
//! settings for hardware that no machine or design has. Other tests check that the results of runs are
//! correct. These tables show that nothing else about a run changed. `UPDATE_LISTS=1` writes the tables
//! again; each changed number must then be explained.

use rtl::kernel::Mode;
use trace::Packing;
use warpsieve::config::{designs, fnv1a, machines};
use warpsieve::run::{Outcome, RunReport, Verdict};
use warpsieve::trace::synthetic::{KINDS, Kind};

use super::replay::{SMALL, TraceFolder, export_kernel, start_on};
use super::{MIN_QUEUES, Setup, expect_lines, kernels, launch, root};

/// Address mapping of GDDR5 channels in which row bits are XORed into the bank and the bank group. The bits
/// of the bank group are above those of the bank.
const PERMUTED: [&str; 2] = [
    "dram.mapping.fields=[\"column\", \"bank\", \"group\", \"row\"]",
    "dram.mapping.xor=[\"bank ^ row\", \"group ^ row[2..]\"]",
];

/// Settings for rare hardware, or for hardware that no machine or design has. Each entry has the machine, the
/// designs and the settings.
const SETTINGS: &[(&str, &[&str], &[&str])] = &[
    ("fermi", &[], &["noc.kind=mesh"]),
    ("fermi", &[], &["noc.kind=mesh", "noc.virtual_channels=4", "xbar.buffer_flits=5", "noc.hop_latency=3"]),
    ("fermi", &[], &["noc.kind=ring"]),
    ("fermi", &[], &["sm.scheduler.kind=two-level"]),
    ("fermi", &[], &["sm.scheduler.kind=loose-round-robin"]),
    ("fermi", &[], &["sm.warp_limit=3", "sm.operands.generic_collectors=4", "sm.operands.latches=true"]),
    ("fermi", &[], &["dram.policy.kind=fcfs"]),
    ("fermi", &[], &["dram.policy.kind=bliss"]),
    ("fermi", &[], &["dram.policy.kind=atlas"]),
    ("fermi", &[], &["dram.policy.kind=par-bs"]),
    ("fermi", &[], &["dram.command_bus=dual", "dram.queue_entries=64"]),
    ("fermi", &[], &["l1.replacement.kind=dip"]),
    ("fermi", &[], &["l1.replacement.kind=tree-plru", "l2.replacement.kind=random"]),
    ("fermi", &["mrpb-all"], &["l1.fail_order=queue-first", "l1.store_hit=update"]),
    ("fermi", &[], &["l1.fetch=sectors", "l1.lookups=2", "l1.mshr_entries=8", "l1.mshr_merges=2"]),
    ("fermi", &[], &["dram.write_drain={ kind = \"watermarks\", high = 8, low = 4, idle = 50 }"]),
    ("fermi", &[], &[PERMUTED[0], PERMUTED[1], "dram.refresh=all-bank"]),
    ("hybrid", &["tracker"], &["noc.kind=mesh"]),
    ("fermi", &["transient"], &["l2.sets=8", "l2.ways=2", "l2.flow.coherence=sharers"]),
    ("hbm2", &[], &["partitions_per_channel=2", "num_partitions=32"]),
];

/// Machines, with designs and settings, on which the evaluations of hardware blocks are counted.
const EVALUATED: &[(&str, &[&str], &[&str])] = &[
    ("fermi", &[], &["num_sms=4"]),
    ("fermi", &["mrpb"], &["num_sms=4", "noc.kind=mesh"]),
    ("fermi", &["transient", "stride"], &["num_sms=4", "noc.kind=ring", "xbar.buffer_flits=5"]),
    ("fermi", &["decoupled", "ccws"], &["num_sms=4", "dram.command_bus=dual", "dram.refresh=all-bank"]),
    ("fermi", &["dwt-cs", "icache"], &["num_sms=4", "dram.policy.kind=atlas"]),
    ("hybrid", &["tracker"], &[]),
    ("hbm2", &["l1-sectored", "l2-sectored"], &["num_sms=4"]),
    ("volta", &["sub-cores"], &["num_sms=4"]),
    ("fermi", &[], &MIN_QUEUES),
];

const DIGEST: Mode = Mode { evaluate_all: false, lint: false, shuffle: None, digest: true, unchecked: false };

/// Kernels that are exported as traces. They have atomics, shared memory, constants and divergent lanes.
const TRACED: [&str; 6] = ["bfs", "histo", "hotspot", "mriq", "reduction", "sgemm"];

/// Formats the counters and hashes of a finished run as one line of a table in `tests/machine/counts/`.
fn line(name: &str, report: &RunReport) -> String {
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{name}");
    let counters = &report.counters;
    let totals = counters.totals();
    let (state, beats) = report.digests.unwrap();
    let all = serde_json::to_string(&(counters, &report.loads, &report.warp_limits)).unwrap();
    format!(
        "{name}: {} cycles, {} instructions, {} of {} hits in the L1, {} of {} in the L2, {} cycles of the DRAM bus, {:016x} {:016x} {:016x}\n",
        counters.cycles,
        counters.warp_instructions(),
        totals.l1.hits,
        totals.l1.accesses,
        totals.l2.hits,
        totals.l2.accesses,
        totals.dram.bus_busy_cycles,
        fnv1a(all.as_bytes()),
        state,
        beats,
    )
}

/// Runs a kernel, and checks that its results are correct. Returns the line of the run for a table in
/// `tests/machine/counts/`.
fn run(setup: &Setup, kernel: &str) -> String {
    let names = [setup.machine.as_slice(), &setup.designs, &setup.sets].concat();
    line(&format!("{kernel} on {}", names.join(" ")), &setup.clone().mode(DIGEST).passes(&launch(kernel, "small")))
}

/// Returns the table lines of the kernels that run on a machine. The kernels are distributed over all
/// machines, so each kernel runs on only one.
fn kernels_of(machine: &str) -> impl Iterator<Item = String> {
    let turn = machines().iter().position(|other| other.name == machine).unwrap();
    let kernels = kernels().into_iter().skip(turn).step_by(machines().len());
    kernels.map(move |kernel| run(&Setup::default().machine(machine), &kernel))
}

/// Returns the table lines of the designs in one of eight groups. Each design runs one of eight kernels. Group
/// and kernel follow from the name of the design, so that a new design changes no other line.
fn designs_of_group(group: u64) -> impl Iterator<Item = String> {
    let kernels = ["bfs", "gesummv", "histo", "kmeans", "spmv_csr", "srad1", "syrk", "transpose"];
    let hashed = designs().iter().map(|design| (fnv1a(design.name.as_bytes()), design));
    hashed.filter(move |(hash, _)| hash % 8 == group).map(move |(hash, design)| {
        run(&Setup::default().machine("fermi").designs(&[design.name]), kernels[(hash / 8 % 8) as usize])
    })
}

fn settings(kernel: &'static str) -> impl Iterator<Item = String> {
    SETTINGS.iter().map(move |(machine, designs, sets)| {
        run(&Setup::default().machine(machine).designs(designs).sets(sets), kernel)
    })
}

fn smallest_queues() -> impl Iterator<Item = String> {
    let setup = Setup::default().machine("fermi").sets(&MIN_QUEUES).sets(&["num_sms=2"]);
    ["bfs", "syrk", "reduction"].into_iter().map(move |kernel| run(&setup, kernel))
}

fn synthetic_traces() -> impl Iterator<Item = String> {
    let cases = KINDS.into_iter().flat_map(|kind| ["fermi", "volta"].map(|machine| (kind, machine)));
    cases.map(|(kind, machine)| {
        let setup = Setup::default().machine(machine).mode(DIGEST);
        line(&format!("{kind:?} on {machine}"), &TraceFolder::synthetic(kind, SMALL).passes(&setup))
    })
}

fn exported_traces() -> impl Iterator<Item = String> {
    TRACED.into_iter().map(|kernel| {
        let report = export_kernel(kernel, Packing::Plain).passes(&Setup::default().machine("fermi").mode(DIGEST));
        line(&format!("the trace of {kernel} on fermi"), &report)
    })
}

/// Replays a trace on machines with different networks, caches and DRAM. For each clock domain, counts how
/// often hardware blocks are evaluated. Only this count shows that a block sleeps whenever it can.
fn evaluations(kind: Kind) -> impl Iterator<Item = String> {
    let traced = TraceFolder::synthetic(kind, SMALL);
    EVALUATED.iter().map(move |(machine, designs, sets)| {
        let setup = Setup::default().machine(machine).designs(designs).sets(sets);
        let (mut machine, mut sim, ..) = start_on(&setup, &traced, 0);
        let mut counts = vec![0; machine.clocks().periods().len()];
        while !machine.is_kernel_done() {
            sim.step(&mut machine).unwrap();
            for (domain, count) in counts.iter_mut().enumerate() {
                *count += sim.evaluated_blocks(domain).count_ones();
            }
        }
        let names = [setup.machine.as_slice(), &setup.designs, &setup.sets].concat();
        format!("{kind:?} on {}: {counts:?} evaluations\n", names.join(" "))
    })
}

/// Defines one test per table, named after the table. Many short tests can run in parallel.
macro_rules! tables {
    ($($table:ident: $lines:expr;)*) => {
        const TABLES: &[&str] = &[$(stringify!($table)),*];

        $(#[test]
        fn $table() {
            expect_lines(concat!("counts/", stringify!($table)), $lines);
        })*
    };
}

tables! {
    ampere: kernels_of("ampere");
    fermi: kernels_of("fermi");
    gddr5_reference: kernels_of("gddr5-reference");
    hbm2: kernels_of("hbm2");
    hopper: kernels_of("hopper");
    hybrid: kernels_of("hybrid");
    kepler: kernels_of("kepler");
    southern_islands: kernels_of("southern-islands");
    volta: kernels_of("volta");
    designs_0: designs_of_group(0);
    designs_1: designs_of_group(1);
    designs_2: designs_of_group(2);
    designs_3: designs_of_group(3);
    designs_4: designs_of_group(4);
    designs_5: designs_of_group(5);
    designs_6: designs_of_group(6);
    designs_7: designs_of_group(7);
    settings_bfs: settings("bfs");
    settings_histo: settings("histo");
    settings_syrk: settings("syrk");
    queues: smallest_queues();
    evaluations_of_streams: evaluations(Kind::Stream);
    evaluations_of_tiles: evaluations(Kind::Tile);
    evaluations_of_gathers: evaluations(Kind::Gather);
    evaluations_of_columns: evaluations(Kind::Column);
    traces: synthetic_traces();
    traces_of_kernels: exported_traces();
}

#[test]
fn every_machine_has_a_table_and_no_table_is_left_over() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("tests/machine/counts")).unwrap().collect();
    let name = |path: std::path::PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<_> = files.drain(..).map(|file| name(file.unwrap().path())).collect();
    files.sort();
    let mut tables = TABLES.to_vec();
    tables.sort_unstable();
    assert_eq!(files, tables);
    assert!(machines().iter().all(|machine| TABLES.contains(&&*machine.name.replace('-', "_"))));
}
