//! Accesses to memory of the program through pointers that the program passes.
//!
//! The program must pass valid pointers, which the original CUDA runtime requires too. The library cannot
//! check them. Null pointers are refused with an error code.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::slice;

use cuda::error::CudaError;
use cuda::fatbin::{self, HEADER_BYTES};
use cuda::wire::PrintPiece;

use crate::connection::Failure;

/// Writes a result to the address that the program passed for the result.
pub fn put<T>(to: *mut T, value: T) -> Result<(), Failure> {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the program passes the address of a variable of this type for the result.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads a value from the address that the program passed.
pub fn get<T: Copy>(from: *const T) -> Result<T, Failure> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the program passes the address of a variable of this type.
    Ok(unsafe { from.read_unaligned() })
}

/// Copies bytes out of memory of the program.
pub fn bytes_at(from: *const c_void, bytes: usize) -> Result<Vec<u8>, Failure> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the program passes the address of at least this number of bytes, and does not change them
    // during the call.
    Ok(unsafe { slice::from_raw_parts(from.cast::<u8>(), bytes) }.to_vec())
}

/// Copies bytes into memory of the program.
pub fn write_bytes(to: *mut c_void, bytes: &[u8]) -> Result<(), Failure> {
    if bytes.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the program passes the address of at least this number of bytes. The source is a buffer of this
    // library, so the two do not overlap.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

/// Copies a C string out of memory of the program.
pub fn string_at(from: *const c_char) -> Result<String, Failure> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the program passes the address of a string that ends with a zero byte.
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}

/// Struct through which a program refers to a fat binary. It begins with a magic number and a version, and
/// points to the fat binary.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const c_void,
    _further: *const c_void,
}

/// Returns the fat binary to which the program's struct refers.
pub fn fat_binary(wrapper: *const c_void) -> Result<Vec<u8>, Failure> {
    let Wrapper { magic, version, data, .. } = get(wrapper.cast::<Wrapper>())?;
    if magic != fatbin::WRAPPER_MAGIC || version != 1 {
        let form = format!("magic number {magic:#x} and version {version}");
        let legal =
            format!("{:#x} and 1: relocatable device code (`-rdc=true`) is not supported", fatbin::WRAPPER_MAGIC);
        return Err(Failure::End(Some(format!("the program registers a fat binary with {form}, expected {legal}"))));
    }
    let header: [u8; HEADER_BYTES] = get(data.cast())?;
    let size = fatbin::size(&header).map_err(|e| Failure::End(Some(e.to_string())))?;
    let size = usize::try_from(size).map_err(|e| Failure::End(Some(e.to_string())))?;
    bytes_at(data, size)
}

/// Allocates memory of the program, filled with zeros.
pub fn allocate(layout: Layout) -> Result<*mut c_void, Failure> {
    if layout.size() == 0 {
        return Err(CudaError::INVALID_VALUE.into());
    }
    // SAFETY: the size of the layout is not zero.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() { Err(CudaError::MEMORY_ALLOCATION.into()) } else { Ok(memory.cast()) }
}

/// Frees memory that [`allocate`] returned for the same layout.
pub fn free(memory: *mut c_void, layout: Layout) {
    // SAFETY: the caller took the address and its layout from the list of allocations, and removed the entry.
    unsafe { dealloc(memory.cast(), layout) };
}

unsafe extern "C" {
    /// `printf` of C. Its output is in order with that of the program, because both use the same buffer.
    fn printf(format: *const c_char, ...) -> c_int;
}

/// Prints a piece of the output of a kernel to the standard output of the program.
pub fn print(piece: &PrintPiece) -> Result<(), Failure> {
    let c = |text: &str| CString::new(text).map_err(|_| CudaError::INVALID_VALUE);
    // SAFETY: each format is a single conversion, and the argument has the type that this conversion takes.
    // All strings live until the call returns.
    unsafe {
        match piece {
            PrintPiece::Text(text) => printf(c"%s".as_ptr(), c(text)?.as_ptr()),
            PrintPiece::String { format, value } => printf(c(format)?.as_ptr(), c(value)?.as_ptr()),
            PrintPiece::Real { format, value } => printf(c(format)?.as_ptr(), *value),
            PrintPiece::Integer { format, value } if format.ends_with('c') => {
                printf(c(format)?.as_ptr(), *value as c_int)
            }
            PrintPiece::Integer { format, value } => printf(c(format)?.as_ptr(), *value),
        }
    };
    Ok(())
}
