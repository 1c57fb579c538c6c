//! Functions for streams and events. All work is done when it is issued, so no function ever waits. The time
//! of an event is the simulated time, in which only kernels take time.

use std::ffi::{c_int, c_uint, c_void};

use cuda::error::CudaError;

use crate::connection::Failure;
use crate::pointers::put;
use crate::state::{State, call};

/// Handles of the default streams. The legacy stream has two handles, a null pointer and the value 1. The
/// stream of each thread has the value 2.
const DEFAULT_STREAMS: [usize; 3] = [0, 1, 2];

fn expect_stream(state: &State, stream: *const c_void) -> Result<(), Failure> {
    if DEFAULT_STREAMS.contains(&stream.addr()) || state.streams.contains_key(&stream.addr()) {
        Ok(())
    } else {
        Err(CudaError::INVALID_RESOURCE_HANDLE.into())
    }
}

fn find_recorded(state: &State, event: *const c_void) -> Result<Option<f64>, Failure> {
    state.events.get(&event.addr()).copied().ok_or(CudaError::INVALID_RESOURCE_HANDLE.into())
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreate(stream: *mut usize) -> c_int {
    cudaStreamCreateWithPriority(stream, 0, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreateWithFlags(stream: *mut usize, flags: c_uint) -> c_int {
    cudaStreamCreateWithPriority(stream, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreateWithPriority(stream: *mut usize, flags: c_uint, priority: c_int) -> c_int {
    call(|state| {
        let handle = state.new_handle();
        state.streams.insert(handle, (flags, priority));
        put(stream, handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamDestroy(stream: *mut c_void) -> c_int {
    call(|state| match state.streams.remove(&stream.addr()) {
        Some(_) => Ok(()),
        None => Err(CudaError::INVALID_RESOURCE_HANDLE.into()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamSynchronize(stream: *mut c_void) -> c_int {
    call(|state| expect_stream(state, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamQuery(stream: *mut c_void) -> c_int {
    call(|state| expect_stream(state, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetFlags(stream: *mut c_void, flags: *mut c_uint) -> c_int {
    call(|state| {
        expect_stream(state, stream)?;
        put(flags, state.streams.get(&stream.addr()).map_or(0, |&(flags, _)| flags))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetPriority(stream: *mut c_void, priority: *mut c_int) -> c_int {
    call(|state| {
        expect_stream(state, stream)?;
        put(priority, state.streams.get(&stream.addr()).map_or(0, |&(_, priority)| priority))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: c_uint) -> c_int {
    call(|state| {
        expect_stream(state, stream)?;
        find_recorded(state, event).map(|_| ())
    })
}

/// `cudaStreamAttachMemAsync`: does nothing, since managed memory is accessible from all streams.
#[unsafe(no_mangle)]
extern "C" fn cudaStreamAttachMemAsync(
    stream: *mut c_void,
    _memory: *mut c_void,
    _bytes: usize,
    _flags: c_uint,
) -> c_int {
    call(|state| expect_stream(state, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamAddCallback(
    stream: *mut c_void,
    callback: Option<extern "C" fn(*mut c_void, c_int, *mut c_void)>,
    data: *mut c_void,
    _flags: c_uint,
) -> c_int {
    let Some(callback) = callback else { return call(|_| Err(CudaError::INVALID_VALUE.into())) };
    let checked = call(|state| expect_stream(state, stream));
    if checked == 0 {
        callback(stream, 0, data);
    }
    checked
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchHostFunc(
    stream: *mut c_void,
    function: Option<extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    let Some(function) = function else { return call(|_| Err(CudaError::INVALID_VALUE.into())) };
    let checked = call(|state| expect_stream(state, stream));
    if checked == 0 {
        function(data);
    }
    checked
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    call(|_| {
        put(least, 0)?;
        put(greatest, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventCreate(event: *mut usize) -> c_int {
    cudaEventCreateWithFlags(event, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventCreateWithFlags(event: *mut usize, _flags: c_uint) -> c_int {
    call(|state| {
        let handle = state.new_handle();
        state.events.insert(handle, None);
        put(event, handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventDestroy(event: *mut c_void) -> c_int {
    call(|state| match state.events.remove(&event.addr()) {
        Some(_) => Ok(()),
        None => Err(CudaError::INVALID_RESOURCE_HANDLE.into()),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecord(event: *mut c_void, stream: *mut c_void) -> c_int {
    call(|state| {
        expect_stream(state, stream)?;
        find_recorded(state, event)?;
        let now = state.time()?;
        state.events.insert(event.addr(), Some(now));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecordWithFlags(event: *mut c_void, stream: *mut c_void, _flags: c_uint) -> c_int {
    cudaEventRecord(event, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventSynchronize(event: *mut c_void) -> c_int {
    call(|state| find_recorded(state, event).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventQuery(event: *mut c_void) -> c_int {
    call(|state| find_recorded(state, event).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) -> c_int {
    call(|state| match (find_recorded(state, start)?, find_recorded(state, end)?) {
        (Some(start), Some(end)) => put(milliseconds, ((end - start) * 1e-6) as f32),
        _ => Err(CudaError::INVALID_RESOURCE_HANDLE.into()),
    })
}
