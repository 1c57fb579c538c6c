//! # Messages between a CUDA program and the simulator
//! The library in the program sends a [`Request`], and the simulator answers with a [`Reply`]. Raw bytes may
//! follow either message. A frame has four parts: the size of the message (4 bytes), the size of the raw
//! bytes (8 bytes), the message in postcard's format, and the raw bytes.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::CudaError;

/// Name of the environment variable that contains the path of the simulator's socket.
pub const SOCKET: &str = "WARPSIEVE_EXEC_SOCKET";
/// Version of the message format: the version of warpsieve.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum size of an encoded message in bytes. Messages hold names and numbers; everything that may be large
/// (memory, fat binaries, output of kernels) follows as raw bytes, which this limit does not cover.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Request that a program sends to the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Introduces a new process. The reply is [`Reply::Device`].
    Hello {
        /// Version of warpsieve with which the library was built.
        version: String,
    },
    /// Allocates device memory. The reply is [`Reply::Address`].
    Allocate {
        /// Size of the allocation in bytes.
        bytes: u64,
        /// Alignment in bytes, a power of two.
        alignment: u64,
        /// Lowest acceptable start address of the allocation.
        least: u64,
        /// CUDA function that requests the memory. The allocation is named after this function.
        function: String,
    },
    /// Frees an allocation of device memory.
    Free {
        /// Start address of the allocation to free.
        address: u64,
    },
    /// Asks for the allocation that contains an address. The reply is [`Reply::Range`] or a failure.
    Find {
        /// Any address inside the allocation.
        address: u64,
    },
    /// Asks for two sizes: of the free device memory, and of all device memory. The reply is
    /// [`Reply::Memory`].
    Memory,
    /// Reads device memory. The raw bytes after the reply are the contents.
    Read {
        /// Device address of the first byte to read.
        address: u64,
        /// Number of bytes to read.
        bytes: u64,
    },
    /// Writes the raw bytes after this request to device memory.
    Write {
        /// Device address of the first byte to write.
        address: u64,
    },
    /// Fills rows of device memory with repeated copies of the raw bytes after this request.
    Fill {
        /// Device address of the first byte to fill.
        address: u64,
        /// Distance between the starts of two rows, in bytes.
        pitch: u64,
        /// Number of bytes to fill in each row, a multiple of the number of raw bytes.
        width: u64,
        /// Number of rows to fill.
        rows: u64,
    },
    /// Copies bytes from one place in device memory to another.
    Copy {
        /// Address of the first source byte.
        from: u64,
        /// Address of the first destination byte.
        to: u64,
        /// Number of bytes to copy.
        bytes: u64,
    },
    /// Loads the fat binary that follows as raw bytes. The reply is [`Reply::Module`].
    Load,
    /// Asks for the address and size of a variable of a module. The reply is [`Reply::Range`].
    Variable {
        /// Number of the module that defines the variable.
        module: u32,
        /// Name of the variable in the PTX text.
        name: String,
    },
    /// Asks for the number and properties of a kernel. The reply is [`Reply::Kernel`].
    Kernel {
        /// Number of the module that contains the kernel.
        module: u32,
        /// Name of the kernel in the PTX text.
        name: String,
    },
    /// Asks how many CTAs of a kernel fit on an SM at once. The reply is [`Reply::Count`].
    Occupancy {
        /// Number of the kernel, as the simulator assigned it ([`KernelProperties`]).
        kernel: u32,
        /// Number of threads per CTA.
        threads: u32,
        /// Dynamic shared memory per CTA in bytes.
        shared_bytes: u64,
    },
    /// Runs a kernel to its end. The raw bytes after this request are the kernel's parameter block. The reply
    /// is [`Reply::Printed`].
    Launch {
        /// Number of the kernel, as the simulator assigned it ([`KernelProperties`]).
        kernel: u32,
        /// Number of CTAs of the grid in the x, y and z dimensions.
        grid: [u32; 3],
        /// Number of threads of a CTA in the x, y and z dimensions.
        block: [u32; 3],
        /// Dynamic shared memory per CTA in bytes.
        shared_bytes: u64,
    },
    /// Sets the size of memory that the device library provides to each module that is loaded later.
    Limit {
        /// Memory whose size is set.
        limit: Limit,
        /// Size in bytes.
        bytes: u64,
    },
    /// Sets the size of the stack of each thread, for kernels that are used later.
    Stack {
        /// Size in bytes.
        bytes: u64,
    },
    /// Frees all device memory and unloads all modules.
    Reset,
    /// Asks for the simulated time. The reply is [`Reply::Time`].
    Time,
    /// Reports that the program needs something that the library does not have. The simulator prints the
    /// message, and the program ends.
    Refuse {
        /// Text of the message to print.
        message: String,
    },
}

/// Memory of the device library whose size a program can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Buffer for the output of `printf` in kernels.
    PrintBuffer,
    /// Heap from which kernels allocate memory.
    Heap,
}

/// Reply of the simulator to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The simulator has carried out the request.
    Done,
    /// Properties of the device: the reply to [`Request::Hello`].
    Device(Box<DeviceProperties>),
    /// Device address of the allocated memory: the reply to [`Request::Allocate`].
    Address(u64),
    /// Range of device memory: the reply to [`Request::Find`] or [`Request::Variable`].
    Range {
        /// Address of the first byte of the range.
        address: u64,
        /// Size of the range in bytes.
        bytes: u64,
    },
    /// Size of the free device memory, and size of all device memory: the reply to [`Request::Memory`].
    Memory {
        /// Number of bytes of device memory that are free.
        free: u64,
        /// Total number of bytes of device memory.
        total: u64,
    },
    /// Number of a loaded module: the reply to [`Request::Load`].
    Module(u32),
    /// Properties of a kernel: the reply to [`Request::Kernel`].
    Kernel(Box<KernelProperties>),
    /// Number of CTAs that fit on an SM at once: the reply to [`Request::Occupancy`].
    Count(u32),
    /// The kernel has run to its end: the reply to [`Request::Launch`]. The raw bytes after this reply are the
    /// output of `printf` in the kernel, in the order of the calls ([`encode_printed`]).
    Printed,
    /// Simulated time since the start of the run, in nanoseconds: the reply to [`Request::Time`].
    Time(f64),
    /// The call failed: the library returns this error code to the program.
    Failed(CudaError),
    /// The process must end, since the program needs something that the model lacks. The simulator has
    /// already printed the reason.
    Refused,
}

/// Piece of the output of `printf` in a kernel. A format is one conversion of C's `printf`, such as `%5.2f`,
/// without `*`. The conversion takes an argument of 64 bits, or of type `int` if it is `%c`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PrintPiece {
    /// Text between conversions.
    Text(String),
    /// Integer, character or pointer.
    Integer {
        /// Conversion that formats the value.
        format: String,
        /// Value, extended to 64 bits.
        value: u64,
    },
    /// Floating-point number.
    Real {
        /// Conversion that formats the value.
        format: String,
        /// Value.
        value: f64,
    },
    /// String.
    String {
        /// Conversion that formats the value.
        format: String,
        /// Value.
        value: String,
    },
}

/// Properties of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelProperties {
    /// Number that identifies the kernel in later requests.
    pub number: u32,
    /// Size of the parameter block in bytes.
    pub param_bytes: u32,
    /// Offset and size of each parameter in the parameter block, in bytes.
    pub parameters: Vec<(u32, u32)>,
    /// Number of 32-bit registers per thread.
    pub registers: u32,
    /// Size of the static shared memory per CTA in bytes.
    pub shared_bytes: u32,
    /// Size of the constant memory of the kernel's module in bytes.
    pub const_bytes: u32,
    /// Size of the local memory per thread in bytes.
    pub local_bytes: u32,
    /// Maximum number of threads per CTA.
    pub max_threads: u32,
    /// Architecture of the PTX text that contains the kernel: 75 is sm_75.
    pub arch: u32,
}

/// Properties of the simulated device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceProperties {
    /// Name of the simulated machine and its designs.
    pub name: String,
    /// Compute capability of the simulated device times ten: 75 is capability 7.5.
    pub capability: u32,
    /// Size of device memory in bytes.
    pub memory_bytes: u64,
    /// Size of the shared memory of one SM in bytes.
    pub shared_bytes: u32,
    /// Number of 32-bit registers of one SM.
    pub registers: u32,
    /// Number of threads per warp, as kernels see it.
    pub warp_lanes: u32,
    /// Maximum number of resident threads per SM.
    pub threads: u32,
    /// Maximum number of resident CTAs per SM.
    pub ctas: u32,
    /// Number of SMs of the device.
    pub num_sms: u32,
    /// Total size of the L2 in bytes.
    pub l2_bytes: u64,
    /// Total width of the data buses of all DRAM channels in bits.
    pub memory_bus_bits: u32,
    /// Clock frequency of the SMs in kHz.
    pub core_khz: u32,
    /// Clock frequency of the DRAM in kHz.
    pub memory_khz: u32,
}

/// Encodes the output of a kernel as the raw bytes of [`Reply::Printed`].
///
/// # Errors
/// Returns an error if the encoding fails.
pub fn encode_printed(pieces: &[PrintPiece]) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(pieces).map_err(io::Error::other)
}

/// Decodes the output of a kernel from the raw bytes of [`Reply::Printed`].
///
/// # Errors
/// Returns an error if the bytes are not the output of a kernel.
pub fn decode_printed(raw: &[u8]) -> io::Result<Vec<PrintPiece>> {
    postcard::from_bytes(raw).map_err(io::Error::other)
}

/// Sends a message, followed by raw bytes.
///
/// # Errors
/// Returns an error if the peer has closed the connection.
pub fn send<M: Serialize>(to: &mut impl Write, message: &M, raw: &[u8]) -> io::Result<()> {
    let encoded = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let mut header = Vec::with_capacity(12 + encoded.len());
    header.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    header.extend_from_slice(&(raw.len() as u64).to_le_bytes());
    header.extend_from_slice(&encoded);
    to.write_all(&header)?;
    to.write_all(raw)?;
    to.flush()
}

/// Receives a message and the raw bytes after it. Returns `None` if the peer closes the connection before a
/// complete header has arrived.
///
/// # Errors
/// Returns an error if the connection breaks after the header, or the message is malformed.
pub fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<(M, Vec<u8>)>> {
    let mut header = [0; 12];
    match from.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let [a, b, c, d, raw @ ..] = header;
    let size = u32::from_le_bytes([a, b, c, d]) as usize;
    if size > MAX_MESSAGE_BYTES {
        return Err(io::Error::other(format!("a message of {size} bytes, expected at most {MAX_MESSAGE_BYTES}")));
    }
    let mut encoded = vec![0; size];
    from.read_exact(&mut encoded)?;
    let raw_bytes = u64::from_le_bytes(raw);
    let mut raw = Vec::new();
    let read = from.take(raw_bytes).read_to_end(&mut raw)?;
    if read as u64 != raw_bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((postcard::from_bytes(&encoded).map_err(io::Error::other)?, raw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_its_bytes_arrive_as_they_were_sent() {
        let mut pipe = Vec::new();
        send(&mut pipe, &Request::Write { address: 0x10_0000 }, &[1, 2, 3]).unwrap();
        send(&mut pipe, &Request::Time, &[]).unwrap();
        let mut from = &pipe[..];
        assert_eq!(receive(&mut from).unwrap(), Some((Request::Write { address: 0x10_0000 }, vec![1, 2, 3])));
        assert_eq!(receive(&mut from).unwrap(), Some((Request::Time, Vec::new())));
        assert_eq!(receive::<Request>(&mut from).unwrap(), None);
    }

    #[test]
    fn a_broken_connection_and_a_malformed_message_are_errors() {
        let mut pipe = Vec::new();
        send(&mut pipe, &Reply::Address(1), &[1, 2, 3]).unwrap();
        assert!(receive::<Reply>(&mut &pipe[..pipe.len() - 1]).is_err());
        pipe[12] = 0xff;
        assert!(receive::<Reply>(&mut &pipe[..]).is_err());
        pipe[3] = 0xff;
        assert!(receive::<Reply>(&mut &pipe[..]).unwrap_err().to_string().contains("expected at most"));
    }
}
