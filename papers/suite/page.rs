//! Results page about the suite of kernels, as Markdown and CSV.

use miette::{IntoDiagnostic, Report};
use rtl::sm::StallReason;

use super::Row;
use crate::page::table;
use warpsieve::run::ratio;
use warpsieve::text::format_thousands;

/// Our value and the reference value are regarded as different if the larger one is more than this many times
/// the smaller one. Used for instruction counts and for numbers of lines per load.
const FACTOR: f64 = 1.5;
/// Difference between our hit rate and the reference hit rate, in percentage points, above which the rates
/// are regarded as different.
const POINTS: f64 = 15.0;
/// Number of stall reasons that the table gives for each kernel: the most frequent ones.
const REASONS: usize = 3;

/// Our value of a quantity, and the reference value if there is one.
struct Pair {
    what: &'static str,
    ours: Option<f64>,
    theirs: Option<f64>,
    /// True if the ratio of the two values decides whether they are regarded as different; false if their
    /// difference in percentage points decides.
    by_factor: bool,
}

impl Row<'_> {
    fn pairs(&self) -> [Pair; 5] {
        let untimed = &self.untimed;
        let part = |part, whole| (whole > 0).then(|| 100.0 * ratio(part, whole));
        let theirs = self.reference;
        let pair = |what, ours, theirs, by_factor| Pair { what, ours, theirs, by_factor };
        let average = (untimed.loads > 0).then(|| ratio(untimed.lines, untimed.loads));
        [
            pair(
                "warp instructions",
                Some(untimed.warp_instructions as f64),
                theirs.and_then(|t| t.warp_instructions).map(|n| n as f64),
                true,
            ),
            pair("lines per load", average, theirs.and_then(|t| t.average), true),
            pair("maximum lines", Some(untimed.most as f64), theirs.and_then(|t| t.most).map(|n| n as f64), true),
            pair("L1 %", part(untimed.l1_hits, untimed.lines), theirs.and_then(|t| t.l1), false),
            pair("L2 %", part(untimed.l2_hits, untimed.l2_accesses), theirs.and_then(|t| t.l2), false),
        ]
    }

    /// Describes which of our values differ from the reference values.
    fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        for Pair { what, ours, theirs, by_factor } in self.pairs() {
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let (low, high) = (ours.min(theirs), ours.max(theirs));
            if by_factor && high > FACTOR * low {
                found.push(format!("{what} {:.1} times theirs", ours / theirs));
            } else if !by_factor && high - low > POINTS {
                found.push(format!("{what} {:+.0} points", ours - theirs));
            }
        }
        found
    }

    /// Formats our value and the reference value for each quantity. Lines per load are given as an average
    /// and a maximum.
    fn untimed_cells(&self) -> Vec<String> {
        let [instructions, average, most, l1, l2] = self.pairs();
        let count = |number: Option<f64>| number.map_or("-".to_owned(), |number| format_thousands(number as u64));
        let real = |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.1}"));
        let lines = |average, most: Option<f64>| match average {
            Some(_) => format!("{} / {}", real(average), most.map_or("-".to_owned(), |most| most.to_string())),
            None => "-".to_owned(),
        };
        vec![
            count(instructions.ours),
            count(instructions.theirs),
            lines(average.ours, most.ours),
            lines(average.theirs, most.theirs),
            real(l1.ours),
            real(l1.theirs),
            real(l2.ours),
            real(l2.theirs),
        ]
    }
}

const UNTIMED: [&str; 8] = ["warp instr.", "theirs", "lines per load", "theirs", "L1 %", "theirs", "L2 %", "theirs"];

pub(super) fn markdown(rows: &[Row<'_>], quick: bool) -> String {
    let command = if quick { "reproduce suite --quick" } else { "reproduce suite" };
    let mut text = format!(
        "# The suite\n\n\
         `cargo run --release -- {command}` writes this page and its CSV file.\n\n\
         ## On the clocked machine\n\
         Every kernel on `fermi`. L1 %: loads whose line was in the L1 or in flight. L2 %: the same for loads, stores and atomics.\n\
         Issued %: scheduler cycles that issued an instruction. Stalls %: the {REASONS} most frequent reasons for the other cycles.\n\n"
    );
    text.push_str(&clocked_table(rows));
    text.push_str(
        "\n## On untimed caches\n\
         Lines that warps request, and hits in caches where a line is present as soon as it is requested ([method](../checks.md#caches-without-time)).\n\
         *Theirs* are reference figures of other sources of the same algorithms; `kernels/suite.csv` states their origin. They are a guide,\n\
         not a target. Lines per load: average and maximum over the warp instructions that load.\n\n",
    );
    let head: Vec<_> = ["kernel", "size"].into_iter().chain(UNTIMED).collect();
    let cells = rows.iter().map(|row| [vec![row.kernel.clone(), row.size.clone()], row.untimed_cells()].concat());
    text.push_str(&table(&head, cells.collect(), 2));
    if !quick {
        text.push_str(&differences(rows));
    }
    text
}

fn clocked_table(rows: &[Row<'_>]) -> String {
    let head = ["kernel", "cycles", "IPC", "warp instr.", "L1 %", "L2 %", "issued %", "stalls %", "check"];
    let percent = |part: Option<f64>| part.map_or("-".to_owned(), |part| format!("{:.1}", 100.0 * part));
    let mut cells = Vec::new();
    for row in rows {
        let Some(clocked) = &row.clocked else { continue };
        let issued = clocked.shares.iter().find(|(reason, _)| *reason == StallReason::Issued);
        let mut stalls: Vec<_> = clocked.shares.iter().filter(|(reason, _)| *reason != StallReason::Issued).collect();
        stalls.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let stalls = stalls.iter().take(REASONS).filter(|(_, share)| *share >= 0.0005);
        let stalls: Vec<_> = stalls.map(|(reason, share)| format!("{} {:.1}", reason.name(), 100.0 * share)).collect();
        cells.push(vec![
            row.kernel.clone(),
            format_thousands(clocked.cycles),
            format!("{:.1}", clocked.ipc),
            format_thousands(clocked.warp_instructions),
            percent(clocked.l1),
            percent(clocked.l2),
            percent(issued.map(|(_, share)| *share)),
            stalls.join(", "),
            clocked.check.to_owned(),
        ]);
    }
    table(&head, cells, 1)
}

fn differences(rows: &[Row<'_>]) -> String {
    let mut text = format!(
        "\n## Differences from the reference figures\n\
         Instructions and lines that differ by more than a factor of {FACTOR}, and hit rates that differ by more than {POINTS} percentage points:\n\n"
    );
    for row in rows {
        let found = row.differences();
        if let (Some(reference), false) = (row.reference, found.is_empty()) {
            let why = if reference.why.is_empty() { "Not explained yet." } else { &reference.why };
            let (kernel, size) = (&row.kernel, &row.size);
            text.push_str(&format!("- `{kernel}`, {size} (theirs: {}): {}. {why}\n", reference.size, found.join(", ")));
        }
    }
    let parted = rows.iter().filter_map(|row| {
        let clocked = row.clocked.as_ref()?.warp_instructions;
        (clocked != row.untimed.warp_instructions).then(|| format!("`{}`", row.kernel))
    });
    let parted: Vec<_> = parted.collect();
    if !parted.is_empty() {
        let kernels = parted.join(", ");
        text.push_str(&format!(
            "\nThe clocked machine executes a different number of warp instructions than the untimed model for {kernels}: the work of\n\
             their warps depends on the order in which the warps run.\n"
        ));
    }
    text
}

pub(super) fn csv(rows: &[Row<'_>]) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut head: Vec<String> = ["kernel", "launch"].map(str::to_owned).into();
    for what in ["warp_instructions", "lines", "most_lines", "l1_percent", "l2_percent"] {
        head.extend([format!("untimed_{what}"), format!("reference_{what}")]);
    }
    head.extend(["cycles", "ipc", "warp_instructions", "l1_percent", "l2_percent", "check"].map(str::to_owned));
    // The column for instruction fetches that miss is left out. No machine of the suite has an instruction
    // cache, so this stall reason never occurs.
    let reasons = StallReason::ALL.iter().filter(|reason| **reason != StallReason::FetchMiss);
    head.extend(reasons.map(|reason| format!("{}_percent", reason.name())));
    writer.write_record(&head).into_diagnostic()?;
    let real = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.3}"));
    for row in rows {
        let mut cells = vec![row.kernel.clone(), row.size.clone()];
        cells.extend(row.pairs().iter().flat_map(|pair| [real(pair.ours), real(pair.theirs)]));
        match &row.clocked {
            Some(clocked) => {
                let percent = |part: Option<f64>| real(part.map(|part| 100.0 * part));
                cells.extend([
                    clocked.cycles.to_string(),
                    real(Some(clocked.ipc)),
                    clocked.warp_instructions.to_string(),
                ]);
                cells.extend([percent(clocked.l1), percent(clocked.l2), clocked.check.to_owned()]);
                cells.extend(clocked.shares.iter().map(|(_, share)| percent(Some(*share))));
            }
            None => cells.resize(head.len(), String::new()),
        }
        writer.write_record(&cells).into_diagnostic()?;
    }
    String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
}
