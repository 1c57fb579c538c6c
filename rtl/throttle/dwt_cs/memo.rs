//! Memo of the coordinator: a table of the limits found for the most recently sampled kernels. The oldest
//! entry is replaced first.

use arbitrary_int::traits::Integer;
use arbitrary_int::u6;
use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, bits_of};
use crate::throttle::message::Limit;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Entry {
    valid: bool,
    key: u16,
    limit: Limit,
}

/// Table of kernels and the limits found for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Memo {
    entries: Box<[Entry]>,
    /// Index of the entry that is replaced next.
    next: u6,
}

impl Memo {
    pub(super) fn new(entries: u32) -> Self {
        Self { entries: vec![Entry::default(); entries as usize].into(), next: u6::default() }
    }

    /// Returns the limit of a kernel, if one is stored.
    pub(super) fn find(&self, key: u16) -> Option<Limit> {
        self.entries.iter().find(|entry| entry.valid && entry.key == key).map(|entry| entry.limit)
    }

    /// Stores the limit of a kernel that has no entry yet.
    pub(super) fn note(&mut self, key: u16, limit: Limit) {
        self.entries[self.next.as_usize()] = Entry { valid: true, key, limit };
        self.next = u6::from_u64((self.next.as_u64() + 1) % self.entries.len() as u64);
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, next } = self;
        to.bits("next", *next);
        for (index, Entry { valid, key, limit }) in (0..).zip(entries) {
            to.parts("entry", index, |to| {
                to.flag("valid", *valid);
                to.bits("key", *key);
                to.bits("limit", *limit);
            });
        }
        let places = entries.len() as u32;
        to.logic("find", Logic::Comparator { width: 16, count: places });
        to.logic("found", Logic::PriorityEncoder { inputs: places });
        to.logic("limit", Logic::Mux { ways: places, width: bits_of::<Limit>() });
        to.logic("place", Logic::Decoder { outputs: places });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_noted_first_is_forgotten_first() {
        let mut memo = Memo::new(2);
        for key in [1, 2, 3] {
            memo.note(key, Limit::new(10 * key as u8));
        }
        assert_eq!([1, 2, 3].map(|key| memo.find(key)), [None, Some(Limit::new(20)), Some(Limit::new(30))]);
    }
}
