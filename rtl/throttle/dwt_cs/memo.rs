//! Memo of the coordinator: the limits found for the kernels sampled last, first in first out.

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use crate::throttle::message::LIMIT_BITS;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    valid: bool,
    key: u16,
    limit: u8,
}

/// The memo.
#[derive(Clone, Debug)]
pub(super) struct Memo {
    entries: Box<[Entry]>,
    /// Entry written next.
    next: u8,
}

impl Memo {
    pub(super) fn new(entries: u32) -> Self {
        Self { entries: vec![Entry::default(); entries as usize].into(), next: 0 }
    }

    /// The limit of a kernel.
    pub(super) fn find(&self, key: u16) -> Option<u8> {
        self.entries.iter().find(|entry| entry.valid && entry.key == key).map(|entry| entry.limit)
    }

    /// Notes the limit of a kernel, which has none yet.
    pub(super) fn note(&mut self, key: u16, limit: u8) {
        self.entries[usize::from(self.next)] = Entry { valid: true, key, limit };
        self.next = (self.next + 1) % self.entries.len() as u8;
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, next } = self;
        to.sized("next", u64::from(*next), 6);
        for (index, Entry { valid, key, limit }) in (0..).zip(entries) {
            to.parts("entry", index, |to| {
                to.flag("valid", *valid);
                to.bits("key", *key);
                to.sized("limit", u64::from(*limit), LIMIT_BITS);
            });
        }
        to.logic("find", Logic::Comparator { width: 16, count: entries.len() as u32 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_noted_first_is_forgotten_first() {
        let mut memo = Memo::new(2);
        memo.note(1, 10);
        memo.note(2, 20);
        memo.note(3, 30);
        assert_eq!([1, 2, 3].map(|key| memo.find(key)), [None, Some(20), Some(30)]);
    }
}
