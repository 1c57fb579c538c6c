//! candel2018 Figure 2: three replacements of the same L2 line, which the paper's text traces cycle by cycle.

use std::fs;

use miette::{Context, IntoDiagnostic};

use super::MACHINE;
use super::replacements::{Replacement, Times, replacements};
use crate::judge::ComparisonRow;
use crate::page::{Page, comma_separated};
use crate::runs::{Point, resolve_config};
use crate::{FigureError, Session};
use waves::atomic_file::Scratch;

/// Cycle of an event in the paper: stated in the text, or derived from other stated cycles.
enum PublishedCycle {
    Stated(u64),
    Follows(u64),
}

use PublishedCycle::{Follows, Stated};

/// Event that is expected for a request: name of the request, description of the event, cycle of the event in
/// the paper, and a function that returns the event's cycle in our model.
type ExpectedEvent = (&'static str, &'static str, PublishedCycle, fn(&Replacement) -> u64);

const CONVENTIONAL: [ExpectedEvent; 7] = [
    ("B", "replacement starts", Stated(10), |b| b.attended),
    ("B", "A evicted, readable until then", Stated(90), |b| b.gone),
    ("B", "complete", Follows(200), |b| b.complete),
    ("C", "replacement starts", Stated(210), |c| c.attended),
    ("C", "complete", Stated(400), |c| c.complete),
    ("D", "replacement starts", Follows(410), |d| d.attended),
    ("D", "complete", Follows(600), |d| d.complete),
];
const WITH_FRC: [ExpectedEvent; 9] = [
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

/// Kernel with one thread that follows a chain of pointers. Each load must wait for the previous load. So an
/// L2 bank with one way replaces one line at a time, and nothing else causes a stall.
const CHASE: &str = include_str!("../../tests/latency/chase.ptx");
const LAUNCH: &str = r#"
ptx = "chase.ptx"
[[buffer]]
name = "chain"
type = "u64"
elements = 4096
init = { iota = { start = 0x100100, step = 8 } }
[[buffer]]
name = "last"
type = "u64"
elements = 1
[[step]]
[[step.launch]]
kernel = "chase"
grid = [1]
block = [1]
args = ["chain", "last", { i32 = 4 }]
"#;
const ALONE: [&str; 4] = ["num_sms=1", "num_partitions=1", "l2.sets=1", "l2.ways=1"];

/// Measures the duration of each step of a replacement on a machine that is otherwise idle.
fn measure(session: &Session) -> Result<Times, FigureError> {
    let folder = Scratch::new().into_diagnostic().wrap_err("no folder for a kernel")?;
    let launch = folder.path().join("chase.toml");
    for (file, text) in [("chase.ptx", CHASE), ("chase.toml", LAUNCH)] {
        fs::write(folder.path().join(file), text).into_diagnostic().wrap_err("a kernel cannot be written")?;
    }
    let point = Point::new(&launch, MACHINE, &[], &ALONE);
    let look_up = resolve_config(MACHINE, &[], &ALONE)?.config.l2.lookup_latency;
    let done = session.runner.run_clocked(&[point])?;
    let counters = &done[0].counters;
    let stays = counters.totals().stages.l2;
    let bank = &counters.l2[0];
    let evict = bank.miss_delay as f64 / bank.evictions as f64;
    // The first load finds an empty way in the L2 bank, so it evicts no line.
    let others = stays.number as f64 * f64::from(look_up) + (stays.number - 1) as f64 * evict;
    let fetch = (stays.cycles as f64 - others) / stays.number as f64;
    Ok(Times { look_up, evict: evict.round() as u64, fetch: fetch.round() as u64 })
}

pub(in super::super) fn fig2(session: &Session) -> Result<Page, FigureError> {
    let stated = Times::OF_THE_FIGURE;
    let play = |entries, times| replacements(entries, times).into_diagnostic().wrap_err("the bank cannot run");
    let (conventional, conventional_cycles) = play(0, stated)?;
    let (with_frc, frc_cycles) = play(2, stated)?;
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
            if matches!(published, Stated(_)) {
                rows.push(ComparisonRow::exact(&name, ours, cycle));
            }
            cells.push([request, *flow, *what, &ours.to_string(), &cycle.to_string(), how].map(str::to_owned).into());
        }
    }
    let ours = measure(session)?;
    let Times { look_up, evict, fetch } = ours;
    for (what, cycles, published) in [
        ("latency of a single eviction, on our machine", evict, stated.evict),
        ("latency of a single fetch, on our machine", fetch, stated.fetch),
    ] {
        rows.push(ComparisonRow::factor(what, cycles as f64, published as f64, 0.0));
    }
    let about = "A single L2 bank with one set of one way, which holds line A. Requests for the lines B, C and D\n\
         arrive at cycles 0, 90 and 240. The column *how* marks the cycles that the text of the paper states. Only\n\
         one set of latencies fits them: 10 cycles for a lookup, 80 to recall and evict a line, 110 to fetch a line,\n\
         and none for a swap. The other cycles follow from these latencies. In the text, the fetch of C starts at 90,\n\
         when C arrives and has not been looked up yet. Here it starts at 100.";
    let title = "candel2018, Figure 2: three replacements of one line";
    let mut page = Page::with_comparison("candel2018/fig2", session.is_quick, title, about, rows);
    page.csv = comma_separated(&["request", "flow", "what", "cycle", "published", "how"], &cells)?;
    page.table(&["request", "flow", "what", "cycle", "published", "how"], cells, 6);
    page.text(&format!("## Conventional\n```text\n{conventional_cycles}```"));
    page.text(&format!("## With an FRC of two lines\n```text\n{frc_cycles}```"));
    page.text(&format!(
        "## With the latencies of our machine\n\
         On `{MACHINE}` with one set of one way, a thread follows a pointer chain. A lookup takes {look_up} cycles,\n\
         an eviction {evict} (with the recall from the L1 and the acknowledgment from memory), and a fetch {fetch}.\n\
         The three replacements with these latencies, first without and then with an FRC:\n\
         ```text\n{}\n{}```",
        play(0, ours)?.1,
        play(2, ours)?.1
    ));
    Ok(page)
}
