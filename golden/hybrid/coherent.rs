//! Coherent domain of the memory system: L2 banks with one atomic buffer each, and DRAM (anssari2012 sections
//! 3.2, 3.4).

use super::SECTORS;
use super::counts::Counts;
use crate::untimed::Geometry;
use crate::untimed::lines::Lines;

/// Configuration of the L2.
#[derive(Clone, Copy, Debug)]
pub struct L2Config {
    /// Number of L2 banks; consecutive L1 lines map to consecutive banks.
    pub banks: usize,
    /// Number of sets and ways of each L2 bank; each way holds one L2 line.
    pub bank: Geometry,
    /// True if a write miss fetches its L2 line from DRAM even when it writes the whole line (section 4.3, on
    /// Figure 4.3).
    pub fetches_written: bool,
}

/// L2 banks, each with its atomic buffer.
#[derive(Clone, Debug)]
pub(super) struct Coherent {
    banks: Vec<Bank>,
    fetches_written: bool,
}

#[derive(Clone, Debug)]
struct Bank {
    /// L2 lines that are present in the bank, each with its dirty flag.
    lines: Lines<bool>,
    /// L2 line of the most recent atomic operation. The atomic buffer holds it instead of the L2. The line is
    /// written back when another kind of access needs it, or when an atomic accesses another line.
    buffer: Option<u64>,
}

impl Coherent {
    pub(super) fn new(config: L2Config) -> Self {
        let bank = || Bank { lines: Lines::new(config.bank), buffer: None };
        Self { banks: (0..config.banks).map(|_| bank()).collect(), fetches_written: config.fetches_written }
    }

    /// Returns the L2 bank that holds a sector of an L1 line, and the number of the sector within that bank.
    fn locate(&mut self, line: u64, sector: usize) -> (&mut Bank, u64) {
        let banks = self.banks.len() as u64;
        let own = line / banks * SECTORS as u64 + sector as u64;
        (&mut self.banks[(line % banks) as usize], own)
    }

    /// Reads a sector from the L2. On a miss, the sector is allocated in the L2 only if `allocates` is set.
    pub(super) fn read(&mut self, line: u64, sector: usize, allocates: bool, counts: &mut Counts) {
        let (bank, own) = self.locate(line, sector);
        bank.flush_if(own, counts);
        bank.read(own, allocates, counts);
    }

    /// Writes a sector to the L2. On a miss, the sector is first fetched from DRAM. The fetch is skipped if
    /// the write covers the whole sector (`whole`) and the configuration permits that.
    pub(super) fn write(&mut self, line: u64, sector: usize, whole: bool, counts: &mut Counts) {
        let spared = whole && !self.fetches_written;
        let (bank, own) = self.locate(line, sector);
        bank.flush_if(own, counts);
        bank.write(own, spared, counts);
    }

    /// Performs the atomic operations of one instruction on a sector, in the atomic buffer of its L2 bank.
    pub(super) fn atomic(&mut self, line: u64, sector: usize, counts: &mut Counts) {
        let (bank, own) = self.locate(line, sector);
        if bank.buffer == Some(own) {
            counts.buffer_hits += 1;
            return;
        }
        bank.flush(counts);
        bank.read(own, true, counts);
        bank.buffer = Some(own);
    }

    /// Returns the number of dirty lines in the L2.
    pub(super) fn dirty(&self) -> u64 {
        self.banks.iter().flat_map(|bank| bank.lines.notes()).map(|dirty| u64::from(*dirty)).sum()
    }

    /// Writes the contents of all atomic buffers back to the L2.
    pub(super) fn flush_buffers(&mut self, counts: &mut Counts) {
        self.banks.iter_mut().for_each(|bank| bank.flush(counts));
    }
}

impl Bank {
    fn flush_if(&mut self, line: u64, counts: &mut Counts) {
        if self.buffer == Some(line) {
            self.flush(counts);
        }
    }

    fn flush(&mut self, counts: &mut Counts) {
        if let Some(line) = self.buffer.take() {
            counts.buffer_flushes += 1;
            self.write(line, true, counts);
        }
    }

    fn read(&mut self, line: u64, allocates: bool, counts: &mut Counts) {
        counts.l2_accesses += 1;
        if self.lines.find(line).is_some() {
            counts.l2_hits += 1;
            counts.l2_reads += 1;
            return;
        }
        counts.dram_reads += 1;
        if allocates {
            self.insert(line, false, counts);
        }
    }

    fn write(&mut self, line: u64, spared: bool, counts: &mut Counts) {
        counts.l2_accesses += 1;
        if let Some(dirty) = self.lines.find(line) {
            *dirty = true;
            counts.l2_hits += 1;
            counts.l2_writes += 1;
            return;
        }
        counts.dram_reads += u64::from(!spared);
        self.insert(line, true, counts);
    }

    fn insert(&mut self, line: u64, dirty: bool, counts: &mut Counts) {
        counts.l2_writes += 1;
        if let Some((_, true)) = self.lines.insert(line, dirty) {
            counts.l2_reads += 1;
            counts.dram_writes += 1;
        }
    }
}
