//! # Flat memory
//! Models device memory as a kernel programmer sees it: named buffers at fixed addresses with unmapped gaps
//! between them. Every access is checked. An out-of-range or misaligned access is reported as an error of the
//! kernel or of its launch file.

use std::fmt;
use std::ops::Range;

/// Named, contiguous buffer of bytes at a fixed address in device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Name of the buffer in the launch file.
    pub name: String,
    /// Address of the first byte of the buffer.
    pub base: u64,
    /// Contents of the buffer.
    pub bytes: Vec<u8>,
}

impl Buffer {
    /// Returns the address just past the last byte of the buffer.
    pub fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns the byte offset of an access within the buffer; `None` if it is misaligned or not entirely
    /// inside.
    #[inline]
    fn offset(&self, address: u64, bytes: u32) -> Option<usize> {
        let start = address.checked_sub(self.base)?;
        let fits = start.checked_add(bytes.into())? <= self.bytes.len() as u64;
        (fits && is_aligned(address, bytes)).then_some(start as usize)
    }
}

/// True if an address is a multiple of the access size. For powers of two, the only sizes that kernels use, a
/// mask replaces the slower division.
#[inline]
fn is_aligned(address: u64, bytes: u32) -> bool {
    let bytes = u64::from(bytes.max(1));
    if bytes.is_power_of_two() { address & (bytes - 1) == 0 } else { address.is_multiple_of(bytes) }
}

/// Device memory: all buffers, sorted by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatMemory {
    buffers: Vec<Buffer>,
    /// Address ranges that kernels may read but not write.
    read_only: Vec<Range<u64>>,
}

/// Error: an access is out of range or misaligned. Names the nearest buffer, for the error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessError {
    /// Address of the first byte that the access reads or writes.
    pub address: u64,
    /// Size of the access in bytes, which is also its required alignment.
    pub bytes: u32,
    /// True if the access is misaligned. A misaligned access is an error even inside a buffer.
    pub misaligned: bool,
    /// Buffer that contains the address or lies nearest to it: its name, its first address, and the address
    /// past its end.
    pub nearest: Option<(String, u64, u64)>,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AccessError { address, bytes, .. } = self;
        write!(f, "{bytes} bytes at {address:#x}: ")?;
        if self.misaligned {
            return write!(f, "misaligned, expected a multiple of {bytes}");
        }
        match &self.nearest {
            None => write!(f, "out of range, there is no buffer at all"),
            Some((name, base, end)) => {
                write!(f, "out of range, the nearest is `{name}` from {base:#x} to below {end:#x}")
            }
        }
    }
}

impl std::error::Error for AccessError {}

/// Error: a buffer cannot be placed, because it overlaps another buffer or exceeds the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceError {
    /// Name of the buffer that could not be placed.
    pub name: String,
    /// Name of the buffer that it would overlap; `None` if it exceeds the address space.
    pub other: Option<String>,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.other {
            Some(other) => write!(f, "buffer `{}` overlaps buffer `{other}`", self.name),
            None => write!(f, "buffer `{}` reaches beyond the last address", self.name),
        }
    }
}

impl std::error::Error for PlaceError {}

impl FlatMemory {
    /// Creates a device memory without buffers.
    pub fn new() -> FlatMemory {
        FlatMemory::default()
    }

    /// Places a buffer named `name` with the contents `bytes` at address `base`.
    pub fn place(&mut self, name: &str, base: u64, bytes: Vec<u8>) -> Result<(), PlaceError> {
        let fail = |other: Option<&Buffer>| PlaceError { name: name.to_string(), other: other.map(|b| b.name.clone()) };
        let end = base.checked_add(bytes.len() as u64).ok_or_else(|| fail(None))?;
        if let Some(other) = self.buffers.iter().find(|b| b.base < end && base < b.end()) {
            return Err(fail(Some(other)));
        }
        let at = self.buffers.partition_point(|b| b.base < base);
        let name = name.to_string();
        self.buffers.insert(at, Buffer { name, base, bytes });
        Ok(())
    }

    /// Removes the buffer that starts at address `base`, if there is one, and the read-only ranges inside it.
    pub fn remove(&mut self, base: u64) {
        if let Some(at) = self.buffers.iter().position(|buffer| buffer.base == base) {
            let removed = self.buffers.remove(at);
            self.read_only.retain(|range| range.end <= removed.base || removed.end() <= range.start);
        }
    }

    /// Makes a range of addresses read-only for kernels, for example for constants. The simulator (host code)
    /// can still write there.
    pub fn protect(&mut self, bytes: Range<u64>) {
        self.read_only.push(bytes);
    }

    /// True if kernels may not write one or more bytes of the access.
    #[inline]
    pub fn is_protected(&self, address: u64, bytes: u32) -> bool {
        let end = address.saturating_add(bytes.into());
        self.read_only.iter().any(|protected| protected.start < end && address < protected.end)
    }

    /// Returns all buffers, sorted by address.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Returns the buffer called `name`, or `None` if there is no such buffer.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.buffers.iter().find(|b| b.name == name)
    }

    /// Replaces the contents of the buffer called `name`. Does nothing if no such buffer exists or if its
    /// size differs from that of `bytes`.
    pub fn replace(&mut self, name: &str, bytes: &[u8]) {
        if let Some(buffer) = self.buffers.iter_mut().find(|b| b.name == name && b.bytes.len() == bytes.len()) {
            buffer.bytes.copy_from_slice(bytes);
        }
    }

    /// Returns the `bytes` bytes at `address` for reading. The access must be aligned and lie in one buffer.
    #[inline]
    pub fn read(&self, address: u64, bytes: u32) -> Result<&[u8], AccessError> {
        let (at, start) = self.locate(address, bytes)?;
        Ok(&self.buffers[at].bytes[start..start + bytes as usize])
    }

    /// Returns the `bytes` bytes at `address` for writing. The access must be aligned and lie in one buffer.
    #[inline]
    pub fn write(&mut self, address: u64, bytes: u32) -> Result<&mut [u8], AccessError> {
        let (at, start) = self.locate(address, bytes)?;
        Ok(&mut self.buffers[at].bytes[start..start + bytes as usize])
    }

    /// Like [`FlatMemory::read`], but looks first in the buffer with index `near`. Sets `near` to the index
    /// of the buffer that the access uses.
    #[inline]
    pub fn read_near(&self, near: &mut usize, address: u64, bytes: u32) -> Result<&[u8], AccessError> {
        let start = self.locate_near(near, address, bytes)?;
        Ok(&self.buffers[*near].bytes[start..start + bytes as usize])
    }

    /// Like [`FlatMemory::write`], but finds the buffer as [`FlatMemory::read_near`] does.
    #[inline]
    pub fn write_near(&mut self, near: &mut usize, address: u64, bytes: u32) -> Result<&mut [u8], AccessError> {
        let start = self.locate_near(near, address, bytes)?;
        Ok(&mut self.buffers[*near].bytes[start..start + bytes as usize])
    }

    /// Returns the first address and the bytes of the buffer that contains an address.
    pub fn around(&self, address: u64) -> Option<(u64, &[u8])> {
        let (at, _) = self.locate(address, 1).ok()?;
        let Buffer { base, bytes, .. } = &self.buffers[at];
        Some((*base, bytes))
    }

    /// Returns the bytes of `count` adjacent accesses of `bytes` bytes each, for writing. `None` unless they
    /// are aligned, one buffer contains them all, and kernels may write there.
    pub fn write_run(&mut self, address: u64, bytes: u32, count: usize) -> Option<&mut [u8]> {
        let (at, start) = self.locate(address, bytes).ok()?;
        let length = bytes as usize * count;
        if self.is_protected(address, length as u32) {
            return None;
        }
        self.buffers[at].bytes.get_mut(start..start + length)
    }

    /// Returns the index of the buffer that contains an access, and the byte offset of the access in that
    /// buffer.
    #[inline]
    fn locate(&self, address: u64, bytes: u32) -> Result<(usize, usize), AccessError> {
        let after = self.buffers.partition_point(|b| b.base <= address);
        let found = after.checked_sub(1).and_then(|at| Some((at, self.buffers[at].offset(address, bytes)?)));
        found.ok_or_else(|| self.refuse(address, bytes))
    }

    #[inline]
    fn locate_near(&self, near: &mut usize, address: u64, bytes: u32) -> Result<usize, AccessError> {
        if let Some(start) = self.buffers.get(*near).and_then(|buffer| buffer.offset(address, bytes)) {
            return Ok(start);
        }
        let (at, start) = self.locate(address, bytes)?;
        *near = at;
        Ok(start)
    }

    #[cold]
    fn refuse(&self, address: u64, bytes: u32) -> AccessError {
        let distance = |b: &&Buffer| match address {
            _ if address < b.base => b.base - address,
            _ => address.saturating_add(1).saturating_sub(b.end()),
        };
        let nearest = self.buffers.iter().min_by_key(distance);
        AccessError {
            address,
            bytes,
            misaligned: !is_aligned(address, bytes),
            nearest: nearest.map(|b| (b.name.clone(), b.base, b.end())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> FlatMemory {
        let mut memory = FlatMemory::new();
        memory.place("b", 0x200, vec![2; 16]).unwrap();
        memory.place("a", 0x100, (0..16).collect()).unwrap();
        memory
    }

    #[test]
    fn what_is_written_is_read() {
        let mut memory = memory();
        memory.write(0x204, 4).unwrap().copy_from_slice(&[9, 8, 7, 6]);
        assert_eq!(memory.read(0x200, 8).unwrap(), [2, 2, 2, 2, 9, 8, 7, 6]);
        assert_eq!(memory.read(0x10c, 4).unwrap(), [12, 13, 14, 15]);
        assert_eq!(memory.buffer("a").unwrap().base, 0x100);
    }

    #[test]
    fn a_buffer_takes_other_bytes_of_its_own_number_only() {
        let mut memory = memory();
        memory.replace("b", &[7; 16]);
        memory.replace("a", &[7; 15]);
        memory.replace("c", &[7; 16]);
        assert_eq!((memory.read(0x200, 1).unwrap(), memory.read(0x10f, 1).unwrap()), (&[7][..], &[15][..]));
    }

    #[test]
    fn an_access_outside_names_the_nearest_buffer() {
        let text = |address, bytes| memory().read(address, bytes).unwrap_err().to_string();
        let behind = "4 bytes at 0x110: out of range, the nearest is `a` from 0x100 to below 0x110";
        assert_eq!(text(0x110, 4), behind);
        assert!(text(0x1fc, 4).contains("nearest is `b`"));
        assert!(text(0, 1).contains("nearest is `a`"));
        assert!(text(u64::MAX, 1).contains("nearest is `b`"));
        assert!(text(0x108, 16).contains("misaligned"));
        let empty = FlatMemory::new().read(0, 4).unwrap_err().to_string();
        assert_eq!(empty, "4 bytes at 0x0: out of range, there is no buffer at all");
    }

    #[test]
    fn a_misaligned_access_is_refused_even_inside() {
        let error = memory().write(0x102, 4).unwrap_err();
        assert_eq!(error.to_string(), "4 bytes at 0x102: misaligned, expected a multiple of 4");
    }

    #[test]
    fn an_access_of_any_size_must_be_at_a_multiple_of_its_size() {
        let memory = memory();
        assert_eq!(memory.read(0x108, 6).unwrap(), [8, 9, 10, 11, 12, 13]);
        assert_eq!(memory.read(0x102, 3).unwrap(), [2, 3, 4]);
        let error = memory.read(0x104, 3).unwrap_err();
        assert_eq!(error.to_string(), "3 bytes at 0x104: misaligned, expected a multiple of 3");
    }

    #[test]
    fn buffers_may_touch_but_not_overlap() {
        let mut memory = memory();
        memory.place("c", 0x110, vec![0; 4]).unwrap();
        let error = memory.place("d", 0xf8, vec![0; 9]).unwrap_err();
        assert_eq!(error.to_string(), "buffer `d` overlaps buffer `a`");
        let error = memory.place("e", u64::MAX, vec![0; 2]).unwrap_err();
        assert_eq!(error.to_string(), "buffer `e` reaches beyond the last address");
    }
}
