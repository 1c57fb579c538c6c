//! Gain of a Fetch and Replacement Cache (FRC) for several numbers of L1 MSHR entries; candel2018 does not
//! state this number.

use super::{APPS, BASELINE, FRC_4, FRC_64, L2S, LARGER, MACHINE, Session};
use crate::FigureError;
use crate::chart::Chart;
use crate::judge::geometric_mean;
use crate::page::Page;
use crate::runs::Point;
use crate::table::Table;

/// Numbers of MSHR entries per L1 that are compared.
const ENTRIES: [u32; 4] = [8, 16, 32, 64];
/// L2 configurations that are compared with the baseline.
const OTHERS: [usize; 3] = [FRC_4, FRC_64, LARGER[1]];

pub(in super::super) fn mshrs(session: &Session) -> Result<Page, FigureError> {
    let variants: Vec<(u32, usize)> =
        ENTRIES.iter().flat_map(|&entries| [BASELINE].into_iter().chain(OTHERS).map(move |l2| (entries, l2))).collect();
    let done = session.runner.table(&APPS, &variants, |(_, kernel, size), &(entries, l2)| {
        let set = format!("l1.mshr_entries={entries}");
        Point::new(&session.launch(kernel, size), MACHINE, L2S[l2].1, &[&set])
    })?;
    let figure = "candel2018/mshrs";
    let mut page = Page::new(figure, session.is_quick, "candel2018: gain of an FRC by number of L1 MSHR entries");
    page.text(
        "Operations per cycle, relative to two banks of 128 KB without an FRC and L1s with the same number of MSHR\n\
         entries: *+4e of 8* is an FRC of 4 lines per bank with 8 MSHR entries per L1. The paper does not state how\n\
         many misses an L1 can have in flight. The caches of Multi2Sim have 16 MSHR entries by default, and so does\n\
         `southern-islands`. With many entries, the memory is the bottleneck, and an earlier fetch gains little. With\n\
         few entries, a shorter miss saves cycles.",
    );
    let column = |(at, &(entries, l2)): (usize, &(u32, usize))| {
        let base = at / (1 + OTHERS.len()) * (1 + OTHERS.len());
        let gains = done.iter().map(|runs| runs[at].counters.opc() / runs[base].counters.opc());
        (format!("{} of {entries}", L2S[l2].0), gains.collect::<Vec<_>>())
    };
    let compared = variants.iter().enumerate().filter(|(_, (_, l2))| *l2 != BASELINE);
    let table = Table::new(["application"], APPS.iter().map(|(name, ..)| [*name]));
    let table = table.columns(3, compared.map(column));
    let table = table.below(["geometric mean"], |_| true, |gains| geometric_mean(gains).unwrap_or(f64::NAN));
    table.table(&mut page, "## Gain by L2 and by number of L1 MSHR entries")?;
    let of_64_lines = (0..ENTRIES.len()).map(|entries| entries * OTHERS.len() + 1);
    let chart = Chart::relative("candel2018: 64 FRC lines per bank, by L1 MSHR entries", "OPC, relative to no FRC");
    table.chart(&mut page, "", chart, of_64_lines);
    Ok(page)
}
