//! Tests whole machines, run as a user runs them.
//!
//! | testpoint                                                                        | file         |
//! |----------------------------------------------------------------------------------|--------------|
//! | every kernel computes correct results, with all checks enabled                   | `kernels`    |
//! | neither the evaluation mode of the simulator nor checks change counters or state | `evaluation` |
//! | index functions have the effects that the papers report; designs can be combined | `designs`    |
//! | choices of DRAM channels equal those of the golden model of their policy        | `channels`   |
//! | lines of every size, sectors, interleave                                         | `lines`      |
//! | small racing programs show only outcomes that the memory model allows            | `litmus`     |
//! | machines at the limits of their configuration                                    | `extremes`   |
//! | the limits of each field, and the rules that set them                            | `limits`     |
//! | an L2 that recalls lines from L1s; two DRAM channels per partition               | `recalls`    |
//! | atomics, partially written words, bypassing loads, with and without a buffer     | `atomics`    |
//! | programs that rely on the order of lanes, or of warps                            | `orders`     |
//! | an L2 that fetches sectors                                                       | `sectors`    |
//! | L2 banks that share a DRAM channel, a hashed partition index                     | `slices`     |
//! | schedulers with their own pipes, banks and collectors                            | `sub_cores`  |
//! | L1s that supply lines to each other                                              | `tracker`    |
//! | the machine of a V100: results, bandwidth, peak issue                            | `volta`      |
//! | cycles and counters of runs equal the stored ones                                | `counts`     |
//! | counters agree with the cycles and the work of a run                             | `statistics` |
//! | cycle limit, and programs that make no progress                                  | `endings`    |
//! | operations of the simulator (host code) between launches                         | `host`       |
//! | launches of a host program: checks, counters of each launch, freed memory        | `device`     |
//! | matrix products, with and without tensor pipes                                   | `tensor`     |
//! | arguments as kernels read them; rejected launches and illegal operations         | `arguments`  |
//! | traces: replay, export, rejected files                                           | `replay`     |
//! | exports satisfy Accel-Sim's reader                                               | `exports`    |

mod accel_sim;
mod arguments;
mod atomics;
mod channels;
mod counts;
mod designs;
mod device;
mod endings;
mod evaluation;
mod exports;
mod extremes;
mod host;
mod icache;
mod kernels;
mod limits;
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
use tb::kit::{MIN_QUEUES, sample, wave_path};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::launch::LaunchFile;
use warpsieve::run::{Counters, Outcome, RunOptions, RunReport, Verdict, WaveOptions, run};

/// Returns the folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Compares lines with those of the file `tests/machine/NAME.txt`. With the variable `UPDATE_LISTS`, writes
/// the file instead.
#[track_caller]
fn expect_lines(name: &str, lines: impl Iterator<Item = String>) {
    let file = root().join(format!("tests/machine/{name}.txt"));
    if std::env::var_os("UPDATE_LISTS").is_some() {
        std::fs::write(&file, lines.collect::<String>()).unwrap();
        return;
    }
    let stated = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut stated = stated.lines();
    for line in lines {
        assert_eq!(Some(line.trim_end()), stated.next(), "{}", file.display());
    }
    assert_eq!(stated.next(), None, "{}", file.display());
}

/// Returns the configuration of the machine `fermi`, without designs or settings.
fn fermi() -> MachineConfig {
    ResolvedMachine::new(&Request { machine: "fermi".to_owned(), ..Request::default() }).unwrap().config
}

/// Returns every kernel, by the name of its folder.
fn kernels() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap().path());
    let name = |folder: PathBuf| folder.file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = folders.filter(|folder| LaunchFile::exists(&folder.join("small"))).map(name).collect();
    names.sort();
    names
}

/// Returns every `step`-th kernel. With the variable `THOROUGH=1`, returns all kernels.
fn some_kernels(step: usize) -> Vec<String> {
    sample(kernels(), step).collect()
}

/// Returns all elements, rotated by `turn` positions, so that a sample of them depends on `turn`.
fn rotate<T>(all: &[T], turn: usize) -> impl Iterator<Item = &T> {
    all.iter().cycle().skip(turn % all.len()).take(all.len())
}

/// Returns the path of the launch file `file` of a kernel.
fn launch(kernel: &str, file: &str) -> PathBuf {
    root().join("kernels").join(kernel).join(file)
}

/// Machine on which a test runs a kernel, and the options of the run.
#[derive(Clone, Default)]
struct Setup {
    /// Name of the machine. `None` stands for `fermi`.
    machine: Option<String>,
    designs: Vec<String>,
    sets: Vec<String>,
    options: RunOptions,
}

impl Setup {
    fn run_checked() -> Self {
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

    /// Adds settings of configuration fields. They replace earlier settings of the same fields.
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
        ResolvedMachine::new(&Request { machine, designs, sets }).unwrap().config
    }

    /// Runs a launch file on this machine. Writes a waveform if the environment variable `WAVES` is set.
    fn run(&self, launch: &Path) -> RunReport {
        let mut options = self.options.clone();
        options.wave = options.wave.or_else(waves);
        run(launch, &self.config(), &options, &mut |_| {}).unwrap_or_else(|e| panic!("{}: {e}", launch.display()))
    }

    /// Runs a launch file to its end, and checks that the results are correct.
    #[track_caller]
    fn passes(&self, launch: &Path) -> RunReport {
        let report = self.run(launch);
        let what = (&report.outcome, &report.verdict);
        assert_eq!(what, (&Outcome::Finished, &Verdict::Passed), "{}", launch.display());
        report
    }
}

/// Returns the waveform options of the running test if the environment variable `WAVES` is set.
fn waves() -> Option<WaveOptions> {
    wave_path().map(|path| WaveOptions { path, ..WaveOptions::default() })
}

/// Returns the fraction of all L1 loads that hit.
fn hit_rate(counters: &Counters) -> f64 {
    let rtl::l1::stats::L1Stats { hits, accesses, .. } = counters.totals().l1;
    hits as f64 / accesses as f64
}
