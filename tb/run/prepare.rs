//! Everything that can be wrong with the input is found here, before a cycle is simulated: files
//! are read, PTX is parsed and lowered, arguments are checked, buffers get their addresses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use golden::reference::{Array, Expected};
use isa::program::{Param, Program};
use isa::ptx::Source;
use rtl::machine::MachineConfig;
use rtl::sm::{AddressMap, KernelImage, NamedRange};

use super::RunError;
use crate::launch::{Argument, KernelLaunch, KernelShape, LaunchFile, ParameterShape, Repeat};

/// Address of the first buffer. Low addresses stay free, so that a null pointer with an offset is
/// found out.
const FIRST_ADDRESS: u64 = 0x10_0000;
/// Buffers begin at multiples of this, as `cudaMalloc` gives them.
const ALIGNMENT: u64 = 256;

/// A launch file ready to run.
pub(super) struct Prepared {
    pub(super) file: LaunchFile,
    /// Initial contents of each buffer.
    pub(super) initial: Vec<Array>,
    /// Address of each buffer.
    pub(super) addresses: Vec<u64>,
    /// What each output should hold.
    pub(super) expected: Vec<Option<Expected>>,
    pub(super) map: Arc<AddressMap>,
    /// One for each launch of each step.
    pub(super) kernels: Vec<Vec<Kernel>>,
}

/// One launch with its program in both forms.
pub(super) struct Kernel {
    pub(super) name: String,
    /// For the functional interpreter.
    pub(super) program: Program,
    pub(super) params: Vec<u8>,
    /// For the machine.
    pub(super) image: Arc<KernelImage>,
}

/// Reads and checks a launch file and all it names. `ptx` replaces every PTX file.
pub(super) fn prepare(path: &Path, ptx: Option<&Path>, config: &MachineConfig) -> Result<Prepared, RunError> {
    let mut file = LaunchFile::read(path)?;
    if let Some(ptx) = ptx {
        for launch in file.steps.iter_mut().flat_map(|step| &mut step.launches) {
            launch.ptx = ptx.to_owned();
        }
    }
    let programs = programs(&file)?;
    let shapes: BTreeMap<&Path, Vec<KernelShape>> =
        programs.iter().map(|(path, all)| (path.as_path(), all.iter().map(shape).collect())).collect();
    file.check_kernels(|path| shapes.get(path).map_or(&[], Vec::as_slice))?;
    let initial = file.initial();
    let expected = file.expected(&initial)?;
    let addresses = addresses(&file);
    fit(&file, &addresses, config)?;
    let ranges = file.buffers.iter().zip(&addresses).filter(|(buffer, _)| buffer.bytes() > 0);
    let ranges =
        ranges.map(|(buffer, &start)| NamedRange { name: buffer.name.clone(), start, bytes: buffer.bytes() as u64 });
    let map = Arc::new(AddressMap::new(ranges.collect()).map_err(|e| RunError::input(path, &e))?);
    let mut number = 0;
    let mut kernels = Vec::new();
    for step in &file.steps {
        let mut launches = Vec::new();
        for launch in &step.launches {
            launches.push(kernel(launch, &programs, &addresses, &map, number).map_err(|e| RunError::input(path, &e))?);
            number += 1;
        }
        kernels.push(launches);
    }
    Ok(Prepared { initial, addresses, expected, map, kernels, file })
}

/// Lowers every kernel that is launched; files are parsed once each.
fn programs(file: &LaunchFile) -> Result<BTreeMap<PathBuf, Vec<Program>>, RunError> {
    let mut wanted: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for launch in file.steps.iter().flat_map(|step| &step.launches) {
        let kernels = wanted.entry(&launch.ptx).or_default();
        if !kernels.contains(&launch.kernel.as_str()) {
            kernels.push(&launch.kernel);
        }
    }
    let mut programs = BTreeMap::new();
    for (ptx, kernels) in wanted {
        let text = std::fs::read_to_string(ptx).map_err(|e| RunError::input(ptx, &format!("cannot be read: {e}")))?;
        let source = Source::new(&ptx.display().to_string(), &text);
        let module = source.parse()?;
        let mut lowered = Vec::new();
        for kernel in kernels {
            if !module.kernels().any(|known| known.name.text == kernel) {
                let others = module.kernels().map(|known| known.name.text.to_string()).collect();
                return Err(RunError::NoSuchKernel { ptx: ptx.to_owned(), kernel: kernel.to_owned(), others });
            }
            lowered.push(isa::ptx::lower::lower(&source, &module, kernel)?);
        }
        programs.insert(ptx.to_owned(), lowered);
    }
    Ok(programs)
}

fn shape(program: &Program) -> KernelShape {
    let parameter = |param: &Param| ParameterShape {
        name: param.name.clone(),
        type_name: param.ty.to_string().trim_start_matches('.').to_owned(),
        bytes: param.bytes as usize,
        is_pointer: param.bytes == 8 && !param.ty.is_float(),
    };
    KernelShape { name: program.name.clone(), parameters: program.params.iter().map(parameter).collect() }
}

/// Buffers in order, each at the next aligned address with at least one byte between two, so that
/// running off the end of one is not an access to the next.
fn addresses(file: &LaunchFile) -> Vec<u64> {
    let mut next = FIRST_ADDRESS;
    let place = |buffer: &crate::launch::Buffer| {
        let here = next;
        next = (here + buffer.bytes() as u64 + 1).next_multiple_of(ALIGNMENT);
        here
    };
    file.buffers.iter().map(place).collect()
}

/// Every buffer must lie inside the addresses and the memory of the machine.
fn fit(file: &LaunchFile, addresses: &[u64], config: &MachineConfig) -> Result<(), RunError> {
    let end = (1u64 << config.addr_bits).min(config.memory_bytes());
    for (buffer, &start) in file.buffers.iter().zip(addresses) {
        if start + buffer.bytes() as u64 > end {
            let reason = format!(
                "buffer `{}` of {} bytes would end at {:#x}, expected {end:#x} or less: the machine has {} address bits and {} bytes of memory",
                buffer.name,
                buffer.bytes(),
                start + buffer.bytes() as u64,
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
    programs: &BTreeMap<PathBuf, Vec<Program>>,
    addresses: &[u64],
    map: &Arc<AddressMap>,
    number: u64,
) -> Result<Kernel, String> {
    let all = &programs[&launch.ptx];
    let Some(program) = all.iter().find(|program| program.name == launch.kernel) else {
        return Err(format!("kernel `{}` is not in {}", launch.kernel, launch.ptx.display()));
    };
    let mut params = vec![0; program.param_bytes as usize];
    for (argument, param) in launch.args.iter().zip(&program.params) {
        let bytes = match argument {
            Argument::Buffer(buffer) => addresses[buffer.0].to_le_bytes().to_vec(),
            Argument::Scalar(value) => value.bytes().to_vec(),
        };
        params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
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
    let image = Arc::new(image.map_err(|e| e.to_string())?);
    Ok(Kernel { name: launch.kernel.clone(), program: program.clone(), params, image })
}

/// Iterations of a step at most, and its flag.
pub(super) fn iterations(repeat: Repeat) -> (u32, Option<usize>) {
    match repeat {
        Repeat::Times(times) => (times, None),
        Repeat::UntilZero { flag, at_most } => (at_most, Some(flag.0)),
    }
}
