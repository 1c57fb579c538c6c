//! Measures the latency of dependent loads (pointer chasing), by the level of the memory hierarchy that
//! answers them.
//!
//! One thread follows a chain of addresses. Each word of the buffer contains the address of another word, one
//! stride further. The stride thus determines the level that answers the loads:
//!
//! | level         | stride                          | why                                                                         |
//! |---------------|---------------------------------|-----------------------------------------------------------------------------|
//! | L1 hit        | 0                               | every load after the first hits the same line                               |
//! | L2 hit        | a line                          | launched twice: the L1 is invalidated between launches, the L2 is not       |
//! | DRAM row hit  | a line of a channel             | the next line is in the same open row, or in the row of the other half bank |
//! | DRAM conflict | a row of all banks of a channel | the next line is in another row of the same bank                            |
//!
//! The latency is computed from two chains, of which one has twice as many loads. It is the difference in
//! cycles, divided by the difference in loads, so that everything around the loads cancels out. The model is
//! cycle-exact, so the tests check exact cycles. The module `stages` splits the latency of one load into
//! stages, which it reads from a waveform. The module `instructions` splits the latency of an instruction
//! fetch that misses. `docs/latency.md` explains the stages.

mod instructions;
mod stages;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tb::kit::wave_path;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Counters, Outcome, RunOptions, WaveOptions, run};

/// Device address of the first buffer of every launch.
const FIRST_BUFFER: u64 = 0x10_0000;
/// Number of loads in each iteration of the kernel's loop.
const UNROLLED: u64 = 8;

const LINE: u64 = 128;
const PARTITIONS: u64 = 6;
/// Total size in bytes of the 16 DRAM rows that have the same row number, one in each bank of a channel.
const ROWS: u64 = 16 * 4096;

/// Chain of dependent loads (pointer chasing) whose latency is measured.
#[derive(Clone, Copy)]
struct Chase {
    machine: &'static str,
    name: &'static str,
    stride: u64,
    /// Number of times that the chain is launched as a kernel. Only the last launch is measured.
    launches: u64,
    /// Published latency in core cycles. For the machine `fermi`, it is the latency that GPGPU-Sim models.
    /// For the machine `volta`, it is the middle of the range of measurements on V100s.
    simulator: f64,
}

const fn chase(name: &'static str, stride: u64, launches: u64, simulator: f64) -> Chase {
    Chase { machine: "fermi", name, stride, launches, simulator }
}

const L1_HIT: Chase = chase("L1 hit", 0, 1, 40.0);
const L2_HIT: Chase = chase("L2 hit", LINE, 2, 182.0);
const ROW_HIT: Chase = chase("DRAM, open row", LINE * PARTITIONS, 1, 304.0);
const CONFLICT: Chase = chase("DRAM, other row", ROWS * PARTITIONS, 1, 304.0);

const fn volta(name: &'static str, stride: u64, launches: u64, simulator: f64) -> Chase {
    Chase { machine: "volta", name, stride, launches, simulator }
}

/// Chains of dependent loads on the machine `volta`. The DRAM chain reads a few consecutive lines in one DRAM
/// channel, then moves to the next channel. The first line that it reads in a channel is in a closed DRAM
/// row.
const VOLTA: [Chase; 3] =
    [volta("L1 hit", 0, 1, 28.0), volta("L2 hit", LINE, 2, 205.0), volta("DRAM, closed row", 2 * LINE, 1, 345.0)];

impl Chase {
    /// Writes the launch file of the chain, with the given numbers of loop iterations and launches.
    fn launch(&self, folder: &Path, iterations: u64, launches: u64) -> PathBuf {
        let ptx = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/latency/chase.ptx")).unwrap();
        let words = (iterations * UNROLLED * self.stride + LINE) / 8;
        let first = FIRST_BUFFER + self.stride;
        let text = format!(
            "ptx = {ptx:?}
             [[buffer]]
             name = \"chain\"
             type = \"u64\"
             elements = {words}
             init = {{ iota = {{ start = {first}, step = 8 }} }}
             [[buffer]]
             name = \"last\"
             type = \"u64\"
             elements = 1
             [[step]]
             repeat = {launches}
             [[step.launch]]
             kernel = \"chase\"
             grid = [1]
             block = [1]
             args = [\"chain\", \"last\", {{ i32 = {iterations} }}]
            "
        );
        let path = folder.join("chase.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, iterations: u64, launches: u64, wave: Option<WaveOptions>) -> Counters {
        let folder = tempfile::tempdir().unwrap();
        let launch = self.launch(folder.path(), iterations, launches);
        let wave = wave.or_else(|| wave_path().map(|path| WaveOptions { path, ..WaveOptions::default() }));
        let options = RunOptions { wave, ..RunOptions::default() };
        let report = run(&launch, &self.resolve().config, &options, &mut |_| {}).unwrap();
        assert_eq!(report.outcome, Outcome::Finished, "{}", self.name);
        report.counters
    }

    fn resolve(&self) -> ResolvedMachine {
        // The machine has one SM, so that the second launch runs on the same SM as the first.
        let sets = vec!["num_sms=1".to_owned()];
        ResolvedMachine::new(&Request { machine: self.machine.to_owned(), sets, ..Request::default() }).unwrap()
    }

    fn cycles_per_ps(&self) -> f64 {
        f64::from(self.resolve().config.clock.core_khz) / 1e9
    }

    /// Returns the duration of the last kernel launch in core cycles.
    fn cycles(&self, iterations: u64) -> u64 {
        let before = if self.launches > 1 { self.run(iterations, self.launches - 1, None).cycles } else { 0 };
        self.run(iterations, self.launches, None).cycles - before
    }

    /// Returns the time that 32 dependent loads add to the duration of the chain, in core cycles.
    fn of_32_loads(&self) -> u64 {
        self.cycles(64 / UNROLLED) - self.cycles(32 / UNROLLED)
    }
}

#[test]
fn latencies_are_pinned_and_within_a_factor_of_two_of_gpgpu_sim() {
    let mut table = String::new();
    let mut measured = Vec::new();
    for chase in [L1_HIT, L2_HIT, ROW_HIT, CONFLICT].into_iter().chain(VOLTA) {
        let cycles = chase.of_32_loads();
        let latency = cycles as f64 / 32.0;
        let ratio = latency / chase.simulator;
        writeln!(table, "{:6} {:16} {latency:7.2} cycles, {ratio:.2} x {}", chase.machine, chase.name, chase.simulator)
            .unwrap();
        assert!((0.5..=2.0).contains(&ratio), "{table}");
        measured.push(cycles);
    }
    println!("{table}");
    assert_eq!(measured, [1280, 5696, 9440, 10000, 896, 6528, 10918], "{table}");
}
