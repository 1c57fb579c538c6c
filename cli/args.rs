//! Defines the command line: subcommands, arguments and options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::area::Node;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use papers::picture::Width;
use waves::dump::{self, UnknownFormat};

use warpsieve::config::Request;
use warpsieve::run::Threads;
use warpsieve::trace::sass::BinaryVersion;

/// Maximum value of `--max-cycles`. At 700 MHz, 10^15 core cycles are more than two weeks in a real GPU, and
/// years in the simulator.
const MAX_CYCLES: u64 = 1_000_000_000_000_000;

const EXAMPLES: &str = "Examples:
  warpsieve run kernels/syrk/launch.toml
  warpsieve run kernels/syrk/launch.toml --design pric --stats syrk.json
  warpsieve list designs
  warpsieve config --design pric --set l1.ways=8

Exit status: 0 done and every check passed; 1 a check failed; 2 bad input, nothing written;
3 no progress, or --max-cycles reached; 130 or 143 interrupted, no partial files.";

const RUN_EXAMPLES: &str = "Examples:
  warpsieve run vadd
  warpsieve run syrk/small --check
  warpsieve run kernels/syrk/launch.toml --design pric \\
      --set l1.mshr_entries=16
  warpsieve run kernels/syrk/launch.toml --report syrk.html
  warpsieve run kernels/vadd/small --wave vadd.vcd \\
      --wave-scope 'sm0.**' --wave-to 2000
  warpsieve run kernels/syrk/launch.toml --wave fails.fst --wave-last 1000 \\
      --wave-trigger 'sm0.l1.status == RESERVATION_FAIL for 100'";

const REPLAY_EXAMPLES: &str = "Examples:
  warpsieve replay traces
  warpsieve replay traces/kernel-3.traceg.xz
  warpsieve replay traces/kernelslist.g --design pric --check \\
      --stats replay.json

The kernels of the list run one after another. Loads must return the data that belong to their
addresses; a trace has no results to compare.";

const CONFIG_EXAMPLES: &str = "Examples:
  warpsieve config
  warpsieve config --design pric --set l1.ways=8
  warpsieve config --design bypass-all > mine.toml   (a machine file to edit)
  warpsieve config --machine volta --graph volta.svg";

const EXEC_EXAMPLES: &str = "Examples:
  nvcc -cudart shared -gencode arch=compute_75,code=compute_75 mine.cu -o mine
  warpsieve exec -- ./mine
  warpsieve exec --machine volta --emit launches -- ./mine 1024
  warpsieve run launches/0001-kernel.toml --check

Launches, refused calls and the summary are printed in addition to the program's own output. Exit
status: that of the program; 3 if it needs what the model does not have. docs/cuda.md lists the
functions of the CUDA runtime that a program can call.";

const COMPARE_EXAMPLES: &str = "Examples:
  warpsieve compare kernels/syrk/launch.toml --design-set baseline,pric
  warpsieve compare kernels/kmeans/launch.toml --set l1.sets=32,64,128 \\
      --set l1.ways=4,8
  warpsieve compare kernels/*/launch.toml --format markdown --output suite.md

Each launch file runs once for every design of --design-set and every combination of the values in
--set. Speed-ups are relative to the first combination. Results are cached below --cache, as for
`sweep`, of which `compare` is the short form.";

const EXPLAIN_EXAMPLES: &str = "Examples:
  warpsieve explain before.json after.json
  warpsieve explain kernels/syrk/launch.toml --design pric --against baseline
  warpsieve explain kernels/kmeans/launch.toml --set l1.mshr_entries=64 \\
      --against l1.mshr_entries=32

A is the reference for B. With a launch file, B runs on --machine with --design and --set. A runs on
the same machine, but the designs of --against replace those of B, and the settings of --against
override those of B. Both results are cached below --cache, as for `sweep`.";

const COUNTERS_EXAMPLES: &str = "Examples:
  warpsieve counters l1.reservation_fails.mshr_entry
  warpsieve counters mshr_entry
  jq \"$(warpsieve counters l1.hits --format json | jq -r '.[0].path')\" stats.json

`list counters` lists them all.";

const COMPLETIONS_EXAMPLES: &str = "Examples:
  warpsieve completions bash \\
      > ~/.local/share/bash-completion/completions/warpsieve
  warpsieve completions fish > ~/.config/fish/completions/warpsieve.fish
  warpsieve completions zsh > ~/.zfunc/_warpsieve   (in a folder of $fpath)";

const MAN_EXAMPLES: &str = "Examples:
  warpsieve man ~/.local/share/man/man1
  man warpsieve-run";

const SWEEP_EXAMPLES: &str = "Examples:
  warpsieve sweep docs/example/sweep.toml
  warpsieve sweep mine.toml --csv mine.csv --json mine.jsonl --plot mine.svg
  warpsieve sweep mine.toml --shard 2/4
  warpsieve sweep slurm mine.toml --shards 16 --cache /shared/runs
  warpsieve sweep gather mine.toml --cache /shared/runs --csv mine.csv

docs/sweep.md describes the keys of the file and the columns of the results. Every result is cached
below --cache under all inputs that determine it: after an interruption, the same command continues
and performs only the missing runs.";

const PROFILE_EXAMPLES: &str = "Examples:
  warpsieve profile syrk
  warpsieve profile kernels/kmeans/launch.toml --set l1.sets=64 --format json

No cycles are simulated: every line arrives at once, and SMs and their warps take turns, one
instruction at a time. Loads are counted by warp instruction and by line.";

const OPTIMIZE_EXAMPLES: &str = "Examples:
  warpsieve optimize kernels/syrk/launch.toml -o syrk.ptx
  warpsieve optimize kernels/bfs/small -o bfs.ptx --method ilp \\
      --report bfs.json --graph bfs.dot
  warpsieve run kernels/syrk/launch.toml --ptx syrk.ptx

Every ld.global that ran is written with .ca or .cg; nothing else changes. Loads are profiled on
caches without timing: each alone, in pairs, all together, and none.";

const REPRODUCE_EXAMPLES: &str = "Examples:
  warpsieve reproduce suite
  warpsieve reproduce xie2013/fig2 xie2013/fig4
  warpsieve reproduce suite --quick --output /dev/shm
  warpsieve reproduce li2015/fig8 --pdf single
  warpsieve reproduce --summary

Each figure is written as Markdown and as CSV, with its charts as SVG, and with --pdf also as PDF.
The files contain no times of this host, so every run gives the same bytes. Results are cached below
--cache under all inputs that determine them: after an interruption, the same command continues.";

const SOAK_EXAMPLES: &str = "Examples:
  warpsieve soak --list
  warpsieve soak machines --seconds 600
  warpsieve soak machines --seed 4711 --count 1   (repeat one case)
  warpsieve soak ptx --keep ptx.toml   (until interrupted)
  warpsieve soak --totals *.toml
  warpsieve soak --replay found/ptx-17.ptx

A failing case is reduced as long as it fails in the same way, and saved to its own file.";

const DRAM_EXAMPLES: &str = "Examples:
  warpsieve dram trace.csv --machine gddr5-reference \\
      --commands commands.csv --requests requests.csv
  warpsieve dram trace.csv --machine fermi --set dram.policy.kind=fcfs --check

A trace has the heading cycle,op,addr (row,bank,bankgroup,col may follow) and one request per line,
such as 0,R,0x00000040. Requests are offered in file order, each from its cycle on, at most one per
cycle.";

const AREA_EXAMPLES: &str = "Examples:
  warpsieve area
  warpsieve area --node 22 --depth 5 --svg fermi.svg
  warpsieve area --design pric --against baseline --format json

Estimates from CACTI memories and standard cells; docs/area.md describes method and accuracy.";

const HDL_EXAMPLES: &str = "Examples:
  warpsieve hdl list
  warpsieve hdl vectors l1/mshr -o mshr --cycles 1000
  warpsieve hdl waves l1/mshr -o mshr --cycles 200 --small
  warpsieve hdl lockstep dram/channel bfs/small
  warpsieve hdl synth l1/mshr
  warpsieve hdl prove tracker/sharer_table --waves broken

The modules are in rtl/hdl/ of the source tree; docs/hdl.md describes how to use them. `waves` and
`lockstep` need verilator and g++; `synth` and `prove` need yosys.";

const PTX_EXAMPLES: &str = "Examples:
  warpsieve ptx kernels/syrk/syrk.ptx
  warpsieve ptx mine.ptx --format json

Nothing is run. Exit status 2 if the file cannot be read, or if a kernel in it cannot be run: each
rejected instruction is listed with its position.";

const FOLLOW_EXAMPLES: &str = "Examples:
  warpsieve run kernels/syrk/small --wave syrk.fst
  warpsieve waves follow syrk.fst --request 12 --sm 0
  warpsieve waves follow syrk.fst --line 0x2020
  warpsieve waves follow syrk.fst --pc 14 --sm 0

Each row is one stay at the head of a port. Ports that are not in the waveform are not listed.";

const INFO_EXAMPLES: &str = "Examples:
  warpsieve trace info traces/kernelslist.g
  warpsieve trace info kernel-3.traceg.xz --format json";

const EXPORT_EXAMPLES: &str = "Examples:
  warpsieve trace export kernels/bfs/small -o traces/bfs
  warpsieve replay traces/bfs/kernelslist.g";

/// Cycle-exact, bit-width-accurate model of a GPU's cache hierarchy.
#[derive(Debug, Parser)]
#[command(name = "warpsieve", version = version(), after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

impl Command {
    /// True if the command simulates a machine. Only such commands call the functions of caching and
    /// scheduling schemes, which a user may have written.
    pub fn simulates(&self) -> bool {
        use Command::{Compare, Exec, Explain, Optimize, Profile, Replay, Reproduce, Run, Soak, Sweep};
        matches!(
            self,
            Compare(_)
                | Exec(_)
                | Explain(_)
                | Optimize(_)
                | Profile(_)
                | Replay(_)
                | Reproduce(_)
                | Run(_)
                | Soak(_)
                | Sweep(_)
        )
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the kernels of a launch file on the clocked machine and check their results
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Run the kernels of an Accel-Sim trace on the clocked machine
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArguments),
    /// Run an unmodified CUDA program on the clocked machine, without a GPU
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArguments),
    /// Run launch files on several designs or configurations and print the results side by side
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Explain what changed between two runs of the same kernels: cycles, reservation fails, loads, memory,
    /// energy
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Run all combinations that a sweep file lists (launch files, traces, machines, designs, settings) and
    /// tabulate them
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArguments),
    /// Run a launch file on caches without timing and print the accesses and hits of each load
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileArguments),
    /// Choose which loads of a PTX file bypass the L1 and write the file with cache operators (xie2013)
    #[command(after_help = OPTIMIZE_EXAMPLES)]
    Optimize(OptimizeArguments),
    /// Reproduce figures of a paper: write measured and published values to docs/results
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArguments),
    /// List machines, designs, kernels, blocks, figures, counters or stall reasons
    List(ListArguments),
    /// Print the resolved configuration as TOML, with the source of each value
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArguments),
    /// Run long randomized checks until a limit is reached or a check fails
    #[command(after_help = SOAK_EXAMPLES)]
    Soak(SoakArguments),
    /// Read a PTX file and list its kernels, their loads and registers, and the instructions that cannot
    /// run
    #[command(after_help = PTX_EXAMPLES)]
    Ptx(PtxArguments),
    /// Inspect Accel-Sim traces, or write one
    Trace(TraceArguments),
    /// Drive the DRAM channels of a machine, without the rest of it, from a trace of requests
    #[command(after_help = DRAM_EXAMPLES)]
    Dram(DramArguments),
    /// Estimate the area and leakage of a machine, block by block, from its memories and logic
    #[command(after_help = AREA_EXAMPLES)]
    Area(AreaArguments),
    /// SystemVerilog modules of the model's components: list, test vectors, waveforms, synthesis, proofs
    #[command(after_help = HDL_EXAMPLES)]
    Hdl(HdlArguments),
    /// Inspect waveforms
    Waves(WavesArguments),
    /// Write a crate for a scheme of your own, whose binary is this command with the scheme added
    New(NewArguments),
    /// Print what a counter of the statistics counts, its unit, and its position in the file
    #[command(after_help = COUNTERS_EXAMPLES)]
    Counters(CountersArguments),
    /// Print shell completions for this command line
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell to write completions for
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one per command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Folder to write the pages to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// Returns the version, source commit and build profile of this program.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit = Some(env!("WARPSIEVE_COMMIT")).filter(|commit| !commit.is_empty()).unwrap_or("unknown");
    format!("{version} (commit {commit}, profile {})", env!("WARPSIEVE_PROFILE"))
}

impl Command {
    /// Returns the paths of the launch files among the arguments. In place of a path, the user may have given
    /// the name of a kernel.
    pub fn launches(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Run(run) => vec![&mut run.launch],
            Self::Compare(compare) => compare.launches.iter_mut().collect(),
            // If the user gives two files, both are statistics of earlier runs, so no argument is a launch
            // file.
            Self::Explain(explain) if explain.second.is_none() => vec![&mut explain.first],
            Self::Profile(profile) => vec![&mut profile.launch],
            Self::Optimize(optimize) => vec![&mut optimize.launch],
            Self::Trace(TraceArguments { command: TraceCommand::Export(export) }) => vec![&mut export.launch],
            Self::Hdl(HdlArguments { command: HdlCommand::Lockstep(lockstep) }) => vec![&mut lockstep.launch],
            _ => Vec::new(),
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct CountersArguments {
    /// Key of the counter, such as l1.hits, or the end of a key, such as mshr_entry
    pub name: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct NewArguments {
    /// Name of the crate: lower-case words joined by hyphens
    pub name: String,
    /// Configuration key that the scheme is selected by
    #[arg(long, value_name = "SLOT", default_value = "l1.bypass")]
    pub slot: SchemeSlot,
    /// Folder of warpsieve's sources, as the crate refers to it; default: the sources that this command was
    /// built from
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub path: Option<PathBuf>,
    /// Repository of warpsieve's sources, used instead of a folder, at the commit that this command was
    /// built from
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,
}

/// Policy of the machine that a user-defined scheme can replace, such as the choice of the victim in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemeSlot {
    /// Choice of the loads that bypass the L1
    #[value(name = "l1.bypass")]
    Bypass,
    /// Choice of the lines that are prefetched into the L1
    #[value(name = "l1.prefetch")]
    Prefetch,
    /// Choice of the lines that are prefetched into an L2 bank
    #[value(name = "l2.prefetch")]
    L2Prefetch,
    /// Choice of the evicted lines that a victim cache beside the L1 keeps
    #[value(name = "l1.victim")]
    Victim,
    /// Choice of the loads that may use the MSHR of the L1, or of the requests that may use that of the L2
    #[value(name = "l1.mshr_policy")]
    Mshr,
    /// Choice of the ways of the L2 in which a miss of an SM may replace a line
    #[value(name = "l2.partition")]
    Partition,
    /// Choice of the victim in the L1, the L2 and the read-only L1 caches
    #[value(name = "l1.replacement")]
    Replacement,
    /// Choice of the set for a line, in any cache
    #[value(name = "l1.index")]
    Index,
    /// Choice of the ready warp that a scheduler issues
    #[value(name = "sm.scheduler")]
    Scheduler,
    /// Choice of the warps that may issue
    #[value(name = "throttle")]
    Throttle,
    /// Order in which a DRAM channel serves its requests
    #[value(name = "dram.policy")]
    Dram,
}

/// Machine, designs and settings on which a command works.
#[derive(Args, Debug)]
pub(super) struct MachineArguments {
    /// Machine: a name from `list machines`, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "fermi")]
    pub machine: String,
    /// Design applied to the machine: a name from `list designs`, or a TOML file; may be repeated
    #[arg(long = "design", value_name = "NAME|FILE.toml")]
    pub designs: Vec<String>,
    /// Change one field of the configuration, such as l1.sets=64; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl MachineArguments {
    pub fn request(&self) -> Request {
        let Self { machine, designs, sets } = self;
        Request { machine: machine.clone(), designs: designs.clone(), sets: sets.clone() }
    }
}

#[derive(Args, Debug)]
pub(super) struct RunArguments {
    /// Launch file: buffers, kernels, arguments, expected results; or a name from `list kernels`, such as
    /// syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// PTX file to use instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    #[command(flatten)]
    pub simulation: SimulationArguments,
}

#[derive(Args, Debug)]
pub(super) struct ReplayArguments {
    /// Trace: kernelslist.g, the folder that holds it, or the trace of one kernel, plain, compressed with xz
    /// or zstd, or a .tracez file
    #[arg(value_name = "FOLDER|LIST.g|KERNEL.traceg")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub simulation: SimulationArguments,
}

#[derive(Args, Debug)]
pub(super) struct ExecArguments {
    /// Write a launch file per kernel launch to this folder, with its PTX and the contents of memory; `run`
    /// can then repeat the launch without the program
    #[arg(long, value_name = "FOLDER")]
    pub emit: Option<PathBuf>,
    /// Compute capability of the device, which runs the newest PTX of the program up to that capability, or
    /// else the oldest PTX [default: that of the GPU of a built-in machine, otherwise 7.5]
    #[arg(long, value_name = "MAJOR.MINOR", value_parser = capability)]
    pub capability: Option<u32>,
    #[command(flatten)]
    pub simulation: SimulationArguments,
    /// Program, built with `nvcc -cudart shared` and with PTX, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Parses a compute capability such as 7.5, and returns it times ten, such as 75.
fn capability(text: &str) -> Result<u32, &'static str> {
    let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match parts {
        Some((major @ 1..=99u32, minor @ 0..=9u32)) => Ok(10 * major + minor),
        _ => Err("expected a capability such as 7.5"),
    }
}

/// Machine to simulate, and the outputs to write.
#[derive(Args, Debug)]
pub(super) struct SimulationArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Write the statistics (JSON, schema 1); `-` is stdout
    #[arg(long, value_name = "FILE.json", value_parser = PathBufValueParser::new().try_map(json))]
    pub stats: Option<PathBuf>,
    /// Write a self-contained report: one HTML file with tables and charts
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Compare every step with the golden models; slower
    #[arg(long)]
    pub check: bool,
    /// Stop after this many core cycles, with exit status 3
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MAX_CYCLES))]
    pub max_cycles: Option<u64>,
    /// Write a waveform, as text (VCD) or compressed (FST), and GTKWave save files next to it
    #[arg(long, value_name = "FILE.vcd|FILE.fst", value_parser = PathBufValueParser::new().try_map(waveform))]
    pub wave: Option<PathBuf>,
    /// First core cycle of the waveform
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(..=MAX_CYCLES))]
    pub wave_from: Option<u64>,
    /// Last core cycle of the waveform
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(..=MAX_CYCLES))]
    pub wave_to: Option<u64>,
    /// Only these scopes and signals, such as 'sm0.l1.**'; may be repeated
    #[arg(long = "wave-scope", value_name = "GLOB", requires = "wave")]
    pub wave_scopes: Vec<String>,
    /// Condition that starts the waveform, such as 'sm*.l1.status == RESERVATION_FAIL && cycle > 900 for
    /// 100'. 'failure' is any failed check; 'failure sm0.l1' is a failed check whose message contains sm0.l1
    #[arg(long, value_name = "CONDITION", requires = "wave")]
    pub wave_trigger: Option<String>,
    /// Buffer the last N core cycles, and write them too when the trigger occurs. Without a trigger, write
    /// them only if a check fails, no progress is possible, or the run is stopped
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(1..=MAX_CYCLES))]
    pub wave_last: Option<u64>,
    /// Continue for N core cycles after the trigger, then end the waveform
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "wave_trigger",
          value_parser = clap::value_parser!(u64).range(..=MAX_CYCLES))]
    pub wave_after: Option<u64>,
    /// End the waveform at about this size, such as 500M; an FST is measured before compression
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, requires = "wave", value_parser = size)]
    pub wave_limit: Option<u64>,
    /// Core cycles between two rows of the time series
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "series", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=MAX_CYCLES))]
    pub interval: u64,
    /// Write the counts of every interval as a time series (CSV)
    #[arg(long, value_name = "FILE.csv", value_parser = PathBufValueParser::new().try_map(csv))]
    pub series: Option<PathBuf>,
    /// Columns of the time series: comma-separated keys from `list counters`, such as l2.stalls.port
    /// [default: instructions, accesses, hits, misses and traffic]
    #[arg(long, value_name = "KEYS", requires = "series", value_delimiter = ',')]
    pub series_columns: Vec<String>,
    /// Write requests, queue levels and stalls for Perfetto (ui.perfetto.dev); 1 us stands for one core
    /// cycle
    #[arg(long, value_name = "FILE.json")]
    pub timeline: Option<PathBuf>,
    /// Write every warp instruction, from fetch to writeback, for the pipeline viewer Konata
    #[arg(long, value_name = "FILE.kanata")]
    pub pipeline: Option<PathBuf>,
    /// Save the run to this file when it is interrupted or reaches `--max-cycles`, so that `--resume` can
    /// continue it
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub checkpoint: Option<PathBuf>,
    /// Also save the checkpoint every N core cycles, overwriting the previous one
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "checkpoint",
          value_parser = clap::value_parser!(u64).range(1..=MAX_CYCLES))]
    pub checkpoint_every: Option<u64>,
    /// Continue from a checkpoint of the same run, written by the same build of this program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "timeline", "pipeline"])]
    pub resume: Option<PathBuf>,
    /// Print an estimate of the energy of the run, block by block (the statistics always contain it)
    #[arg(long)]
    pub energy: bool,
    /// Technology node of the energy estimate, in nm
    #[arg(long, value_name = "NM", allow_negative_numbers = true, value_parser = node, default_value = "45")]
    pub node: Node,
    /// Length of the wire between an SM and a partition, in millimeters, for the energy estimate [default:
    /// half the edge of a GTX 480]
    #[arg(long, value_name = "MM", allow_negative_numbers = true, value_parser = millimetres)]
    pub hop_mm: Option<f64>,
    /// Threads for the machine's islands (SMs, crossbars, partitions); results are identical. A number,
    /// `auto` (one per processor as long as that is faster), or `step` (all blocks advance in lockstep).
    /// Outputs that follow every cycle (checks, waveforms, time series, reports) always run in `step` mode.
    /// So do machines whose SMs have links without delay
    #[arg(long, value_name = "N", default_value = "auto", value_parser = threads)]
    pub threads: Threads,
    /// Print no summary and no progress
    #[arg(long)]
    pub quiet: bool,
}

fn threads(text: &str) -> Result<Threads, &'static str> {
    match text {
        "auto" => Ok(Threads::Auto),
        "step" => Ok(Threads::InStep),
        _ => text.parse().map(Threads::Of).map_err(|_| "expected a number of at least 1, `auto` or `step`"),
    }
}

fn millimetres(text: &str) -> Result<f64, &'static str> {
    let length = text.parse().ok().filter(|length: &f64| (0.0..=1000.0).contains(length));
    length.ok_or("expected a length from 0 to 1000")
}

fn waveform(path: PathBuf) -> Result<PathBuf, UnknownFormat> {
    dump::Format::of(&path).map(|_| path)
}

/// Accepts the name of a picture file, if its extension selects a supported format.
fn picture(path: PathBuf) -> Result<PathBuf, &'static str> {
    match PictureFormat::of(&path) {
        Some(_) => Ok(path),
        None => Err("expected a name that ends in .svg or .pdf"),
    }
}

/// File format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Svg,
    Pdf,
}

impl PictureFormat {
    /// Returns the picture format that the extension of the file name selects; `None` if it selects none.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }
}

/// Options for the picture of the results.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("drawn").args(["plot", "report"]).multiple(true))]
pub(super) struct PlotArguments {
    /// Draw the results for a paper: sorted bars by launch file with their mean, lines over a numeric
    /// parameter, or heat maps over two
    #[arg(long, value_name = "FILE.svg|FILE.pdf", value_parser = PathBufValueParser::new().try_map(picture))]
    pub plot: Option<PathBuf>,
    /// Width of the picture
    #[arg(long, value_name = "WIDTH", requires = "plot", value_enum, default_value_t = PlotWidth::Double)]
    pub plot_width: PlotWidth,
    /// Column to draw
    #[arg(long, value_name = "COLUMN", requires = "drawn", default_value = "speedup")]
    pub plot_of: String,
}

/// Widths of pictures in a paper of two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlotWidth {
    /// One column of a two-column page: 3.3 inches
    Single,
    /// Both columns: 7 inches
    Double,
}

impl From<PlotWidth> for Width {
    fn from(width: PlotWidth) -> Self {
        match width {
            PlotWidth::Single => Self::Single,
            PlotWidth::Double => Self::Double,
        }
    }
}

/// Accepts only a name that ends in `.html`. No input file has this extension, so the output cannot overwrite
/// an input. This matters because `reproduce` does not know all its inputs in advance.
fn page(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.extension().is_some_and(|ending| ending == "html") {
        Ok(path)
    } else {
        Err("expected a name that ends in .html")
    }
}

/// Accepts the name of a JSON file, unless it has the extension of another output format.
fn json(path: PathBuf) -> Result<PathBuf, &'static str> {
    if is_of_another_format(&path, "json") {
        Err("expected a name that ends in .json: JSON is written")
    } else {
        Ok(path)
    }
}

/// Accepts the name of a CSV file, unless it has the extension of another output format.
fn csv(path: PathBuf) -> Result<PathBuf, &'static str> {
    if is_of_another_format(&path, "csv") { Err("expected a name that ends in .csv: CSV is written") } else { Ok(path) }
}

/// True if the file name has the extension of another format that this program writes. Any other extension,
/// or none, is allowed.
fn is_of_another_format(path: &Path, own: &str) -> bool {
    const ENDINGS: [&str; 7] = ["csv", "fst", "html", "json", "pdf", "svg", "vcd"];
    path.extension().is_some_and(|ending| ending != own && ENDINGS.iter().any(|known| ending == *known))
}

/// Accepts only a name that ends in `.svg`.
fn svg(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.extension().is_some_and(|ending| ending == "svg") {
        Ok(path)
    } else {
        Err("expected a name that ends in .svg")
    }
}

/// Parses a number of bytes. The suffixes K, M and G stand for powers of 1,024.
fn size(text: &str) -> Result<u64, &'static str> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 1 << 10),
        Some(digits) if text.ends_with('M') => (digits, 1 << 20),
        Some(digits) => (digits, 1 << 30),
        None => (text, 1),
    };
    let bytes = digits.parse().ok().and_then(|count: u64| count.checked_mul(unit));
    bytes.filter(|&bytes| bytes > 0).ok_or("expected a number of bytes, with K, M or G for powers of 1024")
}

#[derive(Args, Debug)]
pub(super) struct CompareArguments {
    /// Launch files, or names from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml", required = true)]
    pub launches: Vec<PathBuf>,
    /// Machine: a name from `list machines`, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "fermi")]
    pub machine: String,
    /// Design applied to all compared machines; may be repeated
    #[arg(long = "design", value_name = "NAME|FILE.toml")]
    pub designs: Vec<String>,
    /// Designs to compare
    #[arg(long = "design-set", value_name = "A,B,...", value_delimiter = ',', default_value = "baseline")]
    pub design_set: Vec<String>,
    /// Values of a field to compare, or one value to set; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...")]
    pub sets: Vec<String>,
    /// Compare every run with the golden models; slower
    #[arg(long)]
    pub check: bool,
    /// Stop each run after this many core cycles
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MAX_CYCLES))]
    pub max_cycles: Option<u64>,
    /// Number of runs in parallel; default: one per processor
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for cached results of runs, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
    /// Columns of the table by their heads, such as launch-file,on,cycles; or `all`. Default on a terminal:
    /// those that fit
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Write the table to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub plot: PlotArguments,
    /// Write a self-contained report: one HTML file with the table, charts, each run and the changes
    /// between runs
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct ExplainArguments {
    /// Statistics of run A, the reference for B, as `run --stats` writes them; or a launch file or kernel,
    /// which is run twice
    #[arg(value_name = "A.json|KERNEL|LAUNCH.toml")]
    pub first: PathBuf,
    /// Statistics of run B
    #[arg(value_name = "B.json", conflicts_with_all = ["against", "machine", "designs", "sets", "jobs", "cache"])]
    pub second: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Design or setting of run A, in place of that of run B; for launch files; may be repeated
    #[arg(long, value_name = "NAME|FILE.toml|KEY=VALUE")]
    pub against: Vec<String>,
    /// PTX file of the kernels, to show the source lines of loads when two statistics are given; a launch
    /// file names its own
    #[arg(long, value_name = "FILE.ptx", requires = "second")]
    pub ptx: Option<PathBuf>,
    /// Omit changes smaller than this percentage of the whole
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, default_value = "1", value_parser = percentage)]
    pub least: f64,
    /// Number of runs in parallel; default: one per processor
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for cached results of runs, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

fn percentage(text: &str) -> Result<f64, &'static str> {
    let part = text.parse().ok().filter(|part: &f64| (0.0..=100.0).contains(part));
    part.ok_or("expected a number from 0 to 100")
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct SweepArguments {
    #[command(subcommand)]
    pub command: Option<SweepCommand>,
    #[command(flatten)]
    pub here: SweepHereArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum SweepCommand {
    /// Write a Slurm job array that performs the runs, and submit it
    Slurm(SlurmArguments),
    /// Combine the cached results of shards, without simulating
    Gather(GatherArguments),
}

#[derive(Args, Debug)]
pub(super) struct SweepHereArguments {
    /// Sweep file: the workloads, machines, designs and settings to run
    #[arg(value_name = "SWEEP.toml", required = true)]
    pub file: Option<PathBuf>,
    /// Skip combinations that a machine rejects, instead of stopping before the first run
    #[arg(long)]
    pub leave_out_refused: bool,
    /// Run only shard I of N: every N-th run, starting with run I
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Number of runs in parallel; default: one per processor
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for cached results of runs, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    #[command(flatten)]
    pub output: SweepOutput,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Output files of a sweep, in addition to the table on stdout.
#[derive(Args, Debug)]
pub(super) struct SweepOutput {
    /// Write one row per run and one column per parameter or counter, in full precision (CSV); rewritten as
    /// runs complete
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Write the rows of the CSV as JSON, one object per line
    #[arg(long, value_name = "FILE.jsonl")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub plot: PlotArguments,
    /// Write a self-contained report: one HTML file with the tables, the picture, and the differences
    /// between the runs
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Columns of the table by their heads, such as launch-file,on,cycles; or `all`. Default on a terminal:
    /// those that fit
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Parameters on the axes: one numeric parameter, or any two; default: the first two numeric parameters
    /// that vary
    #[arg(long, value_name = "KEY,...", requires = "drawn", value_delimiter = ',')]
    pub plot_over: Vec<String>,
}

/// Accepts only a text without line breaks and other control characters.
fn one_line(text: &str) -> Result<String, String> {
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!("it has the control character `{}`, expected one line", c.escape_default())),
        None => Ok(text.to_owned()),
    }
}

#[derive(Args, Debug)]
pub(super) struct SlurmArguments {
    /// Sweep file: the workloads, machines, designs and settings to run
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,
    /// Number of jobs in the array, each of which performs an equal share of the runs
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub shards: u16,
    /// Number of runs in parallel in a job, each on one processor
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// Folder for cached results of runs, which all nodes can access
    #[arg(long, value_name = "FOLDER")]
    pub cache: PathBuf,
    /// Script to write; default: SWEEP.sbatch next to the sweep file
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Option of sbatch to put into the script, such as --sbatch=--time=2:00:00; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, value_parser = one_line)]
    pub sbatch: Vec<String>,
    /// Skip combinations that a machine rejects, instead of stopping before the first run
    #[arg(long)]
    pub leave_out_refused: bool,
    /// Write the script without submitting it
    #[arg(long)]
    pub write_only: bool,
}

#[derive(Args, Debug)]
pub(super) struct GatherArguments {
    /// Sweep file: the workloads, machines, designs and settings to run
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,
    /// Folder that holds cached results, instead of the user's cache folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub cache: Vec<PathBuf>,
    /// Skip combinations that a machine rejects, as the shards did
    #[arg(long)]
    pub leave_out_refused: bool,
    #[command(flatten)]
    pub output: SweepOutput,
}

/// Share of the runs of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Number of the shard, from 1.
    pub number: usize,
    /// Number of shards.
    pub of: usize,
}

fn shard(text: &str) -> Result<Shard, &'static str> {
    let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    let shard = numbers.map(|(number, of)| Shard { number, of });
    shard.filter(|shard| (1..=shard.of).contains(&shard.number)).ok_or("expected I/N with I from 1 to N, such as 2/4")
}

#[derive(Args, Debug)]
pub(super) struct ProfileArguments {
    /// Launch file: buffers, kernels, arguments; or a name from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// PTX file to use instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct OptimizeArguments {
    /// Launch file: buffers, kernels, arguments; or a name from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// PTX file to write
    #[arg(short, long, value_name = "OUT.ptx")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// PTX file to use instead of the one that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// Method that chooses the loads to cache
    #[arg(long, value_enum, default_value_t = Method::Heuristic)]
    pub method: Method,
    /// Estimate of the traffic of a bypassed load
    #[arg(long, value_enum, default_value_t = TOff::Uniform)]
    pub t_off: TOff,
    /// Model that counts the hits of loads that are cached alone or in pairs
    #[arg(long, value_enum, default_value_t = ProfileSource::Untimed)]
    pub profile: ProfileSource,
    /// Write all measurements and decisions (JSON)
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Write the traffic reduction graph (Graphviz)
    #[arg(long, value_name = "FILE.dot")]
    pub graph: Option<PathBuf>,
    /// Print no tables and no progress
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    /// Algorithm 1 of the paper
    Heuristic,
    /// Integer linear programming
    Ilp,
    /// Exhaustive search over all sets of loads
    Exhaustive,
}

impl From<Method> for compiler::solve::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Heuristic => Self::Heuristic,
            Method::Ilp => Self::Ilp,
            Method::Exhaustive => Self::Exhaustive,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileSource {
    /// Caches without timing, which takes seconds
    Untimed,
    /// The clocked machine, with one run per load and per pair of loads
    Clocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TOff {
    /// The average efficiency of all loads, as in the paper
    Uniform,
    /// The number of sectors that each load transfers
    Exact,
}

impl From<TOff> for compiler::characterise::BypassTrafficModel {
    fn from(t_off: TOff) -> Self {
        match t_off {
            TOff::Uniform => Self::Uniform,
            TOff::Exact => Self::Exact,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct ReproduceArguments {
    /// Figures to measure; default: all
    #[arg(value_name = "FIGURE", value_parser = figures())]
    pub figures: Vec<String>,
    /// Use the small sizes of the tests; files are named `FIGURE-quick`
    #[arg(long)]
    pub quick: bool,
    /// Number of runs in parallel; default: one per processor
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to write to, instead of docs/results next to the folder `kernels`
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Folder for cached results of runs, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Also write the charts as PDF for a paper, one or two columns wide
    #[arg(long, value_name = "WIDTH", value_enum, conflicts_with = "summary")]
    pub pdf: Option<PlotWidth>,
    /// Also write the figures to one self-contained HTML file that includes their charts
    #[arg(long, value_name = "FILE.html", conflicts_with = "summary", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Print how many of the rated rows hold in the figures already written, without running anything
    #[arg(long, conflicts_with = "figures")]
    pub summary: bool,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table, requires = "summary")]
    pub format: Format,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Accepts the names of figures.
fn figures() -> PossibleValuesParser {
    PossibleValuesParser::new(papers::names().into_iter().map(|(name, shows)| PossibleValue::new(name).help(shows)))
}

#[derive(Args, Debug)]
pub(super) struct ListArguments {
    /// Category to list
    pub what: ListCategory,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct SoakArguments {
    /// Soak test to run: a name from `soak --list`
    #[arg(required_unless_present_any = ["list", "replay", "totals"])]
    pub name: Option<String>,
    /// List the soak tests
    #[arg(long)]
    pub list: bool,
    /// Largest number of cases; default: 100, if neither a time limit nor `--keep` is given
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Time limit in seconds, after which no new case starts
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
    /// Seed of the first case; each later case takes the next number
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 1)]
    pub seed: u64,
    /// Print the coverage at the end: the events that cases should reach, and how often they did
    #[arg(long)]
    pub coverage: bool,
    /// Record the seeds that passed in a file and skip them; without a limit, runs until interrupted
    #[arg(long, value_name = "FILE.toml")]
    pub keep: Option<PathBuf>,
    /// Folder to save failing cases in
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub found: PathBuf,
    /// Rerun saved cases, with the named soak test or else the one that their file names begin with
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["list", "totals", "keep", "count", "seconds"])]
    pub replay: Vec<PathBuf>,
    /// Sum up the passed cases that `--keep` files record, by soak test
    #[arg(long, value_name = "FILE.toml", num_args = 1.., conflicts_with_all = ["name", "list", "keep"])]
    pub totals: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct HdlArguments {
    #[command(subcommand)]
    pub command: HdlCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum HdlCommand {
    /// List the components that have a SystemVerilog module, with their size in the machine `fermi`
    List,
    /// Write random legal traffic of a component, with the expected outputs and a SystemVerilog testbench
    Vectors(TrafficArguments),
    /// Write two waveforms of random legal traffic: one of the Rust component, one of its module in
    /// Verilator
    Waves(TrafficArguments),
    /// Run a kernel on a machine, with the module of a block next to the block in the machine, and compare
    /// every output and register in every cycle
    Lockstep(LockstepArguments),
    /// Map a module to standard cells and compare the result with the estimate of `area`; show its longest
    /// combinational paths, and the inputs that reach each output
    Synth {
        /// Component from `hdl list`
        block: String,
        /// Cell library of your own, from which the longest delay is reported in picoseconds
        #[arg(long, value_name = "FILE.lib")]
        liberty: Option<PathBuf>,
    },
    /// Prove the properties of a module for all inputs and all time
    Prove(ProveArguments),
}

#[derive(Args, Debug)]
pub(super) struct ProveArguments {
    /// Component from `hdl prove --list`; default: all
    pub block: Option<String>,
    /// List the provable properties, their sizes, and the injected errors that the proofs find
    #[arg(long)]
    pub list: bool,
    /// Folder for the waveforms of injected errors, each the shortest violation of a property
    #[arg(short, long, value_name = "FOLDER")]
    pub waves: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct LockstepArguments {
    /// Block from `hdl list` that a machine contains as a whole: dram/channel
    pub block: String,
    /// Launch file, or a name from `list kernels`, such as bfs/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// Number of the block among those of its kind, such as the number of a DRAM channel
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 0)]
    pub number: usize,
    /// Number of cycles of the block's clock; the run ends earlier if the kernels do
    #[arg(long, value_name = "N", default_value_t = 1_000_000, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub cycles: u64,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Args, Debug)]
pub(super) struct TrafficArguments {
    /// Component from `hdl list`
    pub block: String,
    /// Folder to write to
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Number of cycles
    #[arg(long, value_name = "N", default_value_t = 10_000, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub cycles: u64,
    /// Seed of the traffic
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 1)]
    pub seed: u64,
    /// Use the smallest size, in which corner cases are frequent, instead of that of `fermi`
    #[arg(long)]
    pub small: bool,
}

#[derive(Args, Debug)]
pub(super) struct DramArguments {
    /// Requests: cycle, R or W, byte address
    #[arg(value_name = "TRACE.csv")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Write every command with its cycle
    #[arg(long, value_name = "OUT.csv")]
    pub commands: Option<PathBuf>,
    /// Write the cycles at which each request was accepted and completed
    #[arg(long, value_name = "OUT.csv")]
    pub requests: Option<PathBuf>,
    /// Check every command and request against the timing rules of the device; slower
    #[arg(long)]
    pub check: bool,
    /// Print no summary and no progress
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct ConfigArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Draw the machine's blocks and the links between them, instead of printing the configuration
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(svg))]
    pub graph: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct AreaArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Print only the difference from the machine with this design instead, or `baseline` for none
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub against: Option<String>,
    /// Technology node in nm
    #[arg(long, value_name = "NM", allow_negative_numbers = true, value_parser = node, default_value = "45")]
    pub node: Node,
    /// Output format
    #[arg(long, value_enum, default_value_t = AreaFormat::Table)]
    pub format: AreaFormat,
    /// Number of levels of blocks in the table
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3)]
    pub depth: u8,
    /// Draw the area of each block
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(svg))]
    pub svg: Option<PathBuf>,
    /// Write one CACTI input file per memory
    #[arg(long, value_name = "FOLDER")]
    pub cacti: Option<PathBuf>,
}

fn node(text: &str) -> Result<Node, String> {
    let nm: u32 = text.parse().map_err(|_| "expected 45, 32 or 22".to_owned())?;
    Node::try_from(nm)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AreaFormat {
    /// A table in which identical blocks share a row
    Table,
    /// The whole tree, with every memory and piece of logic
    Json,
    /// One row per block
    Csv,
}

#[derive(Args, Debug)]
pub(super) struct PtxArguments {
    /// PTX file
    #[arg(value_name = "FILE.ptx")]
    pub file: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct TraceArguments {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum TraceCommand {
    /// Write an Accel-Sim trace of the kernels of a launch file
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(TraceExportArguments),
    /// Print the instructions, footprint, reuse, transactions and strides of each kernel
    #[command(after_help = INFO_EXAMPLES)]
    Info(TraceInfoArguments),
}

#[derive(Args, Debug)]
pub(super) struct TraceExportArguments {
    /// Launch file: buffers, kernels, arguments; or a name from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// Folder to write to: kernelslist.g and one file per launch
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// PTX file to use instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// Compression of the kernel traces
    #[arg(long, value_enum, default_value_t = Compression::None)]
    pub compress: Compression,
    /// Opcodes of this architecture: 60 or 61 Pascal, 70 Volta, 75 Turing, 80 or 86 Ampere
    #[arg(long, value_name = "VERSION", allow_negative_numbers = true, default_value = "60", value_parser = binary_version)]
    pub binary_version: BinaryVersion,
    /// Begin each instruction with its line of the PTX file, which old versions of Accel-Sim cannot read
    #[arg(long)]
    pub line_numbers: bool,
    /// Print no summary
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Compression {
    /// Plain text
    None,
    /// xz: small and slow
    Xz,
    /// zstd: fast
    Zst,
}

#[derive(Args, Debug)]
pub(super) struct TraceInfoArguments {
    /// Trace: kernelslist.g, the folder that holds it, or the trace of one kernel, plain, compressed with xz
    /// or zstd, or a .tracez file
    #[arg(value_name = "FOLDER|FILE.g|FILE.traceg")]
    pub file: PathBuf,
    /// Line size in bytes, the unit of footprint and transactions
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value_t = 128, value_parser = line_bytes)]
    pub line: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct WavesArguments {
    #[command(subcommand)]
    pub command: WavesCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum WavesCommand {
    /// Trace one memory request through the blocks it visited, or list the events of a line, an instruction
    /// or a warp
    #[command(
        after_help = FOLLOW_EXAMPLES,
        override_usage = "warpsieve waves follow [OPTIONS] --request|--line|--pc|--warp <N> <FILE.vcd|FILE.fst>"
    )]
    Follow(FollowArguments),
    /// Write candel2018 Figure 2 as waveforms: three replacements of a line, with and without an FRC
    Figure2 {
        /// Folder to write the waveforms to
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("subject").required(true).args(["request", "line", "pc", "warp"])))]
pub(super) struct FollowArguments {
    /// Waveform of a run
    #[arg(value_name = "FILE.vcd|FILE.fst")]
    pub file: PathBuf,
    /// Number of the request, as in the signals `id` and `head_id`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub request: Option<u64>,
    /// Line number, which is the address divided by the line size, as in the signals `line` and
    /// `head_line`; hexadecimal with the prefix `0x`
    #[arg(long, value_name = "LINE", allow_negative_numbers = true, value_parser = number)]
    pub line: Option<u64>,
    /// Program counter of an instruction, as in the signals `pc` and `issue_pc`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub pc: Option<u64>,
    /// Warp slot, as in the signals `warp` and `issue_warp`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warp: Option<u64>,
    /// SM of the request; each SM numbers its requests separately
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub sm: Option<u64>,
    /// Core clock of the machine, to convert times to cycles
    #[arg(long, value_name = "MHZ", allow_negative_numbers = true, default_value_t = 700,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub core_mhz: u64,
}

fn number(text: &str) -> Result<u64, &'static str> {
    let found = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    found.ok_or("expected a number, such as 8224 or 0x2020")
}

fn binary_version(text: &str) -> Result<BinaryVersion, String> {
    let found = text.parse().ok().and_then(BinaryVersion::new);
    found.ok_or_else(|| {
        format!("expected one of {}", BinaryVersion::ALL.map(|version| version.number().to_string()).join(", "))
    })
}

fn line_bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes @ (16 | 32 | 64 | 128)) => Ok(bytes),
        _ => Err("expected 16, 32, 64 or 128".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ListCategory {
    /// Machine presets
    Machines,
    /// Designs that can be applied to a machine
    Designs,
    /// Kernels with launch files, in the folder `kernels` of this or a parent folder
    Kernels,
    /// Hardware blocks and their components
    Blocks,
    /// Figures and tables that `reproduce` measures
    Figures,
    /// Keys of the statistics that `--stats` writes, with their meanings
    Counters,
    /// Stall reasons of schedulers, caches and L2 banks
    Stalls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Table with aligned columns
    Table,
    /// JSON
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    /// Table with aligned columns
    Table,
    /// A Markdown table
    Markdown,
    /// Comma-separated values
    Csv,
    /// JSON array of objects
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
