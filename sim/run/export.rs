//! Exports the kernels of launch files as an Accel-Sim trace.
//!
//! The functional interpreter executes one CTA after another, one warp instruction at a time, with the same
//! rules for reconvergence as the machine. If threads do not race, the trace has the same instructions, lanes
//! and addresses as a run on the clocked machine.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use golden::interp::{self, LANES, Sms, WarpStep, run_steps};
use golden::memory::FlatMemory;
use isa::map;
use isa::program::{Op, Program};
use isa::recorded::opcode::OpcodeTable;
use isa::recorded::{Code, Cta, Header, Operands, Operation, Warp};
use isa::types::Space;
use rtl::machine::MachineConfig;
use trace::{Packer, Packing, TraceWriter};
use waves::atomic_file::AtomicFile;

use super::functional::Functional;
use super::prepare::{Kernel, PreparedLaunch, Task, prepare};
use super::{RunError, verify};
use crate::launch::LaunchFile;
use crate::trace::LIST;
use crate::trace::names::Names;
use crate::trace::sass::{self, BinaryVersion};

/// Alignment in bytes of the local memory, which is placed after all other data.
const LOCAL_ALIGN: u64 = 1 << 20;

/// Format of an exported trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// Compression format of the kernel traces.
    pub packing: Packing,
    /// Version of the GPU architecture whose SASS opcodes the trace uses.
    pub version: BinaryVersion,
    /// True if each instruction in the trace states its PTX line number. Older readers of traces reject such
    /// files.
    pub has_line_numbers: bool,
}

/// Result of exporting a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportResult {
    /// Paths of the written files. The last file is the list of kernels.
    pub files: Vec<PathBuf>,
    /// Number of warp instructions in all kernel traces.
    pub warp_instructions: u64,
}

fn name_of_kernel(id: u64, packing: Packing) -> String {
    format!("kernel-{id}.traceg{}", packing.suffix())
}

/// Returns the files in a folder that an export would overwrite, judging by their names.
#[must_use]
pub fn replaceable(folder: &Path, packing: Packing) -> Vec<PathBuf> {
    let is_ours = |name: &str| {
        let id = name.strip_prefix("kernel-").and_then(|rest| rest.split('.').next()?.parse().ok());
        name == LIST || id.is_some_and(|id| name_of_kernel(id, packing) == name)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours)).map(|entry| entry.path()).collect()
}

/// Exports a launch file into a folder, which is created if necessary. Each kernel trace appears in the
/// folder when it is complete. The list of kernels appears after all traces.
///
/// # Errors
/// Fails on bad input, on an illegal access by a kernel, or if a file cannot be written.
pub fn export(launch: LaunchFile, config: &MachineConfig, folder: &Path, form: Form) -> Result<ExportResult, RunError> {
    let exported = Mutex::default();
    export_into(&exported, launch, config, folder, form)?;
    Ok(exported.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Exports a launch file and adds each file to `exported` when it is complete, so that another thread can
/// read partial results.
///
/// # Errors
/// Returns the errors of [`export`].
pub fn export_into(
    exported: &Mutex<ExportResult>,
    launch: LaunchFile,
    config: &MachineConfig,
    folder: &Path,
    form: Form,
) -> Result<(), RunError> {
    let prepared = prepare(launch, config)?;
    has_opcodes(&prepared, form.version)?;
    let bad = |path: &Path, e: io::Error| RunError::input(path, &e);
    std::fs::create_dir_all(folder)
        .map_err(|e| RunError::input(folder, &format!("the folder cannot be created: {e}")))?;
    let exported = || exported.lock().unwrap_or_else(PoisonError::into_inner);
    let mut list = copies(&prepared);
    Functional::new(&prepared)?.run(&mut |kernel, memory| {
        let id = exported().files.len() as u64 + 1;
        let name = name_of_kernel(id, form.packing);
        let path = folder.join(&name);
        let out = AtomicFile::create(&path).map_err(|e| bad(&path, e))?;
        let (out, steps) = write(kernel, id, &prepared, memory, out, form).map_err(|e| match e {
            ExportFailure::Write(e) => bad(&path, e),
            ExportFailure::Run(e) => RunError::of_kernel(&e),
        })?;
        // `exported` is locked before the file gets its final name, so that the list in `exported` contains
        // every file that a reader can find in the folder.
        let mut exported = exported();
        exported.files.push(out.commit().map_err(|e| bad(&path, e))?);
        exported.warp_instructions += steps;
        list.push_str(&name);
        list.push('\n');
        Ok(())
    })?;
    let path = folder.join(LIST);
    let mut out = AtomicFile::create(&path).map_err(|e| bad(&path, e))?;
    out.write_all(list.as_bytes()).and_then(|()| out.commit()).map_err(|e| bad(&path, e))?;
    exported().files.push(path);
    Ok(())
}

/// Fails if a kernel multiplies matrices, but the GPU version of the trace has no opcode for this.
fn has_opcodes(prepared: &PreparedLaunch, version: BinaryVersion) -> Result<(), RunError> {
    if version.multiplies_matrices() {
        return Ok(());
    }
    let programs = prepared.tasks.iter().flatten().filter_map(|task| match task {
        Task::Launch(kernel) => Some(&kernel.program),
        Task::Fill { .. } | Task::Copy { .. } => None,
    });
    for program in programs {
        if let Some(inst) = program.insts.iter().find(|inst| matches!(inst.op, Op::Tensor(_))) {
            let file = format!("{}:{}", program.file, inst.line);
            let least = BinaryVersion::ALL.iter().find(|version| version.multiplies_matrices());
            let least = least.map_or(0, |version| version.number());
            let what = format!(
                "`{}` multiplies matrices, which binary version {} has no opcode for (expected {least} or later)",
                program.name,
                version.number()
            );
            return Err(RunError::input(Path::new(&file), &what));
        }
    }
    Ok(())
}

/// Formats the trace commands for the copies from the host before the first launch.
fn copies(prepared: &PreparedLaunch) -> String {
    let ranges = prepared.map.ranges().iter();
    ranges.map(|range| format!("MemcpyHtoD,0x{:016x},{}\n", range.start, range.bytes)).collect()
}

/// Reason why the trace of a kernel was not written.
enum ExportFailure {
    Write(io::Error),
    Run(interp::InterpError),
}

impl From<io::Error> for ExportFailure {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Executes a kernel and writes its trace. Returns the name of the file and the number of warp instructions.
fn write(
    kernel: &Kernel,
    id: u64,
    prepared: &PreparedLaunch,
    memory: &mut FlatMemory,
    out: AtomicFile,
    form: Form,
) -> Result<(AtomicFile, u64), ExportFailure> {
    let image = &kernel.image;
    let header = Header {
        name: kernel.name.clone(),
        id,
        grid: image.grid(),
        block: image.block(),
        shared_bytes: image.shared_bytes().into(),
        registers: image.program().regs.into(),
        binary_version: form.version.number(),
        shared_base: map::window(Space::Shared),
        local_base: map::window(Space::Local),
        has_line_numbers: form.has_line_numbers,
        ..Header::default()
    };
    let top = prepared.map.ranges().iter().map(rtl::sm::NamedRange::end).max().unwrap_or(0);
    let mut recorder = Recorder {
        program: image.program(),
        num_warps: image.warps().into(),
        grid: image.grid(),
        local_base: top.next_multiple_of(LOCAL_ALIGN),
        code: Code::new(OpcodeTable::new(header.architecture())),
        unnamed: Names::new(&image.program().insts),
        names: Vec::new(),
        cta: Cta::default(),
    };
    let packer = Packer::new(BufWriter::new(out), form.packing)?;
    let mut writer = TraceWriter::new(packer, &header)?;
    let mut failed = None;
    // A trace contains one CTA after another, so only one CTA is executed at a time.
    let sms = Sms { count: 1, ctas: 1 };
    let steps = run_steps(&verify::to_interpreter(kernel), sms, memory, &mut |step| {
        if step.cta != recorder.cta.index || recorder.cta.warps.is_empty() {
            let done = recorder.begin(step.cta);
            if !done.warps.is_empty() && failed.is_none() {
                failed = writer.cta(&done, &recorder.code).err();
            }
        }
        recorder.add(step);
    });
    let steps = steps.map_err(ExportFailure::Run)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    writer.cta(&recorder.cta, &recorder.code)?;
    let file = writer.finish()?.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok((file, steps))
}

/// Recorder of the instructions that a CTA executes.
struct Recorder<'a> {
    /// Program of the kernel, after register allocation.
    program: &'a Program,
    num_warps: u64,
    grid: [u32; 3],
    /// Start address of the local memory, which contains the data of all threads.
    local_base: u64,
    code: Code,
    /// Mapping from registers to trace register numbers at the start of every warp. The next field,
    /// `names`, is the current mapping of each warp of the CTA.
    unnamed: Names,
    names: Vec<Names>,
    cta: Cta,
}

impl Recorder<'_> {
    /// Starts the recording of a CTA. Returns what was recorded for the previous CTA.
    fn begin(&mut self, index: [u32; 3]) -> Cta {
        let warps = (0..self.num_warps as u32).map(Warp::new).collect();
        self.names = vec![self.unnamed.clone(); self.num_warps as usize];
        std::mem::replace(&mut self.cta, Cta { index, cluster: None, warps })
    }

    fn add(&mut self, step: &WarpStep<'_>) {
        let inst = &self.program.insts[step.pc as usize];
        let operands = self.names[step.warp].operands(inst);
        let Some((kind, mem)) = step.access else {
            return self.push(step, operands, sass::opcode(inst), 0, step.mask, None);
        };
        let architecture = self.code.table().architecture();
        let opcode = |space, bytes| sass::access(kind, mem, space, bytes, !inst.writes.is_empty(), architecture);
        let bytes = mem.bytes();
        // If the lanes of a generic access use several state spaces, the trace gets one instruction per
        // space.
        let mut parts: BTreeMap<u8, (Space, u32, [u64; LANES])> = BTreeMap::new();
        for lane in (0..LANES).filter(|lane| step.mask >> lane & 1 != 0) {
            let address = step.addresses[lane];
            let (space, address) = match mem.space {
                Space::Generic => map::resolve(address).unwrap_or((Space::Global, address)),
                space => (space, address),
            };
            let (_, mask, addresses) = parts.entry(space as u8).or_insert((space, 0, [0; LANES]));
            *mask |= 1 << lane;
            addresses[lane] = address;
        }
        if parts.is_empty() {
            return self.push(step, operands, &opcode(mem.space, bytes), bytes, 0, Some(&[0; LANES]));
        }
        for (space, mask, addresses) in parts.into_values() {
            match space {
                Space::Param => self.push(step, operands, &opcode(space, bytes), 0, mask, None),
                Space::Const => {
                    let addresses = addresses.map(|address| self.program.const_base + address);
                    self.push(step, operands, &opcode(space, bytes), bytes, mask, Some(&addresses));
                }
                Space::Local => {
                    // In local memory, the words of the lanes are interleaved. A lane's access to several
                    // words therefore becomes several accesses in the trace, one per word.
                    let word = (map::LOCAL_WORD as u32).min(bytes);
                    for ahead in (0..bytes).step_by(word as usize) {
                        let addresses = self.local(step, &addresses, ahead.into());
                        self.push(step, operands, &opcode(space, word), word, mask, Some(&addresses));
                    }
                }
                Space::Global | Space::Generic | Space::Shared => {
                    self.push(step, operands, &opcode(space, bytes), bytes, mask, Some(&addresses));
                }
            }
        }
    }

    /// Converts the local addresses of a warp to addresses in device memory, where each warp of the grid has
    /// its own section for local memory.
    fn local(&self, step: &WarpStep<'_>, addresses: &[u64; LANES], ahead: u64) -> [u64; LANES] {
        let [x, y, z] = step.cta.map(u64::from);
        let [nx, ny, _] = self.grid.map(u64::from);
        let warp = ((z * ny + y) * nx + x) * self.num_warps + step.warp as u64;
        let base = self.local_base + warp * LANES as u64 * u64::from(self.program.local_bytes);
        std::array::from_fn(|lane| base + map::local_offset(addresses[lane] + ahead, lane as u32, LANES as u32))
    }

    fn push(
        &mut self,
        step: &WarpStep<'_>,
        operands: Operands,
        opcode: &str,
        width: u32,
        mask: u32,
        addresses: Option<&[u64; LANES]>,
    ) {
        let line = self.program.insts[step.pc as usize].line;
        let Some(opcode) = self.code.add_opcode(opcode) else {
            unreachable!("`{opcode}` is not an opcode of {:?}", self.code.table().architecture())
        };
        let pc = step.pc * sass::BYTES;
        let operation = Operation { pc, opcode, recorded_width: width as u16, line, immediate: 0, operands };
        let Some(operation) = self.code.add(operation) else {
            unreachable!("a program of 2^20 instructions is rejected earlier")
        };
        let warp = &mut self.cta.warps[step.warp];
        match addresses {
            Some(addresses) => warp.push_access(operation, mask, addresses),
            None => warp.push(operation, mask),
        }
    }
}
