//! Reader of the file `kernelslist.g`: commands that the traced program sent to the GPU, in order.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::error::{TraceError, Warning, quote};
use super::fields::{self, Word};
use super::kernel::{address_bits, too_wide};
use super::lines::Lines;
use super::source;

/// Maximum length of a line of the list in bytes.
const LINE_BYTES: usize = 16 << 10;

/// Maximum number of lines in succession that are not known commands. A file with more such lines is not a
/// kernel list. Without this limit, an endless input would be read forever.
const MAX_UNKNOWN: usize = 1_000;

/// Command that the traced program sent to the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Copy from the memory of the host computer to device memory.
    CopyToDevice {
        /// Device address of the first byte.
        address: u64,
        /// Number of bytes that are copied.
        bytes: u64,
    },
    /// Launch of a kernel.
    Kernel {
        /// Path of the kernel's trace, in the folder of the list.
        path: PathBuf,
    },
}

/// Reader of a kernel list; an iterator over its commands.
pub struct KernelsList {
    lines: Lines,
    folder: PathBuf,
    is_done: bool,
}

impl KernelsList {
    /// Opens a list.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let opened = source::open(path).map_err(|reason| TraceError::unreadable(path, reason))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::new(opened.decoded.text, &path.display().to_string(), folder))
    }

    /// Creates a reader of a kernel list from any source. The traces of its kernels are in `folder`.
    #[must_use]
    pub fn new(input: Box<dyn BufRead + Send>, name: &str, folder: &Path) -> Self {
        KernelsList { lines: Lines::new(input, name, LINE_BYTES), folder: folder.to_owned(), is_done: false }
    }

    /// Returns the next command, or `None` after the last command or after an error.
    ///
    /// # Errors
    /// Returns an error if a line begins like a command but is malformed, or if there are more than 1,000
    /// lines in succession that are not known commands.
    pub fn next_command(&mut self) -> Result<Option<Command>, TraceError> {
        let mut unknown = 0;
        while !self.is_done && self.lines.advance()? {
            let line = self.lines.line().trim_ascii();
            let name = line.split(|&byte| byte == b',').next().unwrap_or(line);
            if name == b"MemcpyHtoD" {
                return self.copy().map(Some);
            }
            if line.starts_with(b"kernel") {
                let path = self.folder.join(String::from_utf8_lossy(line).as_ref());
                return Ok(Some(Command::Kernel { path }));
            }
            // A copy from device memory to the host computer does not change the caches, so the command
            // `MemcpyDtoH` is skipped.
            if name == b"MemcpyDtoH" {
                unknown = 0;
            } else {
                unknown += 1;
                if unknown > MAX_UNKNOWN {
                    self.is_done = true;
                    return Err(self.lines.refuse(format!(
                        "{MAX_UNKNOWN} lines before this one are no known commands: not a list of traces"
                    )));
                }
                let message = format!("the line {} is not a known command: ignored", quote(line));
                self.lines.warn(message);
            }
        }
        self.is_done = true;
        Ok(None)
    }

    /// Warnings about the lines read so far.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        self.lines.warnings.all()
    }

    /// Checks that an address in the last command read fits in `bits` bits.
    ///
    /// # Errors
    /// Returns an error if the address needs more than `bits` bits.
    pub fn check_address(&self, address: u64, bits: u32) -> Result<(), TraceError> {
        if address_bits(address) > bits { Err(self.refuse(too_wide(address, bits))) } else { Ok(()) }
    }

    /// Creates an error about the command that was read last, for example because the trace of its kernel is
    /// missing.
    #[must_use]
    pub fn refuse(&self, message: String) -> TraceError {
        self.lines.refuse(message)
    }

    fn copy(&mut self) -> Result<Command, TraceError> {
        let line = self.lines.line();
        let mut start = 0;
        let mut parts = line.split(|&byte| byte == b',').map(|part| {
            let blank = part.len() - part.trim_ascii_start().len();
            let word = Word { text: part.trim_ascii(), start: start + blank };
            start += part.len() + 1;
            word
        });
        let (_, address, bytes, more) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(address), Some(bytes), None) = (address, bytes, more) else {
            let message = format!("{} is not MemcpyHtoD,ADDRESS,BYTES", quote(line.trim_ascii()));
            return Err(self.lines.refuse(message));
        };
        let address_value = fields::hexadecimal(address.text);
        let address_value = address_value.ok_or_else(|| self.lines.fault(address.refuse("a hexadecimal address")))?;
        let bytes_value = fields::decimal(bytes.text);
        let bytes_value = bytes_value.ok_or_else(|| self.lines.fault(bytes.refuse("a number of bytes")))?;
        Ok(Command::CopyToDevice { address: address_value, bytes: bytes_value })
    }
}

impl Iterator for KernelsList {
    type Item = Result<Command, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let command = self.next_command();
        self.is_done |= command.is_err();
        command.transpose()
    }
}
