//! Functions about error codes: the last error of a thread, and the names and descriptions of error codes.

use std::ffi::{c_char, c_int};

use cuda::error::CudaError;

use crate::state::last_error;

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> c_int {
    last_error(true).0
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> c_int {
    last_error(false).0
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(error: c_int) -> *const c_char {
    CudaError(error).description().as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(error: c_int) -> *const c_char {
    CudaError(error).name().as_ptr()
}
