//! Functions that allocate, copy and fill memory.

use std::alloc::Layout;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use cuda::error::CudaError;
use cuda::wire::{Reply, Request};

use crate::connection::{Failure, fail_unexpected};
use crate::device::expect_device;
use crate::managed;
use crate::pointers::{allocate, bytes_at, free, put, write_bytes};
use crate::register::{load_managed, symbol};
use crate::state::{State, call};

/// Alignment of the rows of a pitched allocation, in bytes.
const PITCH_BYTES: usize = 512;
/// Handle of the only pool of memory.
const DEFAULT_POOL: usize = 1;
/// Directions of a copy: the values of `cudaMemcpyKind`.
const HOST_TO_HOST: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const DEFAULT: c_int = 4;

/// Location of the memory at an address: host (the program) or device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Host,
    Device,
}

/// Returns the allocation of device memory that contains an address, as its start address and its size in
/// bytes.
fn find(state: &mut State, address: usize) -> Result<Option<(u64, u64)>, Failure> {
    match state.request(&Request::Find { address: address as u64 }, &[]) {
        Ok((Reply::Range { address, bytes }, _)) => Ok(Some((address, bytes))),
        Ok((reply, _)) => Err(fail_unexpected(&reply)),
        Err(Failure::Code(_)) => Ok(None),
        Err(end) => Err(end),
    }
}

/// Returns the location of the memory at an address: host or device. Managed memory counts as host memory,
/// since the program's copy is the valid one.
fn side(state: &mut State, address: usize, claim: Option<Side>) -> Result<Side, Failure> {
    if state.managed.holds(address) {
        return Ok(Side::Host);
    }
    match claim {
        Some(side) => Ok(side),
        None => Ok(if find(state, address)?.is_some() { Side::Device } else { Side::Host }),
    }
}

/// Shape of a copy. In bytes: the distance between rows at the destination, the distance between rows at the
/// source, and the width of a row. The last element is the number of rows.
#[derive(Clone, Copy)]
struct Rows {
    to_pitch: usize,
    from_pitch: usize,
    width: usize,
    count: usize,
}

impl Rows {
    fn one(bytes: usize) -> Self {
        Self { to_pitch: bytes, from_pitch: bytes, width: bytes, count: usize::from(bytes > 0) }
    }
}

fn copy(state: &mut State, to: *mut c_void, from: *const c_void, rows: Rows, kind: c_int) -> Result<(), Failure> {
    load_managed(state)?;
    let (to_claim, from_claim) = match kind {
        HOST_TO_HOST => (Some(Side::Host), Some(Side::Host)),
        HOST_TO_DEVICE => (Some(Side::Device), Some(Side::Host)),
        DEVICE_TO_HOST => (Some(Side::Host), Some(Side::Device)),
        DEVICE_TO_DEVICE => (Some(Side::Device), Some(Side::Device)),
        DEFAULT => (None, None),
        _ => return Err(CudaError::INVALID_MEMCPY_DIRECTION.into()),
    };
    if rows.count > 1 && (rows.width > rows.to_pitch || rows.width > rows.from_pitch) {
        return Err(CudaError::INVALID_PITCH.into());
    }
    let to_side = side(state, to.addr(), to_claim)?;
    let from_side = side(state, from.addr(), from_claim)?;
    let whole = rows.width == rows.to_pitch && rows.width == rows.from_pitch;
    let rows = if whole { Rows { count: 1, width: rows.width * rows.count, ..rows } } else { rows };
    if rows.width == 0 {
        return Ok(());
    }
    for row in 0..rows.count {
        let to = to.wrapping_byte_add(row * rows.to_pitch);
        let from = from.wrapping_byte_add(row * rows.from_pitch);
        let (to_address, from_address) = (to.addr() as u64, from.addr() as u64);
        let bytes = rows.width as u64;
        match (to_side, from_side) {
            (Side::Host, Side::Host) => write_bytes(to, &bytes_at(from, rows.width)?)?,
            (Side::Device, Side::Host) => {
                state.tell(&Request::Write { address: to_address }, &bytes_at(from, rows.width)?)?;
            }
            (Side::Host, Side::Device) => {
                let (_, read) = state.request(&Request::Read { address: from_address, bytes }, &[])?;
                write_bytes(to, &read)?;
            }
            (Side::Device, Side::Device) => {
                state.tell(&Request::Copy { from: from_address, to: to_address, bytes }, &[])?;
            }
        }
    }
    Ok(())
}

fn fill(
    state: &mut State,
    to: *mut c_void,
    value: c_int,
    pitch: usize,
    width: usize,
    rows: usize,
) -> Result<(), Failure> {
    load_managed(state)?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    if side(state, to.addr(), Some(Side::Device))? == Side::Host {
        return (0..rows).try_for_each(|row| write_bytes(to.wrapping_byte_add(row * pitch), &vec![value as u8; width]));
    }
    let (address, pitch, width, rows) = (to.addr() as u64, pitch as u64, width as u64, rows as u64);
    state.tell(&Request::Fill { address, pitch, width, rows }, &[value as u8])
}

fn allocate_on_device(state: &mut State, bytes: usize, function: &str) -> Result<u64, Failure> {
    if bytes == 0 {
        return Ok(0);
    }
    let request = Request::Allocate { bytes: bytes as u64, alignment: 256, least: 0, function: function.to_owned() };
    match state.request(&request, &[])? {
        (Reply::Address(address), _) => Ok(address),
        (reply, _) => Err(fail_unexpected(&reply)),
    }
}

fn free_on_device(state: &mut State, memory: *mut c_void) -> Result<(), Failure> {
    if memory.is_null() || managed::free(state, memory.addr())? {
        return Ok(());
    }
    state.tell(&Request::Free { address: memory.addr() as u64 }, &[])
}

#[unsafe(no_mangle)]
extern "C" fn cudaMalloc(memory: *mut u64, bytes: usize) -> c_int {
    call(|state| put(memory, allocate_on_device(state, bytes, "cudaMalloc")?))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocAsync(memory: *mut u64, bytes: usize, _stream: *mut c_void) -> c_int {
    call(|state| put(memory, allocate_on_device(state, bytes, "cudaMallocAsync")?))
}

/// Returns the only pool of memory, from which `cudaMallocAsync` allocates.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetDefaultMemPool(pool: *mut usize, device: c_int) -> c_int {
    call(|_| {
        expect_device(device)?;
        put(pool, DEFAULT_POOL)
    })
}

/// Accepts the attributes that let a pool reuse or keep freed memory: freed memory is always available at
/// once, and allocations take no simulated time. Refuses all other attributes.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolSetAttribute(pool: *mut c_void, attribute: c_int, _value: *const c_void) -> c_int {
    call(|state| match (pool.addr(), attribute) {
        (DEFAULT_POOL, 1..=4) => Ok(()),
        (DEFAULT_POOL, other) => state.refuse(format!("cudaMemPoolSetAttribute: attribute {other} is not supported")),
        _ => Err(CudaError::INVALID_VALUE.into()),
    })
}

/// Allocates rows of device memory. Returns the address of the first row, and the pitch: the number of bytes
/// from the start of a row to the start of the next one.
fn allocate_pitched(state: &mut State, width: usize, rows: usize, function: &str) -> Result<(u64, usize), Failure> {
    let pitch = width.checked_next_multiple_of(PITCH_BYTES).ok_or(CudaError::INVALID_VALUE)?;
    let bytes = pitch.checked_mul(rows).ok_or(CudaError::MEMORY_ALLOCATION)?;
    Ok((allocate_on_device(state, bytes, function)?, pitch))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocPitch(memory: *mut u64, pitch: *mut usize, width: usize, height: usize) -> c_int {
    call(|state| {
        let (address, row) = allocate_pitched(state, width, height, "cudaMallocPitch")?;
        put(memory, address)?;
        put(pitch, row)
    })
}

/// `cudaExtent` of CUDA: width in bytes, height and depth in rows and slices.
#[repr(C)]
struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// `cudaPitchedPtr` of CUDA: memory in rows, with the width and height that were requested.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedPointer {
    memory: *mut c_void,
    pitch: usize,
    width: usize,
    height: usize,
}

#[unsafe(no_mangle)]
extern "C" fn cudaMalloc3D(pitched: *mut PitchedPointer, Extent { width, height, depth }: Extent) -> c_int {
    call(|state| {
        let rows = height.checked_mul(depth).ok_or(CudaError::MEMORY_ALLOCATION)?;
        let (address, pitch) = allocate_pitched(state, width, rows, "cudaMalloc3D")?;
        let memory = ptr::with_exposed_provenance_mut(address as usize);
        put(pitched, PitchedPointer { memory, pitch, width, height })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset3D(pitched: PitchedPointer, value: c_int, Extent { width, height, depth }: Extent) -> c_int {
    call(|state| {
        let slice_bytes = pitched.pitch.checked_mul(pitched.height).ok_or(CudaError::INVALID_VALUE)?;
        (0..depth).try_for_each(|slice| {
            let offset = slice.checked_mul(slice_bytes).ok_or(CudaError::INVALID_VALUE)?;
            fill(state, pitched.memory.wrapping_byte_add(offset), value, pitched.pitch, width, height)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFree(memory: *mut c_void) -> c_int {
    call(|state| free_on_device(state, memory))
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeAsync(memory: *mut c_void, _stream: *mut c_void) -> c_int {
    cudaFree(memory)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocManaged(memory: *mut *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    call(|state| {
        let address = managed::allocate(state, bytes)?;
        put(memory, ptr::with_exposed_provenance_mut(address))
    })
}

/// Allocates page-locked memory. Here it is ordinary memory of the program, which kernels cannot access.
#[unsafe(no_mangle)]
extern "C" fn cudaHostAlloc(memory: *mut *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    call(|state| {
        let layout = Layout::from_size_align(bytes, managed::PAGE_BYTES).map_err(|_| CudaError::MEMORY_ALLOCATION)?;
        let allocated = allocate(layout)?;
        state.host.insert(allocated.addr(), layout);
        put(memory, allocated)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocHost(memory: *mut *mut c_void, bytes: usize) -> c_int {
    cudaHostAlloc(memory, bytes, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeHost(memory: *mut c_void) -> c_int {
    call(|state| {
        if memory.is_null() {
            return Ok(());
        }
        let layout = state.host.remove(&memory.addr()).ok_or(CudaError::INVALID_VALUE)?;
        free(memory, layout);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(memory: *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    call(|_| if memory.is_null() || bytes == 0 { Err(CudaError::INVALID_VALUE.into()) } else { Ok(()) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(_memory: *mut c_void) -> c_int {
    call(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostGetDevicePointer(_device: *mut *mut c_void, _host: *mut c_void, _flags: c_uint) -> c_int {
    call(|state| {
        let what = "cudaHostGetDevicePointer: kernels cannot access memory of the program, because the bus to it is not modeled";
        state.refuse(what.to_owned())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int {
    call(|state| copy(state, to, from, Rows::one(bytes), kind))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    _stream: *mut c_void,
) -> c_int {
    cudaMemcpy(to, from, bytes, kind)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    bytes: usize,
) -> c_int {
    call(|state| {
        if to_device != 0 || from_device != 0 {
            return Err(CudaError::INVALID_DEVICE.into());
        }
        copy(state, to, from, Rows::one(bytes), DEVICE_TO_DEVICE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    count: usize,
    kind: c_int,
) -> c_int {
    call(|state| copy(state, to, from, Rows { to_pitch, from_pitch, width, count }, kind))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    count: usize,
    kind: c_int,
    _stream: *mut c_void,
) -> c_int {
    cudaMemcpy2D(to, to_pitch, from, from_pitch, width, count, kind)
}

/// Returns the device address of byte `offset` of a variable. Fails if an access of `bytes` bytes there
/// exceeds the variable.
fn in_symbol(state: &mut State, host: *const c_void, offset: usize, bytes: usize) -> Result<usize, Failure> {
    load_managed(state)?;
    let (address, size) = symbol(state, host)?;
    match offset.checked_add(bytes) {
        Some(end) if end as u64 <= size => Ok(address as usize + offset),
        _ => Err(CudaError::INVALID_VALUE.into()),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbol(
    host: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    call(|state| {
        let to = in_symbol(state, host, offset, bytes)?;
        let kind = if kind == DEFAULT { HOST_TO_DEVICE } else { kind };
        copy(state, ptr::with_exposed_provenance_mut(to), from, Rows::one(bytes), kind)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbolAsync(
    host: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    _stream: *mut c_void,
) -> c_int {
    cudaMemcpyToSymbol(host, from, bytes, offset, kind)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    host: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> c_int {
    call(|state| {
        let from = in_symbol(state, host, offset, bytes)?;
        let kind = if kind == DEFAULT { DEVICE_TO_HOST } else { kind };
        copy(state, to, ptr::with_exposed_provenance(from), Rows::one(bytes), kind)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    host: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
    _stream: *mut c_void,
) -> c_int {
    cudaMemcpyFromSymbol(to, host, bytes, offset, kind)
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetSymbolAddress(address: *mut u64, host: *const c_void) -> c_int {
    call(|state| {
        let (found, _) = symbol(state, host)?;
        put(address, found)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetSymbolSize(bytes: *mut usize, host: *const c_void) -> c_int {
    call(|state| {
        let (_, found) = symbol(state, host)?;
        put(bytes, found as usize)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset(to: *mut c_void, value: c_int, bytes: usize) -> c_int {
    call(|state| fill(state, to, value, bytes, bytes, 1))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, _stream: *mut c_void) -> c_int {
    cudaMemset(to, value, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) -> c_int {
    call(|state| fill(state, to, value, pitch, width, height))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset2DAsync(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    _stream: *mut c_void,
) -> c_int {
    cudaMemset2D(to, pitch, value, width, height)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> c_int {
    call(|state| match state.request(&Request::Memory, &[])? {
        (Reply::Memory { free: now, total: all }, _) => {
            put(free, now as usize)?;
            put(total, all as usize)
        }
        (reply, _) => Err(fail_unexpected(&reply)),
    })
}

/// Does nothing: a prefetch changes only the time at which managed memory migrates, and migration is not
/// modeled. The declaration omits the last parameters of the CUDA function, which differ between versions of
/// CUDA.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync(_memory: *const c_void, _bytes: usize) -> c_int {
    call(|_| Ok(()))
}

/// Ignores the advice: it changes only where and when managed memory migrates, and migration is not modeled.
#[unsafe(no_mangle)]
extern "C" fn cudaMemAdvise(_memory: *const c_void, _bytes: usize, _advice: c_int) -> c_int {
    call(|_| Ok(()))
}

/// `cudaPointerAttributes` of CUDA, without the reserved fields at its end.
#[repr(C)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    device_pointer: usize,
    host_pointer: usize,
}

#[unsafe(no_mangle)]
extern "C" fn cudaPointerGetAttributes(attributes: *mut c_void, pointer: *const c_void) -> c_int {
    call(|state| {
        let address = pointer.addr();
        let is_pinned = state.host.iter().any(|(start, layout)| (*start..start + layout.size()).contains(&address));
        let (kind, device, device_pointer, host_pointer) = if state.managed.range_of(address).is_some() {
            (3, 0, address, address)
        } else if is_pinned {
            (1, 0, 0, address)
        } else if find(state, address)?.is_some() {
            (2, 0, address, 0)
        } else {
            (0, -2, 0, address)
        };
        put(attributes.cast(), PointerAttributes { kind, device, device_pointer, host_pointer })
    })
}
