//! `warpsieve trace`: writes and analyzes Accel-Sim traces.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use input::escape_hidden;
use isa::recorded::{Class, Header};
use miette::{IntoDiagnostic, Report, WrapErr};
use serde::Serialize;
use trace::{Command, KernelTrace, KernelsList, Packing, Warning};

use super::args::{Compression, Format, TraceArguments, TraceCommand, TraceExportArguments, TraceInfoArguments};
use super::files::Files;
use super::output::{self, format_count, format_thousands, wrap_text};
use super::{Exit, interrupt};
use papers::progress::progress_line;
use warpsieve::config::ResolvedMachine;
use warpsieve::content::Content;
use warpsieve::crash;
use warpsieve::run::{ExportResult, TraceForm, export_into, replaceable};
use warpsieve::trace::list_of;
use warpsieve::trace::profile::Profile;

/// Maximum number of strides that are printed; the JSON output contains all recorded strides.
const STRIDES_SHOWN: usize = 6;
/// Minimum interval between two updates of the progress line.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

pub(super) fn trace(arguments: &TraceArguments) -> Result<Exit, Report> {
    match &arguments.command {
        TraceCommand::Info(arguments) => interrupt::run_interruptible(
            || info(arguments),
            || output::print_error("interrupted: the analysis needs the whole trace"),
        )?,
        TraceCommand::Export(arguments) => export(arguments),
    }
}

fn export(arguments: &TraceExportArguments) -> Result<Exit, Report> {
    let TraceExportArguments { launch, output: folder, machine, ptx, compress, quiet, .. } = arguments;
    let resolved = ResolvedMachine::new(&machine.request())?;
    let packing = match compress {
        Compression::None => Packing::Plain,
        Compression::Xz => Packing::Xz,
        Compression::Zst => Packing::Zstd,
    };
    let form = TraceForm { packing, version: arguments.binary_version, has_line_numbers: arguments.line_numbers };
    let launch = warpsieve::run::open(launch, ptx.as_deref())?;
    let mut files = Files::of(&resolved);
    files.reads_launch(&launch);
    replaceable(folder, packing).iter().for_each(|path| files.writes("a file in `--output`", Some(path)));
    files.check()?;
    let exported = Mutex::default();
    let work = || crash::catch_panic(|| export_into(&exported, launch, &resolved.config, folder, form));
    let exported = || exported.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = interrupt::run_interruptible(work, || {
        let ExportResult { files, .. } = std::mem::take(&mut *exported());
        let launches = format_count(files.len() as u64, "launch", "launches");
        if let Err(report) = output::print_written(*quiet, files) {
            output::print_report(&report);
        }
        output::print_error(&format!("interrupted after {launches}; the later launches and the list are missing"));
    })?;
    interrupt::finish(ran, |()| {
        let ExportResult { files, warp_instructions } = std::mem::take(&mut *exported());
        if !quiet {
            let launches = format_count(files.len().saturating_sub(1) as u64, "launch", "launches");
            let instructions = format_count(warp_instructions, "warp instruction", "warp instructions");
            output::print(&format!("{}: {launches}, {instructions}\n", folder.display()))?;
        }
        output::print_written(*quiet, files)?;
        Ok(Exit::Done)
    })
}

fn info(arguments: &TraceInfoArguments) -> Result<Exit, Report> {
    let TraceInfoArguments { file, line, format, quiet } = arguments;
    Content::Trace.check(file).into_diagnostic().wrap_err_with(|| format!("{} cannot be read", file.display()))?;
    let mut progress = Progress::new(*quiet);
    let mut found = AnalyzedKernels { kernels: Vec::new(), copied_bytes: 0, warnings: Vec::new() };
    if let Some(list) = list_of(file) {
        let mut list = KernelsList::open(&list)?;
        while let Some(command) = list.next_command()? {
            match command {
                Command::CopyToDevice { bytes, .. } => found.copied_bytes = found.copied_bytes.saturating_add(bytes),
                Command::Kernel { path } if path.is_file() => found.add(&path, *line, &mut progress)?,
                Command::Kernel { path } => {
                    return Err(list.refuse(format!("there is no file {}", path.display())).into());
                }
            }
        }
        found.warnings.extend_from_slice(list.warnings());
    } else {
        found.add(file, *line, &mut progress)?;
    }
    drop(progress);
    let text = match format {
        Format::Table => {
            output::warn(&found.warnings);
            found.kernels.iter().map(table).collect::<Vec<_>>().join("\n")
        }
        Format::Json => serde_json::to_string_pretty(&found.to_json(*line)).into_diagnostic()? + "\n",
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Kernel of a trace, with the result of its analysis.
struct Kernel {
    file: String,
    header: Header,
    distinct: usize,
    profile: Profile,
}

/// All kernels that a command analyzes.
struct AnalyzedKernels {
    kernels: Vec<Kernel>,
    copied_bytes: u64,
    warnings: Vec<Warning>,
}

impl AnalyzedKernels {
    fn add(&mut self, path: &Path, line: u64, progress: &mut Progress) -> Result<(), Report> {
        let mut kernel = KernelTrace::open(path)?;
        let mut profile = Profile::new(line);
        while let Some(cta) = kernel.next_cta()? {
            profile.add(&cta, kernel.code());
            progress.show(path, &kernel);
        }
        self.warnings.extend_from_slice(kernel.warnings());
        self.kernels.push(Kernel {
            file: path.display().to_string(),
            header: kernel.header().clone(),
            distinct: kernel.code().operations().len(),
            profile,
        });
        Ok(())
    }

    fn to_json(&self, line: u64) -> Json<'_> {
        Json {
            line_bytes: line,
            copied_bytes: self.copied_bytes,
            kernels: self.kernels.iter().map(kernel_json).collect(),
            warnings: self.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

#[derive(Serialize)]
struct Json<'a> {
    line_bytes: u64,
    copied_bytes: u64,
    kernels: Vec<KernelJson<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct KernelJson<'a> {
    file: &'a str,
    name: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    architecture: Option<String>,
    ctas: u64,
    warps: u64,
    warp_instructions: u64,
    thread_instructions: u64,
    /// Number of warp instructions that had no active lane.
    without_lanes: u64,
    distinct_instructions: usize,
    classes: Vec<CountJson>,
    traffic: Vec<TrafficJson>,
    footprint: FootprintJson,
    strides: StridesJson,
}

#[derive(Serialize)]
struct CountJson {
    class: &'static str,
    warp_instructions: u64,
}

#[derive(Serialize)]
struct TrafficJson {
    class: &'static str,
    instructions: u64,
    transactions: u64,
    average: Option<f64>,
    most: u64,
}

#[derive(Serialize)]
struct FootprintJson {
    lines: u64,
    accesses: u64,
    /// True if the kernel accessed more distinct lines than the analysis can track, so that some counts are
    /// incomplete.
    is_cut: bool,
    reuse: Vec<ReuseJson>,
}

#[derive(Serialize)]
struct ReuseJson {
    from: u32,
    to: Option<u32>,
    lines: u64,
}

#[derive(Serialize)]
struct StridesJson {
    constant: Vec<StrideJson>,
    others: u64,
    irregular: u64,
    single: u64,
}

#[derive(Serialize)]
struct StrideJson {
    bytes: i64,
    instructions: u64,
}

fn kernel_json(kernel: &Kernel) -> KernelJson<'_> {
    let Kernel { file, header, distinct, profile } = kernel;
    let traffic = profile.traffic.iter().map(|(class, traffic)| TrafficJson {
        class: class.name(),
        instructions: traffic.instructions,
        transactions: traffic.transactions,
        average: traffic.average(),
        most: traffic.most,
    });
    let reuse = profile.footprint.reuse();
    let reuse = reuse.iter().map(|reuse| ReuseJson { from: reuse.from, to: reuse.to, lines: reuse.lines });
    let constant = profile.strides.most_frequent();
    let constant = constant.iter().map(|&(bytes, instructions)| StrideJson { bytes, instructions });
    let classes = by_count(profile);
    let classes = classes.iter().map(|&(class, count)| CountJson { class: class.name(), warp_instructions: count });
    KernelJson {
        file,
        name: &header.name,
        grid: header.grid,
        block: header.block,
        architecture: header.architecture().map(|architecture| architecture.to_string()),
        ctas: profile.ctas,
        warps: profile.warps,
        warp_instructions: profile.warp_instructions,
        thread_instructions: profile.thread_instructions,
        without_lanes: profile.without_lanes,
        distinct_instructions: *distinct,
        classes: classes.collect(),
        traffic: traffic.collect(),
        footprint: FootprintJson {
            lines: profile.footprint.lines(),
            accesses: profile.footprint.accesses(),
            is_cut: profile.footprint.is_cut(),
            reuse: reuse.collect(),
        },
        strides: StridesJson {
            constant: constant.collect(),
            others: profile.strides.others,
            irregular: profile.strides.irregular,
            single: profile.strides.single,
        },
    }
}

/// Returns the instruction classes, ordered by their number of instructions, the largest first.
fn by_count(profile: &Profile) -> Vec<(Class, u64)> {
    let mut classes: Vec<_> = profile.classes.iter().map(|(&class, &count)| (class, count)).collect();
    classes.sort_by_key(|&(class, count)| (std::cmp::Reverse(count), class));
    classes
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn table(kernel: &Kernel) -> String {
    let Kernel { file, header, distinct, profile } = kernel;
    let Profile { line_bytes, ctas, warps, warp_instructions, .. } = *profile;
    let shape = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    let machine = match header.architecture() {
        Some(architecture) => format!("{architecture}, sm_{}", header.binary_version),
        None => format!("unknown architecture {}", header.binary_version),
    };
    let mut text = format!("{file}: {}\n", header.name);
    let mut row = |label: &str, cells: Vec<String>| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", wrap_text(&format!("  {label:<13} {}", cells.join("  ")), 16));
    };
    row("launch", vec![format!("grid {}", shape(header.grid)), format!("block {}", shape(header.block)), machine]);
    row(
        "instructions",
        vec![
            format!(
                "{} warp-level by {} in {}",
                format_thousands(warp_instructions),
                format_count(warps, "warp", "warps"),
                format_count(ctas, "CTA", "CTAs")
            ),
            format!("{} thread-level", format_thousands(profile.thread_instructions)),
            format!("{} distinct", format_thousands(*distinct as u64)),
        ],
    );
    let classes = by_count(profile);
    let mix = classes.iter().map(|&(class, count)| format!("{} {}", class.name(), percent(count, warp_instructions)));
    row("mix", mix.collect());
    for (class, traffic) in &profile.traffic {
        let average = traffic.average().unwrap_or_default();
        row(
            class.name(),
            vec![
                format_count(traffic.instructions, "instruction", "instructions"),
                format_count(traffic.transactions, "line", "lines"),
                format!("{average:.2} each, at most {}", traffic.most),
            ],
        );
    }
    let (lines, accesses) = (profile.footprint.lines(), profile.footprint.accesses());
    let at_least = if profile.footprint.is_cut() { "at least " } else { "" };
    row(
        "footprint",
        vec![
            format!("{at_least}{} of {line_bytes} bytes", format_count(lines, "line", "lines")),
            format_count(lines.saturating_mul(line_bytes), "byte", "bytes"),
        ],
    );
    let mut reuse = vec![format!("{:.2} accesses per line", accesses as f64 / lines.max(1) as f64)];
    for part in profile.footprint.reuse().iter().filter(|part| part.lines > 0) {
        let times = match part.to {
            Some(to) if to == part.from => part.from.to_string(),
            Some(to) => format!("{} to {to}", part.from),
            None => format!("{} or more", part.from),
        };
        reuse.push(format!("{times}: {}", percent(part.lines, lines)));
    }
    row("reuse", reuse);
    row("strides", strides(profile));
    text
}

/// Returns the strides in bytes between the addresses of adjacent lanes, each with its share of all accesses.
fn strides(profile: &Profile) -> Vec<String> {
    let strides = &profile.strides;
    let constant = strides.most_frequent();
    let all =
        constant.iter().map(|&(_, times)| times).sum::<u64>() + strides.others + strides.irregular + strides.single;
    let (shown, rest) = constant.split_at(constant.len().min(STRIDES_SHOWN));
    let rest = rest.iter().map(|&(_, times)| times).sum::<u64>() + strides.others;
    let mut cells: Vec<_> = shown.iter().map(|&(stride, times)| (stride.to_string(), times)).collect();
    cells.extend([("others".to_owned(), rest), ("irregular".to_owned(), strides.irregular)]);
    cells.push(("single lane".to_owned(), strides.single));
    cells.retain(|&(_, times)| times > 0);
    cells.into_iter().map(|(name, times)| format!("{name}: {}", percent(times, all))).collect()
}

/// Progress line on a terminal that shows how much of a trace file has been read.
struct Progress {
    bar: ProgressBar,
    shown: Option<Instant>,
}

impl Progress {
    fn new(is_quiet: bool) -> Self {
        Progress { bar: progress_line(is_quiet, Some(0), "{msg}, {bytes} of {total_bytes} read{left}"), shown: None }
    }

    fn show(&mut self, path: &Path, kernel: &KernelTrace) {
        if self.shown.is_some_and(|shown| shown.elapsed() < PROGRESS_EVERY) {
            return;
        }
        self.shown = Some(Instant::now());
        if let Some((read, size)) = kernel.progress() {
            let (done, ctas) = (format_thousands(kernel.num_ctas_read()), format_thousands(kernel.header().num_ctas()));
            self.bar.set_length(size);
            self.bar.set_position(read);
            let path = path.display().to_string();
            self.bar.set_message(format!("{}: CTA {done} of {ctas}", escape_hidden(&path)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
