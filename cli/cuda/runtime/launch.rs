//! Functions that launch kernels.

use std::ffi::{c_int, c_uint, c_void};

use cuda::error::CudaError;
use cuda::wire::{self, Reply, Request};

use crate::connection::{Failure, fail_unexpected};
use crate::managed;
use crate::pointers::{bytes_at, get, print, put};
use crate::register;
use crate::state::{State, call, pop_configuration, push_configuration};

/// `dim3` of CUDA: extents in x, y and z.
#[repr(C)]
#[derive(Clone, Copy)]
struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

impl From<Dim3> for [u32; 3] {
    fn from(Dim3 { x, y, z }: Dim3) -> Self {
        [x, y, z]
    }
}

/// Struct `cudaLaunchConfig_t` of CUDA, which holds the configuration of a launch.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: *mut c_void,
    attributes: *const LaunchAttribute,
    num_attributes: c_uint,
}

/// Struct `cudaLaunchAttribute` of CUDA: an optional property of a launch, such as its priority.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_int,
    _padding: [u8; 4],
    value: [u32; 16],
}

/// Launch attributes that have no effect in this model: the empty attribute, synchronization policy, overlap
/// with the previous kernel, and priority.
const HARMLESS_ATTRIBUTES: [c_int; 4] = [0, 3, 6, 8];
/// Maximum number of CTAs in a grid in the x, y and z dimensions, as in CUDA.
pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];
/// Maximum number of threads in a CTA in the x, y and z dimensions.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Runs a kernel to its end. `args` points to an array with the address of each argument.
fn launch(
    state: &mut State,
    function: *const c_void,
    (grid, block): ([u32; 3], [u32; 3]),
    args: *const *const c_void,
    shared_bytes: usize,
) -> Result<(), Failure> {
    let kernel = register::kernel(state, function)?;
    let exceeds = |shape: [u32; 3], most: [u32; 3]| shape.iter().zip(most).any(|(&n, most)| n == 0 || n > most);
    if exceeds(grid, MAX_GRID) || exceeds(block, MAX_BLOCK) {
        return Err(CudaError::INVALID_CONFIGURATION.into());
    }
    let mut params = vec![0; kernel.param_bytes as usize];
    for (number, &(offset, bytes)) in kernel.parameters.iter().enumerate() {
        let argument = get(args.wrapping_add(number))?;
        let value = bytes_at(argument, bytes as usize)?;
        params[offset as usize..][..value.len()].copy_from_slice(&value);
    }
    register::load_managed(state)?;
    managed::to_device(state)?;
    let request = Request::Launch { kernel: kernel.number, grid, block, shared_bytes: shared_bytes as u64 };
    let launched = state.request(&request, &params);
    if let Err(Failure::Code(error @ (CudaError::ILLEGAL_ADDRESS | CudaError::LAUNCH_FAILURE))) = launched {
        state.sticky = Some(error);
    }
    match launched? {
        (Reply::Printed, raw) => {
            let pieces = wire::decode_printed(&raw).map_err(|error| Failure::End(Some(error.to_string())))?;
            pieces.iter().try_for_each(print)?;
        }
        (reply, _) => return Err(fail_unexpected(&reply)),
    }
    managed::from_device(state)
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchKernel(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *const *const c_void,
    shared_bytes: usize,
    _stream: *mut c_void,
) -> c_int {
    call(|state| launch(state, function, (grid.into(), block.into()), args, shared_bytes))
}

#[unsafe(no_mangle)]
extern "C" fn __cudaLaunchKernel(
    kernel: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *const *const c_void,
    shared_bytes: usize,
    stream: *mut c_void,
) -> c_int {
    cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    function: *const c_void,
    args: *const *const c_void,
) -> c_int {
    call(|state| {
        let LaunchConfig { grid, block, shared_bytes, attributes, num_attributes, .. } = get(config)?;
        for number in 0..num_attributes as usize {
            let LaunchAttribute { id, value, .. } = get(attributes.wrapping_add(number))?;
            // Two attributes change nothing: a cluster of only one CTA, and cooperative launch with the value
            // 0 (off).
            let is_plain = (id == 4 && value[..3] == [1; 3]) || (id == 2 && value[0] == 0);
            if !is_plain && !HARMLESS_ATTRIBUTES.contains(&id) {
                let what = match id {
                    2 => "a cooperative launch".to_owned(),
                    4 => format!("a cluster of {}x{}x{} CTAs", value[0], value[1], value[2]),
                    id => format!("launch attribute {id}"),
                };
                return state.refuse(format!("cudaLaunchKernelExC: {what} is not supported"));
            }
        }
        launch(state, function, (grid.into(), block.into()), args, shared_bytes)
    })
}

/// A program identifies a kernel by the address of the host function that launches the kernel.
#[unsafe(no_mangle)]
extern "C" fn __cudaGetKernel(kernel: *mut *const c_void, function: *const c_void) -> c_int {
    call(|state| {
        if !state.kernels.contains_key(&function.addr()) {
            return Err(CudaError::INVALID_DEVICE_FUNCTION.into());
        }
        put(kernel, function)
    })
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) -> c_uint {
    push_configuration((grid.into(), block.into(), shared_bytes, stream.expose_provenance()));
    0
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared_bytes: *mut usize,
    stream: *mut usize,
) -> c_int {
    call(|_| {
        let dim3 = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        let popped = pop_configuration().ok_or(CudaError::INVALID_CONFIGURATION)?;
        put(grid, dim3(popped.0))?;
        put(block, dim3(popped.1))?;
        put(shared_bytes, popped.2)?;
        put(stream, popped.3)
    })
}
