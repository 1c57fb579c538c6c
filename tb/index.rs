//! # Testbench of the index unit
//! Compares the XOR trees that compute the set index with a golden polynomial division.
//!
//! | testpoint                                                                           | test                  |
//! |-------------------------------------------------------------------------------------|-----------------------|
//! | for every irreducible polynomial of degree 1 to 12, the index is the remainder      | `every_irreducible_*` |
//! | all 64 addresses of khairy2015 Figure 5(b) map to the sets that the figure shows    | `figure_5b_*`         |
//! | the trees of khairy2015 Figure 7 have the inputs that the figure lists              | `figure_7_*`          |
//! | each tree has exactly the inputs that the golden function depends on                | `every_tree_*`        |
//! | linear and Fermi indices, and the index of a single set, equal the golden functions | `linear_and_fermi_*`  |
//! | the low line bits are recovered from index and upper bits                           | `the_low_bits_*`      |
//! | unit and golden function refuse the same configurations                             | `both_refuse_*`       |

use golden::index::{Poly, SetIndex, irreducible_polynomials};
use rtl::config::Rules;
use rtl::index::fermi::Fermi;
use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::index::{IndexConfig, IndexUnit};
use rtl::kernel::Logic;

use crate::kit::DescriptionSummary;
use warpsieve::check::l1::set_index;

const LINE_BYTES: u32 = 128;
const LINE_BITS: u32 = 25;

fn pair(config: &IndexConfig, sets: u32) -> (IndexUnit, SetIndex) {
    (IndexUnit::new(config, sets, LINE_BYTES, LINE_BITS), set_index(config, sets, LINE_BYTES).unwrap())
}

/// Yields an index configuration for every legal polynomial, with its number of sets. The lines have 128
/// bytes.
fn polynomials() -> impl Iterator<Item = (IndexConfig, u32)> {
    let all = (1..=12).flat_map(irreducible_polynomials).filter(|p| *p != Poly::X);
    all.zip(0u32..).map(|(Poly(p), i)| {
        let polynomial = p as u32;
        let degree = polynomial.ilog2();
        // The address width changes from one polynomial to the next, up to 32 bits. Every third configuration
        // reverses the order of the index bits.
        let addr_bits = 32 - i % (LINE_BITS - degree + 1);
        (IPoly { polynomial, addr_bits, reversed: i % 3 == 0 }.into(), 1 << degree)
    })
}

/// Yields `count` pseudorandom line addresses.
fn lines(count: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINE_BITS))
}

#[test]
fn every_irreducible_polynomial_of_degree_1_to_12_gives_the_remainder_of_the_division() {
    let mut checked = 0;
    for (config, sets) in polynomials() {
        let (unit, golden) = pair(&config, sets);
        for line in lines(400) {
            assert_eq!(unit.index(line) as usize, golden.set_of_line(line), "{config:?}, line {line:#x}");
        }
        checked += 1;
    }
    // There are 747 irreducible polynomials of the tested degrees. The polynomial x is not legal as an index
    // function, so 746 remain.
    assert_eq!(checked, 746);
}

#[test]
fn figure_5b_of_khairy2015_holds_for_all_64_addresses() {
    // Row r of the figure in the paper holds the addresses 8r to 8r+7. Column c holds the addresses that map
    // to set c.
    const FIGURE: [[u64; 8]; 8] = [
        [0, 4, 2, 6, 1, 5, 3, 7],
        [13, 9, 15, 11, 12, 8, 14, 10],
        [23, 19, 21, 17, 22, 18, 20, 16],
        [26, 30, 24, 28, 27, 31, 25, 29],
        [35, 39, 33, 37, 34, 38, 32, 36],
        [46, 42, 44, 40, 47, 43, 45, 41],
        [52, 48, 54, 50, 53, 49, 55, 51],
        [57, 61, 59, 63, 56, 60, 58, 62],
    ];
    let config = IPoly { polynomial: 13, addr_bits: 6, reversed: true }.into();
    let unit = IndexUnit::new(&config, 8, 1, 6);
    let golden = set_index(&config, 8, 1).unwrap();
    for row in FIGURE {
        for (set, address) in row.into_iter().enumerate() {
            assert_eq!((unit.index(address) as usize, golden.set_of(address)), (set, set), "address {address}");
        }
    }
}

/// Yields the address bits whose XOR is bit `j` of the set index.
fn tree(unit: &IndexUnit, j: usize) -> impl Iterator<Item = u32> {
    unit.row(j).iter_ones().map(|k| k as u32 + 7)
}

#[test]
fn figure_7_of_khairy2015_holds_for_the_trees_and_their_fan_ins() {
    let config = IPoly { polynomial: 37, addr_bits: 27, reversed: false }.into();
    let (unit, _) = pair(&config, 32);
    let equations: [&[u32]; 5] = [
        &[7, 12, 15, 17, 18, 21, 22, 23, 24, 25],
        &[8, 13, 16, 18, 19, 22, 23, 24, 25, 26],
        &[9, 12, 14, 15, 18, 19, 20, 21, 22, 26],
        &[10, 13, 15, 16, 19, 20, 21, 22, 23],
        &[11, 14, 16, 17, 20, 21, 22, 23, 24],
    ];
    for (j, inputs) in equations.iter().enumerate() {
        assert!(tree(&unit, j).eq(inputs.iter().copied()), "I{j}");
    }
    assert_eq!(trees(&unit), [10, 10, 10, 9, 9]);
}

#[test]
fn every_tree_has_the_inputs_on_which_the_golden_function_depends() {
    for (config, sets) in polynomials() {
        let (unit, golden) = pair(&config, sets);
        let inputs = |j: u32| golden.terms(j).into_iter().filter(|bit| (7..7 + LINE_BITS).contains(bit));
        for j in 0..unit.bits() {
            assert!(tree(&unit, j as usize).eq(inputs(j)), "{config:?} I{j}");
        }
        let fan_ins: Vec<u32> = (0..unit.bits()).map(|j| inputs(j).count() as u32).filter(|n| *n > 1).collect();
        assert_eq!(trees(&unit), fan_ins, "{config:?}");
    }
}

#[test]
fn linear_and_fermi_indices_and_those_of_one_set_are_those_of_the_golden_functions() {
    let linear = (0..=12).map(|bits| (Linear {}.into(), 1 << bits));
    let one_set = [false, true].map(|reversed| (IPoly { polynomial: 1, addr_bits: 32, reversed }.into(), 1));
    for (config, sets) in linear.chain(one_set).chain([(Fermi {}.into(), 32), (Fermi {}.into(), 64)]) {
        let (unit, golden) = pair(&config, sets);
        for line in lines(2000) {
            assert_eq!(unit.index(line) as usize, golden.set_of_line(line), "{config:?}, line {line:#x}");
        }
        let fermi = config == Fermi {}.into();
        assert_eq!(trees(&unit).len(), if fermi { 5 } else { 0 }, "a wire is no tree: {config:?} of {sets} sets");
    }
}

#[test]
fn the_low_bits_of_a_line_are_recovered_from_its_set_and_its_upper_bits() {
    let one_set = IPoly { polynomial: 1, addr_bits: 32, reversed: true }.into();
    let fixed = [(Linear {}.into(), 1), (one_set, 1), (Linear {}.into(), 64), (Fermi {}.into(), 64)];
    for (config, sets) in polynomials().chain(fixed) {
        let (unit, _) = pair(&config, sets);
        for line in lines(50) {
            let upper = line >> unit.bits() << unit.bits();
            let low = unit.low_bits_of(unit.index(line) ^ unit.index(upper));
            assert_eq!(upper | u64::from(low), line, "{config:?}");
        }
    }
}

#[test]
fn both_refuse_the_same_polynomials() {
    for polynomial in 0..1u32 << 13 {
        let config: IndexConfig = IPoly { polynomial, addr_bits: 32, reversed: false }.into();
        let sets = 1 << polynomial.checked_ilog2().unwrap_or(0);
        let mut rules = Rules::default();
        config.validate(sets, LINE_BYTES, &mut rules);
        let legal = rules.into_violations().is_empty();
        assert_eq!(legal, set_index(&config, sets, LINE_BYTES).is_ok(), "polynomial {polynomial}");
    }
}

/// Returns the number of inputs of each XOR tree in the description of an index unit.
fn trees(unit: &IndexUnit) -> Vec<u32> {
    let fan_in = |logic: Logic| if let Logic::XorTree { fan_in } = logic { Some(fan_in) } else { None };
    DescriptionSummary::of(|to| unit.describe(to)).logic.into_iter().filter_map(fan_in).collect()
}
