//! khairy2015 Figures 5 and 7: how sequential and pseudo-random interleaving map lines to sets, and the XOR
//! equations of pseudo-random interleaving.

use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::index::{IndexConfig, IndexUnit};

use crate::FigureError;
use crate::judge::ComparisonRow;
use crate::page::Page;

/// Number of sets in the figure.
const SETS: u32 = 8;
/// Number of lines of the memory in the figure.
const LINES: u64 = 64;
/// Figure 5(b), read row by row. Each row of the figure has eight lines, one for each set, in the order of
/// the sets.
const PSEUDO_RANDOM: [u64; LINES as usize] = [
    0, 4, 2, 6, 1, 5, 3, 7, 13, 9, 15, 11, 12, 8, 14, 10, 23, 19, 21, 17, 22, 18, 20, 16, 26, 30, 24, 28, 27, 31, 25,
    29, 35, 39, 33, 37, 34, 38, 32, 36, 46, 42, 44, 40, 47, 43, 45, 41, 52, 48, 54, 50, 53, 49, 55, 51, 57, 61, 59, 63,
    56, 60, 58, 62,
];
/// Figure 7: for each bit of the set index, the address bits that are XORed. The first entry is for the
/// lowest index bit, I0.
const EQUATIONS: [&[u32]; 5] = [
    &[7, 12, 15, 17, 18, 21, 22, 23, 24, 25],
    &[8, 13, 16, 18, 19, 22, 23, 24, 25, 26],
    &[9, 12, 14, 15, 18, 19, 20, 21, 22, 26],
    &[10, 13, 15, 16, 19, 20, 21, 22, 23],
    &[11, 14, 16, 17, 20, 21, 22, 23, 24],
];
/// Number of address bits that select a byte within a line. The line address begins above them.
const OFFSET: u32 = 7;

pub(in super::super) fn fig5() -> Result<Page, FigureError> {
    let small = |config: &IndexConfig| IndexUnit::new(config, SETS, 1, LINES.ilog2());
    let sequential = small(&Linear {}.into());
    let pseudo_random = small(&IPoly { polynomial: 13, addr_bits: LINES.ilog2(), reversed: true }.into());
    let in_place = |unit: &IndexUnit, published: &dyn Fn(usize) -> u64| {
        (0..LINES as usize).filter(|&at| u64::from(unit.index(published(at))) == at as u64 % u64::from(SETS)).count()
    };
    let mut rows = vec![
        ComparisonRow::exact("lines in their sets, Figure 5(a)", in_place(&sequential, &|at| at as u64), LINES),
        ComparisonRow::exact(
            "lines in their sets, Figure 5(b)",
            in_place(&pseudo_random, &|at| PSEUDO_RANDOM[at]),
            LINES,
        ),
    ];
    rows.extend(equations());
    let about = "Mapping of lines to the sets of a cache with eight sets and lines of one byte, by the index units of\n\
    the machine: sequential (a) and pseudo-random (b). The paper states no polynomial for (b). Its table results from\n\
    x^3 + x^2 + 1 with the index bits in reverse order. The equations of Figure 7 result from x^5 + x^2 + 1 over the\n\
    address bits 7 to 26.";
    let title = "khairy2015, Figures 5 and 7: lines and their sets";
    let mut page = Page::with_comparison("khairy2015/fig5", false, title, about, rows);
    let head = ["set", "sequential", "pseudo-random"];
    let of_set = |unit: &IndexUnit, set: u32| {
        let lines = (0..LINES).filter(|line| unit.index(*line) == set);
        lines.map(|line| line.to_string()).collect::<Vec<_>>().join(" ")
    };
    let cells: Vec<_> =
        (0..SETS).map(|set| vec![format!("S{set}"), of_set(&sequential, set), of_set(&pseudo_random, set)]).collect();
    page.numbers(&head, cells, head.len())?;
    Ok(page)
}

/// Compares our XOR equations of PRIC's index bits with the equations of Figure 7.
fn equations() -> impl Iterator<Item = ComparisonRow> {
    let pric = IPoly { polynomial: 37, addr_bits: 27, reversed: false }.into();
    let pric = IndexUnit::new(&pric, 1 << EQUATIONS.len(), 1 << OFFSET, 32 - OFFSET);
    EQUATIONS.iter().enumerate().map(move |(bit, published)| {
        let row = pric.row(bit);
        let ours = row.iter_ones().map(|at| at as u32 + OFFSET);
        let shown = |bits: Vec<u32>| bits.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        ComparisonRow::exact(
            &format!("address bits of I{bit}, Figure 7"),
            shown(ours.collect()),
            shown(published.to_vec()),
        )
    })
}
