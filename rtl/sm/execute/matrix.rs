//! Matrix instructions: multiply steps, and matrix loads from shared memory. All lanes of a warp execute them
//! together.

use isa::lanes::tensor;
use isa::program::{MatrixLoad, MemOp, Op};
use isa::tensor::{EIGHT_BY_EIGHT, ElementPosition, TensorOp};

use super::operands::{Operands, Row, Word};
use crate::kernel::AnyEdge;
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::front::decode::{DecodedInst, Pipe};
use crate::sm::front::issue::{Issue, IssueProgress};
use crate::sm::host::fault::FaultKind;
use crate::sm::memory::access::check_access;
use crate::sm::memory::check::illegal;
use crate::sm::memory::shared_memory::{BankUse, SharedMemory};

impl SmCore {
    /// Executes a matrix instruction, or stops the core if not all lanes of the warp execute it.
    #[inline(never)]
    pub(in crate::sm) fn serve_matrix(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
    ) -> IssueProgress {
        match &decoded.inst.op {
            Op::Tensor(op) if issue.mask == u32::MAX => self.multiply(loaded, at, issue, decoded, op),
            Op::LoadMatrix(load, mem) if issue.mask == u32::MAX => {
                self.load_matrix(loaded, at, issue, decoded, (*load, mem))
            }
            _ => {
                let (lane, mask) = (issue.mask.trailing_zeros() as u8, issue.mask);
                self.stop(loaded, issue, decoded, lane, FaultKind::Lanes { mask })
            }
        }
    }

    /// Executes one step of a matrix product.
    fn multiply(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        op: &TensorOp,
    ) -> IssueProgress {
        let start = self.start(at, issue, (Pipe::Tensor, decoded.interval), decoded);
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let row = |word: Word| *read.word(word, &mut None);
        let [a0, a1, b0, b1, c0, c1] = match decoded.srcs {
            // A `.f64` operand is one register of two words.
            [a, _, b, _, c, _] if op.form.is_double() => [a.low, a.high, b.low, b.high, c.low, c.high].map(row),
            srcs => srcs.map(|src| row(src.low)),
        };
        let mut due = start + u64::from(decoded.latency);
        if decoded.queues {
            due = self.pipes.first_room(due);
        }
        self.pipes.start(at, issue, due, |words| {
            words[..2].copy_from_slice(&tensor(op, [&a0, &a1], [&b0, &b1], [&c0, &c1]));
            [0; 2]
        });
        self.reserve(issue, &decoded.inst.writes);
        IssueProgress::All
    }

    /// Executes a matrix load. Shared memory delivers the matrices one after the other.
    fn load_matrix(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        (load, mem): (MatrixLoad, &MemOp),
    ) -> IssueProgress {
        let read = Operands::open((&self.registers, &self.warps, &self.ctas), loaded, at, issue, decoded);
        let mut address = [0; LANES];
        let differing = read.base(mem, &decoded.base, &mut [None; 2]).addresses(mem, &mut address);
        let found = check_access(&loaded.image, mem, decoded.bytes, (&address, differing), load.rows());
        if let Err((lane, address, wrong)) = found {
            let wrong = illegal(&decoded.inst.op, address, mem.bytes(), wrong);
            return self.stop(loaded, issue, decoded, lane, wrong);
        }
        let shared = &mut self.shared;
        let cycles = |number: u8| shared.cycles(BankUse::Load, (&address, u64::MAX), 0xff << (8 * number), mem.bytes());
        let cycles: u16 = (0..load.count).map(cycles).sum();
        self.counters.shared_conflicts += u64::from(cycles - u16::from(load.count));
        let start = self.start(at, issue, (Pipe::Shared, cycles), decoded);
        let due = self.pipes.first_room(start + u64::from(decoded.latency) + u64::from(cycles - 1));
        let (shared, first) = (&self.shared, self.ctas.shared_base(self.warps.get(issue.warp).cta));
        self.pipes.start(at, issue, due, |words| {
            for (rows, word) in address.chunks_exact(8).zip(words.iter_mut().take(load.count.into())) {
                *word = matrix(shared, first, rows, load.transposed);
            }
            [0; 2]
        });
        self.reserve(issue, &decoded.inst.writes);
        IssueProgress::All
    }
}

/// Returns an 8x8 matrix of 16-bit elements from shared memory, two elements per lane. `rows` contains the
/// byte offset of each matrix row from address `first`.
fn matrix(shared: &SharedMemory, first: u32, rows: &[u64], transposed: bool) -> Row {
    let element = |lane: usize, half: u32| {
        let ElementPosition { row, column, .. } = EIGHT_BY_EIGHT.place(lane as u32, half);
        let (row, column) = if transposed { (column, row) } else { (row, column) };
        shared.load(first + rows[usize::from(row)] as u32 + 2 * u32::from(column), 2) as u32
    };
    std::array::from_fn(|lane| element(lane, 1) << 16 | element(lane, 0))
}
