//! Tells a wrong result from one that depends on the order of warps: where the machine and the functional
//! interpreter differ, the interpreter runs the launch again in other orders. An element that another order leaves
//! different, too, is nobody's mistake but the program's; one on which all orders agree is the machine's.

use golden::interp::{self, Launch, Order, Sms};
use golden::memory::FlatMemory;
use golden::reference::{Array, Mismatch, Rule, compare, difference};

use super::compared::Part;

/// Instructions of threads after which another order is given up: so many times those of the first one ...
const LONGER: u64 = 8;
/// ... and so many more.
const AT_LEAST: u64 = 1 << 22;

/// A part of a buffer or variable in which the machine and the interpreter differ.
pub(super) struct Disputed {
    /// The name of the whole in memory.
    name: String,
    /// What a message calls it.
    pub(super) what: &'static str,
    pub(super) part: Part,
    /// What the whole should be.
    whole: Vec<u8>,
    got: Array,
    expected: Array,
    /// Elements that another order leaves different from what is expected.
    varies: Vec<bool>,
}

impl Disputed {
    /// A part of what the machine holds and of what is expected; `None` if the two agree in it.
    pub(super) fn new(what: &'static str, name: &str, part: Part, got: &[u8], whole: &[u8]) -> Option<Self> {
        let [got, expected] = [got, whole].map(|contents| part.of(contents.to_vec(), whole));
        if got.bytes() == expected.bytes() || compare(&got, &expected, &part.rule).is_ok() {
            return None;
        }
        let varies = vec![false; expected.len()];
        Some(Self { name: name.to_owned(), what, part, whole: whole.to_vec(), got, expected, varies })
    }

    /// Takes note of what another order leaves.
    fn learn(&mut self, bytes: &[u8]) {
        let other = self.part.of(bytes.to_vec(), &self.whole);
        let rule = &self.part.rule;
        if *rule == Rule::Multiset {
            // No element has a place of its own.
            let differs = compare(&other, &self.expected, rule).is_err();
            self.varies.iter_mut().for_each(|varies| *varies |= differs);
            return;
        }
        for (index, varies) in self.varies.iter_mut().enumerate() {
            *varies |= difference(&other, &self.expected, rule, index).is_some();
        }
    }

    /// How the machine differs where all orders agree.
    pub(super) fn mismatch(&self) -> Option<Box<Mismatch>> {
        let element =
            |(index, varies): (usize, &bool)| if *varies { self.got.raw(index) } else { self.expected.raw(index) };
        let bytes = self.varies.iter().enumerate().flat_map(element).copied().collect();
        compare(&self.got, &Array::from_bytes(self.expected.element(), bytes), &self.part.rule).err()
    }

    /// Says which elements depend on the order of warps, if any do.
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

/// Runs a launch in other orders, on what memory held before it, until all that is disputed depends on them, or there
/// are no more. The first order took so many instructions of threads.
pub(super) fn ask(disputed: &mut [Disputed], launch: &Launch<'_>, sms: Sms, before: &FlatMemory, instructions: u64) {
    let max_instructions = instructions.saturating_mul(LONGER).saturating_add(AT_LEAST).min(launch.max_instructions);
    let launch = Launch { max_instructions, ..*launch };
    for order in Order::OTHERS {
        if disputed.iter().all(|one| one.mismatch().is_none()) {
            return;
        }
        let mut memory = before.clone();
        // An order in which the launch comes to no good end says nothing of single bytes.
        if interp::run_in(order, &launch, sms, &mut memory).is_ok() {
            for one in &mut *disputed {
                if let Some(buffer) = memory.buffer(&one.name) {
                    one.learn(&buffer.bytes);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
