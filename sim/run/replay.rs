//! Runs the kernels of an Accel-Sim trace one after another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use golden::memory::FlatMemory;
use input::noun;
use isa::MAX_ADDRESS_BITS;
use isa::recorded::Header;
use rtl::machine::{Machine, MachineConfig};
use rtl::sm::{KernelImage, occupancy};
use trace::{Command, KernelTrace, KernelsList, Limits, Warning};

use super::checkpoint::{self, Checkpoints};
use super::code::TracedCode;
use super::drive::{Drive, Launch, StopReason};
use super::steps::Place;
use super::verify::Shadow;
use super::{Outcome, Progress, RunError, RunOptions, RunReport};
use crate::content::Content;
use crate::trace::source::TraceSource;
use crate::trace::{is_kernel, list_of};

/// Memory limit in bytes for CTAs that are read before they are needed. CTAs are read ahead only if a
/// processor would otherwise be idle.
const READ_AHEAD: usize = 16 << 20;

/// Trace of a program: its kernels in order, and the copies from the host between them.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    kernels: Vec<TracedKernel>,
    /// Copies from the host after the last kernel read so far.
    copies: Vec<HostCopy>,
    /// Numbers of the CUDA streams of the kernels.
    streams: BTreeSet<u64>,
    /// Highest address in the parts of the trace read so far: the copies from the host, and the first CTA of
    /// each kernel.
    highest: u64,
    warnings: Vec<Warning>,
}

/// Kernel of a trace.
#[derive(Debug)]
struct TracedKernel {
    path: PathBuf,
    /// Copies from the host between the previous kernel and this one.
    copies: Vec<HostCopy>,
}

/// Range of device memory that the host has written (`MemcpyHtoD`).
#[derive(Clone, Copy, Debug)]
struct HostCopy {
    address: u64,
    bytes: u64,
}

impl Trace {
    /// Opens a trace, given by its list of kernels or by the folder of this list. Reads the list, and the
    /// header and first CTA of every kernel. The path of a single kernel's trace is accepted too.
    ///
    /// # Errors
    /// Fails if a file is invalid.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        Content::Trace.check(path).map_err(|error| RunError::input(path, &error))?;
        match list_of(path) {
            Some(list) => Self::open_list(&list),
            None if is_kernel(path) => {
                let mut recording = Self::empty(path);
                recording.add(path.to_owned())?;
                Ok(recording)
            }
            None => Self::open_list(path),
        }
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            kernels: Vec::new(),
            copies: Vec::new(),
            streams: BTreeSet::new(),
            highest: 0,
            warnings: Vec::new(),
        }
    }

    /// Adds a kernel, after reading its header and its first CTA.
    fn add(&mut self, path: PathBuf) -> Result<(), RunError> {
        let limits = Limits { address_bits: MAX_ADDRESS_BITS, ..Limits::default() };
        let mut kernel = KernelTrace::open_with(&path, limits)?;
        kernel.next_cta()?;
        self.highest = self.highest.max(kernel.highest_address());
        self.warnings.extend_from_slice(kernel.warnings());
        self.streams.insert(kernel.header().stream);
        self.kernels.push(TracedKernel { path, copies: std::mem::take(&mut self.copies) });
        Ok(())
    }

    fn open_list(path: &Path) -> Result<Self, RunError> {
        let mut list = KernelsList::open(path)?;
        let mut recording = Self::empty(path);
        while let Some(command) = list.next_command()? {
            match command {
                Command::CopyToDevice { address, bytes } => {
                    let last = address.saturating_add(bytes.saturating_sub(1));
                    list.check_address(last, MAX_ADDRESS_BITS)?;
                    recording.highest = recording.highest.max(last);
                    recording.copies.push(HostCopy { address, bytes });
                }
                Command::Kernel { path } if path.is_file() => recording.add(path)?,
                Command::Kernel { path } => {
                    return Err(list.refuse(format!("there is no file {}", path.display())).into());
                }
            }
        }
        if recording.kernels.is_empty() {
            return Err(RunError::input(path, &"the list has no kernel, expected at least one"));
        }
        recording.warnings.extend_from_slice(list.warnings());
        Ok(recording)
    }

    /// Paths of the input files: the list of kernels, and the trace of each kernel.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.path).chain(self.kernels.iter().map(|kernel| &kernel.path)).map(PathBuf::as_path)
    }

    /// Number of address bits that a machine needs for all addresses in the parts of the trace read so far.
    #[must_use]
    pub fn address_bits(&self) -> u32 {
        u64::BITS - self.highest.leading_zeros()
    }

    /// Checks whether a machine can run the trace, as far as this is possible without a simulation.
    ///
    /// # Errors
    /// Returns the errors of [`replay`], and fails if not even one CTA of a kernel fits on an SM.
    pub fn fits(&self, config: &MachineConfig) -> Result<(), RunError> {
        self.runs_on(config)?;
        for TracedKernel { path, .. } in &self.kernels {
            let OpenKernel { header, source } = open(path, config, 0)?;
            let image = KernelImage::from_trace(&header, &path.display().to_string(), source);
            let image = image.map_err(|error| RunError::input(path, &error))?;
            occupancy(&config.sm, &image).map_err(|error| RunError::input(path, &error))?;
        }
        Ok(())
    }

    /// Fails if the machine has a bypass scheme that needs a profile. The profiling run is not possible with
    /// a trace, which contains no values.
    fn runs_on(&self, config: &MachineConfig) -> Result<(), RunError> {
        if config.l1.bypass.profile().is_some() {
            let reason = "l1.bypass has kind profiled, expected another: a trace has no functional run to profile";
            return Err(RunError::input(&self.path, &reason));
        }
        Ok(())
    }

    /// Warnings about the list of kernels, and about the start of each kernel's trace.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// Runs all kernels of a trace on a machine.
///
/// # Errors
/// Fails if the trace cannot be read to its end or does not fit the machine, or if a waveform cannot be
/// written.
pub fn replay(
    recording: &Trace,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    recording.runs_on(config)?;
    let shadow = || Shadow::new(FlatMemory::new(), config).map_err(|e| RunError::input(&recording.path, &e));
    let shadow = if options.check { Some(shadow()?) } else { None };
    let Checkpoints { identity, resume, .. } = &options.checkpoints;
    let mut drive = match resume {
        None => {
            let mut machine = Machine::new(config);
            machine.record_memory();
            Drive::new(machine, shadow, options)?
        }
        Some(path) => Drive::resume(checkpoint::read(path, identity)?, options)?,
    };
    // The trace of a kernel is opened when the preceding kernel starts, so that its CTAs can be read ahead.
    let most_ahead = if options.threads.leave_one_idle() { READ_AHEAD } else { 0 };
    let mut code = TracedCode::default();
    let (done, left) = recording.kernels.split_at(recording.kernels.len().min(drive.finished_launches() as usize));
    for TracedKernel { path, .. } in done {
        code.start_of(&KernelTrace::open(path)?.header().name, config.addr_bits);
    }
    let mut kernels = left.iter().map(|traced| (traced, open(&traced.path, config, most_ahead)));
    let mut opened = kernels.next();
    // The warnings about the start of each kernel's trace were found when the trace was opened, and need
    // not be reported again.
    let mut warnings = recording.warnings.clone();
    let mut brought = 0;
    let ran = std::iter::from_fn(|| std::mem::replace(&mut opened, kernels.next())).try_for_each(|(traced, kernel)| {
        let (kernel, path) = (kernel?, &traced.path);
        for &HostCopy { address, bytes } in &traced.copies {
            let lines = drive.replay_copy(address, bytes);
            brought += lines.map_err(|reason| RunError::input(&recording.path, &reason))?;
        }
        let start = code.start_of(&kernel.header.name, config.addr_bits);
        let source = Arc::clone(&kernel.source);
        launch(&mut drive, path, kernel, start, progress)?;
        for warning in read_to_end(&source, &options.interrupt)? {
            if !warnings.iter().any(|known| known.is_like(&warning)) {
                warnings.push(warning);
            }
        }
        Ok(())
    });
    let mut report = drive.finish(ran, |_, _| Ok((false, Vec::new())))?;
    if brought > 0 {
        let lines = noun(brought, "line", "lines");
        report.notes.push(format!("copies from the host (MemcpyHtoD) brought {brought} {lines} into the L2"));
    }
    report.streams = recording.streams.len() as u64;
    if report.streams > 1 {
        report.notes.push(format!(
            "the kernels of {} streams ran one after the other: kernels side by side are not modeled",
            report.streams
        ));
    }
    report.notes.extend(warnings[recording.warnings.len()..].iter().map(|warning| format!("warning: {warning}")));
    Ok(report)
}

/// Reads the rest of a trace after its kernel has run, and returns all warnings about the trace.
fn read_to_end(source: &TraceSource, interrupt: &AtomicUsize) -> Result<Vec<Warning>, StopReason> {
    let signal = || interrupt.load(Ordering::Relaxed);
    let warnings = source.finish(|| signal() != 0).map_err(RunError::from)?;
    warnings.ok_or_else(|| StopReason::Outcome(Outcome::Interrupted(signal())))
}

/// Kernel whose trace is being read.
struct OpenKernel {
    header: Header,
    source: Arc<TraceSource>,
}

fn open(path: &Path, config: &MachineConfig, most_ahead: usize) -> Result<OpenKernel, RunError> {
    let shared_bytes = config.sm.shared.bytes.into();
    let limits = Limits { address_bits: config.addr_bits, shared_bytes, ..Limits::default() };
    let trace = KernelTrace::open_with(path, limits)?;
    let header = trace.header().clone();
    Ok(OpenKernel { header, source: Arc::new(TraceSource::new(trace, most_ahead)) })
}

fn launch(
    drive: &mut Drive<'_>,
    path: &Path,
    OpenKernel { header, source }: OpenKernel,
    code: u64,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), StopReason> {
    let image = KernelImage::from_trace(&header, &path.display().to_string(), source.clone());
    let image = Arc::new(image.map_err(|e| RunError::input(path, &e))?.with_code(code));
    let place = Place::default();
    let launch = Launch { name: &header.name, place, image: &image, path, is_broken: &|| source.is_broken() };
    let ran = drive.launch(&launch, progress, |_, _| Ok(()));
    match source.take_error() {
        Some(error) => Err(RunError::from(error).into()),
        None => ran,
    }
}
