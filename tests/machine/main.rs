//! The machine as a whole, run as a user runs it.
//!
//! | testpoint                                                                     | file         |
//! |-------------------------------------------------------------------------------|--------------|
//! | every kernel gives its results, with every check                              | `kernels`    |
//! | ways of evaluation, and checking, change neither counters nor state           | `evaluation` |
//! | index functions make the difference that the papers report; designs compose   | `designs`    |
//! | lines of every size, sectors, interleave                                      | `lines`      |
//! | small racing programs, against all outcomes that the memory model allows      | `litmus`     |
//! | machines at the edges of their configuration                                  | `extremes`   |
//! | an L2 that recalls lines from L1s; two DRAM channels a partition              | `recalls`    |
//! | atomics, words written in parts, loads past the L1, with a buffer and without | `atomics`    |
//! | what relies on the order of lanes, or of warps                                | `orders`     |
//! | an L2 that fetches sectors                                                    | `sectors`    |
//! | L2 banks that share a DRAM channel, a hashed partition index                  | `slices`     |
//! | schedulers with pipes, banks and collectors to themselves                     | `sub_cores`  |
//! | L1s that supply each other                                                    | `tracker`    |
//! | the machine of a V100: results, bandwidth, peak issue                          | `volta`      |
//! | counters sum up                                                               | `statistics` |
//! | cycle limit, a program that hangs                                             | `endings`    |
//! | what a host may do between launches                                          | `host`       |
//! | products of matrices, with tensor pipes and without                           | `tensor`     |
//! | arguments as kernels find them; launches and acts that are refused             | `arguments`  |
//! | traces: replayed, exported, refused                                           | `replay`     |
//! | exports are what Accel-Sim's reader takes                                     | `exports`    |

mod accel_sim;
mod arguments;
mod atomics;
mod designs;
mod endings;
mod evaluation;
mod exports;
mod extremes;
mod host;
mod icache;
mod kernels;
mod lines;
mod litmus;
mod networks;
mod orders;
mod recalls;
mod replay;
mod sectors;
mod slices;
mod statistics;
mod sub_cores;
mod tensor;
mod tracker;
mod volta;

use std::path::{Path, PathBuf};

use rtl::kernel::Mode;
use rtl::machine::MachineConfig;
use tb::kit::{LEAST_QUEUES, sampled, wave_path};
use warpsieve::config::{Request, Resolved};
use warpsieve::run::{Counters, Outcome, RunOptions, RunReport, Verdict, WaveOptions, run};

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The machine `fermi` as it is.
fn fermi() -> MachineConfig {
    Resolved::new(&Request { machine: "fermi".to_owned(), ..Request::default() }).unwrap().config
}

/// Every kernel, by the name of its folder.
fn kernels() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap().path());
    let name = |folder: PathBuf| folder.file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = folders.filter(|folder| folder.join("small.toml").is_file()).map(name).collect();
    names.sort();
    names
}

/// Every `step`-th of them; all with `THOROUGH=1`.
fn some_kernels(step: usize) -> Vec<String> {
    sampled(kernels(), step).collect()
}

/// All of them, from another one on: what is sampled of them then differs from turn to turn.
fn turned<T>(all: &[T], turn: usize) -> impl Iterator<Item = &T> {
    all.iter().cycle().skip(turn % all.len()).take(all.len())
}

/// A launch file of a kernel.
fn launch(kernel: &str, file: &str) -> PathBuf {
    root().join("kernels").join(kernel).join(file)
}

/// A machine to run on and how to run.
#[derive(Clone, Default)]
struct Setup {
    /// `fermi` if none is named.
    machine: Option<String>,
    designs: Vec<String>,
    sets: Vec<String>,
    options: RunOptions,
}

impl Setup {
    fn checked() -> Self {
        Self { options: RunOptions { check: true, ..RunOptions::default() }, ..Self::default() }
    }

    fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    fn machine(mut self, machine: &str) -> Self {
        self.machine = Some(machine.to_owned());
        self
    }

    fn designs(mut self, designs: &[&str]) -> Self {
        self.designs = designs.iter().map(|&design| design.to_owned()).collect();
        self
    }

    /// Gives fields values, in place of those that they were given before.
    fn sets(mut self, sets: &[&str]) -> Self {
        for set in sets {
            self.sets.retain(|before| before.split('=').next() != set.split('=').next());
            self.sets.push((*set).to_owned());
        }
        self
    }

    fn config(&self) -> MachineConfig {
        let Self { machine, designs, sets, .. } = self.clone();
        let machine = machine.unwrap_or_else(|| "fermi".to_owned());
        Resolved::new(&Request { machine, designs, sets }).unwrap().config
    }

    /// Runs it; with its waveform if `WAVES` asks for that.
    fn run(&self, launch: &Path) -> RunReport {
        let mut options = self.options.clone();
        options.wave = options.wave.or_else(waves);
        run(launch, &self.config(), &options, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", launch.display()))
    }

    /// Runs to the end, with correct results.
    #[track_caller]
    fn passes(&self, launch: &Path) -> RunReport {
        let report = self.run(launch);
        let what = (&report.outcome, &report.verdict);
        assert_eq!(what, (&Outcome::Finished, &Verdict::Passed), "{}", launch.display());
        report
    }
}

/// The waveform of the test that runs, if `WAVES` asks for it.
fn waves() -> Option<WaveOptions> {
    wave_path().map(|path| WaveOptions { path, ..WaveOptions::default() })
}

/// Part of all L1 loads that hit.
fn hit_rate(counters: &Counters) -> f64 {
    let rtl::l1::stats::L1Stats { hits, accesses, .. } = counters.totals().l1;
    hits as f64 / accesses as f64
}
