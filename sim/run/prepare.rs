//! Prepares a launch file: reads the files, parses and translates PTX, checks arguments, and assigns
//! addresses to buffers. All errors in the input are detected here, before any cycle is simulated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use golden::reference::{Array, ExpectedOutput};
use isa::program::{Param, Program};
use rtl::machine::MachineConfig;
use rtl::sm::{AddressMap, KernelImage, NamedRange};

use super::RunError;
use super::code::Code;
use super::modules::{ALIGNMENT, FIRST_ADDRESS, Module, Placement, Region, place, read, texture_handle};
use crate::launch::{Action, Argument, KernelLaunch, KernelShape, LaunchFile, ParameterShape, View};

/// Launch file that is ready to run.
pub(super) struct PreparedLaunch {
    pub(super) file: LaunchFile,
    /// Contents of each buffer before the first launch.
    pub(super) initial: Vec<Array>,
    /// Address of each buffer.
    pub(super) addresses: Vec<u64>,
    /// Memory regions for PTX variables that no buffer of the launch file represents.
    pub(super) regions: Vec<Region>,
    /// Expected contents of each output.
    pub(super) expected: Vec<Option<ExpectedOutput>>,
    pub(super) map: Arc<AddressMap>,
    /// Address range of the local memory of all warp slots. Kernels can access it only in the state space
    /// `.local`.
    pub(super) local: Option<NamedRange>,
    /// Location of the instructions in memory, if the machine fetches them from there. Kernels cannot access
    /// this memory.
    pub(super) code: Option<Code>,
    /// For each step, the tasks of one iteration.
    pub(super) tasks: Vec<Vec<Task>>,
}

/// Task of a step: a kernel launch, a fill or a copy.
pub(super) enum Task {
    Launch(Kernel),
    Fill { to: View, value: Vec<u8> },
    Copy { from: View, to: View },
}

/// Kernel launch, with one program for the functional interpreter and one for the machine.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// Program for the functional interpreter.
    pub(super) program: Arc<Program>,
    pub(super) params: Vec<u8>,
    /// Program for the clocked machine.
    pub(super) image: Arc<KernelImage>,
    /// Arguments that change from one iteration to the next, each with its byte offset in the parameter
    /// block.
    varying: Vec<(usize, Argument)>,
}

impl Kernel {
    /// Returns the launch with the arguments for the given iteration.
    pub(super) fn at(&self, iteration: u32, addresses: &[u64]) -> Cow<'_, Self> {
        if iteration == 0 || self.varying.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut params = self.params.clone();
        for (at, argument) in &self.varying {
            let bytes = argument_bytes(argument, iteration, addresses);
            params[*at..][..bytes.len()].copy_from_slice(&bytes);
        }
        let image = Arc::new(self.image.with_params(params.clone()));
        Cow::Owned(Self { params, image, ..self.clone() })
    }
}

/// Reads the PTX files of a launch file and checks the whole input.
pub(super) fn prepare(mut file: LaunchFile, config: &MachineConfig) -> Result<PreparedLaunch, RunError> {
    let mut modules = read(&mut file, &config.sm)?;
    let path = &file.path;
    let shapes: BTreeMap<&Path, Vec<KernelShape>> =
        modules.iter().map(|(path, module)| (path.as_path(), module.programs.iter().map(shape).collect())).collect();
    file.check_kernels(config.sm.shared.bytes, |path| shapes.get(path).map_or(&[], Vec::as_slice))?;
    let mut initial = file.initial();
    let Placement { addresses, regions, inside } = place(&file, &mut modules, &mut initial)?;
    let expected = file.compute_expected(&initial)?;
    let buffers = file.buffers.iter().zip(&addresses).enumerate().filter(|(i, _)| !inside.contains(i));
    let ranges: Vec<NamedRange> = buffers
        .map(|(_, (buffer, &start))| (buffer.name.clone(), start, buffer.bytes()))
        .chain(regions.iter().map(|region| (region.name.clone(), region.address, region.bytes.len())))
        .filter(|(_, _, bytes)| *bytes > 0)
        .map(|(name, start, bytes)| NamedRange { name, start, bytes: bytes as u64 })
        .collect();
    let local = local_memory(&modules, &ranges, config);
    let end = ranges.iter().chain(&local).map(NamedRange::end).max().unwrap_or(FIRST_ADDRESS);
    let code = Code::place(&modules, end, config);
    fit(&file, ranges.iter().chain(&local).chain(code.as_ref().map(|code| &code.range)), config)?;
    let constants = regions.iter().filter(|region| region.is_constant).map(Region::range).collect();
    let map = AddressMap::new(ranges).map_err(|e| RunError::input(path, &e))?;
    let map = Arc::new(map.with_read_only(constants));
    let mut number = 0;
    let mut task = |action: &Action| match action {
        Action::Launch(launch) => {
            let code = code.as_ref().map_or(0, |code| code.start_of(&launch.ptx, &launch.kernel));
            let placed = (&addresses[..], local.as_ref().map_or(0, |local| local.start), code);
            number += 1;
            kernel(launch, &modules, placed, &map, number - 1).map(Task::Launch)
        }
        Action::Fill { to, value } => Ok(Task::Fill { to: *to, value: value.clone() }),
        Action::Copy { from, to } => Ok(Task::Copy { from: *from, to: *to }),
    };
    let tasks = file.steps.iter().map(|step| step.actions.iter().map(&mut task).collect());
    let tasks = tasks.collect::<Result<_, _>>().map_err(|e| RunError::input(path, &e))?;
    Ok(PreparedLaunch { initial, addresses, regions, expected, map, local, code, tasks, file })
}

fn shape(program: &Program) -> KernelShape {
    let parameter =
        |param: &Param| ParameterShape { name: param.name.clone(), ty: param.ty, bytes: param.bytes as usize };
    KernelShape {
        name: program.name.clone(),
        parameters: program.params.iter().map(parameter).collect(),
        shared_bytes: program.shared_bytes,
        limits: program.limits,
    }
}

/// Allocates local memory after all other address ranges, with the size that the most demanding kernel needs.
fn local_memory(
    modules: &BTreeMap<PathBuf, Module>,
    ranges: &[NamedRange],
    config: &MachineConfig,
) -> Option<NamedRange> {
    let programs = modules.values().flat_map(|module| &module.programs);
    let of_thread = programs.map(|program| u64::from(program.local_bytes)).max().filter(|&bytes| bytes > 0)?;
    let threads = u64::from(config.num_sms) * u64::from(config.sm.warps) * u64::from(config.sm.warp_lanes);
    let end = ranges.iter().map(NamedRange::end).max().unwrap_or(FIRST_ADDRESS);
    let start = (end + 1).next_multiple_of(ALIGNMENT);
    Some(NamedRange { name: "local memory".to_owned(), start, bytes: threads * of_thread })
}

/// Checks that every address range is within the address space of the machine and within its memory.
fn fit<'r>(
    file: &LaunchFile,
    ranges: impl Iterator<Item = &'r NamedRange>,
    config: &MachineConfig,
) -> Result<(), RunError> {
    let end = (1u64 << config.addr_bits).min(config.memory_bytes());
    for range in ranges {
        if range.end() > end {
            let reason = format!(
                "buffer `{}` of {} bytes would end at {:#x}, expected {end:#x} or less: the machine has {} address bits and {} bytes of memory",
                range.name,
                range.bytes,
                range.end(),
                config.addr_bits,
                config.memory_bytes()
            );
            return Err(RunError::input(&file.path, &reason));
        }
    }
    Ok(())
}

fn kernel(
    launch: &KernelLaunch,
    modules: &BTreeMap<PathBuf, Module>,
    (addresses, local, code): (&[u64], u64, u64),
    map: &Arc<AddressMap>,
    number: u64,
) -> Result<Kernel, String> {
    let all = &modules[&launch.ptx].programs;
    let Some(program) = all.iter().find(|program| program.name == launch.kernel) else {
        return Err(format!("kernel `{}` is not in {}", launch.kernel, launch.ptx.display()));
    };
    let mut params = vec![0; program.param_bytes as usize];
    let mut varying = Vec::new();
    for (argument, param) in launch.args.iter().zip(&program.params) {
        let (at, bytes) = (param.offset as usize, argument_bytes(argument, 0, addresses));
        params[at..][..bytes.len()].copy_from_slice(&bytes);
        if argument.varies() {
            varying.push((at, argument.clone()));
        }
    }
    let allocated = isa::alloc::allocate(program).map_err(|e| e.to_string())?;
    let image = KernelImage::new(
        allocated,
        params.clone(),
        launch.grid,
        launch.block,
        launch.shared_bytes,
        number,
        map.clone(),
    );
    let image = Arc::new(image.map_err(|e| e.to_string())?.with_local(local).with_code(code));
    Ok(Kernel { name: launch.kernel.clone(), program: Arc::new(program.clone()), params, image, varying })
}

/// Returns the bytes that an argument occupies in the parameter block in the given iteration.
fn argument_bytes(argument: &Argument, iteration: u32, addresses: &[u64]) -> Vec<u8> {
    match argument {
        Argument::Buffer { buffer, offset } => {
            let offset = offset.at(iteration.into()).integer().and_then(|bytes| u64::try_from(bytes).ok());
            (addresses[buffer.0] + offset.unwrap_or(0)).to_le_bytes().to_vec()
        }
        Argument::Iteration { element, values } => values.at(iteration.into()).array(*element).bytes().to_vec(),
        Argument::Texture(buffer) => texture_handle(*buffer).to_le_bytes().to_vec(),
        Argument::Scalar(value) => value.bytes().to_vec(),
        Argument::Struct { members, .. } => {
            let (offsets, end) = Argument::offsets(members);
            let mut bytes = vec![0; end];
            for (member, at) in members.iter().zip(offsets) {
                bytes[at..][..member.bytes()].copy_from_slice(&argument_bytes(member, iteration, addresses));
            }
            bytes
        }
    }
}
