//! Functions that return properties of the simulated device or concern the device as a whole. There is one
//! device, number 0.

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda::error::CudaError;
use cuda::wire::{DeviceProperties, Limit, Request};

use crate::connection::Failure;
use crate::launch::{MAX_BLOCK, MAX_GRID};
use crate::managed;
use crate::pointers::{put, string_at, write_bytes};
use crate::register::load_managed;
use crate::state::{State, call};

/// Version of CUDA that the library implements: 13.0.
const CUDA_VERSION: c_int = 13000;
/// Maximum size of a module's constant memory in bytes, as in CUDA.
const CONST_BYTES: u64 = 64 << 10;
/// Maximum number of threads per CTA, as in CUDA.
const MAX_THREADS: u64 = 1024;
/// Maximum distance between two rows of a pitched copy, in bytes.
const MAX_PITCH: u64 = 0x7fff_ffff;
/// Size of the field `cudaDeviceProp.name` in bytes.
const NAME_BYTES: usize = 256;
/// Size of `cudaDeviceProp` in bytes, in CUDA 13 and in CUDA 12.
const PROPERTIES_BYTES: [usize; 2] = [1008, 1032];

/// Property of the device: its number as a `cudaDeviceAttr`, two offsets in `cudaDeviceProp`, its size in
/// bytes, and a function that returns its value. The first offset is for the layout of CUDA 13, the second
/// for that of CUDA 12. An offset of 0 means that the layout lacks the property.
struct Property(c_int, [usize; 2], usize, fn(&DeviceProperties) -> u64);

static PROPERTIES: [Property; 38] = [
    Property(0, [288, 288], 8, |device| device.memory_bytes),
    Property(8, [296, 296], 8, |device| device.shared_bytes.into()),
    Property(12, [304, 304], 4, |device| device.registers.into()),
    Property(10, [308, 308], 4, |device| device.warp_lanes.into()),
    Property(11, [312, 312], 8, |_| MAX_PITCH),
    Property(1, [320, 320], 4, |_| MAX_THREADS),
    Property(2, [324, 324], 4, |_| MAX_BLOCK[0].into()),
    Property(3, [328, 328], 4, |_| MAX_BLOCK[1].into()),
    Property(4, [332, 332], 4, |_| MAX_BLOCK[2].into()),
    Property(5, [336, 336], 4, |_| MAX_GRID[0].into()),
    Property(6, [340, 340], 4, |_| MAX_GRID[1].into()),
    Property(7, [344, 344], 4, |_| MAX_GRID[2].into()),
    Property(13, [0, 348], 4, |device| device.core_khz.into()),
    Property(9, [352, 352], 8, |_| CONST_BYTES),
    Property(75, [360, 360], 4, |device| (device.capability / 10).into()),
    Property(76, [364, 364], 4, |device| (device.capability % 10).into()),
    Property(14, [368, 368], 8, |_| 512),
    Property(51, [376, 376], 8, |_| 32),
    Property(15, [0, 384], 4, |_| 1),
    Property(16, [384, 388], 4, |device| device.num_sms.into()),
    Property(31, [560, 576], 4, |_| 1),
    Property(40, [584, 600], 4, |_| 1),
    Property(41, [588, 604], 4, |_| 1),
    Property(36, [0, 608], 4, |device| device.memory_khz.into()),
    Property(37, [592, 612], 4, |device| device.memory_bus_bits.into()),
    Property(38, [596, 616], 4, |device| device.l2_bytes),
    Property(39, [604, 624], 4, |device| device.threads.into()),
    Property(79, [612, 632], 4, |_| 1),
    Property(80, [616, 636], 4, |_| 1),
    Property(81, [624, 640], 8, |device| device.shared_bytes.into()),
    Property(82, [632, 648], 4, |device| device.registers.into()),
    Property(83, [636, 652], 4, |_| 1),
    Property(97, [672, 696], 8, |device| device.shared_bytes.into()),
    Property(106, [688, 712], 4, |device| device.ctas.into()),
    Property(99, [704, 728], 4, |_| 1),
    // The last three properties belong to features that no machine has: a limit on the run time of a kernel,
    // mapped host memory, and cooperative launches.
    Property(17, [0, 392], 4, |_| 0),
    Property(19, [0, 0], 4, |_| 0),
    Property(95, [0, 0], 4, |_| 0),
];

/// Further properties with the value 0, by their number as a `cudaDeviceAttr`. They belong to features that
/// no machine has, such as exclusive use, error correction, access to all host memory, and clusters. The
/// table `PROPERTIES` lists all other properties.
const ABSENT: [c_int; 22] =
    [18, 20, 32, 33, 34, 35, 50, 78, 84, 85, 86, 88, 89, 90, 91, 96, 100, 101, 108, 111, 115, 120];

/// Writes the device properties to the program's struct, in the layout of CUDA 13 or of CUDA 12.
fn properties(state: &mut State, to: *mut c_void, device: c_int, layout: usize) -> Result<(), Failure> {
    expect_device(device)?;
    let device = state.device()?;
    let mut bytes = vec![0; PROPERTIES_BYTES[layout]];
    let name = &device.name.as_bytes()[..device.name.len().min(NAME_BYTES - 1)];
    bytes[..name.len()].copy_from_slice(name);
    for Property(_, offsets, size, value) in &PROPERTIES {
        if offsets[layout] != 0 {
            bytes[offsets[layout]..][..*size].copy_from_slice(&value(device).to_le_bytes()[..*size]);
        }
    }
    write_bytes(to, &bytes)
}

/// Fails unless `device` is the number of the only device.
pub fn expect_device(device: c_int) -> Result<(), Failure> {
    if device == 0 { Ok(()) } else { Err(CudaError::INVALID_DEVICE.into()) }
}

/// Writes the device properties in the layout that `cudaDeviceProp` has in CUDA 13.
#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceProperties(to: *mut c_void, device: c_int) -> c_int {
    call(|state| properties(state, to, device, 0))
}

/// Writes the device properties in the layout that `cudaDeviceProp` has in CUDA 12.
#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceProperties_v2(to: *mut c_void, device: c_int) -> c_int {
    call(|state| properties(state, to, device, 1))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) -> c_int {
    call(|state| {
        expect_device(device)?;
        if let Some(Property(.., found)) = PROPERTIES.iter().find(|property| property.0 == attribute && attribute > 0) {
            let found = found(state.device()?);
            return put(value, found.min(c_int::MAX as u64) as c_int);
        }
        if ABSENT.contains(&attribute) {
            return put(value, 0);
        }
        state.refuse(format!("cudaDeviceGetAttribute: attribute {attribute} is not known"))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> c_int {
    call(|_| put(count, 1))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetDevice(device: *mut c_int) -> c_int {
    call(|_| put(device, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(device: c_int) -> c_int {
    call(|_| expect_device(device))
}

#[unsafe(no_mangle)]
extern "C" fn cudaChooseDevice(device: *mut c_int, _properties: *const c_void) -> c_int {
    call(|_| put(device, 0))
}

/// `cudaSetDeviceFlags`: ignores the flags. They select how a CPU thread waits for the device, but no call
/// ever waits here.
#[unsafe(no_mangle)]
extern "C" fn cudaSetDeviceFlags(_flags: c_uint) -> c_int {
    call(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceCanAccessPeer(can_access: *mut c_int, device: c_int, peer: c_int) -> c_int {
    call(|_| {
        expect_device(device)?;
        expect_device(peer)?;
        put(can_access, 0)
    })
}

/// There is one device, and a device is not its own peer.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) -> c_int {
    call(|_| Err(CudaError::INVALID_DEVICE.into()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceDisablePeerAccess(_peer: c_int) -> c_int {
    call(|_| Err(CudaError::INVALID_DEVICE.into()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetPCIBusId(id: *mut c_char, bytes: c_int, device: c_int) -> c_int {
    call(|_| {
        expect_device(device)?;
        let text = c"0000:00:00.0".to_bytes_with_nul();
        if (bytes as usize) < text.len() {
            return Err(CudaError::INVALID_VALUE.into());
        }
        write_bytes(id.cast(), text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) -> c_int {
    call(|_| {
        if string_at(id)? != "0000:00:00.0" {
            return Err(CudaError::INVALID_DEVICE.into());
        }
        put(device, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSynchronize() -> c_int {
    call(load_managed)
}

/// `cudaThreadSynchronize`, the old name of `cudaDeviceSynchronize`.
#[unsafe(no_mangle)]
extern "C" fn cudaThreadSynchronize() -> c_int {
    cudaDeviceSynchronize()
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> c_int {
    call(|state| {
        state.tell(&Request::Reset, &[])?;
        managed::free_all(state);
        state.binaries.iter_mut().for_each(|binary| binary.module = None);
        state.kernels.values_mut().for_each(|kernel| kernel.properties = None);
        state.events.clear();
        state.streams.clear();
        Ok(())
    })
}

/// `cudaThreadExit`, the old name of `cudaDeviceReset`.
#[unsafe(no_mangle)]
extern "C" fn cudaThreadExit() -> c_int {
    cudaDeviceReset()
}

/// Ignores the program's preference for a larger L1 or more shared memory: the machine partitions them by the
/// needs of each launch.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetCacheConfig(_preference: c_int) -> c_int {
    call(|_| Ok(()))
}

/// Ignores the requested bank width, since the shared memory of the machine has banks of a single width.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetSharedMemConfig(_width: c_int) -> c_int {
    call(|_| Ok(()))
}

/// Sets the size of the stack, of the print buffer or of the heap of kernels, and refuses the limits of
/// features that the model lacks.
#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSetLimit(limit: c_int, value: usize) -> c_int {
    call(|state| match limit {
        0 => state.tell(&Request::Stack { bytes: value as u64 }, &[]),
        1 => state.tell(&Request::Limit { limit: Limit::PrintBuffer, bytes: value as u64 }, &[]),
        2 => state.tell(&Request::Limit { limit: Limit::Heap, bytes: value as u64 }, &[]),
        other => state.refuse(format!("cudaDeviceSetLimit: limit {other} with value {value} is not supported")),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaRuntimeGetVersion(version: *mut c_int) -> c_int {
    call(|_| put(version, CUDA_VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDriverGetVersion(version: *mut c_int) -> c_int {
    call(|_| put(version, CUDA_VERSION))
}

/// `cudaProfilerStart`: does nothing, since the simulator counts all kernels, not only those between start
/// and stop.
#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStart() -> c_int {
    call(|_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaProfilerStop() -> c_int {
    call(|_| Ok(()))
}

/// Symbol whose version is that of CUDA 12, as the linker script `versions.map` specifies. Programs built
/// with CUDA 12 require this version.
#[unsafe(no_mangle)]
extern "C" fn warpsieve_cudart_12() {}

/// Symbol whose version is that of CUDA 13, as the linker script `versions.map` specifies. Programs built
/// with CUDA 13 require this version.
#[unsafe(no_mangle)]
extern "C" fn warpsieve_cudart_13() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_property_overlaps_another_in_either_layout() {
        for (layout, bytes) in PROPERTIES_BYTES.into_iter().enumerate() {
            let mut places: Vec<_> =
                PROPERTIES.iter().map(|p| (p.1[layout], p.2)).filter(|&(offset, _)| offset != 0).collect();
            places.sort_unstable();
            assert!(places[0].0 >= NAME_BYTES);
            assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{places:?}");
            assert!(places.last().is_some_and(|(offset, size)| offset + size <= bytes));
        }
        let mut numbers: Vec<_> = PROPERTIES.iter().map(|p| p.0).chain(ABSENT).filter(|&number| number > 0).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    }
}
