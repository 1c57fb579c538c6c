//! Tests of the cost estimates. Bits and area add up. A wider field increases only the costs that depend on
//! it. Differences from another design are correct. Equal scopes share one row.

use area::{Kind, Node, Technology};
use rtl::kernel::{BlockId, Blocks, Chan, ChanSpec, Describe, DescribeExt, Edge, Fields, FieldsExt, Payload, Sleep};
use rtl::machine::Machine;

use super::{Block, Delta, FoldedScopes};
use crate::config::{Request, ResolvedMachine};
use crate::readers::Counts;

fn fermi(designs: &[&str], sets: &[&str]) -> Block {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let request = Request { machine: "fermi".to_owned(), designs: owned(designs), sets: owned(sets) };
    let config = ResolvedMachine::new(&request).unwrap().config;
    Block::of(&Counts::of(&Machine::new(&config)), Technology::built_in().unwrap(), Node::N45)
}

fn at<'a>(block: &'a Block, path: &str) -> &'a Block {
    path.split('.').fold(block, |block, name| block.children.iter().find(|child| child.block == name).unwrap())
}

#[test]
fn the_whole_is_the_sum_of_what_every_scope_has_of_its_own() {
    let machine = fermi(&[], &[]);
    let technology = Technology::built_in().unwrap();
    let (mut bits, mut flops, mut um2, mut mw) = (0, 0, 0.0, 0.0);
    machine.walk(&mut |_, block| {
        let own = technology.flops(Node::N45, block.own_flops());
        bits += block.arrays.iter().map(|array| array.bits).sum::<u64>();
        flops += block.own_flops();
        um2 += own.um2 + block.arrays.iter().map(|array| array.cost.um2).sum::<f64>();
        um2 += block.logic.iter().map(|piece| piece.um2).sum::<f64>();
        mw += own.leakage_mw + block.arrays.iter().map(|array| array.cost.leakage_mw).sum::<f64>();
        mw += block.logic.iter().map(|piece| piece.leakage_mw).sum::<f64>();
    });
    assert_eq!((bits, flops), (machine.bits, machine.flops));
    assert!((um2 / machine.um2 - 1.0).abs() < 1e-9 && (mw / machine.leakage_mw - 1.0).abs() < 1e-9);
}

#[test]
fn arrays_and_flip_flops_together_are_all_storage_bits() {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    let counts = Counts::of(&Machine::new(&ResolvedMachine::new(&request).unwrap().config));
    let machine = fermi(&[], &[]);
    assert_eq!(machine.bits + machine.flops, counts.bits);
}

#[test]
fn the_l1_has_the_bits_of_its_lines_and_tags() {
    let machine = fermi(&[], &[]);
    let l1 = at(&machine, "sm7.l1");
    let data = l1.arrays.iter().find(|array| array.name == "data").unwrap();
    assert_eq!((data.memory.entries, data.memory.width, data.bits), (128, 1024, 131_072));
    let tags = &at(l1, "tags").arrays[0];
    // The tag array has 32 sets, and one word holds the tags of the four ways of a set.
    assert_eq!((tags.memory.entries, tags.memory.kind), (32, Kind::Sram));
    assert_eq!(u64::from(tags.memory.width) * 32, tags.bits);
}

#[test]
fn data_that_are_accessed_by_the_way_are_words_of_a_line() {
    let machine = fermi(&[], &[]);
    let bank = at(&machine, "partition0.l2");
    let data = bank.arrays.iter().find(|array| array.name == "data").unwrap();
    assert_eq!((data.memory.entries, data.memory.width, data.memory.banks), (1024, 1024, 1));
}

#[test]
fn pric_adds_five_xor_trees_an_l1_and_nothing_else() {
    let baseline = fermi(&[], &[]);
    let pric = fermi(&["pric"], &["l1.index.addr_bits=27"]).against(&baseline);
    let Delta { bits, flops, um2, .. } = pric.delta.unwrap();
    assert_eq!((bits, flops), (0, 0));
    // Expected number of gates. An XOR tree has one gate less than its fan-in. Each of the 15 SMs has five
    // trees with fan-ins of 10, 10, 10, 9 and 9, which is 10 + 10 + 10 + 9 + 9 - 5 = 43 gates per SM.
    let gates = f64::from((10 + 10 + 10 + 9 + 9 - 5) * 15);
    assert!((um2 - gates * 1.596).abs() < 1e-3, "{um2}");
    let mut fan_ins = Vec::new();
    at(&pric, "sm0.l1").walk(&mut |_, block| {
        let trees = block.logic.iter().filter_map(|piece| match piece.logic {
            rtl::kernel::Logic::XorTree { fan_in } => Some(fan_in),
            _ => None,
        });
        fan_ins.extend(trees);
    });
    assert_eq!(fan_ins, [10, 10, 10, 9, 9]);
}

#[test]
fn twice_the_ways_add_their_lines_and_tags() {
    let baseline = fermi(&[], &[]);
    let twice = fermi(&[], &["l1.ways=8"]).against(&baseline);
    let l1 = at(&twice, "sm3.l1");
    let delta = l1.delta.unwrap();
    assert!(delta.bits > 131_072, "{delta:?}");
    assert_eq!(at(&twice, "partition2.l2").delta, Some(Delta::default()));
    assert!(!at(&twice, "partition2.l2").differs() && l1.differs());
}

/// Compares two L1s: one performs four lookups per cycle, the other a single lookup. Each additional lookup
/// adds comparators, a port to the tags and a port to the sectors. The data array and the table of pending
/// loads must not change.
#[test]
fn further_lookups_add_ports_and_logic_and_no_storage() {
    let one = fermi(&["l1-sectored"], &[]);
    let four = fermi(&["l1-sectored"], &["l1.lookups=4"]).against(&one);
    let l1 = |machine: &Block| at(machine, "sm0.l1").clone();
    let ports = |block: &Block, name: &str| {
        let array = block.arrays.iter().find(|array| array.name == name).unwrap();
        (array.memory.ports.reads, array.memory.ports.writes)
    };
    for (machine, lookups) in [(&one, 1), (&four, 4)] {
        assert_eq!(ports(at(&l1(machine), "tags"), "entries"), (lookups, 1 + lookups));
        assert_eq!((ports(&l1(machine), "sectors"), ports(&l1(machine), "data")), ((1 + lookups, 2), (2, 2)));
        let mut comparators = 0;
        at(&l1(machine), "tags").walk(&mut |_, block| {
            let hits = block.logic.iter().filter(|piece| piece.name == "hit");
            comparators += hits.count();
        });
        assert_eq!(comparators as u32, lookups);
    }
    let delta = l1(&four).delta.unwrap();
    assert_eq!((delta.bits, delta.flops), (0, 0));
    for part in ["tags", "queue", "coalescer"] {
        assert!(at(&l1(&four), part).delta.unwrap().um2 > 0.0, "{part}");
    }
    for part in ["pending", "mshr", "miss_queue", "const_cache"] {
        assert_eq!(at(&l1(&four), part).delta, Some(Delta::default()), "{part}");
    }
}

#[test]
fn a_design_compared_with_itself_differs_in_nothing() {
    let machine = fermi(&[], &[]);
    assert!(!machine.clone().against(&machine).differs());
}

#[test]
fn designs_that_differ_in_leakage_alone_differ() {
    let machine = fermi(&[], &[]);
    let mut leaking = machine.clone();
    leaking.children[0].leakage_mw += 1.0;
    let leaking = leaking.against(&machine);
    assert!(leaking.children[0].differs() && leaking.differs() && !leaking.children[1].differs());
}

#[test]
fn what_only_the_other_design_has_stands_as_less() {
    let whole = fermi(&[], &[]);
    let mut part = whole.clone();
    let lost = part.children.remove(0);
    let delta = part.against(&whole);
    let missing = delta.children.iter().find(|child| child.block == lost.block).unwrap();
    assert_eq!(missing.delta.unwrap().flops, -lost.flops.cast_signed());
    assert_eq!(missing.um2, 0.0);
}

/// Checks the number of bits that decoupled tags add. The field widths are those of li2015 section 4.1,
/// except for the free-line counter, which has a third bit because it starts at 4.
#[test]
fn decoupled_tags_take_5984_bits_more_than_ordinary_ones() {
    let decoupled = fermi(&["decoupled"], &[]).against(&fermi(&[], &[]));
    let l1 = at(&decoupled, "sm0.l1").delta.unwrap();
    assert_eq!((l1.bits, decoupled.delta.unwrap().bits), (5_984, 15 * 5_984));
    assert!(l1.flops <= 2 && l1.um2 > 0.0, "{l1:?}");
}

/// Checks the number of array bits that a Fetch and Replacement Cache (FRC, candel2018 section 4) adds. They
/// must be the bits of its lines alone; all other storage of the FRC consists of flip-flops.
#[test]
fn an_frc_adds_the_bits_of_its_lines_and_keeps_the_rest_in_flip_flops() {
    let lines = 16;
    let set = format!("l2.flow.frc.entries={lines}");
    let frc = fermi(&["frc"], &[&set]).against(&fermi(&["transient"], &[]));
    let bank = at(&frc, "partition3.l2");
    let data = &at(bank, "frc").arrays[0];
    assert_eq!((data.name, data.bits), ("data", lines * 128 * 8));
    assert_eq!((bank.delta.unwrap().bits, frc.delta.unwrap().bits), (data.bits as i64, 6 * data.bits as i64));
    assert!(at(bank, "frc").flops > 0);
}

#[test]
fn sms_alike_are_one_row() {
    let machine = fermi(&[], &[]);
    let folded = FoldedScopes::of(&machine);
    let sms = folded.children.iter().find(|child| child.name == "sm0..sm14").unwrap();
    assert_eq!(sms.count, 15);
    let total: f64 = folded.children.iter().map(|child| child.one.um2 * f64::from(child.count)).sum();
    assert!((total - machine.children.iter().map(|child| child.um2).sum::<f64>()).abs() < 1e-3);
}

/// Hardware block for tests, with one channel of configurable width and an optional flag register.
struct Small {
    link: Chan<Beat>,
    width: u32,
    has_flag: bool,
}

#[derive(Clone, Debug, Default, Hash, serde::Serialize, serde::Deserialize)]
struct Beat(u64);

impl Payload for Beat {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, width: &u32, to: &mut F) {
        let Self(value) = self;
        to.sized("value", *value, *width);
    }
}

impl Small {
    fn new(width: u32, has_flag: bool) -> Self {
        let id = BlockId { domain: 0, slot: 0 };
        let spec = ChanSpec { path: "in".to_owned(), depth: 2, latency: 1, credit: 1, from: id, to: id };
        Self { link: Chan::new(spec, width), width, has_flag }
    }

    fn block(&self) -> Block {
        Block::of(&Counts::of(self), Technology::built_in().unwrap(), Node::N45)
    }
}

impl Blocks for Small {
    fn population(&self) -> Vec<u8> {
        vec![1]
    }
    fn eval(&mut self, _: BlockId, _: &mut Edge<'_>) -> Sleep {
        Sleep::UntilEvent
    }
    fn describe(&self, _: BlockId, to: &mut dyn Describe) {
        to.part("small", |to| {
            to.sized("state", 0, self.width);
            if self.has_flag {
                to.flag("flag", false);
            }
            self.link.describe("in", None, to);
        });
    }
}

#[test]
fn a_wider_field_or_a_register_more_costs_more_with_no_other_edit() {
    let base = Small::new(8, false).block();
    let wider = Small::new(9, false).block().against(&base).delta.unwrap();
    assert_eq!((wider.bits, wider.flops), (2, 1));
    let more = Small::new(8, true).block().against(&base).delta.unwrap();
    assert_eq!((more.bits, more.flops), (0, 1));
    assert!(wider.um2 > more.um2 && (more.um2 - (4.522 + 1.862)).abs() < 1e-9, "{wider:?} {more:?}");
}
