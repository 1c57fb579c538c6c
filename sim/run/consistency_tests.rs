use isa::types::Type;

use super::*;
use crate::config::{Request as Resolve, ResolvedMachine};

/// Address of the word used in the tests.
const WORD_AT: u64 = 0x1008;
const VALUE: u32 = 0x4433_2211;

/// Memory-model checker of a machine, and memory with a buffer whose words all have the same value.
struct WatchedMachine {
    model: MemoryModel,
    memory: FlatMemory,
}

impl WatchedMachine {
    fn new(tracked: bool) -> Self {
        let designs = if tracked { vec!["tracker".to_owned()] } else { Vec::new() };
        let request = Resolve { machine: "hybrid".to_owned(), designs, sets: Vec::new() };
        let mut memory = FlatMemory::new();
        memory.place("words", 0x1000, VALUE.to_le_bytes().repeat(32)).unwrap();
        Self { model: MemoryModel::new(&ResolvedMachine::new(&request).unwrap().config), memory }
    }

    fn issue(&mut self, sm: usize, access: &WarpAccess) {
        self.model.on_issue(sm, access, &self.memory);
    }

    /// Stores some bytes in lane 0 of an SM, and lets the L2 accept the store.
    fn store(&mut self, sm: u8, address: u64, size_log2: u8, value: u32) {
        let mut access = one_lane(AccessKind::Store, address, size_log2);
        access.data[0][0] = value;
        self.issue(sm.into(), &access);
        let mut request = at(RequestKind::Write, sm, address, 1 << size_log2);
        let first = (address % 128) as usize;
        request.data[first..first + (1 << size_log2)].copy_from_slice(&value.to_le_bytes()[..1 << size_log2]);
        self.model.on_l2_write(&request);
    }

    /// Passes a reply for lane 0 of the pending instruction to the checker.
    fn answer(&mut self, sm: usize, value: u32) -> Result<(), String> {
        let mut reply = WarpReply { mask: 1, ..WarpReply::default() };
        reply.data[0][0] = value;
        self.model.on_reply(sm, &reply)
    }

    fn load(&mut self, sm: usize, address: u64, size_log2: u8, value: u32) -> Result<(), String> {
        self.issue(sm, &one_lane(AccessKind::Load, address, size_log2));
        self.answer(sm, value)
    }

    /// Adds 1 to the tested word by an atomic in lane 0 of an SM, and lets the L2 perform it.
    fn add(&mut self, sm: u8) {
        let mut access = one_lane(AccessKind::Atomic, WORD_AT, 2);
        access.atomic = ADD;
        access.data[0][0] = 1;
        self.issue(sm.into(), &access);
        let mut request = at(RequestKind::Atomic, sm, WORD_AT, 4);
        request.atomic = ADD;
        request.data[(WORD_AT % 128) as usize] = 1;
        self.model.on_l2_atomic(&request, &self.memory);
    }
}

const ADD: AtomicOp = AtomicOp { f: AtomicFn::Add, ty: Type::U32 };

fn one_lane(kind: AccessKind, address: u64, size_log2: u8) -> WarpAccess {
    let mut access = WarpAccess { kind, size_log2, mask: 1, ..WarpAccess::default() };
    access.address[0] = address;
    access
}

fn at(kind: RequestKind, sm: u8, address: u64, bytes: u32) -> Request {
    let byte_mask = ((1 << bytes) - 1) << (address % 128);
    Request { kind, sm, line: address / 128, byte_mask, ..Request::default() }
}

#[track_caller]
fn breaks(result: Result<(), String>, rule: &str) {
    let error = result.unwrap_err();
    assert!(error.ends_with(rule), "{error}");
}

#[test]
fn an_atomic_must_return_what_the_one_before_it_left() {
    let mut watched = WatchedMachine::new(false);
    watched.add(0);
    watched.add(1);
    assert_eq!(watched.answer(1, VALUE + 1), Ok(()));
    let expected = "warp 0 at pc 0, lane 0: compute unit 0 read 0x44332212 at 0x1008, expected 0x44332211 or newer: \
                    an atomic returns what the one before it left";
    assert_eq!(watched.answer(0, VALUE + 1), Err(expected.to_owned()));
}

#[test]
fn a_load_of_a_byte_is_judged_by_that_byte() {
    let mut watched = WatchedMachine::new(false);
    watched.store(0, WORD_AT, 2, 0x8877_6655);
    assert_eq!(watched.load(0, WORD_AT + 1, 0, 0x66), Ok(()));
    assert_eq!(watched.load(0, WORD_AT + 2, 1, 0x8877), Ok(()));
    breaks(watched.load(0, WORD_AT + 1, 0, 0x22), "a compute unit sees its own stores");
    breaks(watched.load(0, WORD_AT + 2, 1, 0x8833), "a value that is read was once written");
}

#[test]
fn bytes_of_a_word_that_is_stored_in_parts_are_judged_each_by_itself() {
    let mut watched = WatchedMachine::new(false);
    // The tested load starts while the word is one memory location. Afterward, two SMs store to different
    // parts of the word.
    watched.issue(2, &one_lane(AccessKind::Load, WORD_AT, 2));
    watched.store(0, WORD_AT, 0, 0xaa);
    watched.store(1, WORD_AT + 2, 1, 0xddcc);
    assert_eq!(watched.answer(2, 0xddcc_2211), Ok(()), "the store of one and not that of the other");
    assert_eq!(watched.load(0, WORD_AT, 2, 0x4433_22aa), Ok(()));
    breaks(watched.load(0, WORD_AT, 2, VALUE), "a compute unit sees its own stores");
    breaks(watched.load(1, WORD_AT + 2, 0, 0x33), "a compute unit sees its own stores");
    breaks(watched.load(2, WORD_AT, 2, 0x4433_ee11), "a value that is read was once written");
    // The value returned by an atomic must include all earlier stores to parts of the word.
    watched.add(2);
    breaks(watched.answer(2, VALUE), "an atomic returns what the one before it left");
    watched.add(2);
    assert_eq!(watched.answer(2, 0xddcc_22ab), Ok(()));
}

#[test]
fn a_coherent_load_is_not_older_than_memory_was_when_it_was_issued() {
    for (tracked, later) in [(false, true), (true, false)] {
        let mut watched = WatchedMachine::new(tracked);
        let coherent = WarpAccess { uncached: true, ..one_lane(AccessKind::Load, WORD_AT, 2) };
        watched.store(0, WORD_AT, 2, 7);
        watched.issue(1, &coherent);
        breaks(watched.answer(1, VALUE), "coherent operations see the current memory, and nothing older is seen later");
        watched.issue(1, &coherent);
        assert_eq!(watched.answer(1, 7), Ok(()));
        // Without a sharing tracker, the L1 keeps its own copy of the line, which may be older than the
        // value that the coherent load returned.
        assert_eq!(watched.load(1, WORD_AT, 2, VALUE).is_ok(), later);
        assert_eq!(watched.load(2, WORD_AT, 2, VALUE), Ok(()));
    }
}

#[test]
fn what_the_host_writes_is_judged_anew() {
    let mut watched = WatchedMachine::new(false);
    watched.store(0, WORD_AT + 3, 0, 1);
    watched.model.end_kernel();
    watched.memory.write(WORD_AT, 4).unwrap().copy_from_slice(&9u32.to_le_bytes());
    watched.model.wrote(WORD_AT, 4);
    assert_eq!(watched.load(0, WORD_AT, 2, 9), Ok(()));
    breaks(watched.load(0, WORD_AT, 2, VALUE), "a value that is read was once written");
}
