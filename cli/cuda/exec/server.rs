//! Answers the CUDA requests of a program with the simulated machine.

use std::fmt::Display;
use std::mem;
use std::sync::Arc;

use cuda::error::CudaError;
use cuda::fatbin;
use cuda::wire::{self, DeviceProperties, KernelProperties, Limit, Reply, Request};
use isa::program::MAX_STACK_BYTES;
use rtl::sm::LaunchError;
use warpsieve::run::{
    Device, DeviceError, DeviceKernel, DeviceLaunch, LaunchCounts, Progress, RunError, RunReport, ratio,
};
use warpsieve::text::format_thousands;

use crate::emit::Emitter;
use crate::library::{self, PrintBuffer, Sizes};
use crate::{Note, Program};

/// Number of threads per warp, as kernels see it.
const WARP_LANES: u32 = 32;
/// Maximum number of threads per CTA, as in CUDA.
const MAX_THREADS: u32 = 1024;

/// Kernel whose properties the program has requested, and which it may launch.
#[derive(Clone)]
struct UsedKernel {
    /// Number of the kernel's module (loaded PTX text) in the simulated device.
    module: usize,
    kernel: Arc<DeviceKernel>,
    /// Print buffer of the kernel's module.
    print_buffer: Option<PrintBuffer>,
}

/// Server that answers all requests of a program with one simulated machine.
pub(crate) struct Server<'d, 'c> {
    device: Device<'d>,
    program: &'c Program,
    emitter: Option<Emitter>,
    progress: &'c mut dyn FnMut(Progress),
    note: &'c mut dyn FnMut(Note<'_>),
    /// For each loaded module, its number in the simulated device and the architecture of its PTX text.
    modules: Vec<(usize, u32)>,
    kernels: Vec<UsedKernel>,
    /// Sizes of the memory that the device library provides to the modules that are loaded next.
    sizes: Sizes,
    /// Raw bytes of the reply to the current request.
    raw_reply: Vec<u8>,
    allocations: u64,
    launches: u64,
    is_refused: bool,
    /// Error that ends the run; `None` if none has occurred.
    error: Option<RunError>,
}

impl<'d, 'c> Server<'d, 'c> {
    pub fn new(
        device: Device<'d>,
        program: &'c Program,
        emitter: Option<Emitter>,
        progress: &'c mut dyn FnMut(Progress),
        note: &'c mut dyn FnMut(Note<'_>),
    ) -> Self {
        Self {
            device,
            program,
            emitter,
            progress,
            note,
            modules: Vec::new(),
            kernels: Vec::new(),
            sizes: Sizes::default(),
            raw_reply: Vec::new(),
            allocations: 0,
            launches: 0,
            is_refused: false,
            error: None,
        }
    }

    /// True if the program was ended because it needs something that the model lacks.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Frees the device memory and the modules of a process that has ended, and forgets its limits.
    pub fn end_process(&mut self) {
        self.sizes = Sizes::default();
        self.device.reset();
        self.modules.clear();
        self.kernels.clear();
    }

    /// Ends the run and returns its statistics.
    pub fn finish(self) -> Result<RunReport, RunError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.device.finish()
    }

    /// Tells the user what the program needs but the model lacks. Returns the reply that ends the program.
    fn refuse(&mut self, why: &dyn Display) -> Reply {
        (self.note)(Note::Message(&format!("error: {why}")));
        self.is_refused = true;
        Reply::Refused
    }

    /// Returns the reply for a CUDA call that fails with an error code, and tells the user the reason.
    fn fail(&mut self, error: CudaError, why: &dyn Display) -> Reply {
        (self.note)(Note::Message(&format!("{}: {why}", error.name().to_string_lossy())));
        Reply::Failed(error)
    }

    /// Returns the reply to a request, and the raw bytes of the reply. `raw` holds the raw bytes of the
    /// request.
    pub fn answer(&mut self, request: Request, raw: &[u8]) -> (Reply, Vec<u8>) {
        let reply = self.reply(request, raw);
        (reply, mem::take(&mut self.raw_reply))
    }

    fn reply(&mut self, request: Request, raw: &[u8]) -> Reply {
        match request {
            Request::Hello { version } if version == wire::VERSION => Reply::Device(Box::new(self.properties())),
            Request::Hello { version } => {
                let expected = wire::VERSION;
                self.refuse(&format!("the library has version {version}, expected {expected}, that of this command"))
            }
            Request::Allocate { bytes, alignment, least, function } => {
                self.allocate(bytes, alignment, least, &function)
            }
            Request::Free { address } => match self.device.free(address) {
                true => Reply::Done,
                false => {
                    let why = format!("memory is freed at {address:#x}, where no allocation starts");
                    self.fail(CudaError::INVALID_VALUE, &why)
                }
            },
            Request::Find { address } => match self.device.allocation(address) {
                Some(range) => Reply::Range { address: range.start, bytes: range.bytes },
                // The library in the program also sends this request for addresses of host memory. An unknown
                // address is therefore no reason for a message.
                None => Reply::Failed(CudaError::INVALID_VALUE),
            },
            Request::Memory => {
                let total = self.device.memory_bytes();
                Reply::Memory { free: total.saturating_sub(self.device.allocated_bytes()), total }
            }
            Request::Read { address, bytes } => match self.device.read(address, bytes as usize) {
                Ok(read) => {
                    self.raw_reply = read;
                    Reply::Done
                }
                Err(why) => self.fail(CudaError::INVALID_VALUE, &why),
            },
            Request::Write { address } => self.reply_after(|device| device.write(address, raw)),
            Request::Fill { address, pitch, width, rows } => self.reply_after(|device| {
                let row: Vec<u8> = raw.iter().copied().cycle().take(width as usize).collect();
                (0..rows).try_for_each(|number| device.write(address + number * pitch, &row))
            }),
            Request::Copy { from, to, bytes } => self.reply_after(|device| {
                let copied = device.read(from, bytes as usize)?;
                device.write(to, &copied)
            }),
            Request::Load => self.load(raw),
            Request::Variable { module, name } => self.variable(module, &name),
            Request::Kernel { module, name } => self.kernel(module, &name),
            Request::Occupancy { kernel, threads, shared_bytes } => self.occupancy(kernel, threads, shared_bytes),
            Request::Launch { kernel, grid, block, shared_bytes } => {
                self.launch(kernel, grid, block, shared_bytes, raw)
            }
            Request::Limit { limit, bytes } => self.set_limit(limit, bytes),
            Request::Stack { bytes } => self.set_stack(bytes),
            Request::Reset => {
                self.end_process();
                Reply::Done
            }
            Request::Time => {
                Reply::Time(self.device.cycles() as f64 * 1e6 / f64::from(self.device.config().clock.core_khz))
            }
            Request::Refuse { message } => self.refuse(&message),
        }
    }

    fn reply_after(&mut self, action: impl FnOnce(&mut Device<'d>) -> Result<(), String>) -> Reply {
        match action(&mut self.device) {
            Ok(()) => Reply::Done,
            Err(why) => self.fail(CudaError::INVALID_VALUE, &why),
        }
    }

    fn properties(&self) -> DeviceProperties {
        let config = self.device.config();
        let l2 = &config.l2;
        DeviceProperties {
            name: self.program.device.clone(),
            capability: self.program.capability,
            memory_bytes: self.device.memory_bytes(),
            shared_bytes: config.sm.shared.bytes,
            registers: config.sm.registers,
            warp_lanes: WARP_LANES,
            threads: config.sm.threads,
            ctas: config.sm.ctas,
            num_sms: config.num_sms,
            l2_bytes: u64::from(l2.sets)
                * u64::from(l2.ways)
                * u64::from(l2.line_bytes)
                * u64::from(config.num_partitions),
            memory_bus_bits: config.num_channels() * config.dram.bus_bits,
            core_khz: config.clock.core_khz,
            memory_khz: config.clock.dram_khz,
        }
    }

    fn allocate(&mut self, bytes: u64, alignment: u64, least: u64, function: &str) -> Reply {
        self.allocations += 1;
        let name = format!("{function} {}", self.allocations);
        match self.device.allocate(&name, bytes, alignment, least) {
            Some(address) => Reply::Address(address),
            None => {
                let free = self.device.memory_bytes().saturating_sub(self.device.allocated_bytes());
                let why = format!("{function} of {bytes} bytes, and {free} bytes are free, perhaps not in one piece");
                self.fail(CudaError::MEMORY_ALLOCATION, &why)
            }
        }
    }

    fn load(&mut self, raw: &[u8]) -> Reply {
        let binary = match fatbin::read(raw, ptx::MAX_SOURCE_BYTES) {
            Ok(binary) => binary,
            Err(error) => return self.refuse(&error),
        };
        let capability = self.program.capability;
        let Some(chosen) = fatbin::choose(&binary.texts, capability) else {
            let found = binary.machine_code.iter().map(|arch| format!("machine code for sm_{arch}"));
            let texts = binary.texts.iter().map(|text| format!("PTX for sm_{}a", text.arch));
            let found: Vec<_> = found.chain(texts).collect();
            let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
            let advice = "build the program with `-gencode arch=compute_75,code=compute_75` or another architecture";
            return self.refuse(&format!("a fat binary has no PTX that the machine can run, but {found}: {advice}"));
        };
        if chosen.arch > capability {
            let (major, minor) = (capability / 10, capability % 10);
            let arch = chosen.arch;
            (self.note)(Note::Message(&format!(
                "note: the program has no PTX for compute capability {major}.{minor} or lower: the one for sm_{arch} is run"
            )));
        }
        let stem = self.program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{stem}.{}.sm_{}.ptx", self.modules.len() + 1, chosen.arch);
        match self.device.load(&name, &library::link(&chosen.text, self.sizes)) {
            Ok(module) => {
                self.modules.push((module, chosen.arch));
                Reply::Module(self.modules.len() as u32 - 1)
            }
            Err(error) => self.refuse(&error),
        }
    }

    fn set_limit(&mut self, limit: Limit, bytes: u64) -> Reply {
        let name = match limit {
            Limit::PrintBuffer => "cudaLimitPrintfFifoSize",
            Limit::Heap => "cudaLimitMallocHeapSize",
        };
        let variable = library::variable_of(limit);
        let uses = |module: usize| self.device.variables(module).iter().any(|found| found.name == variable);
        if self.modules.iter().any(|(module, _)| uses(*module)) {
            let why = format!("{name}: a module that uses this memory is already loaded, so its size is fixed");
            return self.fail(CudaError::INVALID_VALUE, &why);
        }
        let total = self.device.memory_bytes();
        if bytes > total || !self.sizes.set(limit, bytes) {
            let why = format!("{name} of {bytes} bytes: the device has {total} bytes, and a heap at most 64 GiB");
            return self.fail(CudaError::MEMORY_ALLOCATION, &why);
        }
        Reply::Done
    }

    fn set_stack(&mut self, bytes: u64) -> Reply {
        if self.kernels.iter().any(|used| used.kernel.program().stack_bytes > 0) {
            let why = "cudaLimitStackSize: a kernel with a stack is already in use, so its size is fixed";
            return self.fail(CudaError::INVALID_VALUE, &why);
        }
        match u32::try_from(bytes).ok().filter(|&bytes| bytes <= MAX_STACK_BYTES) {
            Some(bytes) => {
                self.device.set_stack(bytes);
                Reply::Done
            }
            None => {
                let why = format!("cudaLimitStackSize of {bytes} bytes, expected at most {MAX_STACK_BYTES}");
                self.fail(CudaError::INVALID_VALUE, &why)
            }
        }
    }

    fn variable(&mut self, module: u32, name: &str) -> Reply {
        let Some(&(module, _)) = self.modules.get(module as usize) else {
            return Reply::Failed(CudaError::INVALID_SYMBOL);
        };
        match self.device.variables(module).into_iter().find(|variable| variable.name == name) {
            Some(variable) => Reply::Range { address: variable.address, bytes: variable.bytes },
            None => {
                let file = self.device.source(module).0.to_owned();
                self.fail(CudaError::INVALID_SYMBOL, &format!("{file} has no variable `{name}`"))
            }
        }
    }

    fn kernel(&mut self, number: u32, name: &str) -> Reply {
        let Some(&(module, arch)) = self.modules.get(number as usize) else {
            return Reply::Failed(CudaError::INVALID_DEVICE_FUNCTION);
        };
        let kernel = match self.device.kernel(module, name) {
            Ok(kernel) => kernel,
            Err(error) => {
                let line = match &error {
                    RunError::Ptx(error) => self.device.source(module).1.lines().nth(error.line() as usize - 1),
                    _ => None,
                };
                let line = line.map(|line| format!("\n    {}", line.trim())).unwrap_or_default();
                let help = match &error {
                    RunError::Ptx(error) => error.help_text().map(|help| format!("\n  help: {help}")),
                    _ => None,
                };
                let help = help.unwrap_or_default();
                return self.refuse(&format!("kernel `{name}` cannot run: {error}{line}{help}"));
            }
        };
        self.note_spills(&kernel);
        let program = kernel.program();
        let limit = |shape: [u32; 3]| shape.iter().fold(1u32, |product, &extent| product.saturating_mul(extent));
        let limits = &program.limits;
        let properties = KernelProperties {
            number: self.kernels.len() as u32,
            param_bytes: program.param_bytes,
            parameters: kernel.parameters().iter().map(|param| (param.offset, param.bytes)).collect(),
            registers: program.regs.into(),
            shared_bytes: program.shared_bytes,
            const_bytes: program.const_bytes,
            local_bytes: program.local_bytes,
            max_threads: limits.required_block.or(limits.largest_block).map_or(MAX_THREADS, limit),
            arch,
        };
        let print_buffer = PrintBuffer::find(&self.device, module);
        self.kernels.push(UsedKernel { module, kernel, print_buffer });
        Reply::Kernel(Box::new(properties))
    }

    /// Tells the user if registers of a kernel are spilled.
    fn note_spills(&mut self, kernel: &DeviceKernel) {
        if let Some(note) = kernel.spill_note() {
            (self.note)(Note::Message(&format!("note: {note}")));
        }
    }

    fn occupancy(&mut self, kernel: u32, threads: u32, shared_bytes: u64) -> Reply {
        let Some(used) = self.kernels.get(kernel as usize) else {
            return Reply::Failed(CudaError::INVALID_DEVICE_FUNCTION);
        };
        let shared_bytes = u32::try_from(shared_bytes).unwrap_or(u32::MAX);
        match self.device.occupancy(&used.kernel, [threads, 1, 1], shared_bytes) {
            Ok(ctas) => Reply::Count(ctas),
            Err(LaunchError::DoesNotFit { .. }) => Reply::Count(0),
            Err(error) => self.fail(CudaError::INVALID_VALUE, &error),
        }
    }

    fn launch(&mut self, number: u32, grid: [u32; 3], block: [u32; 3], shared_bytes: u64, raw: &[u8]) -> Reply {
        let Some(UsedKernel { module, kernel, print_buffer }) = self.kernels.get(number as usize).cloned() else {
            return Reply::Failed(CudaError::INVALID_DEVICE_FUNCTION);
        };
        let name = kernel.program().name.clone();
        let Ok(shared_bytes) = u32::try_from(shared_bytes) else {
            let why = format!("kernel `{name}`: {shared_bytes} bytes of dynamic shared memory");
            return self.fail(CudaError::INVALID_VALUE, &why);
        };
        let kernel = match self.device.fit(&kernel, block) {
            Ok(None) => kernel,
            Ok(Some(fitted)) => {
                self.note_spills(&fitted);
                self.kernels[number as usize].kernel = fitted.clone();
                fitted
            }
            Err(error) => return self.fail(CudaError::LAUNCH_OUT_OF_RESOURCES, &error.to_string()),
        };
        let launch = DeviceLaunch { grid, block, shared_bytes, params: raw.to_vec() };
        self.launches += 1;
        let emitted =
            self.emitter.as_mut().map(|emitter| emitter.before(self.launches, &self.device, module, &kernel, &launch));
        let emitted = match emitted.transpose() {
            Ok(emitted) => emitted,
            Err(error) => {
                let reply = self.refuse(&error);
                self.error = Some(error);
                return reply;
            }
        };
        match self.device.launch(&kernel, launch, self.progress) {
            Ok(counts) => {
                (self.note)(Note::Launch(&line(self.launches, &name, grid, block, &counts)));
                if let (Some(emitter), Some(emitted)) = (&mut self.emitter, emitted)
                    && let Err(error) = emitter.after(emitted, &self.device)
                {
                    let reply = self.refuse(&error);
                    self.error = Some(error);
                    return reply;
                }
                match self.take_printed(print_buffer, &name) {
                    Ok(()) => Reply::Printed,
                    Err(why) => self.refuse(&why),
                }
            }
            Err(DeviceError::Launch(error)) => {
                let code = match &error {
                    LaunchError::Shape { .. } => CudaError::INVALID_CONFIGURATION,
                    LaunchError::DoesNotFit { what, .. } if what.contains("shared") => CudaError::INVALID_VALUE,
                    LaunchError::DoesNotFit { what, .. } if !what.contains("local") => {
                        CudaError::LAUNCH_OUT_OF_RESOURCES
                    }
                    _ => return self.refuse(&error),
                };
                match error {
                    // The text of this error lacks the name of the kernel, which the texts of all other
                    // launch errors contain. The name is therefore added.
                    LaunchError::Shape { .. } => self.fail(code, &format!("kernel `{name}`: {error}")),
                    error => self.fail(code, &error),
                }
            }
            Err(DeviceError::Access(why)) => self.fail(CudaError::ILLEGAL_ADDRESS, &why),
            Err(DeviceError::Fault(why)) => self.fail(CudaError::LAUNCH_FAILURE, &why),
            Err(DeviceError::Stopped(why)) => self.refuse(&format!("kernel `{name}`: {why}")),
            Err(DeviceError::Earlier) => Reply::Failed(CudaError::LAUNCH_FAILURE),
        }
    }

    /// Makes what a kernel has printed the raw bytes of the reply.
    fn take_printed(&mut self, buffer: Option<PrintBuffer>, kernel: &str) -> Result<(), String> {
        let (pieces, lost) = match buffer {
            Some(buffer) => buffer.take(&mut self.device)?,
            None => (Vec::new(), 0),
        };
        if lost > 0 {
            let why = "did not fit into the print buffer and are lost; `cudaLimitPrintfFifoSize` sets its size";
            (self.note)(Note::Message(&format!(
                "note: {lost} bytes that `printf` in kernel `{kernel}` recorded {why}"
            )));
        }
        self.raw_reply = wire::encode_printed(&pieces).map_err(|error| error.to_string())?;
        Ok(())
    }
}

/// Returns the line of output that summarizes a finished kernel launch.
fn line(number: u64, name: &str, grid: [u32; 3], block: [u32; 3], counts: &LaunchCounts) -> String {
    let shape = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    };
    let percent = |part, whole| format!("{:.1} %", 100.0 * ratio(part, whole));
    let LaunchCounts { cycles, warp_instructions, l1_loads, l1_hits, l2_reads, l2_hits, dram_bytes } = *counts;
    format!(
        "launch {number}: {name} {} x {}: {} cycles, {} warp instructions, L1D {} hits of {}, L2 {} hits of {}, DRAM {} bytes",
        shape(grid),
        shape(block),
        format_thousands(cycles),
        format_thousands(warp_instructions),
        percent(l1_hits, l1_loads),
        format_thousands(l1_loads),
        percent(l2_hits, l2_reads),
        format_thousands(l2_reads),
        format_thousands(dram_bytes),
    )
}
