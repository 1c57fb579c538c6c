//! Tests of the cost estimates. They check that the data file is readable and that damaged files are refused.
//! Estimates must be correct at, between and outside CACTI's grid points. A larger structure must never cost
//! less, and the published caches must agree with CACTI.

use proptest::prelude::*;
use rtl::kernel::Logic;

use crate::errors::AreaErrors;
use crate::{Basis, Cost, Kind, Memory, Metric, Node, Outside, Ports, Technology, cacti_input};

fn technology() -> &'static Technology {
    Technology::built_in().unwrap()
}

fn sram(entries: u32, width: u32, ports: Ports) -> Memory {
    Memory { kind: Kind::Sram, entries, width, ports, banks: 1 }
}

#[test]
fn a_point_of_the_grid_costs_what_cacti_gave() {
    // Grid point under test: a memory of 32 KB with words of 16 bytes at 22 nm.
    let text = include_str!("technology.toml");
    let table = text.split("[[grid.table]]\nnode = 22\nports = \"1RW\"\n").nth(1).unwrap();
    let row = table.lines().find(|line| line.contains("[32768, 16, ")).unwrap();
    let numbers: Vec<f64> = row.trim().trim_matches(['[', ']', ',']).split(", ").map(|n| n.parse().unwrap()).collect();
    let cost = technology().memory(Node::N22, &sram(2048, 128, Ports::ONE_SHARED));
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    close(cost.um2, numbers[2] * 1e6);
    close(cost.leakage_mw, numbers[3]);
    close(cost.read_pj.unwrap(), numbers[4]);
    close(cost.write_pj.unwrap(), numbers[5]);
    assert_eq!(cost.basis, Basis::Grid);
}

#[test]
fn an_estimate_says_when_it_leaves_the_grid() {
    let technology = technology();
    let basis = |entries, width, ports| technology.memory(Node::N45, &sram(entries, width, ports)).basis;
    assert_eq!(basis(100, 100, Ports::READ_AND_WRITE), Basis::Grid);
    assert_eq!(basis(17, 100, Ports::READ_AND_WRITE), Basis::ClosedForm);
    assert_eq!(basis(100, 1025, Ports::READ_AND_WRITE), Basis::ClosedForm);
    assert_eq!(basis(1 << 20, 64, Ports::READ_AND_WRITE), Basis::ClosedForm);
    assert_eq!(basis(100, 100, Ports { shared: 0, reads: 2, writes: 1 }), Basis::ClosedForm);
    assert_eq!(basis(16, 100, Ports::READ_AND_WRITE), Basis::Cells);
}

#[test]
fn each_port_beyond_the_second_adds_as_much_as_the_second() {
    let technology = technology();
    let leakage = |writes| {
        let ports = Ports { shared: 0, reads: 1, writes };
        technology.memory(Node::N45, &sram(1024, 128, ports)).leakage_mw
    };
    let steps: Vec<_> = (1..6).map(|writes| leakage(writes + 1) - leakage(writes)).collect();
    assert!(steps.iter().all(|step| (step / steps[0] - 1.0).abs() < 1e-9 && *step > 0.0), "{steps:?}");
}

#[test]
fn nothing_jumps_where_the_grid_ends() {
    let technology = technology();
    let area = |entries, width| technology.memory(Node::N32, &sram(entries, width, Ports::READ_AND_WRITE)).um2;
    for (inside, outside) in [((32, 512), (31, 512)), ((64, 1024), (64, 1025)), ((64, 16), (64, 15))] {
        let ratio = area(inside.0, inside.1) / area(outside.0, outside.1);
        assert!((0.95..1.06).contains(&ratio), "{inside:?} by {outside:?}: {ratio}");
    }
}

#[test]
fn points_left_out_are_met_within_the_promised_errors() {
    let technology = technology();
    for metric in Metric::ALL {
        let errors = technology.leave_one_out_errors(metric, None);
        let percent = |part| 100.0 * errors.quantile(part);
        println!(
            "{}: {} points, {:.1} {:.1} {:.1}",
            metric.name(),
            errors.count(),
            percent(0.5),
            percent(0.95),
            percent(1.0)
        );
        assert!(errors.count() > 600);
    }
    let area = technology.leave_one_out_errors(Metric::Area, None);
    assert!(area.quantile(0.5) < 0.04 && area.quantile(0.95) < 0.12, "{area:?}");
}

#[test]
fn memories_between_the_points_of_the_grid_are_met() {
    let errors = technology().off_grid_errors(Metric::Area);
    assert!(errors.count() >= 8 && errors.quantile(1.0) < 0.08, "{errors:?}");
}

#[test]
fn cams_that_cacti_computed_are_met() {
    for (metric, median, p95) in [
        (Metric::Area, 0.04, 0.12),
        (Metric::Leakage, 0.05, 0.12),
        (Metric::Read, 0.05, 0.12),
        (Metric::Write, 0.05, 0.15),
    ] {
        let errors = technology().cams(metric);
        assert_eq!(errors.count(), 114);
        assert!(errors.quantile(0.5) < median && errors.quantile(0.95) < p95, "{metric:?} {errors:?}");
    }
}

#[test]
fn quantiles_are_those_of_the_sorted_errors() {
    let errors: crate::RelativeErrors = [0.4, 0.1, 0.3, 0.2].into_iter().collect();
    assert_eq!([0.0, 0.5, 0.75, 1.0].map(|part| errors.quantile(part)), [0.1, 0.2, 0.3, 0.4]);
}

#[test]
fn published_l1_and_l2_agree_with_the_cacti_figures_beside_them() {
    let technology = technology();
    let rows = technology.table43().rows.iter().filter(|row| !row.not_reproduced);
    let mut count = 0;
    for row in rows {
        for (metric, most) in [0.06, 0.10, 0.10, 0.10].into_iter().enumerate() {
            let error = (row.cacti[metric] / row.published[metric] - 1.0).abs();
            assert!(error < most, "{}: value {metric} is {error} off", row.name);
        }
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn a_flip_flop_costs_its_cell_and_what_keeps_its_value() {
    let cost = technology().flops(Node::N45, 10);
    assert!((cost.um2 - 63.84).abs() < 1e-9, "{cost:?}");
    assert!((cost.leakage_mw - 10.0 * 115.0e-6).abs() < 1e-12, "{cost:?}");
    let scaled = technology().flops(Node::N22, 10).um2;
    assert!((scaled - 63.84 * 0.391 / 0.798).abs() < 1e-9, "{scaled}");
}

#[test]
fn an_xor_tree_has_one_gate_less_than_inputs() {
    let cost = technology().logic(Node::N45, Logic::XorTree { fan_in: 10 });
    assert!((cost.um2 - 9.0 * 1.596).abs() < 1e-9, "{cost:?}");
}

#[test]
fn few_words_are_flip_flops_with_multiplexers() {
    let cost = technology().memory(Node::N45, &sram(4, 10, Ports::READ_AND_WRITE));
    let expected = 40.0 * 4.522 + 30.0 * 1.862 + 40.0 * 1.862;
    assert!((cost.um2 - expected).abs() < 1e-9, "{cost:?}");
    assert_eq!(cost.basis, Basis::Cells);
}

#[test]
fn a_write_of_few_words_clocks_one_of_them_and_a_read_passes_a_multiplexer_for_every_doubling() {
    let cost = |entries, node| technology().memory(node, &sram(entries, 10, Ports::READ_AND_WRITE));
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    let four = cost(4, Node::N45);
    close(four.read_pj.unwrap(), 5.0 * 2.0 * 0.0043);
    close(four.write_pj.unwrap(), 10.0 * 0.0164 + 5.0 * (0.0155 + 0.0043));
    let sixteen = cost(16, Node::N22);
    close(sixteen.read_pj.unwrap(), 2.0 * 0.313 * four.read_pj.unwrap());
    close(sixteen.write_pj.unwrap(), 0.313 * four.write_pj.unwrap());
    assert_eq!(cost(1, Node::N45).read_pj, Some(0.0), "one word has nothing to choose from");
}

#[test]
fn ports_are_written_as_they_are_read() {
    for text in ["1RW", "2RW", "1R1W", "1RW1W", "12R10W"] {
        assert_eq!(Ports::try_from(text.to_owned()).unwrap().to_string(), text);
    }
    for text in ["RW", "1X", "1", "R1"] {
        assert!(Ports::try_from(text.to_owned()).is_err(), "{text}");
    }
}

#[test]
fn a_cacti_input_has_every_field_filled_in() {
    let text = cacti_input("sm0.l1.tags", Node::N22, &sram(32, 101, Ports::READ_AND_WRITE));
    assert!(!text.contains(['{', '}']), "{text}");
    for line in ["-size (bytes) 416", "-block size (bytes) 13", "-technology (u) 0.022", "-exclusive read port 1"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_damaged_file_is_refused_with_place_and_reason() {
    let text = include_str!("technology.toml");
    let refused = |from: &str, to: &str| Technology::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert_eq!(
        refused("xor_input = { xor2 = 1 }", "xor_input = { xor3 = 1 }"),
        "a recipe of logic or flops is xor3, expected a cell of gates.cells"
    );
    assert!(refused("[[grid.table]]\nnode = 22", "[[grid.table]]\nnode = 23").contains("23 nm, expected 45, 32 or 22"));
    assert!(refused("    [256, 2, ", "    [255, 2, ").contains("expected powers of two"));
    assert!(refused("    [256, 2, 0", "    [256, 2, -0").contains("expected positive numbers"));
    assert!(
        refused("[[grid.table]]\nnode = 22\nports = \"1RW\"", "[[grid.table]]\nnode = 22\nports = \"2RW\"")
            .contains("none of 1RW at 22 nm")
    );
}

fn nodes() -> impl Strategy<Value = Node> {
    prop::sample::select(&Node::ALL[..])
}

/// Generates a random kind of memory and a number of words. SRAMs always have more words than the largest
/// memory that is built from flip-flops. Making a memory larger therefore never changes its kind.
fn kinds() -> impl Strategy<Value = (Kind, u32)> {
    prop_oneof![(Just(Kind::Sram), 17u32..200_000), (Just(Kind::Flops), 1u32..1000), (Just(Kind::Cam), 1u32..1000)]
}

fn no_less(small: Cost, large: Cost) -> bool {
    let more = |small: f64, large: f64| large >= small * (1.0 - 1e-12);
    more(small.um2, large.um2) && more(small.leakage_mw, large.leakage_mw)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn more_entries_width_or_ports_never_cost_less(
        node in nodes(),
        (kind, entries) in kinds(),
        width in 1u32..4000,
        reads in 1u32..6,
        writes in 1u32..6,
        more in 1u32..300,
    ) {
        let technology = technology();
        let described = |entries, width, reads, writes| {
            let ports = Ports { shared: 0, reads, writes };
            Memory { kind, entries, width, ports, banks: 1 }
        };
        let memory = |entries, width, reads, writes| technology.memory(node, &described(entries, width, reads, writes));
        let bits = |entries, width| described(entries, width, reads, writes).bits();
        prop_assert!(bits(entries, width) < bits(entries + more, width).min(bits(entries, width + more)), "bits");
        let base = memory(entries, width, reads, writes);
        prop_assert!(no_less(base, memory(entries + more, width, reads, writes)), "entries");
        prop_assert!(no_less(base, memory(entries, width + more, reads, writes)), "width");
        prop_assert!(no_less(base, memory(entries, width, reads + 1, writes)), "reads");
        prop_assert!(no_less(base, memory(entries, width, reads, writes + 1)), "writes");
    }
}

#[test]
fn the_cells_of_synthesis_are_those_of_the_estimate() {
    let technology = technology();
    let library = technology.liberty();
    for (name, um2) in
        [("inv", 0.532), ("nand2", 0.798), ("nor2", 0.798), ("xor2", 1.596), ("mux2", 1.862), ("dff", 4.522)]
    {
        assert_eq!(technology.cell_um2(name), Some(um2));
        assert!(library.contains(&format!("cell({name}) {{ area: {um2};")), "{library}");
    }
    assert_eq!(technology.cell_um2("buf"), Some(1.064), "two inverters");
    assert_eq!(technology.cell_um2("nand3"), None);
    assert_eq!(technology.flops(Node::N45, 1).um2, 4.522 + 1.862, "a bit of state and what keeps it");
}

#[test]
fn the_errors_of_the_intervals_are_those_that_are_measured() {
    let technology = Technology::built_in().unwrap();
    let [ports, size] = Outside::ALONE.map(|(_, outside)| technology.errors_beyond(Metric::Area, outside).unwrap());
    let measured = [technology.leave_one_out_errors(Metric::Area, None), ports, size, technology.cams(Metric::Area)];
    let rounded = measured.map(|errors| (1000.0 * errors.quantile(0.95)).ceil() / 1000.0);
    let AreaErrors { grid, ports, size, cam, .. } = &technology.errors;
    assert_eq!([*grid, *ports, *size, *cam], rounded, "grid, ports, size, cam");
}

#[test]
fn a_memory_outside_the_grid_has_a_larger_error_than_one_inside() {
    let error = |entries, width, ports| {
        technology().memory(Node::N45, &Memory { kind: Kind::Sram, entries, width, ports, banks: 1 }).error
    };
    let many = Ports { shared: 0, reads: 2, writes: 4 };
    let [inside, slices] = [512, 4096].map(|width| error(64, width, Ports::READ_AND_WRITE));
    // A word wider than those of the grid is made of memories inside the grid.
    assert!(inside < 0.06 && inside == slices, "{inside}, {slices}");
    assert!(error(64, 512, many) > inside);
    // A memory of 17 words is at most as large as one of 32.
    let few = error(17, 512, Ports::READ_AND_WRITE);
    assert!(few > 2.0 * inside && few < 1.0, "{few}");
}
