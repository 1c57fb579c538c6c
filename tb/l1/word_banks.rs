//! # Cycle tables of an L1D with word banks
//! Runs scripts of the form that `cycles.rs` explains, on an L1D in which the tag bank of a line is the line
//! number modulo 4. A lane reads a byte of word `8 * sector` of its line. Two lanes with the same sector
//! number therefore use the same data bank.
//!
//! | testpoint                                                                    | test                           |
//! |------------------------------------------------------------------------------|--------------------------------|
//! | lines in different tag banks and words in different data banks share a cycle | `four_lines_*`                 |
//! | lines of one tag bank take a cycle each, those of other banks do not wait    | `lines_of_one_tag_bank_*`      |
//! | the last line of a load waits until its last word can be read                | `the_last_line_*`              |
//! | the next instruction enters when the banks are free                          | `the_next_instruction_*`       |
//! | words of one line, and equal words, are read together                        | `words_of_one_line_*`          |
//! | a miss starts a new cycle, which hits may share                              | `a_miss_*`                     |
//! | a line that is written back occupies all tag banks                           | `a_written_back_*`             |
//! | stores and loads that bypass the L1D do not occupy the banks                 | `stores_*`, `uncached_loads_*` |
//! | cycles of a load equal those of the golden model                             | `random_loads_*`               |

use golden::l1::banks::Banks;
use golden::l1::coalescer;
use rtl::l1::access::{LANES, WarpAccess};
use rtl::l1::config::{BanksConfig, L1Config, WordBanksConfig};
use rtl::l1::word_banks::WordBanks;

use super::cycles::Act::{Answer, Lanes, LocalLoad, LocalStore, Sector, StoreLanes, UncachedLanes};
use super::lookups;
use crate::kit::Random;

/// Returns an L1D configuration with four lookups per cycle. The line number selects one of four tag banks.
fn words() -> L1Config {
    let tag_bank_bits = vec![vec![7], vec![8]];
    L1Config { banks: BanksConfig::Words(WordBanksConfig { tag_bank_bits }), ..lookups::wide() }
}

/// Four lines in four different tag banks. The words to read are in four different data banks.
const DIAGONAL: &[(u64, u64)] = &[(4, 0), (5, 1), (6, 2), (7, 3)];
/// Four lines in four different tag banks. The words to read are all in the same data bank.
const COLUMN: &[(u64, u64)] = &[(4, 0), (5, 0), (6, 0), (7, 0)];

#[test]
fn four_lines_in_four_tag_banks_and_four_data_banks_share_a_cycle() {
    lookups::expect(
        &words(),
        DIAGONAL,
        &[(40, Lanes(DIAGONAL))],
        "
         cycle  tags                     core_rsp
         40     4:hit+5:hit+6:hit+7:hit  .
         42     .                        w4=40",
    );
}

/// Lines 4 and 8 are in the same tag bank. Lines 3 and 5 are in two other tag banks.
#[test]
fn lines_of_one_tag_bank_take_a_cycle_each_and_hold_up_no_other() {
    let lines: &[(u64, u64)] = &[(4, 0), (8, 1), (3, 2), (5, 3)];
    lookups::expect(
        &words(),
        lines,
        &[(40, Lanes(&[(4, 0), (8, 1), (3, 2), (5, 3)]))],
        "
         cycle  tags               core_rsp
         40     4:hit+3:hit+5:hit  .
         41     8:hit              .
         43     .                  w4=40",
    );
}

#[test]
fn the_last_line_of_a_load_waits_for_its_last_word() {
    lookups::expect(
        &words(),
        COLUMN,
        &[(40, Lanes(COLUMN))],
        "
         cycle  tags               core_rsp
         40     4:hit+5:hit+6:hit  .
         43     7:hit              .
         45     .                  w4=40",
    );
}

#[test]
fn the_next_instruction_enters_when_the_banks_are_free() {
    let lines: &[(u64, u64)] = &[(4, 0), (5, 0), (6, 0), (7, 0), (8, 1)];
    lookups::expect(
        &words(),
        lines,
        &[(40, Lanes(COLUMN)), (41, Sector(8, 1))],
        "
         cycle  tags               core_rsp
         40     4:hit+5:hit+6:hit  .
         43     7:hit              .
         44     8:hit              .
         45     .                  w5=40
         46     .                  w6=80",
    );
}

/// Two lanes read the same word of line 4, and a third lane reads another word of line 4.
#[test]
fn words_of_one_line_and_equal_words_are_read_together() {
    lookups::expect(
        &words(),
        &[(4, 0), (4, 3)],
        &[(40, Lanes(&[(4, 0), (4, 3), (4, 0)]))],
        "
         cycle  tags   core_rsp
         40     4:hit  .
         42     .      w2=40",
    );
}

#[test]
fn a_miss_starts_a_new_cycle_that_hits_behind_it_share() {
    lookups::expect(
        &words(),
        &[(4, 0), (6, 2)],
        &[(40, Lanes(&[(4, 0), (5, 1), (6, 2)])), (50, Answer(5, 0x50))],
        "
         cycle  tags          core_rsp
         40     4:hit         .
         41     5:miss+6:hit  .
         52     .             w2=40",
    );
}

#[test]
fn a_written_back_line_occupies_all_tag_banks() {
    lookups::expect(
        &L1Config { ways: 2, ..words() },
        &[],
        &[
            (3, LocalLoad(5)),
            (8, Answer(5, 0x50)),
            (11, LocalStore(5, 0x77)),
            (14, Sector(7, 1)),
            (20, Answer(7, 0x70)),
            (40, Lanes(&[(6, 0), (7, 1)])),
            (50, Answer(6, 0x60)),
        ],
        "
         cycle  tags                  core_rsp
         40     6:miss,writes-back:5  .
         41     7:hit                 .
         52     .                     w3=60",
    );
}

#[test]
fn stores_occupy_no_bank() {
    lookups::expect(
        &words(),
        COLUMN,
        &[(40, StoreLanes(COLUMN)), (41, Sector(8, 1))],
        "
         cycle  tags       core_rsp
         40     4:evicted  .
         41     5:evicted  .
         42     6:evicted  .
         43     7:evicted  .
         44     8:miss     .",
    );
}

#[test]
fn uncached_loads_occupy_no_bank() {
    lookups::expect(
        &words(),
        COLUMN,
        &[(40, UncachedLanes(COLUMN)), (41, Sector(8, 1))],
        "
         cycle  tags      core_rsp
         40     4:bypass  .
         41     5:bypass  .
         42     6:bypass  .
         43     7:bypass  .
         44     8:miss    .",
    );
}

#[test]
fn random_loads_occupy_the_banks_for_as_many_cycles_as_in_the_golden_twin() {
    let mut random = Random::new(5);
    let mut seen = [0; 33];
    for _ in 0..4000 {
        let line_bytes = [64, 128][random.below(2) as usize];
        let config = match random.below(3) {
            0 => WordBanksConfig { tag_bank_bits: Vec::new() },
            1 => WordBanksConfig { tag_bank_bits: vec![vec![9, 7]] },
            _ => WordBanksConfig::default(),
        };
        let size_log2 = random.below(5) as u8;
        let stride = [1, 4, 8, 12, 128, 132, 512, 4096, 1 << 15][random.below(9) as usize];
        let shuffle = random.below(2) * random.below(1 << 12);
        let address: [u64; LANES] = std::array::from_fn(|lane| {
            let at = lane as u64 * stride + random.below(shuffle + 1);
            at >> size_log2 << size_log2
        });
        let all = random.percent(50);
        let mask = if all { u32::MAX } else { (random.below(1 << 32) & random.below(1 << 32)).max(1) as u32 };
        let access = WarpAccess { mask, address, size_log2, ..WarpAccess::default() };
        let cycles = WordBanks::new(&config, line_bytes, 25).occupy(&access.address, mask, size_log2).cycles.value();
        let load = coalescer::WarpAccess { active: mask, addresses: address, width: 1 << size_log2 };
        let twin = Banks { tag_bank_bits: config.tag_bank_bits };
        assert_eq!(usize::from(cycles), twin.cycles(&load, line_bytes.into()), "{load:?}, {twin:?}");
        seen[usize::from(cycles)] += 1;
    }
    assert!(seen[1..=16].iter().all(|loads| *loads > 0) && seen[32] > 0, "{seen:?}");
}
