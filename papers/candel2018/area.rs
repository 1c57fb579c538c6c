//! candel2018 section 5.1: area of a Fetch and Replacement Cache (FRC) next to an L2 bank, compared with the
//! area of a second bank.

use ::area::Technology;
use miette::{IntoDiagnostic, Report};

use crate::FigureError;
use crate::judge::{ComparisonRow, Effect};
use crate::page::{Page, comma_separated};
use crate::runs::resolve_config;
use crate::structures::{block, scope};
use warpsieve::estimate::Block;

/// FRC sizes in the paper, as numbers of entries.
const ENTRIES: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// FRC sizes (numbers of entries) that the paper recommends for most kernels. With each size: the paper's
/// ratio of the area of a second bank to the area of the FRC.
const CLAIMED: [(u32, u32); 2] = [(32, 64), (64, 32)];
/// Number of lines of the L2 bank in the paper: 128 KB in lines of 64 bytes.
const PAPER_LINES: u32 = 2048;
const MACHINE: &str = "fermi";

const HEAD: [&str; 7] =
    ["FRC lines", "bank / FRC lines", "bits", "FRC mm2", "second bank mm2", "area ratio", "ratio in the paper"];

/// Computes the area and energy cost of an L2 bank and of all components inside it.
fn bank(technology: &Technology, design: &str, sets: &[&str]) -> Result<Block, Report> {
    Ok(scope(&block(technology, MACHINE, &[design], sets)?, "partition0.l2")?.clone())
}

/// Cost that an FRC with `entries` entries adds to an L2 bank.
struct FrcCost {
    entries: u32,
    /// Number of lines in the L2 bank.
    lines: u32,
    bits: u64,
    mm2: f64,
    /// Area that a second L2 bank would add, in mm2.
    twice_mm2: f64,
}

impl FrcCost {
    /// Returns the area of a second L2 bank divided by the area of the FRC.
    fn times(&self) -> f64 {
        self.twice_mm2 / self.mm2
    }

    fn of_paper(&self) -> u32 {
        PAPER_LINES / self.entries
    }

    fn cells(&self) -> Vec<String> {
        let Self { entries, lines, bits, mm2, twice_mm2 } = self;
        let area = [format!("{mm2:.4}"), format!("{twice_mm2:.4}"), format!("{:.1}", self.times())];
        let counts = [entries.to_string(), (lines / entries).to_string(), bits.to_string()];
        counts.into_iter().chain(area).chain([self.of_paper().to_string()]).collect()
    }

    /// Compares our area of a second L2 bank, divided by our area of the FRC, with this ratio in the paper.
    /// The paper gives the ratio only for some FRC sizes.
    fn rows(&self) -> Vec<ComparisonRow> {
        let Some((entries, times)) = CLAIMED.into_iter().find(|(of, _)| *of == self.entries) else { return Vec::new() };
        let area = format!("area of a second bank / area of an FRC of {entries} lines");
        vec![
            ComparisonRow::exact(
                &format!("lines of a second bank / lines of an FRC of {entries}"),
                self.of_paper(),
                times,
            )
            .mark_no_evidence("the ratio follows from two configured numbers"),
            ComparisonRow::sign(&area, self.times(), f64::from(times), Effect::RATIO).explain_failure(|| {
                format!(
                    "the {} bits of the FRC take {:.3} mm2, and the second bank takes {:.3} mm2: a small memory has \
                     more peripheral circuitry per bit, the data array of the FRC has extra ports for swaps, and its \
                     tags and states are registers that are searched in place",
                    self.bits, self.mm2, self.twice_mm2
                )
            }),
        ]
    }
}

fn estimate_frcs(technology: &Technology) -> Result<Vec<FrcCost>, Report> {
    let l2 = resolve_config(MACHINE, &["transient"], &[])?.config.l2;
    let single = bank(technology, "transient", &[])?;
    let twice = bank(technology, "transient", &[&format!("l2.sets={}", 2 * l2.sets)])?;
    let mm2 = |with: &Block| (with.um2 - single.um2) / 1e6;
    let added = |entries: u32| {
        let with = bank(technology, "frc", &[&format!("l2.flow.frc.entries={entries}")])?;
        let bits = with.bits - single.bits;
        Ok(FrcCost { entries, lines: l2.ways * l2.sets, bits, mm2: mm2(&with), twice_mm2: mm2(&twice) })
    };
    ENTRIES.into_iter().map(added).collect()
}

pub(super) fn area() -> Result<Page, FigureError> {
    let added = estimate_frcs(Technology::built_in().into_diagnostic()?)?;
    let lines = added.first().map_or(0, |added| added.lines);
    let mut page = Page::new("candel2018/area", false, "candel2018 section 5.1: the area of an FRC");
    page.text(&format!(
        "The paper claims that an FRC of 32 or 64 lines takes 64 or 32 times less area than doubling a bank of 128 KB\n\
         from 16 to 32 ways. This is the number of added lines ({PAPER_LINES} lines of 64 bytes), divided by the\n\
         lines of the FRC. By number of lines, the claim is exact. This page compares estimated areas at 45 nm\n\
         instead: the area that the design `frc` adds to a bank of `fermi` (128 KB, {lines} lines of 128 bytes) with\n\
         the design `transient`, and the area that twice as many sets add (here, a set has at most 16 ways). Both\n\
         include tags, states and logic."
    ));
    let cells: Vec<_> = added.iter().map(FrcCost::cells).collect();
    page.table(&HEAD, cells.clone(), 0);
    page.text(
        "The ratio of areas is lower than the ratio of lines for three reasons. A small memory has more peripheral\n\
         circuitry per bit, and a memory of at most 16 lines consists of flip-flops. A swap needs its own ports. Tags\n\
         and states are registers that are searched in place.",
    );
    page.add_rows(added.iter().flat_map(FrcCost::rows).collect());
    let names = ["entries", "lines_ratio", "bits", "frc_mm2", "bank_mm2", "times", "paper_lines_ratio"];
    page.csv = comma_separated(&names, &cells)?;
    Ok(page)
}
