//! What may be said on the command line.

use std::path::{Path, PathBuf};

use ::area::Node;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use papers::picture::Width;
use waves::dump::{self, UnknownFormat};

use warpsieve::config::Request;
use warpsieve::run::Threads;
use warpsieve::trace::sass::BinaryVersion;

/// Largest `--max-cycles`: 10^15 core cycles are weeks of machine time and years of ours.
const MOST_CYCLES: u64 = 1_000_000_000_000_000;

const EXAMPLES: &str = "Examples:
  warpsieve run kernels/syrk/launch.toml
  warpsieve run kernels/syrk/launch.toml --design pric --stats syrk.json
  warpsieve list designs
  warpsieve config --design pric --set l1.ways=8

Exit status: 0 done and every check passed; 1 a check failed; 2 bad input, nothing written;
3 no progress, or --max-cycles reached; 130 or 143 interrupted, no file half-written.";

const RUN_EXAMPLES: &str = "Examples:
  warpsieve run vadd
  warpsieve run syrk/small --check
  warpsieve run kernels/syrk/launch.toml --design pric \\
      --set l1.mshr_entries=16
  warpsieve run kernels/syrk/launch.toml --report syrk.html
  warpsieve run kernels/vadd/small.toml --wave vadd.vcd \\
      --wave-scope 'sm0.**' --wave-to 2000
  warpsieve run kernels/syrk/launch.toml --wave fails.fst --wave-last 1000 \\
      --wave-trigger 'sm0.l1.status == RESERVATION_FAIL for 100'";

const REPLAY_EXAMPLES: &str = "Examples:
  warpsieve replay traces
  warpsieve replay traces/kernel-3.traceg.xz
  warpsieve replay traces/kernelslist.g --design pric --check \\
      --stats replay.json

The kernels of the list run one behind the other. Loads must bring data that belong to their
addresses; there are no results to compare.";

const CONFIG_EXAMPLES: &str = "Examples:
  warpsieve config
  warpsieve config --design pric --set l1.ways=8
  warpsieve config --design bypass-all > mine.toml   (a machine file to edit)
  warpsieve config --machine volta --graph volta.svg";

const COMPARE_EXAMPLES: &str = "Examples:
  warpsieve compare kernels/syrk/launch.toml --design-set baseline,pric
  warpsieve compare kernels/kmeans/launch.toml --set l1.sets=32,64,128 \\
      --set l1.ways=4,8
  warpsieve compare kernels/*/launch.toml --format markdown --output suite.md

Each launch file runs once for every design of --design-set and every combination of the values in
--set; speed-up is against the first of them. Runs are kept below --cache, as those of `sweep` are, which this is
the short form of.";

const EXPLAIN_EXAMPLES: &str = "Examples:
  warpsieve explain before.json after.json
  warpsieve explain kernels/syrk/launch.toml --design pric --against baseline
  warpsieve explain kernels/kmeans/launch.toml --set l1.mshr_entries=64 \\
      --against l1.mshr_entries=32

A is what B is held against. Of a launch file, B is on --machine with --design and --set, and A on the same with the
designs of --against instead, and its settings over those. Both runs are kept below --cache, as those of `sweep` are.";

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

docs/sweep.md has the keys of the file and the columns of the results. Every run is kept below --cache by what
decides its result: the same command goes on where it was interrupted, and makes only runs that are new.";

const PROFILE_EXAMPLES: &str = "Examples:
  warpsieve profile syrk
  warpsieve profile kernels/kmeans/launch.toml --set l1.sets=64 --format json

No cycle is simulated: every line arrives at once, SMs and their warps take turns instruction by
instruction. Loads are counted by warp instruction and by line.";

const OPTIMIZE_EXAMPLES: &str = "Examples:
  warpsieve optimize kernels/syrk/launch.toml -o syrk.ptx
  warpsieve optimize kernels/bfs/small.toml -o bfs.ptx --method ilp \\
      --report bfs.json --graph bfs.dot
  warpsieve run kernels/syrk/launch.toml --ptx syrk.ptx

Every ld.global that ran is written with .ca or .cg, nothing else is changed. Loads are profiled on caches
without time: alone, in pairs, all and none.";

const REPRODUCE_EXAMPLES: &str = "Examples:
  warpsieve reproduce suite
  warpsieve reproduce xie2013/fig2 xie2013/fig4
  warpsieve reproduce suite --quick --output /dev/shm
  warpsieve reproduce li2015/fig8 --pdf single
  warpsieve reproduce --summary

Each figure is written as Markdown and as CSV, with its charts as SVG, with --pdf as PDF too. They hold no times of this host: every
run gives the same bytes. Runs are kept below --cache by what decides their result; after an interruption the
same command goes on where it was.";

const SOAK_EXAMPLES: &str = "Examples:
  warpsieve soak --list
  warpsieve soak machines --seconds 600
  warpsieve soak machines --seed 4711 --count 1   (one case again)
  warpsieve soak ptx --keep ptx.toml   (until it is interrupted)
  warpsieve soak --totals *.toml
  warpsieve soak --replay found/ptx-17.ptx

A case that fails is made smaller while it fails in the same way, and kept as a file of its own.";

const DRAM_EXAMPLES: &str = "Examples:
  warpsieve dram trace.csv --machine gddr5-reference \\
      --commands commands.csv --requests requests.csv
  warpsieve dram trace.csv --machine fermi --set dram.policy=fcfs --check

A trace has the heading cycle,op,addr (row,bank,bankgroup,col may follow) and a request a line, such as
0,R,0x00000040: offered from cycle 0 on, in the order of the file, at most one a cycle.";

const AREA_EXAMPLES: &str = "Examples:
  warpsieve area
  warpsieve area --node 22 --depth 5 --svg fermi.svg
  warpsieve area --design pric --against baseline --format json

Estimates, from CACTI's memories and standard cells: README and docs/area.md say how, and how far off.";

const HDL_EXAMPLES: &str = "Examples:
  warpsieve hdl list
  warpsieve hdl vectors l1/mshr -o mshr --cycles 1000
  warpsieve hdl waves l1/mshr -o mshr --cycles 200 --small
  warpsieve hdl synth l1/mshr
  warpsieve hdl prove tracker/sharer_table --waves broken

Modules come with the source tree, in hdl/; docs/hdl.md says how to use one. Waveforms need
verilator and g++, gates and proofs yosys.";

const PTX_EXAMPLES: &str = "Examples:
  warpsieve ptx kernels/syrk/syrk.ptx
  warpsieve ptx mine.ptx --format json

Nothing is run. Exit status 2 if the text cannot be read, or if a kernel in it cannot be run: each
instruction that is refused is listed with its place.";

const FOLLOW_EXAMPLES: &str = "Examples:
  warpsieve run kernels/syrk/small.toml --wave syrk.fst
  warpsieve waves follow syrk.fst --request 12 --sm 0
  warpsieve waves follow syrk.fst --line 0x2020
  warpsieve waves follow syrk.fst --pc 14 --sm 0

A line is a stay at the head of a port. Ports that are not in the waveform are not listed.";

const INFO_EXAMPLES: &str = "Examples:
  warpsieve trace info traces/kernelslist.g
  warpsieve trace info kernel-3.traceg.xz --format json";

const EXPORT_EXAMPLES: &str = "Examples:
  warpsieve trace export kernels/bfs/small.toml -o traces/bfs
  warpsieve replay traces/bfs/kernelslist.g";

/// Cycle-exact, bit-width-accurate model of a GPU's cache hierarchy.
#[derive(Debug, Parser)]
#[command(name = "warpsieve", version = version(), after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

impl Command {
    /// Whether machines are run, and with them the hooks of schemes.
    pub fn simulates(&self) -> bool {
        use Command::{Compare, Explain, Optimize, Profile, Replay, Reproduce, Run, Soak, Sweep};
        matches!(
            self,
            Compare(_) | Explain(_) | Optimize(_) | Profile(_) | Replay(_) | Reproduce(_) | Run(_) | Soak(_) | Sweep(_)
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
    /// Run launch files on several designs or configurations and put the results side by side
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),
    /// Say what changed between two runs of the same kernels, and why: cycles, refusals, loads, memory, energy
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Run everything that a file asks for, launch files and traces on machines, designs and settings, and tabulate it
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArguments),
    /// Run a launch file on caches without time and print what each load asks for and finds
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileArguments),
    /// Choose which loads of a PTX file go through the L1 and write it with cache operators (xie2013)
    #[command(after_help = OPTIMIZE_EXAMPLES)]
    Optimize(OptimizeArguments),
    /// Measure what a paper shows and write our figures beside its own to docs/results
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArguments),
    /// List what there is to choose from
    List(ListArguments),
    /// Print the resolved configuration as TOML, with where each value comes from
    #[command(after_help = CONFIG_EXAMPLES)]
    Config(ConfigArguments),
    /// Run long randomised checks until a limit is reached or one fails
    #[command(after_help = SOAK_EXAMPLES)]
    Soak(SoakArguments),
    /// Read a PTX file and list its kernels, their loads and registers, and what cannot be run
    #[command(after_help = PTX_EXAMPLES)]
    Ptx(PtxArguments),
    /// Look into Accel-Sim traces, or write one
    Trace(TraceArguments),
    /// Drive the DRAM channels of a machine alone with a trace of requests
    #[command(after_help = DRAM_EXAMPLES)]
    Dram(DramArguments),
    /// Estimate area and leakage of a machine, block by block, from the structures it is built of
    #[command(after_help = AREA_EXAMPLES)]
    Area(AreaArguments),
    /// Parts as SystemVerilog: what there is, test vectors, gates beside the estimate
    #[command(after_help = HDL_EXAMPLES)]
    Hdl(HdlArguments),
    /// Look into waveforms
    Waves(WavesArguments),
    /// Write a crate with a scheme of your own, whose binary is this command with the scheme in it
    New(NewArguments),
    /// Say what a counter of the statistics counts, in which unit, and where it stands
    #[command(after_help = COUNTERS_EXAMPLES)]
    Counters(CountersArguments),
    /// Print completions of this command line for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one a command
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Folder of the files
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

/// Version, commit and profile of this build.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit = Some(env!("WARPSIEVE_COMMIT")).filter(|commit| !commit.is_empty()).unwrap_or("unknown");
    format!("{version} (commit {commit}, profile {})", env!("WARPSIEVE_PROFILE"))
}

impl Command {
    /// The launch files of a command, which may be given by the names of kernels.
    pub fn launches(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Run(run) => vec![&mut run.launch],
            Self::Compare(compare) => compare.launches.iter_mut().collect(),
            // Two files are statistics.
            Self::Explain(explain) if explain.second.is_none() => vec![&mut explain.first],
            Self::Profile(profile) => vec![&mut profile.launch],
            Self::Optimize(optimize) => vec![&mut optimize.launch],
            Self::Trace(TraceArguments { command: TraceCommand::Export(export) }) => vec![&mut export.launch],
            _ => Vec::new(),
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct CountersArguments {
    /// Its key, such as l1.hits, or the end of one: mshr_entry
    pub name: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct NewArguments {
    /// Its name: lower-case words with hyphens
    pub name: String,
    /// Folder of warpsieve's sources, as the crate names it; that which this command was built from if left out
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub path: Option<PathBuf>,
    /// Repository of warpsieve's sources instead, at the commit that this command was built from
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,
}

/// Which machine.
#[derive(Args, Debug)]
pub(super) struct MachineArguments {
    /// Machine: a name from `list machines`, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "fermi")]
    pub machine: String,
    /// Design put on the machine: a name from `list designs`, or a TOML file; may be repeated
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
    /// Launch file: buffers, kernels, arguments, expected results; or a name from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// Use this PTX file instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    #[command(flatten)]
    pub simulation: SimulationArguments,
}

#[derive(Args, Debug)]
pub(super) struct ReplayArguments {
    /// A trace: its list, kernelslist.g, the folder that holds it, or one kernel, plain or compressed with xz or zstd
    #[arg(value_name = "FOLDER|LIST.g|KERNEL.traceg")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub simulation: SimulationArguments,
}

/// What is simulated, and what is written of it.
#[derive(Args, Debug)]
pub(super) struct SimulationArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Write the statistics (JSON, schema 1), with `-` to stdout
    #[arg(long, value_name = "FILE.json")]
    pub stats: Option<PathBuf>,
    /// Write a report to read and to send: one HTML file with tables and charts, which needs nothing else
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Compare every step with the golden models; slower
    #[arg(long)]
    pub check: bool,
    /// Stop after this many core cycles, with exit status 3
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MOST_CYCLES))]
    pub max_cycles: Option<u64>,
    /// Write a waveform, as text or compressed, and GTKWave save files beside it
    #[arg(long, value_name = "FILE.vcd|FILE.fst", value_parser = PathBufValueParser::new().try_map(waveform))]
    pub wave: Option<PathBuf>,
    /// First core cycle of the waveform
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(..=MOST_CYCLES))]
    pub wave_from: Option<u64>,
    /// Last core cycle of the waveform
    #[arg(long, value_name = "CYCLE", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(..=MOST_CYCLES))]
    pub wave_to: Option<u64>,
    /// Only these scopes and signals, such as 'sm0.l1.**'; may be repeated
    #[arg(long = "wave-scope", value_name = "GLOB", requires = "wave")]
    pub wave_scopes: Vec<String>,
    /// Start the waveform when this holds, such as 'sm*.l1.status == RESERVATION_FAIL && cycle > 900 for 100', or at
    /// a 'failure' of a check, 'failure sm0.l1' being one whose message has this text
    #[arg(long, value_name = "CONDITION", requires = "wave")]
    pub wave_trigger: Option<String>,
    /// Remember the last N core cycles: written ahead of the trigger or, without one, only if a check fails,
    /// nothing can move, or the run is stopped
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "wave",
          value_parser = clap::value_parser!(u64).range(1..=MOST_CYCLES))]
    pub wave_last: Option<u64>,
    /// Go on for N core cycles behind the trigger, then end the waveform
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "wave_trigger",
          value_parser = clap::value_parser!(u64).range(..=MOST_CYCLES))]
    pub wave_after: Option<u64>,
    /// End the waveform at about this size, such as 500M; an FST is measured before compression
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, requires = "wave", value_parser = size)]
    pub wave_limit: Option<u64>,
    /// Core cycles between two rows of the time series
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "series", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..=MOST_CYCLES))]
    pub interval: u64,
    /// Write what is counted in every interval (CSV)
    #[arg(long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Columns of the time series: counters by their keys in `list counters`, such as l2.stalls.port, with commas between
    /// [default: instructions, accesses, hits, misses and traffic]
    #[arg(long, value_name = "KEYS", requires = "series", value_delimiter = ',')]
    pub series_columns: Vec<String>,
    /// Write requests, queue levels and stalls for Perfetto (ui.perfetto.dev): 1 us is a core cycle
    #[arg(long, value_name = "FILE.json")]
    pub timeline: Option<PathBuf>,
    /// Write every warp instruction, from fetch to writeback, for Konata
    #[arg(long, value_name = "FILE.kanata")]
    pub pipeline: Option<PathBuf>,
    /// Save the run to this file when it is interrupted or at its `--max-cycles`, to go on from with `--resume`
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub checkpoint: Option<PathBuf>,
    /// Save it every so many core cycles, too, each time in the place of the time before
    #[arg(long, value_name = "N", allow_negative_numbers = true, requires = "checkpoint",
          value_parser = clap::value_parser!(u64).range(1..=MOST_CYCLES))]
    pub checkpoint_every: Option<u64>,
    /// Go on from a checkpoint of this very run, by the program that wrote it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "timeline", "pipeline"])]
    pub resume: Option<PathBuf>,
    /// Print what energy the run took, block by block: an estimate, always in the statistics
    #[arg(long)]
    pub energy: bool,
    /// Technology node of the energy, in nm
    #[arg(long, value_name = "NM", allow_negative_numbers = true, value_parser = node, default_value = "45")]
    pub node: Node,
    /// Millimetres of wire between an SM and a partition, for the energy [default: half an edge of a GTX 480]
    #[arg(long, value_name = "MM", allow_negative_numbers = true, value_parser = millimetres)]
    pub hop_mm: Option<f64>,
    /// Threads that share the machine's islands (SMs, crossbars, partitions), with the same result: a number, `auto` for
    /// the processors there are while that pays, or `step` for all blocks of a cycle together. What follows every cycle
    /// (checks, waveforms, time series, reports) is run in step, and so are machines with a tracker or recalls and those whose SMs
    /// have links without delays
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
        _ => text.parse().map(Threads::Of).map_err(|_| "expected a number from 1, `auto` or `step`"),
    }
}

fn millimetres(text: &str) -> Result<f64, &'static str> {
    let length = text.parse().ok().filter(|length: &f64| (0.0..=1000.0).contains(length));
    length.ok_or("expected a length from 0 to 1000")
}

fn waveform(path: PathBuf) -> Result<PathBuf, UnknownFormat> {
    dump::Format::of(&path).map(|_| path)
}

/// A name that says how a picture is written.
fn picture(path: PathBuf) -> Result<PathBuf, &'static str> {
    match PictureFormat::of(&path) {
        Some(_) => Ok(path),
        None => Err("expected a name that ends in .svg or .pdf"),
    }
}

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PictureFormat {
    Svg,
    Pdf,
}

impl PictureFormat {
    /// The format that the ending of a name stands for, if any.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            _ => None,
        }
    }
}

/// A picture of results, and what it shows.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("drawn").args(["plot", "report"]).multiple(true))]
pub(super) struct PlotArguments {
    /// Draw it for a paper: bars by launch file, sorted, with their mean; lines over a parameter of numbers; heat maps over two
    #[arg(long, value_name = "FILE.svg|FILE.pdf", value_parser = PathBufValueParser::new().try_map(picture))]
    pub plot: Option<PathBuf>,
    /// How wide it is
    #[arg(long, value_name = "WIDTH", requires = "plot", value_enum, default_value_t = PlotWidth::Double)]
    pub plot_width: PlotWidth,
    /// The column that is drawn
    #[arg(long, value_name = "COLUMN", requires = "drawn", default_value = "speedup")]
    pub plot_of: String,
}

/// Widths of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlotWidth {
    /// A column of a page of two: 3.3 inches
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

/// A name that no input has: `reproduce` does not know all of its inputs ahead.
fn page(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.extension().is_some_and(|ending| ending == "html") {
        Ok(path)
    } else {
        Err("expected a name that ends in .html")
    }
}

/// The name of an SVG.
fn svg(path: PathBuf) -> Result<PathBuf, &'static str> {
    if path.extension().is_some_and(|ending| ending == "svg") {
        Ok(path)
    } else {
        Err("expected a name that ends in .svg")
    }
}

/// A number of bytes, with K, M or G for powers of 1,024.
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
    /// Design under all that are compared; may be repeated
    #[arg(long = "design", value_name = "NAME|FILE.toml")]
    pub designs: Vec<String>,
    /// Designs to compare
    #[arg(long = "design-set", value_name = "A,B,...", value_delimiter = ',', default_value = "baseline")]
    pub design_set: Vec<String>,
    /// Values of a field to compare, or one to set; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE,...")]
    pub sets: Vec<String>,
    /// Compare every run with the golden models; slower
    #[arg(long)]
    pub check: bool,
    /// Stop each run after this many core cycles
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=MOST_CYCLES))]
    pub max_cycles: Option<u64>,
    /// Runs at the same time; one a processor if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to keep results of runs in, instead of the user's folder for such things
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
    /// Columns of the table by their heads, as launch-file,on,cycles; or `all`. On a terminal, those that fit if left out
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Write the table to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub plot: PlotArguments,
    /// Write a report to read and to send: one HTML file with the table, charts, each run and what changed
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
pub(super) struct ExplainArguments {
    /// Statistics of the run that B is held against, as `run --stats` writes them; or a launch file or kernel, which is
    /// run twice
    #[arg(value_name = "A.json|KERNEL|LAUNCH.toml")]
    pub first: PathBuf,
    /// Statistics of the other run
    #[arg(value_name = "B.json", conflicts_with_all = ["against", "machine", "designs", "sets", "jobs", "cache"])]
    pub second: Option<PathBuf>,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// What A has instead, of a launch file: a design or a setting; may be repeated
    #[arg(long, value_name = "NAME|FILE.toml|KEY=VALUE")]
    pub against: Vec<String>,
    /// PTX file of the kernels of two statistics, for the lines of loads; a launch file names its own
    #[arg(long, value_name = "FILE.ptx", requires = "second")]
    pub ptx: Option<PathBuf>,
    /// Leave out what did not change by more than this part of the whole
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, default_value = "1", value_parser = percentage)]
    pub least: f64,
    /// Runs at the same time; one a processor if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to keep results of runs in, instead of the user's folder for such things
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// How to print it
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
    /// Have the runs made by a job array of Slurm
    Slurm(SlurmArguments),
    /// Join the results that shards have kept, without a run
    Gather(GatherArguments),
}

#[derive(Args, Debug)]
pub(super) struct SweepHereArguments {
    /// Sweep file: what is run on what
    #[arg(value_name = "SWEEP.toml", required = true)]
    pub file: Option<PathBuf>,
    /// Leave out what a machine refuses, which else stops everything before the first run
    #[arg(long)]
    pub leave_out_refused: bool,
    /// Make only every N-th run, beginning with number I
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Runs at the same time; one a processor if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to keep results of runs in, instead of the user's folder for such things
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    #[command(flatten)]
    pub output: SweepOutput,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

/// What is written of a sweep besides the table on stdout.
#[derive(Args, Debug)]
pub(super) struct SweepOutput {
    /// Write a row a run and a column a parameter or counter, in full precision (CSV); now and then with what is complete
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
    /// Write the same as JSON, an object a line
    #[arg(long, value_name = "FILE.jsonl")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub plot: PlotArguments,
    /// Write a report to read and to send: one HTML file with the tables, the picture, and what sets the runs apart
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Columns of the table by their heads, as launch-file,on,cycles; or `all`. On a terminal, those that fit if left out
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// What it is drawn over: one parameter of numbers, or any two; the first two of numbers that vary if left out
    #[arg(long, value_name = "KEY,...", requires = "drawn", value_delimiter = ',')]
    pub plot_over: Vec<String>,
}

/// A text without a line break or other control character.
fn one_line(text: &str) -> Result<String, String> {
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!("it has the control character `{}`, expected one line", c.escape_default())),
        None => Ok(text.to_owned()),
    }
}

#[derive(Args, Debug)]
pub(super) struct SlurmArguments {
    /// Sweep file: what is run on what
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,
    /// Jobs of the array, each of which makes an equal share of the runs
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub shards: u16,
    /// Runs at the same time in a job, with a processor each
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// Folder to keep results of runs in, which all nodes see
    #[arg(long, value_name = "FOLDER")]
    pub cache: PathBuf,
    /// Script to write; SWEEP.sbatch beside the sweep file if left out
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// An option of sbatch for the script, such as --sbatch=--time=2:00:00; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, value_parser = one_line)]
    pub sbatch: Vec<String>,
    /// Leave out what a machine refuses, which else stops everything before the first run
    #[arg(long)]
    pub leave_out_refused: bool,
    /// Write the script and do not submit it
    #[arg(long)]
    pub write_only: bool,
}

#[derive(Args, Debug)]
pub(super) struct GatherArguments {
    /// Sweep file: what is run on what
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,
    /// Folder that results were kept in, instead of the user's folder for such things; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub cache: Vec<PathBuf>,
    /// Leave out what a machine refuses, as the shards did
    #[arg(long)]
    pub leave_out_refused: bool,
    #[command(flatten)]
    pub output: SweepOutput,
}

/// A share of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
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
    /// Use this PTX file instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// How to print it
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
    /// Use this PTX file instead of the one that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// How loads are chosen
    #[arg(long, value_enum, default_value_t = Method::Heuristic)]
    pub method: Method,
    /// Where the traffic of a bypassed load comes from
    #[arg(long, value_enum, default_value_t = TOff::Uniform)]
    pub t_off: TOff,
    /// What counts the hits of loads that are cached alone or in pairs
    #[arg(long, value_enum, default_value_t = Profiled::Untimed)]
    pub profile: Profiled,
    /// Write all that was measured and decided (JSON)
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
    /// Integer programming
    Ilp,
    /// Every set of loads
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
pub(super) enum Profiled {
    /// Caches that answer at once, in seconds
    Untimed,
    /// The clocked machine, a run for each load and each pair
    Clocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TOff {
    /// The efficiency of all loads together, as the paper has it
    Uniform,
    /// The sectors of each load
    Exact,
}

impl From<TOff> for compiler::characterise::Bypassed {
    fn from(t_off: TOff) -> Self {
        match t_off {
            TOff::Uniform => Self::Uniform,
            TOff::Exact => Self::Exact,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct ReproduceArguments {
    /// Which figures; all if left out
    #[arg(value_name = "FIGURE", value_parser = figures())]
    pub figures: Vec<String>,
    /// Use the small sizes of the tests; files are named `FIGURE-quick`
    #[arg(long)]
    pub quick: bool,
    /// Runs at the same time; one a processor if left out
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder to write to instead of docs/results beside the folder `kernels`
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Folder to keep results of runs in, instead of the user's folder for such things
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// Write the charts as PDF too, for a paper, as wide as a column or both
    #[arg(long, value_name = "WIDTH", value_enum, conflicts_with = "summary")]
    pub pdf: Option<PlotWidth>,
    /// Write the figures to one HTML file too, to read and to send, with their charts in it
    #[arg(long, value_name = "FILE.html", conflicts_with = "summary", value_parser = PathBufValueParser::new().try_map(page))]
    pub report: Option<PathBuf>,
    /// Run nothing: count how many of the judged rows hold in the figures that have been written
    #[arg(long, conflicts_with = "figures")]
    pub summary: bool,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table, requires = "summary")]
    pub format: Format,
    /// Print no progress
    #[arg(long)]
    pub quiet: bool,
}

/// The names of figures.
fn figures() -> PossibleValuesParser {
    PossibleValuesParser::new(papers::names().into_iter().map(|(name, shows)| PossibleValue::new(name).help(shows)))
}

#[derive(Args, Debug)]
pub(super) struct ListArguments {
    /// What to list
    pub what: What,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

#[derive(Args, Debug)]
pub(super) struct SoakArguments {
    /// Which soak: a name from `soak --list`
    #[arg(required_unless_present_any = ["list", "replay", "totals"])]
    pub name: Option<String>,
    /// List the soaks
    #[arg(long)]
    pub list: bool,
    /// Cases at most; 100 if neither this nor a time nor `--keep` is given
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Begin no case after this time
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: Option<u64>,
    /// Seed of the first case; each case after it has the next number
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 1)]
    pub seed: u64,
    /// Print at the end what the cases have met of what they are to meet, and how often
    #[arg(long)]
    pub coverage: bool,
    /// Keep in a file which seeds have passed, and go on with those that have not; without a limit until interrupted
    #[arg(long, value_name = "FILE.toml")]
    pub keep: Option<PathBuf>,
    /// Folder in which a case that fails is kept
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub found: PathBuf,
    /// Run cases that were kept, of the soak that their names begin with or that is given
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["list", "totals", "keep", "count", "seconds"])]
    pub replay: Vec<PathBuf>,
    /// List what files of `--keep` say has passed, by soak
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
    /// The parts, with their size in the machine `fermi`
    List,
    /// Write random legal traffic of a part with the outputs that it must give, and a SystemVerilog bench
    Vectors(TrafficArguments),
    /// Write random legal traffic of a part as two waveforms, of the part and of its module in Verilator
    Waves(TrafficArguments),
    /// Map a part to standard cells and set them beside what `area` estimates
    Synth {
        /// A part from `hdl list`
        block: String,
    },
    /// Prove what holds for all time, whatever happens at the ports of a part
    Prove(ProveArguments),
}

#[derive(Args, Debug)]
pub(super) struct ProveArguments {
    /// A part from `hdl prove --list`; all of them if left out
    pub block: Option<String>,
    /// List what can be proven, at which sizes, and which mistakes are found
    #[arg(long)]
    pub list: bool,
    /// Folder for a waveform of each mistake, with the shortest way to break the property
    #[arg(short, long, value_name = "FOLDER")]
    pub waves: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct TrafficArguments {
    /// A part from `hdl list`
    pub block: String,
    /// Folder to write to
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Cycles
    #[arg(long, value_name = "N", default_value_t = 10_000, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub cycles: u64,
    /// Seed of the traffic
    #[arg(long, value_name = "S", allow_negative_numbers = true, default_value_t = 1)]
    pub seed: u64,
    /// A part so small that everything meets, not that of `fermi`
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
    /// Write when each request was accepted and complete
    #[arg(long, value_name = "OUT.csv")]
    pub requests: Option<PathBuf>,
    /// Check every command and request against the rules of the device; slower
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
    /// Draw the machine's blocks and the links between them, instead of printing the fields
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(svg))]
    pub graph: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct AreaArguments {
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Print what the machine has more with these designs than with this one, or `baseline` for none
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub against: Option<String>,
    /// Technology node in nm
    #[arg(long, value_name = "NM", allow_negative_numbers = true, value_parser = node, default_value = "45")]
    pub node: Node,
    /// How to print it
    #[arg(long, value_enum, default_value_t = AreaFormat::Table)]
    pub format: AreaFormat,
    /// Levels of blocks in the table
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 3)]
    pub depth: u8,
    /// Draw where the area goes
    #[arg(long, value_name = "FILE.svg", value_parser = PathBufValueParser::new().try_map(svg))]
    pub svg: Option<PathBuf>,
    /// Write an input file for CACTI for each memory
    #[arg(long, value_name = "FOLDER")]
    pub cacti: Option<PathBuf>,
}

fn node(text: &str) -> Result<Node, String> {
    let nm: u32 = text.parse().map_err(|_| "expected 45, 32 or 22".to_owned())?;
    Node::try_from(nm)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AreaFormat {
    /// Blocks alike in one row
    Table,
    /// The whole tree with every memory and piece of logic
    Json,
    /// A row a block
    Csv,
}

#[derive(Args, Debug)]
pub(super) struct PtxArguments {
    /// PTX file
    #[arg(value_name = "FILE.ptx")]
    pub file: PathBuf,
    /// How to print it
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
    /// Write what the kernels of a launch file do as a trace
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(TraceExportArguments),
    /// Instructions, footprint, reuse, transactions and strides of each kernel
    #[command(after_help = INFO_EXAMPLES)]
    Info(TraceInfoArguments),
}

#[derive(Args, Debug)]
pub(super) struct TraceExportArguments {
    /// Launch file: buffers, kernels, arguments; or a name from `list kernels`, such as syrk/small
    #[arg(value_name = "KERNEL|LAUNCH.toml")]
    pub launch: PathBuf,
    /// Folder to write to: kernelslist.g and a file for each launch
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: MachineArguments,
    /// Use this PTX file instead of those that the launch file names
    #[arg(long, value_name = "FILE.ptx")]
    pub ptx: Option<PathBuf>,
    /// Compress the traces of the kernels
    #[arg(long, value_enum, default_value_t = Compression::None)]
    pub compress: Compression,
    /// Whose opcodes: 60 or 61 Pascal, 70 Volta, 75 Turing, 80 or 86 Ampere
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
    /// A list (kernelslist.g), the folder that holds it, or one kernel's trace, plain or compressed with xz or zstd
    #[arg(value_name = "FOLDER|FILE.g|FILE.traceg")]
    pub file: PathBuf,
    /// Bytes of a line, the unit of footprint and transactions
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value_t = 128, value_parser = line_bytes)]
    pub line: u64,
    /// How to print it
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
    /// Print where one memory request was at which time, or what happened to a line, an instruction or a warp
    #[command(
        after_help = FOLLOW_EXAMPLES,
        override_usage = "warpsieve waves follow [OPTIONS] --request|--line|--pc|--warp <N> <FILE.vcd|FILE.fst>"
    )]
    Follow(FollowArguments),
    /// Write candel2018 Figure 2 as waveforms: three replacements of a line, without an FRC and with one
    Figure2 {
        /// Folder of the files
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
    /// Number of the request: the signals called `id` and `head_id`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub request: Option<u64>,
    /// Number of a line, which is its address divided by the length of a line: the signals called `line` and
    /// `head_line`; `0x` begins a hexadecimal one
    #[arg(long, value_name = "LINE", allow_negative_numbers = true, value_parser = number)]
    pub line: Option<u64>,
    /// Program counter of an instruction: the signals called `pc` and `issue_pc`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub pc: Option<u64>,
    /// Warp slot: the signals called `warp` and `issue_warp`
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warp: Option<u64>,
    /// SM that made it; each SM counts its own requests
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub sm: Option<u64>,
    /// Core clock of the machine, for times in cycles
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
pub(super) enum What {
    /// Machine presets
    Machines,
    /// Designs that can be put on a machine
    Designs,
    /// Kernels with launch files, in the folder `kernels` here or above
    Kernels,
    /// Hardware blocks and their parts
    Blocks,
    /// Figures and tables that `reproduce` measures
    Figures,
    /// Keys of the statistics that `--stats` writes, with what they count
    Counters,
    /// Reasons for which schedulers, caches and L2 banks wait
    Stalls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Aligned columns
    Table,
    /// JSON
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    /// Aligned columns
    Table,
    /// A Markdown table
    Markdown,
    /// Comma-separated values
    Csv,
    /// An array of objects
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
