//! # Register file
//! Stores the registers of all warps as rows of 32 words, one word per lane, and predicates as 32-bit lane
//! masks. The rows of a warp are contiguous, from the base of its warp slot.
//!
//! The number of ports suffices for the instructions that can issue or retire in one cycle. If the register
//! file has banks, each bank has one read port. Even then, the model reads operands at issue; the collectors
//! compute when the bank would deliver them.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/data.rs`.

use serde::{Deserialize, Serialize};

use super::alu::{Words, merge};
use crate::kernel::{
    Access, Accesses, AnyEdge, Array, ArraySpec, ArrayView, Collide, Describe, Fields, Payload, Storage,
};
use crate::l1::access::LANES;
use crate::sm::SmConfig;
use crate::sm::host::image::RESULT_WORDS;

/// Maximum number of 32-bit words per lane that one instruction reads: four operands of 64 bits, or data and
/// address.
const READ_WORDS: u32 = 8;
/// Maximum number of predicates that one instruction reads: its guard and its operands.
const READ_PREDS: u32 = 4;
/// Maximum number of predicates that one instruction writes.
const WRITE_PREDS: u32 = 2;
/// Number of predicate rows per 32-lane warp.
const PREDS: u32 = 32;

/// Register row: one register of a warp, one word per lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub(in crate::sm) struct Word(#[payload(name = "lane")] [u32; LANES]);

/// Predicate of a warp: one bit per lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Pred(#[payload(name = "lanes")] u32);

/// Register file of an SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct RegisterFile {
    words: Array<Word>,
    preds: Array<Pred>,
    /// Dimensions of the banks that store the registers; `None` if the register file has no banks.
    banks: Option<ArraySpec>,
    num_warps: u32,
}

/// View of the registers as banks. Consecutive rows lie in consecutive banks, which are the columns of the
/// view.
struct BankedView<'a> {
    words: &'a Array<Word>,
    spec: &'a ArraySpec,
}

impl ArrayView for BankedView<'_> {
    fn spec(&self) -> &ArraySpec {
        self.spec
    }
    fn cell_bits(&self) -> u32 {
        self.words.cell_bits()
    }
    fn access(&self) -> Access {
        Access::Banks
    }
    fn digest(&self) -> u64 {
        self.words.digest()
    }
    fn accesses(&self) -> Accesses {
        self.words.accesses()
    }
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields) {
        self.words.cell(row * self.spec.columns + column, 0, to);
    }
}

impl RegisterFile {
    pub fn new(path: &str, config: &SmConfig) -> Self {
        let bus = u32::from(config.pipes.result_bus);
        let spec = |name: &str, rows, reads, writes| ArraySpec {
            path: format!("{path}.{name}"),
            storage: Storage::RegisterFile,
            rows,
            columns: 1,
            reads,
            writes,
            collide: Collide::New,
        };
        let rows = config.registers / LANES as u32;
        // The write ports suffice for the results of the pipes and for one load reply per cycle. The read ports
        // suffice for one instruction of each scheduler, and for the reply to a filtered texture fetch.
        let writes = (bus + 1) * RESULT_WORDS as u32;
        let words = spec("registers", rows, (config.schedulers + 1) * READ_WORDS, writes);
        let preds = spec(
            "predicates",
            config.warps * config.halves() * PREDS,
            config.schedulers * READ_PREDS,
            bus * WRITE_PREDS,
        );
        let columns = config.operands.banks;
        let banks = (columns > 0).then(|| ArraySpec {
            columns,
            rows: rows / columns,
            reads: 1,
            writes: bus + 1,
            ..words.clone()
        });
        Self { words: Array::new(words, ()), preds: Array::new(preds, ()), banks, num_warps: config.warps }
    }

    /// Occupies the read ports for `count` register rows in this cycle.
    pub fn take_reads(&self, at: &impl AnyEdge, count: u32) {
        self.words.take_reads(at, count);
    }

    /// Returns a register row, through a read port that `take_reads` has occupied.
    #[inline(always)]
    pub fn word(&self, row: u32) -> &[u32; LANES] {
        &self.words.cell_at(row as usize).0
    }

    /// Writes the first `count` result words to the registers `rows` of a warp, in the lanes of `mask`.
    /// `first` is the first register row of the warp.
    #[inline(always)]
    pub fn write_words(
        &mut self,
        at: &impl AnyEdge,
        first: u32,
        (rows, count): (&[u16; RESULT_WORDS], u8),
        mask: u32,
        words: &Words,
    ) {
        self.words.take_writes(at, count.into());
        let results = rows.iter().zip(words).take(count.into());
        if mask == u32::MAX
            && let Some(file) = self.words.unobserved_cells_mut(at)
        {
            // Fast path for the usual case, in which all lanes are written and no waveform or check observes
            // the write. Skips the checks per word.
            for (row, values) in results {
                file[(first + u32::from(*row)) as usize].0 = *values;
            }
            return;
        }
        for (row, values) in results {
            let cell = (first + u32::from(*row)) as usize;
            self.words.change(at, cell, |Word(word)| merge(word, mask, values));
        }
    }

    /// Writes a register row in the lanes of `mask`.
    pub fn write_word(&mut self, at: &impl AnyEdge, row: u32, mask: u32, values: &[u32; LANES]) {
        self.words.update(at, row, 0, |Word(word)| merge(word, mask, values));
    }

    /// Reads a predicate of a warp, or of one half of a 64-lane warp.
    #[inline(always)]
    pub fn pred(&self, at: &impl AnyEdge, warp: u8, half: u8, pred: u16) -> u32 {
        self.preds.read(at, self.pred_row(warp, half, pred))[0].0
    }

    /// Returns the row that stores a predicate. The rows of all lower halves of warps precede those of all
    /// upper halves.
    #[inline(always)]
    fn pred_row(&self, warp: u8, half: u8, pred: u16) -> u32 {
        let first = if half == 0 { 0 } else { self.num_warps };
        (first + u32::from(warp)) * PREDS + u32::from(pred)
    }

    /// Writes a predicate in the lanes of `mask`.
    pub fn write_pred(&mut self, at: &impl AnyEdge, (warp, half): (u8, u8), pred: u16, mask: u32, values: u32) {
        let row = self.pred_row(warp, half, pred);
        self.preds.update(at, row, 0, |Pred(lanes)| *lanes = *lanes & !mask | values & mask);
    }

    pub fn record(&mut self) {
        self.words.record();
        self.preds.record();
    }

    /// Returns a register row without occupying a port, for reports.
    pub fn peek(&self, row: u32) -> &[u32; LANES] {
        self.word(row)
    }

    /// Returns the lane mask of a predicate without occupying a port, for reports.
    pub fn peek_pred(&self, warp: u8, half: u8, pred: u16) -> u32 {
        self.preds.row(self.pred_row(warp, half, pred))[0].0
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { words, preds, banks, num_warps: _ } = self;
        match banks {
            None => to.array("words", words),
            Some(spec) => to.array("words", &BankedView { words, spec }),
        }
        to.array("preds", preds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Edge, Wake};
    use crate::sm::core::tests::fermi;

    #[test]
    fn a_file_of_banks_has_the_digest_of_one_without() {
        let digest = |banks: u32, value: u32| {
            let mut config = fermi();
            config.operands.banks = banks;
            let mut file = RegisterFile::new("sm0", &config);
            file.record();
            file.write_word(&Edge::new(1, 1, &mut Wake::new(&[1])), 5, u32::MAX, &[value; LANES]);
            let words = &file.words;
            file.banks.as_ref().map_or((words.digest(), words.cell_bits()), |spec| {
                let banked = BankedView { words, spec };
                (banked.digest(), banked.cell_bits())
            })
        };
        assert_eq!(digest(16, 7), digest(0, 7));
        assert_ne!(digest(16, 7), digest(16, 8));
    }
}
