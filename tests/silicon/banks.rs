//! Compares the word banks of the L1D on the machine `hopper`, and their golden model, with measurements on
//! an H200 GPU. The file `machines/silicon/data/h200-sxm/accesses.jsonl` has the number of cycles that each
//! load took.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use golden::l1::banks::Banks;
use golden::l1::coalescer::WarpAccess;
use rtl::l1::word_banks::WordBanks;
use serde_json::Value;
use warpsieve::config::{Request, ResolvedMachine};

const LANES: usize = 32;
/// Maximum accepted difference in cycles between the measured and the modeled duration of a load.
const WITHIN: f64 = 0.45;
/// PTX load instructions that are compared: loads of 4, 8 and 16 bytes per lane from global memory.
const KINDS: [&str; 3] = ["ld.u32", "ld.u64", "ld.v4"];

#[test]
fn loads_occupy_the_word_banks_for_as_many_cycles_as_an_l1_of_an_h200() {
    let request = Request { machine: "hopper".to_owned(), ..Request::default() };
    let l1 = ResolvedMachine::new(&request).unwrap().config.l1;
    let words = l1.banks.as_words().expect("hopper has word banks");
    let banks = WordBanks::new(words, l1.line_bytes, 28);
    let twin = Banks { tag_bank_bits: words.tag_bank_bits.clone() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/silicon/data/h200-sxm/accesses.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let patterns = rows.iter().find_map(|row| row.get("patterns")).unwrap();
    let patterns: BTreeMap<String, [u64; LANES]> = serde_json::from_value(patterns.clone()).unwrap();
    let (mut compared, mut differing) = (0, Vec::new());
    for row in rows.iter().filter(|row| KINDS.contains(&row["kind"].as_str().unwrap_or_default())) {
        let kind = row["kind"].as_str().unwrap();
        let found: BTreeMap<String, [f64; 2]> = serde_json::from_value(row["found"].clone()).unwrap();
        let bytes_per_lane = 4 * row["words"].as_u64().unwrap();
        // The other instructions between two loads take cycles too. A measurement is therefore never shorter
        // than the time of these instructions, even if the load takes less time.
        let least = found.values().map(|[_, measured]| *measured).fold(f64::MAX, f64::min);
        for (name, [_, measured]) in &found {
            let addresses = patterns[name].map(|offset| offset / 4 * bytes_per_lane);
            let load = WarpAccess { active: u32::MAX, addresses, width: bytes_per_lane as usize };
            let cycles = banks.occupy(&addresses, u32::MAX, bytes_per_lane.ilog2() as u8).cycles.value();
            assert_eq!(usize::from(cycles), twin.cycles(&load, l1.line_bytes.into()), "{kind}, {name}");
            compared += 1;
            if (measured - f64::from(cycles).max(least)).abs() > WITHIN {
                differing.push(format!("{kind}, {name}: {cycles} cycles, {measured} measured"));
            }
        }
    }
    assert_eq!(compared, KINDS.len() * patterns.len());
    assert_eq!(differing, ["ld.u64, 16 lines, 4 words of a bank: 8 cycles, 8.46 measured"]);
}
