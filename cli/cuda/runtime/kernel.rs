//! Functions that return the attributes and the occupancy of a kernel.

use std::ffi::{c_int, c_uint, c_void};

use cuda::wire::{Reply, Request};

use crate::connection::fail_unexpected;
use crate::pointers::put;
use crate::register;
use crate::state::call;

/// `cudaFuncAttributes` of CUDA, without the reserved fields at its end.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    shared_bytes: usize,
    const_bytes: usize,
    local_bytes: usize,
    max_threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    max_dynamic_shared_bytes: c_int,
    preferred_carve_out: c_int,
    cluster_must_be_set: c_int,
    cluster: [c_int; 3],
    cluster_policy: c_int,
    non_portable_cluster: c_int,
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncGetAttributes(attributes: *mut c_void, function: *const c_void) -> c_int {
    call(|state| {
        let kernel = register::kernel(state, function)?;
        let shared = state.device()?.shared_bytes;
        let found = Attributes {
            shared_bytes: kernel.shared_bytes as usize,
            const_bytes: kernel.const_bytes as usize,
            local_bytes: kernel.local_bytes as usize,
            max_threads: kernel.max_threads as c_int,
            registers: kernel.registers as c_int,
            ptx_version: kernel.arch as c_int,
            binary_version: kernel.arch as c_int,
            max_dynamic_shared_bytes: shared.saturating_sub(kernel.shared_bytes) as c_int,
            preferred_carve_out: -1,
            ..Attributes::default()
        };
        put(attributes.cast(), found)
    })
}

/// Accepts two attributes without effect. The first is the maximum of dynamic shared memory: here only the SM
/// limits it. The second is the carve-out of shared memory: here each launch gets what it needs. Refuses all
/// other attributes, since they concern clusters.
#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) -> c_int {
    call(|state| {
        register::kernel(state, function)?;
        match attribute {
            8 | 9 => Ok(()),
            other => {
                state.refuse(format!("cudaFuncSetAttribute: attribute {other} with value {value} is not supported"))
            }
        }
    })
}

/// Ignores the kernel's preference for a larger L1 or more shared memory: the machine partitions them by the
/// needs of each launch.
#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetCacheConfig(function: *const c_void, _preference: c_int) -> c_int {
    call(|state| register::kernel(state, function).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    count: *mut c_int,
    function: *const c_void,
    threads: c_int,
    shared_bytes: usize,
) -> c_int {
    call(|state| {
        let kernel = register::kernel(state, function)?.number;
        let (threads, shared_bytes) = (threads.max(0) as u32, shared_bytes as u64);
        match state.request(&Request::Occupancy { kernel, threads, shared_bytes }, &[])? {
            (Reply::Count(ctas), _) => put(count, ctas as c_int),
            (reply, _) => Err(fail_unexpected(&reply)),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    count: *mut c_int,
    function: *const c_void,
    threads: c_int,
    shared_bytes: usize,
    _flags: c_uint,
) -> c_int {
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(count, function, threads, shared_bytes)
}
