//! li2015 section 6.5: area and energy that the decoupled L1 costs, and the energy that it saves.

use std::path::Path;

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report, miette};

use super::{APPS, DESIGN, MACHINE};
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::runs::RunFailure;
use crate::structures::{block, scope};
use crate::table::row;
use crate::{FigureError, Session, index_of};
use warpsieve::config::ResolvedMachine;
use warpsieve::estimate::{Activity, Block, Energy};
use warpsieve::run::{Outcome, RunOptions, run};

/// Number of bits that the fields of section 4.1 add to an L1. There are 256 tags of 34 bits instead of 128
/// tags of 24 bits. In addition, each of 128 lines has two recency bits, and each of 32 sets has a 3-bit
/// count of free lines (0 to 4).
const ADDED_BITS: u64 = 256 * 34 - 128 * 24 + 128 * 2 + 32 * 3;
/// Applications with their energy savings in percent, according to the paper.
const SAVED: [(&str, f64); 3] = [("PTF", 10.4), ("BH", 14.7), ("SSSP", 11.4)];
/// Path of the L1 of one SM in the machine.
const L1: &str = "sm0.l1";

/// Cost of the tags and data of an L1, which form what CACTI calls a cache. The remaining units of the memory
/// pipeline are not included.
struct Cache {
    bits: u64,
    mm2: f64,
    leakage_mw: f64,
    /// Number of bits of the tags of one set, which a lookup reads at once.
    tag_bits: u32,
    /// Energy of one read of the memory that stores the tag entries, in pJ. A read returns the entries of one
    /// set.
    entries_pj: f64,
    /// Energy of reading each memory of the tag store once, in pJ.
    tag_read_pj: f64,
}

impl Cache {
    fn new(technology: &Technology, designs: &[&str]) -> Result<Self, Report> {
        let machine = block(technology, MACHINE, designs, &[])?;
        let (l1, tags) = (scope(&machine, L1)?, scope(&machine, &format!("{L1}.tags"))?);
        let array = |block: &Block, name: &str| {
            let found = block.arrays.iter().find(|array| array.name == name);
            found.cloned().ok_or_else(|| miette!("`{MACHINE}` has no array `{name}` in its L1"))
        };
        let (data, entries) = (array(l1, "data")?, array(tags, "entries")?);
        Ok(Self {
            bits: l1.bits,
            mm2: (tags.um2 + data.cost.um2) / 1e6,
            leakage_mw: tags.leakage_mw + data.cost.leakage_mw,
            tag_bits: entries.memory.width,
            entries_pj: entries.cost.read_pj.unwrap_or_default(),
            tag_read_pj: tags.arrays.iter().filter_map(|array| array.cost.read_pj).sum(),
        })
    }
}

/// Returns the dynamic energy and the leakage energy of each run, in pJ.
fn energies(session: &Session) -> Result<Vec<[f64; 2]>, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let apps = SAVED.iter().map(|(name, _)| &APPS[index_of(&APPS, name)]);
    let points: Vec<_> =
        apps.flat_map(|app| [app.point(session, &[], &[]), app.point(session, &["decoupled"], &[])]).collect();
    let options = RunOptions { structures: true, ..RunOptions::default() };
    session.runner.measure("energies", &points, &|launch: &Path, resolved: &ResolvedMachine| {
        let report = run(launch, &resolved.config, &options, &mut |_| {})?;
        match (&report.outcome, Activity::of(&report)) {
            (Outcome::Finished, Some(activity)) => {
                let Energy { dynamic_pj, leakage_pj, .. } =
                    Energy::of(&activity, technology, Node::N45, technology.hop_mm());
                Ok([dynamic_pj, leakage_pj])
            }
            (outcome, _) => Err(RunFailure::Failed(format!("{outcome:?}"))),
        }
    })
}

/// Explains why reading the tags of the decoupled L1 takes much more energy than reading those of the plain
/// L1.
fn wide(plain: &Cache, decoupled: &Cache) -> String {
    format!(
        "a lookup reads all {} bits of the tags of a set at once, together with the LRU order of its lines. The tags \
         of a set of the plain L1 have {} bits. For memories with one read and two write ports, which CACTI's points \
         do not cover, {:.1} times the width takes {:.1} times the energy in the closed-form model",
        decoupled.tag_bits,
        plain.tag_bits,
        f64::from(decoupled.tag_bits) / f64::from(plain.tag_bits),
        decoupled.entries_pj / plain.entries_pj
    )
}

/// Compares the structures that the decoupled L1 adds to the plain L1 with the overhead that the paper
/// states.
fn of_structures(plain: &Cache, decoupled: &Cache) -> [ComparisonRow; 4] {
    let bits = decoupled.bits - plain.bits;
    let area = 100.0 * (decoupled.mm2 / plain.mm2 - 1.0);
    let read = decoupled.tag_read_pj - plain.tag_read_pj;
    let published = format!("{ADDED_BITS}, from the fields of section 4.1");
    [
        ComparisonRow::claim(Class::Exact, "bits added to an L1", &bits.to_string(), &published, bits == ADDED_BITS),
        ComparisonRow::factor("area added to tags and data, %", area, 100.0 * 0.008 / 0.236, 0.0),
        ComparisonRow::factor("leakage added, mW", decoupled.leakage_mw - plain.leakage_mw, 1.7, 0.0),
        ComparisonRow::factor("energy added to a read, pJ", read, 2.0, 0.0).with_reason(&wide(plain, decoupled)),
    ]
}

/// Compares the energy that the decoupled L1 saves in one application with the saving that the paper states.
fn compare_saved((app, published): (&str, f64), [plain, decoupled]: &[[f64; 2]; 2]) -> ComparisonRow {
    let saved = |of: fn(&[f64; 2]) -> f64| 100.0 * (1.0 - of(decoupled) / of(plain));
    let all = |[dynamic, leakage]: &[f64; 2]| dynamic + leakage;
    let leakage = 100.0 * plain[1] / all(plain);
    let why = format!(
        "leakage, mostly of whole SMs, is {leakage:.0} % of the energy here and falls with the run time. The saving of \
         dynamic energy is {:.1} %",
        saved(|[dynamic, _]| *dynamic)
    );
    ComparisonRow::factor(&format!("energy saved, {app}, %"), saved(all), published, 0.0).with_reason(&why)
}

pub(in super::super) fn cost(session: &Session) -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let [plain, decoupled] = [&[DESIGN][..], &[DESIGN, "decoupled"]].map(|designs| Cache::new(technology, designs));
    let (plain, decoupled) = (plain?, decoupled?);
    let energies = energies(session)?;
    let pairs = energies.as_chunks().0;
    let mut rows: Vec<ComparisonRow> = of_structures(&plain, &decoupled).into();
    rows.extend(SAVED.into_iter().zip(pairs).map(|(published, pair)| compare_saved(published, pair)));
    let about = "Area and leakage are those of the tags and data of one L1 at 45 nm, and the read energy is that of\n\
    the tags of one set. They are estimated from the structures of the machine (`warpsieve area`); the paper uses\n\
    CACTI 6.5. Energy savings refer to the whole machine, including its DRAM, over the whole run (`run --energy`).";
    let title = "li2015, section 6.5: cost and energy";
    let mut page = Page::with_comparison("li2015/cost", session.is_quick, title, about, rows);
    let shown =
        |what: &str, plain: f64, decoupled: f64| row(what, [plain, decoupled].map(|value| format!("{value:.4}")));
    let mut cells = vec![
        row("bits of an L1", [plain.bits, decoupled.bits].map(|bits| bits.to_string())),
        shown("tags and data, mm2", plain.mm2, decoupled.mm2),
        shown("tags and data, leakage in mW", plain.leakage_mw, decoupled.leakage_mw),
        shown("read of the tags of a set, pJ", plain.tag_read_pj, decoupled.tag_read_pj),
    ];
    for ((app, _), pair) in SAVED.iter().zip(pairs) {
        let [plain, decoupled] = pair.map(|energy| energy.map(|pj| pj / 1e9));
        cells.push(shown(&format!("{app}, dynamic energy in mJ"), plain[0], decoupled[0]));
        cells.push(shown(&format!("{app}, leakage in mJ"), plain[1], decoupled[1]));
        let left = decoupled[0] / plain[0];
        cells.push(shown(&format!("{app}, dynamic energy, relative to the plain L1"), 1.0, left));
    }
    page.numbers(&["figure", "plain", "decoupled"], cells, 1)?;
    Ok(page)
}
