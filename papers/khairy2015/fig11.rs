//! Figure 11: refusals of the L1 that DWT-PRIC avoids.

use rtl::l1::watch::Fail;

use super::fig4::REASONS;
use super::plot::Plot;
use super::{CONTENTION, DWT_PRIC, METHOD, apps, cut, explained, fails_per_kilocycle, measured};
use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row, mean};
use crate::page::Page;

/// Those that lose up to 90 % of their refusals, and up to 60 %.
const FALLING: [(&str, f64); 6] =
    [("2DCONV", 90.0), ("KM", 90.0), ("GESUMMV", 90.0), ("MM", 60.0), ("IIX", 60.0), ("SYRK", 60.0)];
/// Those that go on being refused, of MSHR entries above all.
const HIGH: [&str; 2] = ["SCLUSTER", "SRAD"];

pub(in super::super) fn fig11(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&CONTENTION);
    let machines: [&[&str]; 2] = [&[], DWT_PRIC];
    let done = measured(desk, &apps, &machines.map(|designs| (designs, &[][..])))?;
    let fails = [0, 1]
        .map(|machine| done.iter().map(|runs| fails_per_kilocycle(&runs[machine]).iter().sum()).collect::<Vec<f64>>());
    let cuts: Vec<f64> = fails[0].iter().zip(&fails[1]).map(|(before, after)| cut(*before, *after)).collect();
    let left_of = |at: usize| fails_per_kilocycle(&done[at][1]);
    let of_mshrs: Vec<f64> = (0..apps.len()).map(|at| left_of(at)[Fail::MshrEntry as usize]).collect();
    let at = |name: &str| apps.iter().position(|app| app.name == name).unwrap_or_default();
    let average = mean(&cuts).unwrap_or(f64::NAN);
    let left = mean(&fails[1]).unwrap_or(f64::NAN);
    let mut rows = vec![Row::sign("refusals cut by percent, mean", average, 20.0, (0.0, 0.0))];
    for (name, published) in FALLING {
        rows.push(Row::sign(&format!("{name}, refusals cut by percent"), cuts[at(name)], published, (0.0, 0.0)));
    }
    for name in HIGH {
        let (all, mshrs) = (fails[1][at(name)], of_mshrs[at(name)]);
        let row = Row::claim(
            Class::Sign,
            &format!("{name}, refusals left a thousand cycles"),
            &format!("{all:.0}, {mshrs:.0} of them for MSHR entries; the mean is {left:.0}"),
            "still many, of MSHR entries above all",
            all >= left && left_of(at(name)).iter().all(|reason| *reason <= mshrs),
        );
        rows.push(explained(row, || {
            let counts = REASONS.iter().zip(left_of(at(name))).map(|(reason, count)| format!("{reason} {count:.0}"));
            format!(
                "they are {}; MSHR_MIX_ENTRY counts loads of a line that as many warps as an MSHR entry\n  \
                 holds wait for already",
                counts.collect::<Vec<_>>().join(", ")
            )
        }));
    }
    let about = format!(
        "Cycles of a thousand in which an L1 refused the load at its head, mean of the SMs, on the baseline and with DWT-PRIC (designs `dwt-pric`\n\
         and `streaming-l2`), and by how many percent DWT-PRIC cuts them. {METHOD}"
    );
    let [before, after] = fails;
    Plot {
        figure: "khairy2015/fig11",
        title: "khairy2015, Figure 11: refusals of the L1",
        about: &about,
        unit: "cycles of a thousand, and percent",
        places: 1,
        neutral: None,
        columns: &[
            ("baseline", before),
            ("DWT-PRIC", after),
            ("of them for MSHR entries", of_mshrs),
            ("cut, percent", cuts),
        ],
    }
    .page(desk, &apps, rows)
}
