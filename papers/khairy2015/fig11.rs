//! khairy2015 Figure 11: L1 reservation fails that DWT-PRIC avoids.

use rtl::l1::watch::Fail;

use super::fig4::REASONS;
use super::{
    CONTENTION, DWT_PRIC, METHOD, PAPER_FAILS, app_table, apps, cut, each, fails_per_kilocycle, measure, with,
};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, Effect, mean};
use crate::page::Page;
use crate::{FigureError, Session, index_of};

/// Applications in which DWT-PRIC avoids many reservation fails, each with the published upper limit of the
/// percentage of avoided fails: 90 or 60.
const FALLING: [(&str, f64); 6] =
    [("2DCONV", 90.0), ("KM", 90.0), ("GESUMMV", 90.0), ("MM", 60.0), ("IIX", 60.0), ("SYRK", 60.0)];
/// Applications that still have many reservation fails with DWT-PRIC, most of them because no MSHR entry is
/// free, according to the paper.
const HIGH: [&str; 2] = ["SCLUSTER", "SRAD"];

const TITLE: &str = "khairy2015, Figure 11: L1 reservation fails";

pub(in super::super) fn fig11(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&CONTENTION);
    let done = measure(session, &apps, &[with(&[]), with(DWT_PRIC)])?;
    let fails = [0, 1].map(|machine| each(&done, machine, |run| fails_per_kilocycle(run).iter().sum()));
    let cuts: Vec<f64> = fails[0].iter().zip(&fails[1]).map(|(before, after)| cut(*before, *after)).collect();
    let of_mshrs = each(&done, 1, |run| fails_per_kilocycle(run)[Fail::MshrEntry as usize]);
    let left = mean(&fails[1]).unwrap_or(f64::NAN);
    let average = mean(&cuts).unwrap_or(f64::NAN);
    let mut rows =
        vec![ComparisonRow::sign("reduction of reservation fails in percent, mean", average, 20.0, Effect::PERCENT)];
    rows.extend(FALLING.map(|(name, published)| {
        ComparisonRow::sign(
            &format!("{name}, reduction of reservation fails in percent"),
            cuts[index_of(&apps, name)],
            published,
            Effect::PERCENT,
        )
    }));
    rows.extend(HIGH.map(|name| high(name, fails_per_kilocycle(&done[index_of(&apps, name)][1]), left)));
    let about = format!(
        "Reservation fails: cycles per thousand in which the oldest load of an L1 stalled, averaged over the SMs, on\n\
         the baseline and with DWT-PRIC (designs `dwt-pric` and `streaming-l2`), and the percentage by which DWT-PRIC\n\
         reduces them.\n\
         {METHOD}"
    );
    let mut page = Page::with_comparison("khairy2015/fig11", session.is_quick, TITLE, &about, rows);
    let [before, after] = fails;
    let more = [("of them for MSHR entries", of_mshrs), ("cut, percent", cuts)];
    let table = app_table(&apps, 1, [("baseline", before), ("DWT-PRIC", after)].into_iter().chain(more));
    table.table(&mut page, "## Applications")?;
    table.chart(&mut page, "", Chart::new(TITLE, "cycles per thousand, and percent"), table.all());
    Ok(page)
}

/// Checks that an application has at least the average number of reservation fails even with DWT-PRIC, and
/// that the reason for most of its fails is that no MSHR entry is free.
fn high(name: &str, left: [f64; PAPER_FAILS], average: f64) -> ComparisonRow {
    let (all, mshrs) = (left.iter().sum::<f64>(), left[Fail::MshrEntry as usize]);
    let row = ComparisonRow::claim(
        Class::Sign,
        &format!("{name}, remaining reservation fails per thousand cycles"),
        &format!("{all:.0}, {mshrs:.0} of them for MSHR entries; the mean is {average:.0}"),
        "still many, mostly of MSHR entries",
        all >= average && left.iter().all(|reason| *reason <= mshrs),
    );
    row.explain_failure(|| {
        let counts = REASONS.iter().zip(left).map(|(reason, count)| format!("{reason} {count:.0}"));
        format!(
            "they are {}. MSHR_MIX_ENTRY counts loads of a line whose MSHR entry\n  \
             already has the maximum number of waiting warps",
            counts.collect::<Vec<_>>().join(", ")
        )
    })
}
