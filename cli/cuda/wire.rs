//! # Messages between a program and the simulator
//! The library in the program sends a [`Request`], and the simulator answers with a [`Reply`]. Both may carry
//! raw bytes. A frame has four parts: the size of the message (4 bytes), the size of the raw bytes (8 bytes),
//! the message in postcard's format, and the raw bytes.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::CudaError;

/// Environment variable with the path of the simulator's socket.
pub const SOCKET: &str = "WARPSIEVE_EXEC_SOCKET";
/// Version of the messages: that of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum size of a message in bytes, without its raw bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Request of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// First request of a process.
    Hello {
        /// Version of the library.
        version: String,
    },
    /// Allocates device memory. The reply is [`Reply::Address`].
    Allocate {
        /// Size in bytes.
        bytes: u64,
        /// Alignment in bytes, a power of two.
        alignment: u64,
        /// Lowest acceptable address.
        least: u64,
        /// Function that allocates, for the name of the allocation.
        function: String,
    },
    /// Frees device memory.
    Free {
        /// Start address of the allocation.
        address: u64,
    },
    /// Asks for the allocation that contains an address. The reply is [`Reply::Range`] or a failure.
    Find {
        /// Address in the allocation.
        address: u64,
    },
    /// Asks for the free and the total memory. The reply is [`Reply::Memory`].
    Memory,
    /// Reads device memory. The reply has the raw bytes.
    Read {
        /// Address of the first byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Writes the raw bytes to device memory.
    Write {
        /// Address of the first byte.
        address: u64,
    },
    /// Fills rows of device memory with copies of the raw bytes.
    Fill {
        /// Address of the first byte.
        address: u64,
        /// Distance between two rows, in bytes.
        pitch: u64,
        /// Size of a row in bytes, a multiple of the number of raw bytes.
        width: u64,
        /// Number of rows.
        rows: u64,
    },
    /// Copies device memory to device memory.
    Copy {
        /// Address of the first source byte.
        from: u64,
        /// Address of the first destination byte.
        to: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Loads the fat binary in the raw bytes. The reply is [`Reply::Module`].
    Load,
    /// Asks for a variable of a module. The reply is [`Reply::Range`].
    Variable {
        /// Number of the module.
        module: u32,
        /// Name of the variable.
        name: String,
    },
    /// Asks for a kernel. The reply is [`Reply::Kernel`].
    Kernel {
        /// Number of the module.
        module: u32,
        /// Name of the kernel.
        name: String,
    },
    /// Asks how many CTAs of a kernel fit on an SM. The reply is [`Reply::Count`].
    Occupancy {
        /// Number of the kernel.
        kernel: u32,
        /// Threads per CTA.
        threads: u32,
        /// Dynamic shared memory per CTA in bytes.
        shared_bytes: u64,
    },
    /// Runs a kernel to its end. The raw bytes are its parameter block.
    Launch {
        /// Number of the kernel.
        kernel: u32,
        /// CTAs in x, y and z.
        grid: [u32; 3],
        /// Threads per CTA in x, y and z.
        block: [u32; 3],
        /// Dynamic shared memory per CTA in bytes.
        shared_bytes: u64,
    },
    /// Frees all memory and unloads all modules.
    Reset,
    /// Asks for the simulated time. The reply is [`Reply::Time`].
    Time,
    /// Reports that the program needs something that the library does not have. The simulator prints the
    /// message, and the program ends.
    Refuse {
        /// Text of the message.
        message: String,
    },
}

/// Answer of the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The request was carried out.
    Done,
    /// Properties of the device: the reply to [`Request::Hello`].
    Device(Box<DeviceProperties>),
    /// Address of the allocated memory: the reply to [`Request::Allocate`].
    Address(u64),
    /// Range of memory: the reply to [`Request::Find`] or [`Request::Variable`].
    Range {
        /// Address of the first byte.
        address: u64,
        /// Size in bytes.
        bytes: u64,
    },
    /// Free and total memory: the reply to [`Request::Memory`].
    Memory {
        /// Free bytes.
        free: u64,
        /// All bytes.
        total: u64,
    },
    /// Number of a loaded module: the reply to [`Request::Load`].
    Module(u32),
    /// Properties of a kernel: the reply to [`Request::Kernel`].
    Kernel(Box<KernelProperties>),
    /// Number of CTAs that fit on an SM: the reply to [`Request::Occupancy`].
    Count(u32),
    /// Simulated time since the start of the run, in nanoseconds: the reply to [`Request::Time`].
    Time(f64),
    /// The call of the program must return this error code.
    Failed(CudaError),
    /// The program must end, since it needs something that the model lacks. The simulator has printed the
    /// reason.
    Refused,
}

/// Properties of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelProperties {
    /// Number of the kernel in later requests.
    pub number: u32,
    /// Size of the parameter block in bytes.
    pub param_bytes: u32,
    /// Offset and size of each parameter in bytes.
    pub parameters: Vec<(u32, u32)>,
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per CTA in bytes.
    pub shared_bytes: u32,
    /// Constants of the module in bytes.
    pub const_bytes: u32,
    /// Local memory per thread in bytes.
    pub local_bytes: u32,
    /// Maximum number of threads per CTA.
    pub max_threads: u32,
    /// Architecture of the PTX text: 75 is sm_75.
    pub arch: u32,
}

/// Properties of the simulated device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceProperties {
    /// Name of the machine and its designs.
    pub name: String,
    /// Compute capability times ten.
    pub capability: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Shared memory of an SM in bytes.
    pub shared_bytes: u32,
    /// 32-bit registers of an SM.
    pub registers: u32,
    /// Lanes per warp, as kernels see them.
    pub warp_lanes: u32,
    /// Threads per SM.
    pub threads: u32,
    /// CTAs per SM.
    pub ctas: u32,
    /// Number of SMs.
    pub num_sms: u32,
    /// L2 in bytes.
    pub l2_bytes: u64,
    /// Width of the data bus of all DRAM channels in bits.
    pub memory_bus_bits: u32,
    /// Clock of the SMs in kHz.
    pub core_khz: u32,
    /// Clock of the DRAM in kHz.
    pub memory_khz: u32,
}

/// Sends a message with raw bytes.
///
/// # Errors
/// If the peer has closed the connection.
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

/// Receives a message and its raw bytes; `None` if the peer has closed the connection.
///
/// # Errors
/// If the connection breaks within a message, or the message is malformed.
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
