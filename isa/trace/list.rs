//! `kernelslist.g`: what the traced program asked of the GPU, in order.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::error::{TraceError, Warning, quoted};
use super::fields::{self, Word};
use super::kernel::{address_bits, too_wide};
use super::lines::Lines;
use super::source;

/// Bytes of a line at most.
const LINE_BYTES: usize = 16 << 10;

/// A line that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Memory was filled from the host.
    CopyToDevice {
        /// First byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A kernel ran.
    Kernel {
        /// Its trace: beside the list.
        path: PathBuf,
    },
}

/// A list being read: an iterator over its commands.
pub struct KernelsList {
    lines: Lines,
    folder: PathBuf,
    is_done: bool,
}

impl KernelsList {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let opened = source::open(path).map_err(|reason| TraceError::unreadable(path, reason))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::new(opened.decoded.text, &path.display().to_string(), folder))
    }

    /// A list from anywhere, whose kernels lie in `folder`.
    #[must_use]
    pub fn new(input: Box<dyn BufRead + Send>, name: &str, folder: &Path) -> Self {
        KernelsList { lines: Lines::new(input, name, LINE_BYTES), folder: folder.to_owned(), is_done: false }
    }

    /// The next command; `None` behind the last and after an error.
    ///
    /// # Errors
    /// If a line begins like a command, but is none.
    pub fn next_command(&mut self) -> Result<Option<Command>, TraceError> {
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
            // Copies back to the host leave no mark on the caches.
            if name != b"MemcpyDtoH" {
                let message = format!("the line {} is no command that we know: ignored", quoted(line));
                self.lines.warn(message);
            }
        }
        self.is_done = true;
        Ok(None)
    }

    /// What was odd so far.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        self.lines.warnings.all()
    }

    /// Refuses an address of the command read last that takes more than `bits` bits.
    ///
    /// # Errors
    /// If it does.
    pub fn check_address(&self, address: u64, bits: u32) -> Result<(), TraceError> {
        if address_bits(address) > bits { Err(self.refuse(too_wide(address, bits))) } else { Ok(()) }
    }

    /// An error about the command read last, such as a kernel whose file is missing.
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
            let message = format!("{} is not MemcpyHtoD,ADDRESS,BYTES", quoted(line.trim_ascii()));
            return Err(self.lines.refuse(message));
        };
        let address_value = fields::hexadecimal(address.text);
        let address_value = address_value.ok_or_else(|| self.lines.fault(address.refused("a hexadecimal address")))?;
        let bytes_value = fields::decimal(bytes.text);
        let bytes_value = bytes_value.ok_or_else(|| self.lines.fault(bytes.refused("a number of bytes")))?;
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
