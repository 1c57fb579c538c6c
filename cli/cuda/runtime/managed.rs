//! # Managed memory
//! Managed memory has the same address in the program and on the device. The program's copy is the valid one,
//! except while a kernel runs. Before a launch, all pages that the program has changed are written to the
//! device. After the launch, all managed memory is read back. Neither step takes simulated time, so the
//! migration of pages is not modeled.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use cuda::error::CudaError;
use cuda::wire::{Reply, Request};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::connection::{Failure, fail_unexpected};
use crate::pointers::{bytes_at, write_bytes};
use crate::state::State;

/// Page size in bytes. Memory is mapped, and compared for changes, page by page.
pub const PAGE_BYTES: usize = 4096;
/// Maximum number of addresses that are tried for one allocation. An address fails if the program already
/// uses it.
const TRIES: usize = 64;

/// All managed memory of the process.
#[derive(Default)]
pub struct Managed {
    /// Contents that each allocated range had after the last transfer to or from the device. The key is the
    /// start address of the range.
    ranges: BTreeMap<usize, Vec<u8>>,
    /// Number of allocated ranges on each mapped page, by page number. Small ranges may share a page.
    pages: HashMap<usize, usize>,
}

impl Managed {
    /// True if the address lies in managed memory.
    pub fn holds(&self, address: usize) -> bool {
        self.ranges.range(..=address).next_back().is_some_and(|(start, copy)| address < start + copy.len())
    }

    /// Maps those pages of a new range that are not mapped yet. Returns false if the program already uses one
    /// of these pages.
    fn hold(&mut self, pages: Range<usize>) -> bool {
        let missing: Vec<usize> = pages.clone().filter(|page| !self.pages.contains_key(page)).collect();
        let runs: Vec<&[usize]> = missing.chunk_by(|a, b| a + 1 == *b).collect();
        for (number, run) in runs.iter().enumerate() {
            if !map(run[0] * PAGE_BYTES, run.len() * PAGE_BYTES) {
                runs[..number].iter().for_each(|run| unmap(run[0] * PAGE_BYTES, run.len() * PAGE_BYTES));
                return false;
            }
        }
        pages.for_each(|page| *self.pages.entry(page).or_default() += 1);
        true
    }

    /// Drops a range: unmaps its pages, except those on which another range lies.
    fn release(&mut self, pages: Range<usize>) {
        let mut unused = Vec::new();
        for page in pages {
            if let Some(count) = self.pages.get_mut(&page) {
                *count -= 1;
                if *count == 0 {
                    self.pages.remove(&page);
                    unused.push(page);
                }
            }
        }
        unused.chunk_by(|a, b| a + 1 == *b).for_each(|run| unmap(run[0] * PAGE_BYTES, run.len() * PAGE_BYTES));
    }

    /// Returns the managed range that contains an address, as its start address and its size in bytes.
    pub fn range_of(&self, address: usize) -> Option<(usize, usize)> {
        let (&start, copy) = self.ranges.range(..=address).next_back()?;
        (address < start + copy.len()).then_some((start, copy.len()))
    }
}

/// Returns the numbers of the pages that a range of memory covers.
fn pages_of(address: usize, bytes: usize) -> Range<usize> {
    address / PAGE_BYTES..(address + bytes).div_ceil(PAGE_BYTES)
}

/// Maps new memory for the program at a given address. Returns false if the program already uses the address.
fn map(address: usize, bytes: usize) -> bool {
    let at = ptr::without_provenance_mut::<c_void>(address);
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the flag makes the system refuse an address that is in use, so no memory of the program is
    // replaced.
    let mapped = unsafe { mmap_anonymous(at, bytes, protection, MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE) };
    match mapped {
        Ok(there) if there.addr() == address => true,
        // Old kernels of the operating system treat the address as a hint and may map memory elsewhere.
        Ok(elsewhere) => {
            unmap(elsewhere.addr(), bytes);
            false
        }
        Err(_) => false,
    }
}

fn unmap(address: usize, bytes: usize) {
    // SAFETY: this module has mapped the range, and the program has freed it. Nothing in this library refers
    // to the range anymore.
    let _ = unsafe { munmap(ptr::without_provenance_mut(address), bytes) };
}

/// Allocates managed memory and returns its address.
pub fn allocate(state: &mut State, bytes: usize) -> Result<usize, Failure> {
    if bytes == 0 {
        return Err(CudaError::INVALID_VALUE.into());
    }
    let mut least = 0;
    for _ in 0..TRIES {
        let (alignment, function) = (PAGE_BYTES as u64, "cudaMallocManaged".to_owned());
        let request = Request::Allocate { bytes: bytes as u64, alignment, least, function };
        let address = match state.request(&request, &[])? {
            (Reply::Address(address), _) => address as usize,
            (reply, _) => return Err(fail_unexpected(&reply)),
        };
        if state.managed.hold(pages_of(address, bytes)) {
            state.managed.ranges.insert(address, vec![0; bytes]);
            state.tell(&Request::Write { address: address as u64 }, &vec![0; bytes])?;
            return Ok(address);
        }
        state.tell(&Request::Free { address: address as u64 }, &[])?;
        least = (address + bytes) as u64;
    }
    state
        .refuse(format!("cudaMallocManaged: no {bytes} bytes are free at one address in the program and on the device"))
}

/// Turns a variable of a module into managed memory: maps its address in the program and copies its initial
/// contents there.
pub fn adopt(state: &mut State, address: usize, bytes: usize) -> Result<(), Failure> {
    if !state.managed.hold(pages_of(address, bytes)) {
        return state.refuse(format!("the address {address:#x} of a managed variable is in use by the program"));
    }
    state.managed.ranges.insert(address, vec![0; bytes]);
    fetch(state, address)
}

/// Frees a managed allocation. Returns false if no managed allocation starts at the address.
pub fn free(state: &mut State, address: usize) -> Result<bool, Failure> {
    let Some(copy) = state.managed.ranges.remove(&address) else { return Ok(false) };
    state.managed.release(pages_of(address, copy.len()));
    state.tell(&Request::Free { address: address as u64 }, &[])?;
    Ok(true)
}

/// Frees the program's copy of all managed memory, after the device has freed its own copy.
pub fn free_all(state: &mut State) {
    for (address, copy) in std::mem::take(&mut state.managed.ranges) {
        state.managed.release(pages_of(address, copy.len()));
    }
}

/// Writes to the device all managed pages that the program has changed since the last transfer to or from the
/// device.
pub fn to_device(state: &mut State) -> Result<(), Failure> {
    let starts: Vec<usize> = state.managed.ranges.keys().copied().collect();
    for start in starts {
        let Some(copy) = state.managed.ranges.get(&start) else { continue };
        let now = bytes_at(ptr::with_exposed_provenance(start), copy.len())?;
        let pages = now.chunks(PAGE_BYTES).zip(copy.chunks(PAGE_BYTES)).enumerate();
        let changed: Vec<usize> = pages.filter(|(_, (now, before))| now != before).map(|(page, _)| page).collect();
        for run in changed.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let part = &now[first * PAGE_BYTES..((last + 1) * PAGE_BYTES).min(now.len())];
            state.tell(&Request::Write { address: (start + first * PAGE_BYTES) as u64 }, part)?;
        }
        state.managed.ranges.insert(start, now);
    }
    Ok(())
}

/// Copies all managed memory from the device back to the program.
pub fn from_device(state: &mut State) -> Result<(), Failure> {
    let starts: Vec<usize> = state.managed.ranges.keys().copied().collect();
    starts.into_iter().try_for_each(|start| fetch(state, start))
}

fn fetch(state: &mut State, start: usize) -> Result<(), Failure> {
    let bytes = state.managed.ranges.get(&start).map_or(0, Vec::len) as u64;
    let (_, now) = state.request(&Request::Read { address: start as u64, bytes }, &[])?;
    write_bytes(ptr::with_exposed_provenance_mut(start), &now)?;
    state.managed.ranges.insert(start, now);
    Ok(())
}
