//! Distinguishes wrong results from results that depend on the order in which warps execute. If the machine
//! and the functional interpreter disagree, the interpreter repeats the launch with other orders of warps. If
//! the value of a differing element depends on the order, the program has a race. If all orders give the same
//! value, the machine is wrong.

use golden::interp::{self, Launch, Order, Sms};
use golden::memory::FlatMemory;
use golden::reference::{Array, Mismatch, Rule, compare, difference};

use super::compared::Part;

/// When a launch is repeated with another order of warps, its instruction limit is the number of thread
/// instructions in the first order times `LONGER`, plus `MIN_EXTRA_INSTRUCTIONS`, but at most the limit of
/// the launch.
const LONGER: u64 = 8;
const MIN_EXTRA_INSTRUCTIONS: u64 = 1 << 22;

/// Section of a buffer or variable in which the machine and the functional interpreter disagree.
pub(super) struct Difference {
    /// Name of the buffer or variable.
    name: String,
    /// Kind of memory, as messages call it: buffer or variable.
    pub(super) what: &'static str,
    pub(super) part: Part,
    /// Expected contents of the whole buffer or variable, as computed by the interpreter.
    whole: Vec<u8>,
    got: Array,
    expected: Array,
    /// For each element, true if at least one other order of warps gives a value that differs from the
    /// expected value.
    varies: Vec<bool>,
}

impl Difference {
    /// Compares a section of the machine's memory with its expected contents. Returns `None` if they agree.
    pub(super) fn new(what: &'static str, name: &str, part: Part, got: &[u8], whole: &[u8]) -> Option<Self> {
        let [got, expected] = [got, whole].map(|contents| part.of(contents.to_vec(), whole));
        if got.bytes() == expected.bytes() || compare(&got, &expected, &part.rule).is_ok() {
            return None;
        }
        let varies = vec![false; expected.len()];
        Some(Self { name: name.to_owned(), what, part, whole: whole.to_vec(), got, expected, varies })
    }

    /// Records the memory contents after the launch was repeated with another order of warps.
    fn record_order(&mut self, bytes: &[u8]) {
        let other = self.part.of(bytes.to_vec(), &self.whole);
        let rule = &self.part.rule;
        if *rule == Rule::Multiset {
            // The multiset rule compares elements without regard to their positions. If the multisets differ,
            // it is unknown which elements vary, so all are marked as varying.
            let differs = compare(&other, &self.expected, rule).is_err();
            self.varies.iter_mut().for_each(|varies| *varies |= differs);
            return;
        }
        for (index, varies) in self.varies.iter_mut().enumerate() {
            *varies |= difference(&other, &self.expected, rule, index).is_some();
        }
    }

    /// Compares only the elements that have the same value in every order of warps. Returns the mismatch
    /// between the machine and the expected contents, if there is one.
    pub(super) fn mismatch(&self) -> Option<Box<Mismatch>> {
        let element =
            |(index, varies): (usize, &bool)| if *varies { self.got.raw(index) } else { self.expected.raw(index) };
        let bytes = self.varies.iter().enumerate().flat_map(element).copied().collect();
        compare(&self.got, &Array::from_bytes(self.expected.element(), bytes), &self.part.rule).err()
    }

    /// Describes the elements whose value depends on the order of warps; `None` if there are none.
    pub(super) fn dependence(&self, kernel: &str) -> Option<String> {
        let differs = |index: &usize| difference(&self.got, &self.expected, &self.part.rule, *index);
        let varying = (0..self.varies.len()).filter(|&index| self.varies[index]);
        let mut found = varying.filter_map(|index| differs(&index));
        let first = found.next()?;
        let Self { what, part, .. } = self;
        let name = &part.name;
        let elements = match 1 + found.count() {
            1 => "1 element, ".to_owned(),
            several => format!("{several} elements, the first "),
        };
        let (index, got, other) = (first.index, first.got, first.expected);
        let offset = part.offset(index);
        Some(format!(
            "after kernel `{kernel}`, {what} `{name}` depends on the order of warps in {elements}[{index}] at offset \
             {offset}: {got} on the machine, {other} in another order"
        ))
    }
}

/// Repeats a launch with other orders of warps, on the memory contents before the launch. Stops when every
/// difference is explained, or when all orders have been tried. `instructions` is the number of thread
/// instructions in the first order.
pub(super) fn ask(disputed: &mut [Difference], launch: &Launch<'_>, sms: Sms, before: &FlatMemory, instructions: u64) {
    let max_instructions =
        instructions.saturating_mul(LONGER).saturating_add(MIN_EXTRA_INSTRUCTIONS).min(launch.max_instructions);
    let launch = Launch { max_instructions, ..*launch };
    for order in Order::OTHERS {
        if disputed.iter().all(|one| one.mismatch().is_none()) {
            return;
        }
        let mut memory = before.clone();
        // If the launch fails with one order of warps, its memory contents are not used.
        if interp::run_in(order, &launch, sms, &mut memory).is_ok() {
            for one in &mut *disputed {
                if let Some(buffer) = memory.buffer(&one.name) {
                    one.record_order(&buffer.bytes);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
