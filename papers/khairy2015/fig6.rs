//! khairy2015 Figure 6: number of different L1 sets to which the 32 matrix rows map that a warp of SYRK reads
//! at the same time.

use std::collections::BTreeSet;

use miette::Report;
use rtl::index::IndexUnit;
use rtl::index::linear::Linear;

use super::MACHINE;
use crate::FigureError;
use crate::chart::{Chart, Series};
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated};
use crate::runs::resolve_config;

/// Number of matrix rows that a warp reads at the same time, one per thread.
const THREADS: u64 = 32;
/// Row lengths for which the number of sets is computed, in lines.
const LENGTHS: std::ops::RangeInclusive<u64> = 1..=160;
/// Row lengths that the table shows, in lines.
const SHOWN: [u64; 12] = [1, 2, 4, 8, 16, 31, 32, 33, 64, 96, 128, 160];

/// Returns the number of distinct sets to which the first lines of 32 matrix rows map. `length` is the length
/// of a row in lines.
fn met(unit: &IndexUnit, length: u64) -> usize {
    (0..THREADS).map(|thread| unit.index(thread * length)).collect::<BTreeSet<_>>().len()
}

/// Returns, for the L1 of a design, the unit that computes the set index and the number of sets.
fn unit(design: &str) -> Result<(IndexUnit, u32), Report> {
    let config = resolve_config(MACHINE, &[design], &[])?.config;
    let line_bits = config.addr_bits - config.l1.line_bytes.ilog2();
    Ok((IndexUnit::new(&config.l1.index, config.l1.sets, config.l1.line_bytes, line_bits), config.l1.sets))
}

pub(in super::super) fn fig6() -> Result<Page, FigureError> {
    let ((linear, sets), (pric, _)) = (unit("baseline")?, unit("pric")?);
    let about = format!(
        "Each thread of a warp reads the same column in a different row of a matrix whose rows are K lines long. The\n\
         table shows to how many sets of the L1 of `fermi` ({sets} sets of 4 ways) these 32 lines map, with its\n\
         sequential index and with that of `pric`. A set holds four lines at a time."
    );
    let title = "khairy2015, Figure 6: rows of a matrix and sets of the L1";
    let mut page = Page::with_comparison("khairy2015/fig6", false, title, &about, rows(sets, &linear, &pric));
    let head = ["K", "sequential", "PRIC"];
    let cells =
        |length: u64| [length.to_string(), met(&linear, length).to_string(), met(&pric, length).to_string()].to_vec();
    page.csv = comma_separated(&head, &LENGTHS.map(cells).collect::<Vec<_>>())?;
    page.table(&head, SHOWN.map(cells).into(), 0);
    let series = |name: &str, unit: &IndexUnit| Series::new(name, SHOWN.map(|length| met(unit, length) as f64));
    page.chart(
        "",
        &Chart {
            groups: SHOWN.iter().map(u64::to_string).collect(),
            series: vec![series(head[1], &linear), series(head[2], &pric)],
            ..Chart::new("Sets used by 32 rows of K lines", "sets")
        },
    );
    Ok(page)
}

fn rows(sets: u32, linear: &IndexUnit, pric: &IndexUnit) -> Vec<ComparisonRow> {
    let multiples: Vec<u64> = LENGTHS.filter(|length| length % u64::from(sets) == 0).collect();
    let one = multiples.iter().filter(|length| met(linear, **length) == 1).count();
    let all = multiples.iter().filter(|length| met(pric, **length) > 1).count();
    let odd: Vec<u64> = LENGTHS.filter(|length| length % 2 == 1).collect();
    let spread = odd.iter().filter(|length| met(linear, **length) == sets as usize).count();
    let small = IndexUnit::new(&Linear {}.into(), 8, 1, 6);
    let stride_2: BTreeSet<_> = (0..8).map(|n| small.index(2 * n)).collect();
    let of = |count: usize, lengths: &[u64]| format!("{count} of {}", lengths.len());
    let modulo = |row: ComparisonRow| row.mark_no_evidence("this holds for every index that is a remainder");
    let exact = |what: &str, count: usize, lengths: &[u64]| {
        modulo(ComparisonRow::exact(what, of(count, lengths), of(lengths.len(), lengths)))
    };
    let published = "PRIC tolerates strides, especially multiples of the number of sets";
    vec![
        exact("lengths K that are multiples of the number of sets and use one set", one, &multiples),
        exact("odd lengths that use all sets", spread, &odd),
        modulo(ComparisonRow::exact("sets used by a stride of 2 among the 8 sets of Figure 5(a)", stride_2.len(), 4)),
        ComparisonRow::claim(
            Class::Sign,
            "such multiples that PRIC spreads over more sets",
            &of(all, &multiples),
            published,
            all == multiples.len(),
        ),
    ]
}
