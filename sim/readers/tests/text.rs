//! Tests of text dumps and structure counts on the small test machine.

use rtl::kernel::{ArrayView, Blocks, Clocks, Describe, Field, Fields, Logic, Mode, Simulator};
use serde_json::json;

use super::machine::{Machine, clocks};
use crate::readers::scopes::block_ids;
use crate::readers::{Counts, Dump, Show};

fn after(steps: u32) -> Machine {
    let mut machine = Machine::new(8);
    let clocks: Clocks = clocks();
    let mut sim = Simulator::new(clocks.periods(), &machine, Mode::default());
    for _ in 0..steps {
        sim.step(&mut machine);
    }
    machine
}

#[test]
fn a_dump_indents_scopes_and_names_states() {
    let dump = Dump::of(&after(1), Show::default());
    let text = dump.text_of("sm0").unwrap();
    let expected = "sm0\n  core\n    phase = SEND\n    random = 7806831264735756412\n    stat\n      sent = 1\n";
    assert_eq!(text, expected);
    assert_eq!(dump.text_of("machine.sm0").unwrap(), expected);
}

#[test]
fn zeros_are_left_out_with_the_scopes_that_hold_nothing_else() {
    let machine = after(1);
    let brief = Dump::of(&machine, Show::default()).text_of("bank2").unwrap();
    assert!(brief.starts_with("bank2\n  in0\n    valid = 1\n    level = 1\n    data = 0x1b\n"), "{brief}");
    let full = Dump::of(&machine, Show { zeros: true, arrays: false }).text_of("bank2").unwrap();
    assert!(
        full.starts_with("bank2\n  count = 0\n  last = 0x0\n  slot[0]\n    word = 0x0\n    lane[0] = 0\n"),
        "{full}"
    );
}

#[test]
fn cells_are_shown_a_line_each_if_asked_for() {
    let machine = after(40);
    let text = Dump::of(&machine, Show { zeros: false, arrays: true }).text();
    let line = text.lines().find(|line| line.trim_start().starts_with("words[0][0] = ")).unwrap();
    assert!(line.contains("data=0x32 mask=0b10001000"), "{line}");
    assert!(!Dump::of(&machine, Show::default()).text().contains("words["));
}

#[test]
fn an_unknown_scope_is_answered_with_the_nearest() {
    let error = Dump::of(&after(1), Show::default()).text_of("sm0.cor").unwrap_err();
    assert_eq!(error.to_string(), "there is no scope `sm0.cor`; the nearest is `machine.sm0.core`");
}

/// Reader that adds up the bits of all storage in all scopes.
#[derive(Default)]
struct Sum(u64);

impl Fields for Sum {
    fn field(&mut self, field: Field) {
        self.0 += u64::from(field.width);
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        self.0 += 8 * bytes.len() as u64;
    }
}

impl Describe for Sum {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        self.0 += u64::from(array.spec().rows * array.spec().columns * array.cell_bits());
    }
    fn channel(&mut self, _: &'static str, depth: u32, beat_bits: u32) {
        self.0 += u64::from(depth * beat_bits);
    }
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

#[test]
fn the_total_is_the_sum_over_all_blocks() {
    let machine = Machine::new(8);
    let mut sum = Sum::default();
    block_ids(&machine).for_each(|block| machine.describe(block, &mut sum));
    let counts = Counts::of(&machine);
    assert_eq!(counts.bits, sum.0);
    assert_eq!(counts.bits, counts.children.iter().map(|child| child.bits).sum::<u64>());
}

#[test]
fn a_wider_field_is_counted_wherever_it_is_stored() {
    let (narrow, wide) = (Counts::of(&Machine::new(8)), Counts::of(&Machine::new(9)));
    // If a word is one bit wider, eight memory elements, two slots of four registers each, and two channels
    // of three beats each must be one bit wider.
    assert_eq!(wide.bits - narrow.bits, 8 + 8 + 6);
}

#[test]
fn counts_can_be_written_as_data() {
    let counts = Counts::of(&Machine::new(8));
    let bank = counts.children.iter().find(|child| child.block == "bank2").unwrap();
    let data = serde_json::to_value(bank).unwrap();
    assert_eq!(data["flops"], json!(8 + 192));
    assert_eq!(
        data["arrays"],
        json!([{
            "name": "words", "storage": "register-file", "rows": 4, "columns": 2, "cell_bits": 16, "access": "row", "reads": 1,
            "writes": 1
        }])
    );
    assert_eq!(data["logic"], json!([{ "name": "match", "kind": "comparator", "width": 8, "count": 2 }]));
    assert_eq!(data["children"][3]["block"], json!("in1"));
    assert_eq!(data["children"][3]["channels"], json!([{ "depth": 3, "beat_bits": 16 }]));
}
