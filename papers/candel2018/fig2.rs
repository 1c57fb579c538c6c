//! Figure 2: three replacements of one line, which the text follows from cycle to cycle.

use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use tb::l2::figure2::{Replacement, replacements};

/// A cycle that the text states, or that follows from those which it does.
enum Published {
    Stated(u64),
    Follows(u64),
}

use Published::{Follows, Stated};

/// What is known of a request: its name, what of it, when, and where ours is.
type Known = (&'static str, &'static str, Published, fn(&Replacement) -> u64);

const CONVENTIONAL: [Known; 7] = [
    ("B", "attended to", Stated(10), |b| b.attended),
    ("B", "A gone, readable until then", Stated(90), |b| b.gone),
    ("B", "complete", Follows(200), |b| b.complete),
    ("C", "attended to", Stated(210), |c| c.attended),
    ("C", "complete", Stated(400), |c| c.complete),
    ("D", "attended to", Follows(410), |d| d.attended),
    ("D", "complete", Follows(600), |d| d.complete),
];
const WITH_FRC: [Known; 9] = [
    ("B", "fetch starts", Stated(10), |b| b.attended),
    ("B", "complete", Follows(120), |b| b.complete),
    ("B", "entry free", Follows(200), |b| b.gone),
    ("C", "fetch starts", Follows(100), |c| c.attended),
    ("C", "complete", Follows(210), |c| c.complete),
    ("C", "entry free", Follows(290), |c| c.gone),
    ("D", "fetch starts", Follows(250), |d| d.attended),
    ("D", "complete", Follows(360), |d| d.complete),
    ("D", "entry free", Follows(440), |d| d.gone),
];

pub(in super::super) fn fig2(desk: &Desk) -> Result<Page, Halt> {
    let (conventional, conventional_cycles) = replacements(0);
    let (with_frc, frc_cycles) = replacements(2);
    let flows = [("conventional", &CONVENTIONAL[..], conventional), ("FRC", &WITH_FRC[..], with_frc)];
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for (flow, known, found) in &flows {
        for (request, what, published, of) in *known {
            let [b, c, d] = found;
            let ours = of(match *request {
                "B" => b,
                "C" => c,
                _ => d,
            });
            let (cycle, how) = match published {
                Stated(cycle) => (*cycle, "stated"),
                Follows(cycle) => (*cycle, "follows"),
            };
            let name = format!("{request}, {flow}: {what}");
            rows.push(Row::claim(Class::Exact, &name, &ours.to_string(), &format!("{cycle} ({how})"), ours == cycle));
            cells.push([request, *flow, *what, ours.to_string().as_str(), how].map(str::to_owned).into());
        }
    }
    let about = "One bank of the L2 alone, with a set of one way: B, C and D ask for it at 0, 90 and 240. The text states the cycles marked so; a look-up\n\
         of 10 cycles, 80 to recall and evict a line, 110 to fetch one and swaps that take none are the only times that fit them, and the other\n\
         cycles follow from these. The text lets the fetch of C start at 90, when C arrives and has not been looked up; here it starts at 100.";
    let title = "candel2018, Figure 2: three replacements of one line";
    let mut page = Page::held("candel2018/fig2", desk.is_quick, title, about, rows);
    page.csv = comma_separated(&["request", "flow", "what", "cycle", "published"], &cells)?;
    page.text(&format!("## Conventional\n```text\n{conventional_cycles}```"));
    page.text(&format!("## With an FRC of two lines\n```text\n{frc_cycles}```"));
    Ok(page)
}
