//! # Lockstep test of the register file
//! Drives the SystemVerilog module and an [`Array`] with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                    | where                |
//! |--------------------------------------------------------------|----------------------|
//! | ports that read and write the same row, and different rows   | few rows             |
//! | both ports write different bytes of one row                  | `masks`              |
//! | none, some and all bytes of a word are written               | `masks`              |
//! | a number of rows that is not a power of two                  | `rows`               |
//! | a word that was not written since the reset                  | `INITIAL`            |

use rtl::cells::line::{LINE_BYTES, LineData};
use rtl::kernel::{Array, ArraySpec, Collide, Describe, Edge, Logic, Storage, bits_for};

use crate::{Bench, Mistake, Ports, Random, Size};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("read_0_word_o = words_q[read_0_row_i]", "read_0_word_o = words_q[read_1_row_i]"),
        Mistake::new("read_1_word_o = words_q[read_1_row_i]", "read_1_word_o = words_q[read_2_row_i]"),
        Mistake::new("read_2_word_o = words_q[read_2_row_i]", "read_2_word_o = words_q[0]"),
        Mistake::new("{GRAIN{write_0_mask_i[k]}}", "'1"),
        Mistake::new("{GRAIN{write_1_mask_i[k]}}", "{GRAIN{write_0_mask_i[k]}}"),
        Mistake::new("is_same = write_0_valid_i && write_0_row_i == write_1_row_i", "is_same = 0"),
        Mistake::new("is_same = write_0_valid_i &&", "is_same ="),
        Mistake::new("& ~bits_0 |", "|"),
        Mistake::new("| write_1_word_i & bits_1", "| write_1_word_i"),
        Mistake::new("words_q[r] <= INITIAL", "words_q[r] <= '0"),
        Mistake::new("else if (write_1_valid_i && write_1_row_i", "else if (write_1_row_i"),
        Mistake::new("else if (write_0_valid_i && write_0_row_i", "else if (write_0_row_i"),
    ]
}

/// Byte of every word after reset.
const INITIAL: u8 = 0xa6;

struct Unit {
    rows: u32,
    bytes: u32,
    words: Array<LineData>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (rows, bytes) = match size {
            Size::Small => (3, 4),
            Size::Synthesised => (1, 16),
            Size::Fermi => (64, 16),
            Size::Any => (1 + random.below(40) as u32, 1 + random.below(32) as u32),
        };
        let spec = ArraySpec {
            path: "words".to_owned(),
            storage: Storage::RegisterFile,
            rows,
            columns: 1,
            reads: 3,
            writes: 2,
            collide: Collide::New,
        };
        let mut words = Array::new(spec, bytes);
        words.clear_with(|_, _| LineData([INITIAL; LINE_BYTES]));
        Self { rows, bytes, words, random }
    }

    fn row(&mut self) -> u32 {
        self.random.below(self.rows.into()) as u32
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let (width, digits) = (self.bytes * 8, format!("{INITIAL:02x}").repeat(self.bytes as usize));
        vec![("ROWS", self.rows.to_string()), ("WIDTH", width.to_string()), ("INITIAL", format!("{width}'h{digits}"))]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let (row_bits, bytes, bits) = (bits_for(self.rows), self.bytes, self.bytes * 8);
        for (row_pin, word_pin) in
            [("read_0_row", "read_0_word"), ("read_1_row", "read_1_word"), ("read_2_row", "read_2_word")]
        {
            let row = self.row();
            ports.input(row_pin, row_bits, row);
            ports.wide_output(word_pin, bits, Some(&self.words.row(row)[0].0));
        }
        let rows = [self.row(), self.row()];
        let all = u128::MAX >> (LINE_BYTES as u32 - bytes);
        let mut masks = [0; 2].map(|_| match self.random.below(4) {
            0 => all,
            1 => 0,
            _ => u128::from(self.random.below(u64::MAX)) & all,
        });
        let valid = [0; 2].map(|_| self.random.percent(70));
        if valid == [true; 2] && rows[0] == rows[1] {
            masks[1] &= !masks[0];
        }
        for (k, pins) in [
            ["write_0_valid", "write_0_row", "write_0_mask", "write_0_word"],
            ["write_1_valid", "write_1_row", "write_1_mask", "write_1_word"],
        ]
        .into_iter()
        .enumerate()
        {
            let mut word = [0; LINE_BYTES];
            word[..bytes as usize].fill_with(|| self.random.below(256) as u8);
            ports.input(pins[0], 1, valid[k]);
            ports.input(pins[1], row_bits, rows[k]);
            ports.wide_input(pins[2], bytes, &masks[k].to_le_bytes());
            ports.wide_input(pins[3], bits, &word);
            if valid[k] {
                self.words.update(at, rows[k], 0, |line| line.merge(masks[k], &word));
            }
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.array("words", &self.words);
        // Both ports may write parts of one row: each bit has two more multiplexers, and the gates of the masks.
        let bits = 8 * self.bytes;
        to.logic("both", Logic::Mux { ways: 3, width: bits });
        to.logic("parts", Logic::Gates { count: 2 * bits });
    }
}
