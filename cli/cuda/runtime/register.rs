//! Registration of fat binaries, kernels and variables: functions that a compiled CUDA program calls before
//! `main`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use cuda::error::CudaError;
use cuda::wire::{KernelProperties, Reply, Request};

use crate::connection::{Failure, fail_unexpected};
use crate::managed;
use crate::pointers::{fat_binary, get, put, string_at};
use crate::state::{FatBinary, Kernel, State, call};

/// Returns the index of the registered fat binary that a handle stands for.
fn index_of(handle: *mut *mut c_void) -> Result<usize, Failure> {
    get(handle.cast::<usize>())
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let mut index = 0;
    call(|state| {
        let bytes = fat_binary(wrapper)?;
        index = state.binaries.len();
        state.binaries.push(FatBinary { bytes, module: None, managed: Vec::new() });
        Ok(())
    });
    // The handle is an address that must stay valid until the process ends, so its allocation is never freed.
    Box::into_raw(Box::new(index)).cast()
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {
    // Does nothing, since the simulator frees the memory of all modules when the process ends.
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _tid: *mut c_void,
    _bid: *mut c_void,
    _block: *mut c_void,
    _grid: *mut c_void,
    _size: *mut c_int,
) {
    call(|state| {
        let (binary, name) = (index_of(handle)?, string_at(name)?);
        state.kernels.insert(host.addr(), Kernel { binary, name, properties: None });
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _is_external: c_int,
    _bytes: usize,
    _is_constant: c_int,
    _is_global: c_int,
) {
    call(|state| {
        let (binary, name) = (index_of(handle)?, string_at(name)?);
        state.variables.insert(host.addr(), (binary, name));
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _is_external: c_int,
    _bytes: usize,
    _is_constant: c_int,
    _is_global: c_int,
) {
    call(|state| {
        let (binary, name) = (index_of(handle)?, string_at(name)?);
        state.variables.insert(host.addr(), (binary, name.clone()));
        state.binaries[binary].managed.push((host.expose_provenance(), name));
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let done = call(|state| {
        let binary = index_of(handle)?;
        module_of(state, binary).map(|_| ())
    });
    c_char::from(done == 0)
}

/// Returns the number by which the simulator identifies the module of a fat binary. Loads the module at its
/// first use.
pub fn module_of(state: &mut State, binary: usize) -> Result<u32, Failure> {
    if let Some(module) = state.binaries[binary].module {
        return Ok(module);
    }
    let bytes = std::mem::take(&mut state.binaries[binary].bytes);
    let answer = state.request(&Request::Load, &bytes);
    state.binaries[binary].bytes = bytes;
    let module = match answer? {
        (Reply::Module(module), _) => module,
        (reply, _) => return Err(fail_unexpected(&reply)),
    };
    state.binaries[binary].module = Some(module);
    for (pointer, name) in state.binaries[binary].managed.clone() {
        let (address, bytes) = variable(state, module, &name)?;
        managed::adopt(state, address as usize, bytes as usize)?;
        put(ptr::with_exposed_provenance_mut::<u64>(pointer), address)?;
    }
    Ok(module)
}

/// Loads all modules with managed variables, since the program may access such variables before it calls a
/// CUDA function.
pub fn load_managed(state: &mut State) -> Result<(), Failure> {
    let waiting = state.binaries.iter().enumerate();
    let waiting: Vec<_> =
        waiting.filter(|(_, b)| b.module.is_none() && !b.managed.is_empty()).map(|(i, _)| i).collect();
    waiting.into_iter().try_for_each(|binary| module_of(state, binary).map(|_| ()))
}

fn variable(state: &mut State, module: u32, name: &str) -> Result<(u64, u64), Failure> {
    match state.request(&Request::Variable { module, name: name.to_owned() }, &[])? {
        (Reply::Range { address, bytes }, _) => Ok((address, bytes)),
        (reply, _) => Err(fail_unexpected(&reply)),
    }
}

/// Returns the device address and the size in bytes of a device variable.
pub fn symbol(state: &mut State, host: *const c_void) -> Result<(u64, u64), Failure> {
    let Some((binary, name)) = state.variables.get(&host.addr()).cloned() else {
        return Err(CudaError::INVALID_SYMBOL.into());
    };
    let module = module_of(state, binary)?;
    variable(state, module, &name)
}

/// Returns the properties of a registered kernel.
pub fn kernel(state: &mut State, host: *const c_void) -> Result<KernelProperties, Failure> {
    let Some(Kernel { binary, name, properties }) = state.kernels.get(&host.addr()) else {
        return Err(CudaError::INVALID_DEVICE_FUNCTION.into());
    };
    if let Some(properties) = properties {
        return Ok(properties.clone());
    }
    let (binary, name) = (*binary, name.clone());
    let module = module_of(state, binary)?;
    let properties = match state.request(&Request::Kernel { module, name }, &[])? {
        (Reply::Kernel(properties), _) => *properties,
        (reply, _) => return Err(fail_unexpected(&reply)),
    };
    if let Some(kernel) = state.kernels.get_mut(&host.addr()) {
        kernel.properties = Some(properties.clone());
    }
    Ok(properties)
}
