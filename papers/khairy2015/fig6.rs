//! Figure 6: how many sets the rows of a matrix meet that the 32 threads of a warp of SYRK read at once.

use std::collections::BTreeSet;

use rtl::index::IndexUnit;
use rtl::index::linear::Linear;

use crate::Halt;
use crate::chart::{Chart, Form, Series};
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use warpsieve::config::{Request, Resolved};

/// Rows read at once: one a thread.
const THREADS: u64 = 32;
/// Lines of a row that are looked at.
const LENGTHS: std::ops::RangeInclusive<u64> = 1..=160;
/// Lines of a row in the table.
const SHOWN: [u64; 12] = [1, 2, 4, 8, 16, 31, 32, 33, 64, 96, 128, 160];

/// Sets met by one line of each row.
fn met(unit: &IndexUnit, length: u64) -> usize {
    (0..THREADS).map(|thread| unit.index(thread * length)).collect::<BTreeSet<_>>().len()
}

pub(in super::super) fn fig6() -> Result<Page, Halt> {
    let unit = |design: &str| -> Result<(IndexUnit, u32), Halt> {
        let request =
            Request { machine: super::MACHINE.to_owned(), designs: vec![design.to_owned()], sets: Vec::new() };
        let config = Resolved::new(&request).map_err(miette::Report::from)?.config;
        let line_bits = config.addr_bits - config.l1.line_bytes.ilog2();
        Ok((IndexUnit::new(&config.l1.index, config.l1.sets, config.l1.line_bytes, line_bits), config.l1.sets))
    };
    let ((linear, sets), (pric, _)) = (unit("baseline")?, unit("pric")?);
    let multiples: Vec<u64> = LENGTHS.filter(|length| length % u64::from(sets) == 0).collect();
    let one = multiples.iter().filter(|length| met(&linear, **length) == 1).count();
    let all = multiples.iter().filter(|length| met(&pric, **length) > 1).count();
    let odd = LENGTHS.filter(|length| length % 2 == 1);
    let spread = odd.clone().filter(|length| met(&linear, *length) == sets as usize).count();
    let small = IndexUnit::new(&Linear {}.into(), 8, 1, 6);
    let stride_2: BTreeSet<_> = (0..8).map(|n| small.index(2 * n)).collect();
    let exact = |what: &str, ours: String, published: String| {
        let passed = ours == published;
        Row::claim(Class::Exact, what, &ours, &published, passed)
    };
    let of = |count: usize, whole: usize| format!("{count} of {whole}");
    let mut page = Page::new("khairy2015/fig6", false, "khairy2015, Figure 6: rows of a matrix and sets of the L1");
    page.text(&format!(
        "Each thread of a warp reads the same column of another row of a matrix whose rows are K lines long: sets of the L1 of `fermi` ({sets} sets of\n\
         4 ways) that the 32 lines meet, with its own index and with that of `pric`. A set holds four of them at a time."
    ));
    page.judged(vec![
        exact(
            "lengths K that are multiples of the sets and meet in one set",
            of(one, multiples.len()),
            of(multiples.len(), multiples.len()),
        ),
        exact(
            "odd lengths that meet in all sets",
            of(spread, odd.clone().count()),
            of(odd.clone().count(), odd.clone().count()),
        ),
        exact("sets met by a stride of 2 in the 8 sets of Figure 5(a)", stride_2.len().to_string(), "4".to_owned()),
        Row::claim(
            Class::Sign,
            "such multiples that PRIC spreads over more sets",
            &of(all, multiples.len()),
            "PRIC resists strides, above all multiples of the sets",
            all == multiples.len(),
        ),
    ]);
    let head = ["K", "sequential", "PRIC"];
    let cells = |lengths: Vec<u64>| -> Vec<Vec<String>> {
        lengths
            .into_iter()
            .map(|length| vec![length.to_string(), met(&linear, length).to_string(), met(&pric, length).to_string()])
            .collect()
    };
    page.csv = comma_separated(&head, &cells(LENGTHS.collect()))?;
    page.table(&head, cells(SHOWN.to_vec()), 0);
    let series = |name: &str, unit: &IndexUnit| Series::new(name, SHOWN.map(|length| met(unit, length) as f64));
    page.chart(
        "",
        &Chart {
            title: "Sets met by 32 rows of K lines".to_owned(),
            unit: "sets".to_owned(),
            groups: SHOWN.iter().map(u64::to_string).collect(),
            series: vec![series(head[1], &linear), series(head[2], &pric)],
            form: Form::Bars,
            ..Chart::default()
        },
    );
    Ok(page)
}
