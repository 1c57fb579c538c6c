//! Test machine with two clocks. Two cores occasionally send words over long links to a bank, which stores
//! the words.

use std::cell::Cell;

use rtl::kernel::{
    Array, ArraySpec, Block, BlockId, Blocks, Chan, ChanSpec, Clocks, Collide, Describe, DescribeExt, Edge, Encoding,
    Fields, FieldsExt, Logic, Payload, RxBank, Sleep, Storage, Tx,
};

pub(super) fn clocks() -> Clocks {
    Clocks::new(&[700_000, 924_000]).unwrap()
}

#[derive(Clone, Debug, Default, Hash, serde::Serialize, serde::Deserialize)]
struct Word {
    data: u64,
    mask: u8,
}

impl Payload for Word {
    /// `Shape` is the width of the data in bits, which `fields` needs to describe a word.
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, width: &u32, to: &mut F) {
        let Self { data, mask } = self;
        to.sized("data", *data, *width);
        to.bits("mask", *mask);
    }
}

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    #[default]
    Rest,
    Send,
    Full,
}

impl Encoding for Phase {
    const WIDTH: u32 = 2;
    const NAMES: &'static [&'static str] = &["REST", "SEND", "FULL"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Hardware block that sends pseudo-random words, with pseudo-random pauses between them.
struct Core {
    random: u64,
    due: u64,
    sent: u16,
    phase: Phase,
}

impl Block for Core {
    type Io<'a> = Tx<'a, Word>;
    fn eval(&mut self, mut to: Tx<'_, Word>, at: &mut Edge<'_>) -> Sleep {
        if at.cycle < self.due {
            self.phase = Phase::Rest;
            return Sleep::At(self.due);
        }
        if to.is_ready(at) {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            to.push(at, Word { data: self.random >> 58, mask: (self.random >> 20) as u8 });
            self.sent += 1;
            self.due = at.cycle + 1 + (self.random >> 33) % 12;
            self.phase = Phase::Send;
            return Sleep::Next;
        }
        self.phase = Phase::Full;
        if to.is_blocked(at) { Sleep::UntilEvent } else { Sleep::Next }
    }
    fn describe(&self, to: &mut dyn Describe) {
        let Self { random, due: _, sent, phase } = self;
        to.state("phase", *phase);
        to.bits("random", *random);
        to.stat("sent", u64::from(*sent));
    }
}

/// Hardware block that stores the words that it receives. Its memory has one column per core.
struct Bank {
    words: Array<Word>,
    count: u8,
    last: [u64; 2],
    latest: [u64; 3],
    width: u32,
    /// Number of times that the component `slot` has been described.
    parts_described: Cell<u32>,
    /// True to inject a bug into the model: the description of the bank then lacks items while the bank is
    /// idle.
    forgetful: bool,
}

impl Block for Bank {
    type Io<'a> = RxBank<'a, Word>;
    fn eval(&mut self, mut from: RxBank<'_, Word>, at: &mut Edge<'_>) -> Sleep {
        let core = usize::from(self.count % 2);
        let core = if from.at(core).peek(at).is_some() { core } else { 1 - core };
        if from.at(core).peek(at).is_some() {
            let word = from.at(core).pop(at);
            self.last[core] = word.data << 3;
            self.latest.rotate_right(1);
            self.latest[0] = word.data;
            self.words.write(at, u32::from(self.count / 2 % 4), core as u32, word);
            self.count = self.count.wrapping_add(1);
        }
        if from.at(0).has_beat(at) || from.at(1).has_beat(at) { Sleep::Next } else { Sleep::UntilEvent }
    }
    fn describe(&self, to: &mut dyn Describe) {
        let Self { words, count, last, latest, width, parts_described, forgetful } = self;
        to.bits("count", *count);
        if *forgetful && *count > 2 {
            return;
        }
        let mut wide = [0; 24];
        wide[..8].copy_from_slice(&last[0].to_le_bytes());
        wide[16..].copy_from_slice(&last[1].to_le_bytes());
        to.wide("last", &wide);
        for slot in 0..2 {
            to.parts("slot", slot, |to| {
                parts_described.set(parts_described.get() + 1);
                to.sized("word", latest[slot as usize], *width);
                for lane in latest {
                    to.sized("lane", *lane, *width);
                }
            });
        }
        to.array("words", words);
        to.logic("match", Logic::Comparator { width: *width, count: 2 });
    }
}

pub(super) struct Machine {
    cores: [Core; 2],
    links: [Chan<Word>; 2],
    bank: Bank,
    /// Number of times that each hardware block has been described: first the two cores, then the bank.
    described: [Cell<u32>; 3],
}

const BANK: BlockId = BlockId { domain: 1, slot: 0 };

impl Machine {
    /// Creates a test machine whose words have `width` bits.
    pub(super) fn new(width: u32) -> Self {
        let core = |random| Core { random, due: 0, sent: 0, phase: Phase::Rest };
        let link = |slot| {
            let path = format!("bank2.in{slot}");
            let from = BlockId { domain: 0, slot };
            Chan::new(ChanSpec { path, depth: 3, latency: 370, credit: 90, from, to: BANK }, width)
        };
        let spec = ArraySpec {
            path: "bank2.words".to_owned(),
            storage: Storage::RegisterFile,
            rows: 4,
            columns: 2,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let bank = Bank {
            words: Array::new(spec, width),
            count: 0,
            last: [0; 2],
            latest: [0; 3],
            width,
            parts_described: Cell::new(0),
            forgetful: false,
        };
        Self { cores: [core(1), core(2)], links: [link(0), link(1)], bank, described: Default::default() }
    }

    pub(super) fn forgetful() -> Self {
        let mut machine = Self::new(8);
        machine.bank.forgetful = true;
        machine
    }

    pub(super) fn describe_counts(&self) -> [u32; 3] {
        [0, 1, 2].map(|block: usize| self.described[block].get())
    }

    pub(super) fn parts_described(&self) -> u32 {
        self.bank.parts_described.get()
    }
}

impl Blocks for Machine {
    fn population(&self) -> Vec<u8> {
        vec![2, 1]
    }
    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match block {
            BANK => self.bank.eval(RxBank::of(&mut self.links), at),
            BlockId { slot, .. } => {
                let core = usize::from(slot);
                self.cores[core].eval(self.links[core].tx(), at)
            }
        }
    }
    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        let number = if block == BANK { 2 } else { usize::from(block.slot) };
        self.described[number].set(self.described[number].get() + 1);
        if block == BANK {
            to.parts("bank", 2, |to| {
                self.bank.describe(to);
                for (index, link) in (0..).zip(&self.links) {
                    link.describe("in", Some(index), to);
                }
            });
        } else {
            to.parts("sm", number as u32, |to| to.part("core", |to| self.cores[number].describe(to)));
        }
    }
}
