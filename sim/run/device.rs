//! Machine that a host program drives call by call, through an interface like that of a GPU driver.
//!
//! A launch file states all buffers and launches before the run. A CUDA program instead allocates memory,
//! loads modules and launches kernels as it goes. [`Device`] uses one simulated machine for the whole
//! program, so that caches stay warm between launches. When the host program accesses memory, no simulated
//! time passes, and no stale copy remains in a cache.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use golden::interp;
use golden::memory::FlatMemory;
use isa::program::{Addresses, Param, Program, STACK_BYTES};
use ptx::Source;
use ptx::data::{ModuleData, data};
use ptx::lower::PreparedModule;
use rtl::machine::{Machine, MachineConfig};
use rtl::sm::{AddressMap, FaultKind, InstructionStore, KernelImage, LaunchError, NamedRange, occupancy};
use thiserror::Error;

use super::compared::Part;
use super::counters::Counters;
use super::drive::{Drive, Launch, StopReason};
use super::launches::spill_note;
use super::loads::{self, LoadCounters};
use super::modules::{ALIGNMENT, FIRST_ADDRESS, limit_registers, registers_per_thread};
use super::steps::Place;
use super::verify::{Compared, RUNAWAY, Shadow, interpret_and_compare};
use super::{HostTime, Outcome, Progress, RunError, RunOptions, RunReport};

/// Alignment of the code of a kernel in bytes.
const CODE_ALIGNMENT: u64 = 128;

/// Simulated machine with allocated memory and loaded modules.
pub struct Device<'o> {
    drive: Drive<'o>,
    config: MachineConfig,
    /// Path of the host program, for error messages.
    path: PathBuf,
    /// Memory allocations, ordered by address.
    ranges: BTreeMap<u64, NamedRange>,
    /// Address map of the allocations; `None` after a change, until it is rebuilt.
    map: Option<Arc<AddressMap>>,
    modules: Vec<DeviceModule>,
    /// Lowest address that contains code. Code is placed from the end of memory downward.
    code: u64,
    /// Size of the stack of a thread in bytes, for kernels that are translated later.
    stack_bytes: u32,
    launches: u64,
    /// Name of the last launched kernel, and all counters before this launch.
    last: Option<(String, Earlier)>,
    /// Reason why the machine cannot run further launches; `None` if it can.
    stopped: Option<StopReason>,
}

/// State of all counters before a launch. Subtracting it from the later counters gives the counters of the
/// launch alone.
struct Earlier {
    counters: Counters,
    loads: Vec<LoadCounters>,
    simulating: HostTime,
}

/// PTX file that a host program has loaded into a device.
struct DeviceModule {
    source: Source,
    data: ModuleData,
    addresses: Addresses,
    kernels: BTreeMap<String, Arc<DeviceKernel>>,
}

/// Translated kernel that is ready to launch on a [`Device`].
#[derive(Clone, Debug)]
pub struct DeviceKernel {
    /// Program of the kernel with virtual registers, for the functional interpreter.
    interpreted: Arc<Program>,
    /// Program of the kernel with allocated registers, for the simulated machine.
    program: Program,
    /// Address of the kernel's first instruction.
    code: u64,
}

impl DeviceKernel {
    /// Returns the program of the kernel, with allocated registers.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns a note if values of the kernel are spilled to local memory.
    #[must_use]
    pub fn spill_note(&self) -> Option<String> {
        spill_note(&self.program)
    }

    /// Returns the parameters of the kernel, in order.
    #[must_use]
    pub fn parameters(&self) -> &[Param] {
        &self.program.params
    }
}

/// Global variable of a loaded PTX module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceVariable {
    /// Name of the variable in the PTX file.
    pub name: String,
    /// Address of the first byte of the variable.
    pub address: u64,
    /// Size of the variable in bytes.
    pub bytes: u64,
    /// True for a `.const` variable, which kernels cannot write.
    pub is_constant: bool,
}

/// Grid, CTA size and parameters of a launch.
#[derive(Clone, Debug)]
pub struct DeviceLaunch {
    /// Shape of the grid: number of CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Shape of a CTA: number of threads in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per CTA in bytes.
    pub shared_bytes: u32,
    /// Bytes of all parameters, laid out as the PTX file declares them.
    pub params: Vec<u8>,
}

/// Performance counters of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchCounts {
    /// Core cycles from the start of the launch to its end.
    pub cycles: u64,
    /// Number of executed warp instructions.
    pub warp_instructions: u64,
    /// Number of loads that accessed an L1D.
    pub l1_loads: u64,
    /// Number of loads that hit in an L1D.
    pub l1_hits: u64,
    /// Number of reads that accessed the L2.
    pub l2_reads: u64,
    /// Number of reads that hit in the L2.
    pub l2_hits: u64,
    /// Number of bytes that the DRAM channels transferred.
    pub dram_bytes: u64,
}

/// Reason why a launch did not run to its end.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The machine cannot run a launch of this shape. Later launches can still run.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel accessed memory that is not allocated, or made a misaligned access. No later launch can
    /// run.
    #[error("{0}")]
    Access(String),
    /// The kernel performed an illegal operation of another kind. No later launch can run.
    #[error("{0}")]
    Fault(String),
    /// The kernel made no progress, or the run was limited or interrupted. No later launch can run.
    #[error("{0}")]
    Stopped(String),
    /// An earlier launch stopped the machine.
    #[error("an earlier launch stopped the machine")]
    Earlier,
}

impl LaunchCounts {
    fn of(counters: &Counters) -> Self {
        let totals = counters.totals();
        Self {
            cycles: counters.cycles,
            warp_instructions: totals.cores.warp_instructions,
            l1_loads: totals.l1.accesses,
            l1_hits: totals.l1.hits,
            l2_reads: totals.l2.accesses,
            l2_hits: totals.l2.hits,
            dram_bytes: totals.dram.bytes,
        }
    }
}

impl<'o> Device<'o> {
    /// Creates an idle machine without memory contents. `path` is the path of the host program, for error
    /// messages.
    ///
    /// # Errors
    /// Returns an error if an output file that the options request cannot be opened. Also returns an error if
    /// an option requires that all launches are known in advance.
    pub fn new(path: PathBuf, config: &MachineConfig, options: &'o RunOptions) -> Result<Self, RunError> {
        let refused = [
            (options.checkpoints.write.is_some(), "`--checkpoint`: the state of the program is not saved"),
            (options.checkpoints.resume.is_some(), "`--resume`: the state of the program is not saved"),
            (config.l1.bypass.profile().is_some(), "an L1 bypass with a profile: it needs all launches in advance"),
        ];
        if let Some((_, what)) = refused.into_iter().find(|(is_given, _)| *is_given) {
            return Err(RunError::input(&path, &format!("a host program cannot be run with {what}")));
        }
        let shadow = || Shadow::new(FlatMemory::new(), config).map_err(|e| RunError::input(&path, &e));
        let shadow = options.check.then(shadow).transpose()?;
        Ok(Self {
            drive: Drive::new(Machine::new(config), shadow, options)?,
            config: config.clone(),
            path,
            ranges: BTreeMap::new(),
            map: None,
            modules: Vec::new(),
            code: memory_end(config),
            stack_bytes: STACK_BYTES,
            launches: 0,
            last: None,
            stopped: None,
        })
    }

    /// Returns the configuration of the machine.
    #[must_use]
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Returns the number of core cycles simulated so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.drive.cycles()
    }

    /// Returns the amount of allocated memory, in bytes.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.ranges.values().map(|range| range.bytes).sum()
    }

    /// Returns the size of the memory that can be allocated, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        memory_end(&self.config) - FIRST_ADDRESS
    }

    /// Returns all memory allocations, ordered by address.
    pub fn allocations(&self) -> impl Iterator<Item = &NamedRange> {
        self.ranges.values()
    }

    /// Returns the allocation that contains an address.
    #[must_use]
    pub fn allocation(&self, address: u64) -> Option<&NamedRange> {
        self.ranges.range(..=address).next_back().map(|(_, range)| range).filter(|range| address < range.end())
    }

    fn shadow(&mut self) -> Option<&mut Shadow> {
        self.drive.observers.shadow.as_mut()
    }

    /// Allocates memory at the lowest free address that is at least `least` and a multiple of `alignment`, a
    /// power of two. At least one byte after the allocation stays free, so that an access past its end does
    /// not reach the next allocation. Names of existing allocations must be unique. Returns `None` if the
    /// memory is exhausted.
    pub fn allocate(&mut self, name: &str, bytes: u64, alignment: u64, least: u64) -> Option<u64> {
        let alignment = alignment.max(ALIGNMENT);
        let mut start = least.max(FIRST_ADDRESS).checked_next_multiple_of(alignment)?;
        for range in self.ranges.values() {
            if start.checked_add(bytes)? < range.start {
                break;
            }
            start = start.max((range.end() + 1).checked_next_multiple_of(alignment)?);
        }
        if start.checked_add(bytes)? >= self.code || bytes == 0 {
            return None;
        }
        self.drive.machine.map(start, bytes).ok()?;
        if self.drive.observers.shadow.is_some() {
            let contents = self.drive.machine.read_memory(start, bytes as usize).ok()?;
            self.shadow()?.place(name, start, contents).ok()?;
        }
        self.ranges.insert(start, NamedRange { name: name.to_owned(), start, bytes });
        self.map = None;
        Some(start)
    }

    /// Frees the allocation that starts at `address`. Returns false if no allocation starts there.
    pub fn free(&mut self, address: u64) -> bool {
        self.map = None;
        if let Some(shadow) = self.shadow() {
            shadow.remove(address);
        }
        self.ranges.remove(&address).is_some()
    }

    /// Copies memory to the host program.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in the same allocation.
    pub fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        self.expect_allocated(address, bytes)?;
        self.drive.machine.read_memory(address, bytes).map_err(|e| e.to_string())
    }

    /// Copies memory from the host program.
    ///
    /// # Errors
    /// Returns an error if the bytes are not all in the same allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.expect_allocated(address, bytes.len())?;
        self.drive.copy_from_host(address, bytes).map_err(|e| e.to_string())?;
        self.shadow().map_or(Ok(()), |shadow| shadow.wrote(address, bytes))
    }

    fn expect_allocated(&self, address: u64, bytes: usize) -> Result<(), String> {
        match self.allocation(address) {
            Some(range) if bytes as u64 <= range.end() - address => Ok(()),
            Some(range) => Err(format!("{bytes} bytes at {address:#x} reach beyond {range}")),
            None => Err(format!("{bytes} bytes at {address:#x} are in no allocation")),
        }
    }

    /// Loads a PTX file as a module: allocates memory for its variables and writes their initial values.
    /// Kernels are translated at their first use. Returns the number of the module.
    ///
    /// # Errors
    /// Returns an error if the PTX text is invalid, or if the variables do not fit into memory.
    pub fn load(&mut self, name: &str, text: &str) -> Result<usize, RunError> {
        let source = Source::new(name, text);
        let mut data = data(&source, &source.parse()?)?;
        let mut addresses = Addresses { textures: vec![None; data.textures.len()], ..Addresses::default() };
        for block in &data.globals {
            let address = match block.bytes.len() {
                0 => 0,
                bytes => self.place(&format!("{} of {name}", block.name), bytes, block.align)?,
            };
            addresses.globals.push(address);
        }
        if !data.constants.bytes.is_empty() {
            let (bytes, align) = (data.constants.bytes.len(), data.constants.align);
            addresses.constants = self.place(&format!("constants of {name}"), bytes, align)?;
        }
        data.link(&addresses);
        let blocks = data.globals.iter().zip(addresses.globals.iter().copied());
        for (block, address) in blocks.chain([(&data.constants, addresses.constants)]) {
            if !block.bytes.is_empty() {
                self.write(address, &block.bytes).map_err(|e| RunError::input(&self.path, &e))?;
            }
        }
        let constants = addresses.constants..addresses.constants + data.constants.bytes.len() as u64;
        if let Some(shadow) = self.shadow().filter(|_| !constants.is_empty()) {
            shadow.protect(constants);
        }
        self.modules.push(DeviceModule { source, data, addresses, kernels: BTreeMap::new() });
        Ok(self.modules.len() - 1)
    }

    fn place(&mut self, name: &str, bytes: usize, align: u32) -> Result<u64, RunError> {
        let address = self.allocate(name, bytes as u64, u64::from(align).next_power_of_two(), 0);
        let exhausted = format!("`{name}` of {bytes} bytes does not fit into the memory of the machine");
        address.ok_or_else(|| RunError::input(&self.path, &exhausted))
    }

    /// Unloads all modules, and frees their variables and all other allocations.
    pub fn reset(&mut self) {
        let addresses: Vec<u64> = self.ranges.keys().copied().collect();
        for address in addresses {
            self.free(address);
        }
        self.modules.clear();
        self.map = None;
        self.code = memory_end(&self.config);
    }

    /// Returns the name and the text of a module's PTX file.
    #[must_use]
    pub fn source(&self, module: usize) -> (&str, &str) {
        let source = &self.modules[module].source;
        (&source.name, &source.text)
    }

    /// Returns the names of a module's kernels, in the order of the PTX text.
    ///
    /// # Errors
    /// Returns an error if the PTX text is invalid.
    pub fn kernels(&self, module: usize) -> Result<Vec<String>, RunError> {
        Ok(self.modules[module].source.kernels()?)
    }

    /// Returns all variables of a module.
    #[must_use]
    pub fn variables(&self, module: usize) -> Vec<DeviceVariable> {
        let DeviceModule { data, addresses, .. } = &self.modules[module];
        let globals = data.globals.iter().zip(&addresses.globals).map(|(block, &address)| DeviceVariable {
            name: block.name.clone(),
            address,
            bytes: block.bytes.len() as u64,
            is_constant: false,
        });
        let constants = data.constant_names.iter().map(|(name, offset, bytes)| DeviceVariable {
            name: name.clone(),
            address: addresses.constants + u64::from(*offset),
            bytes: u64::from(*bytes),
            is_constant: true,
        });
        globals.chain(constants).collect()
    }

    /// Sets the size of the stack of a thread in bytes, for the kernels that are translated from now on.
    /// Functions that call themselves use the stack.
    pub fn set_stack(&mut self, bytes: u32) {
        self.stack_bytes = bytes;
    }

    /// Translates a kernel of a module, or returns the kernel if it has already been translated.
    ///
    /// # Errors
    /// Returns an error if the module has no kernel `name`, or if the machine cannot run the instructions of
    /// the kernel.
    pub fn kernel(&mut self, module: usize, name: &str) -> Result<Arc<DeviceKernel>, RunError> {
        if let Some(kernel) = self.modules[module].kernels.get(name) {
            return Ok(kernel.clone());
        }
        let DeviceModule { source, addresses, .. } = &self.modules[module];
        let parsed = source.parse()?;
        let mut program = PreparedModule::new(source, &parsed)?.lower(name)?;
        program.resize_stack(self.stack_bytes);
        let bad = |e: &dyn std::fmt::Display| RunError::input(&self.path, &e);
        let mut program = limit_registers(program, &self.config.sm, []).map_err(|e| bad(&e))?;
        program.link(addresses).map_err(|e| bad(&e))?;
        let allocated = isa::alloc::allocate(&program).map_err(|e| bad(&e))?;
        let kernel = Arc::new(self.place_code(program, allocated)?);
        self.modules[module].kernels.insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }

    /// Returns a version of a kernel with fewer registers, whose CTAs of shape `block` fit an SM; `None` if they
    /// fit already, or if no more registers can be spilled.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the instructions.
    pub fn fit(&mut self, kernel: &DeviceKernel, block: [u32; 3]) -> Result<Option<Arc<DeviceKernel>>, RunError> {
        let sm = &self.config.sm;
        let fits = |program: &Program| u64::from(program.regs) <= registers_per_thread(sm, block);
        if fits(&kernel.program) {
            return Ok(None);
        }
        let program = limit_registers((*kernel.interpreted).clone(), sm, [block]);
        let program = program.map_err(|e| RunError::input(&self.path, &e))?;
        match isa::alloc::allocate(&program) {
            Ok(allocated) if fits(&allocated) => Ok(Some(Arc::new(self.place_code(program, allocated)?))),
            _ => Ok(None),
        }
    }

    /// Allocates memory for the instructions of a kernel. `interpreted` is its program in virtual form, and
    /// `program` the same with allocated registers.
    fn place_code(&mut self, interpreted: Program, program: Program) -> Result<DeviceKernel, RunError> {
        let bad = |e: &dyn std::fmt::Display| RunError::input(&self.path, &e);
        let code = match &self.config.sm.icache {
            InstructionStore::Cache(icache) => {
                let bytes = program.insts.len() as u64 * u64::from(icache.instruction_bytes);
                let start = self.code.saturating_sub(bytes) / CODE_ALIGNMENT * CODE_ALIGNMENT;
                let filled = super::code::bytes(start..start + bytes);
                let written = self.drive.machine.map(start, bytes);
                written.and_then(|()| self.drive.machine.write_memory(start, &filled)).map_err(|e| bad(&e))?;
                self.code = start;
                start
            }
            _ => 0,
        };
        Ok(DeviceKernel { interpreted: Arc::new(interpreted), program, code })
    }

    /// Returns the number of CTAs of a kernel that can be resident on an SM at the same time.
    ///
    /// # Errors
    /// Returns an error if not even one CTA fits on an SM.
    pub fn occupancy(&self, kernel: &DeviceKernel, block: [u32; 3], shared_bytes: u32) -> Result<u32, LaunchError> {
        let params = vec![0; kernel.program.param_bytes as usize];
        let map = Arc::new(AddressMap::default());
        let image = KernelImage::new(kernel.program.clone(), params, [1; 3], block, shared_bytes, 0, map)?;
        occupancy(&self.config.sm, &image)
    }

    /// Launches a kernel and runs it to its end.
    ///
    /// # Errors
    /// Returns an error if the machine cannot run the launch, or if the kernel does not reach its end.
    pub fn launch(
        &mut self,
        kernel: &DeviceKernel,
        launch: DeviceLaunch,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<LaunchCounts, DeviceError> {
        if self.stopped.is_some() {
            return Err(DeviceError::Earlier);
        }
        let DeviceLaunch { grid, block, shared_bytes, params } = launch;
        let (program, map) = (kernel.program.clone(), self.address_map());
        let interpreted_params = params.clone();
        let image = KernelImage::new(program, params, grid, block, shared_bytes, self.launches, map)?;
        occupancy(&self.config.sm, &image)?;
        let local = self.place_local_memory(&image)?;
        let image = Arc::new(image.with_local(local).with_code(kernel.code));
        let counters = self.drive.counters_now();
        let (loads, simulating) = (self.drive.loads().to_vec(), self.drive.simulating());
        let (name, path) = (&*kernel.program.name, &*self.path);
        self.last = Some((name.to_owned(), Earlier { counters, loads, simulating }));
        let launch = Launch { name, place: Place::default(), image: &image, path, is_broken: &|| false };
        self.launches += 1;
        let compared = self.ranges.values().map(|range| Compared {
            what: "buffer",
            name: &range.name,
            address: range.start,
            bytes: range.bytes as usize,
        });
        let compared: Vec<_> = if self.drive.observers.shadow.is_some() { compared.collect() } else { Vec::new() };
        let interpreted = interp::Launch {
            program: &kernel.interpreted,
            grid,
            block,
            dynamic_shared: shared_bytes,
            params: &interpreted_params,
            max_instructions: RUNAWAY,
        };
        let ran = self.drive.launch(&launch, progress, |shadow, machine| {
            let parts = |i: usize| vec![Part::whole(compared[i].name)];
            interpret_and_compare(shadow, &interpreted, &image, machine, &compared, &parts)
        });
        match ran {
            Ok(()) => Ok(LaunchCounts::of(&self.counters_of_last())),
            Err(stop) => {
                let error = match &stop {
                    StopReason::Error(RunError::NoProgress(waiting)) => DeviceError::Stopped(waiting.clone()),
                    StopReason::Error(error) => {
                        let fault = self.drive.machine.fault().map(|fault| &fault.kind);
                        let is_access = matches!(fault, Some(FaultKind::Access { .. }));
                        let text = error.to_string();
                        if is_access { DeviceError::Access(text) } else { DeviceError::Fault(text) }
                    }
                    StopReason::Outcome(Outcome::NoProgress(waiting)) => {
                        DeviceError::Stopped(format!("no progress: deadlock or livelock\n{waiting}"))
                    }
                    StopReason::Outcome(Outcome::CycleLimit(limit)) => {
                        DeviceError::Stopped(format!("stopped at core cycle {limit}"))
                    }
                    StopReason::Outcome(_) => DeviceError::Stopped("interrupted".to_owned()),
                };
                self.stopped = Some(stop);
                Err(error)
            }
        }
    }

    /// Returns the counters of the last launch alone.
    fn counters_of_last(&mut self) -> Counters {
        let now = self.drive.counters_at_end();
        self.last.as_ref().map(|(_, earlier)| now.since(&earlier.counters)).unwrap_or(now)
    }

    /// Returns the report of all launches so far.
    ///
    /// # Errors
    /// Returns an error if a launch stopped the machine.
    pub fn report(&mut self) -> Result<RunReport, DeviceError> {
        if self.stopped.is_some() {
            return Err(DeviceError::Earlier);
        }
        Ok(self.drive.report())
    }

    /// Returns the report of the last launch alone, or an empty report if there was no launch. Only the notes
    /// and the verdict of the checks are for all launches so far.
    ///
    /// # Errors
    /// Returns an error if a launch stopped the machine.
    pub fn last_report(&mut self) -> Result<RunReport, DeviceError> {
        let report = self.report()?;
        let Some((name, earlier)) = &self.last else { return Ok(report) };
        let HostTime { wall, cpu } = report.simulating;
        let simulating = HostTime { wall: wall - earlier.simulating.wall, cpu: cpu - earlier.simulating.cpu };
        Ok(RunReport {
            kernels: vec![(name.clone(), 1)],
            warp_limits: report.warp_limits.into_iter().filter(|(limited, _)| limited == name).collect(),
            counters: report.counters.since(&earlier.counters),
            loads: loads::since(&report.loads, &earlier.loads),
            simulating,
            ..report
        })
    }

    /// Allocates the local memory of all warp slots after the last allocation. This is also where a run of a
    /// launch file places local memory.
    fn place_local_memory(&mut self, image: &KernelImage) -> Result<u64, DeviceError> {
        let sm = &self.config.sm;
        let bytes = image.local_bytes(self.config.num_sms * sm.warps) * u64::from(sm.warp_lanes) / 32;
        if bytes == 0 {
            return Ok(0);
        }
        let end = self.ranges.values().next_back().map_or(FIRST_ADDRESS, NamedRange::end);
        let start = (end + 1).next_multiple_of(ALIGNMENT);
        if start + bytes > self.code {
            let (kernel, available) = (image.program().name.clone(), self.code.saturating_sub(start));
            let what = "bytes of local memory for all SMs";
            return Err(LaunchError::DoesNotFit { kernel, what, needed: bytes, available }.into());
        }
        let mapped = self.drive.machine.map(start, bytes);
        mapped.map_err(|e| DeviceError::Fault(e.to_string()))?;
        Ok(start)
    }

    fn address_map(&mut self) -> Arc<AddressMap> {
        if let Some(map) = &self.map {
            return map.clone();
        }
        let constants = self.modules.iter().filter(|module| !module.data.constants.bytes.is_empty());
        let constants = constants.map(|module| {
            module.addresses.constants..module.addresses.constants + module.data.constants.bytes.len() as u64
        });
        let constants = constants.collect();
        // The address map is always valid, because no allocation is empty and no two of them overlap.
        let map = AddressMap::new(self.ranges.values().cloned().collect()).unwrap_or_default();
        let map = Arc::new(map.with_read_only(constants));
        self.map = Some(map.clone());
        map
    }

    /// Ends the run and returns its report.
    ///
    /// # Errors
    /// Returns an error if a kernel made an illegal access, or an output cannot be written.
    pub fn finish(self) -> Result<RunReport, RunError> {
        let ran = self.stopped.map_or(Ok(()), Err);
        self.drive.finish(ran, |_, _| Ok((false, Vec::new())))
    }
}

/// End of the usable memory, in bytes: the size of the address space or of the memory, whichever is smaller.
fn memory_end(config: &MachineConfig) -> u64 {
    (1u64 << config.addr_bits).min(config.memory_bytes())
}
