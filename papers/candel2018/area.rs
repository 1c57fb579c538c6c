//! candel2018 section 5.1: what an FRC costs, against twice the bank.

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report, miette};
use rtl::machine::Machine;

use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use warpsieve::config::{Request, Resolved};
use warpsieve::estimate::Block;
use warpsieve::readers::Counts;

/// Entries of the FRCs that the paper looks at.
const ENTRIES: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// Those that most of its kernels do best with, and how many times smaller than a second bank it finds them.
const CLAIMED: [(u32, u32); 2] = [(32, 64), (64, 32)];
/// Lines of the paper's bank: 128 KB in lines of 64 bytes.
const PAPER_LINES: u32 = 2048;
/// The scope that is compared: a bank with all that belongs to it.
const BANK: [&str; 2] = ["partition0", "l2"];

const HEAD: [&str; 7] =
    ["FRC lines", "bank / FRC lines", "bits", "FRC mm2", "twice the bank mm2", "times", "in the paper, by lines"];

pub(super) fn area() -> Result<Page, Halt> {
    let technology = Technology::built_in().into_diagnostic()?;
    let bank = |design: &str, set: &str| bank(&technology, design, set);
    let l2 = resolved("transient", "")?.config.l2;
    let lines = l2.ways * l2.sets;
    let single = bank("transient", "")?;
    let twice = bank("transient", &format!("l2.sets={}", 2 * l2.sets))?;
    let more = (twice.um2 - single.um2) / 1e6;
    let mut rows = Vec::new();
    let mut judged = Vec::new();
    for entries in ENTRIES {
        let with = bank("frc", &format!("l2.flow.frc.entries={entries}"))?;
        let added = (with.um2 - single.um2) / 1e6;
        let paper = PAPER_LINES / entries;
        if let Some((_, times)) = CLAIMED.iter().find(|(of, _)| *of == entries) {
            let what = format!("lines of a second bank over {entries} of an FRC");
            judged.push(Row::claim(Class::Exact, &what, &paper.to_string(), &times.to_string(), *times == paper));
            let what = format!("area of a second bank over that of an FRC of {entries} lines");
            judged.push(Row::sign(&what, more / added, f64::from(*times), (1.0, 0.0)));
        }
        rows.push(vec![
            entries.to_string(),
            (lines / entries).to_string(),
            (with.bits - single.bits).to_string(),
            format!("{added:.4}"),
            format!("{more:.4}"),
            format!("{:.1}", more / added),
            paper.to_string(),
        ]);
    }
    let mut page = Page::new("candel2018/area", false, "candel2018 section 5.1: the area of an FRC");
    page.text(&format!(
        "The paper holds that an FRC of 32 or 64 lines takes 64 and 32 times less area than doubling a bank of 128 KB from 16 ways\n\
         to 32: {PAPER_LINES} lines of 64 bytes by as many of the FRC. By lines that is so, exactly. Here it is by structures, at\n\
         45 nm: what the design `frc` adds to a bank of `fermi` (128 KB, {lines} lines of 128 bytes) with the design `transient`, and what\n\
         twice its sets add (a set has 16 ways at most here). Tags, states and logic are in both."
    ));
    page.table(&HEAD, rows.clone(), 0);
    page.text(
        "By structures an FRC is smaller by less than its lines are fewer, because a small memory has more around each bit (one of 16\n\
         lines or fewer is of flip-flops), a swap needs ports of its own, and tags and states are registers, which are searched in\n\
         place.",
    );
    page.judged(judged);
    let names = ["entries", "lines_ratio", "bits", "frc_mm2", "bank_mm2", "times", "paper_lines_ratio"];
    page.csv = comma_separated(&names, &rows)?;
    Ok(page)
}

fn resolved(design: &str, set: &str) -> Result<Resolved, Report> {
    let sets = if set.is_empty() { Vec::new() } else { vec![set.to_owned()] };
    Ok(Resolved::new(&Request { machine: "fermi".to_owned(), designs: vec![design.to_owned()], sets })?)
}

/// A bank of a machine, priced.
fn bank(technology: &Technology, design: &str, set: &str) -> Result<Block, Report> {
    let counts = Counts::of(&Machine::new(&resolved(design, set)?.config));
    let machine = Block::of(&counts, technology, Node::N45);
    let found = BANK.iter().try_fold(&machine, |block, name| block.children.iter().find(|child| child.block == *name));
    found.cloned().ok_or_else(|| miette!("`fermi` has no scope {}", BANK.join(".")))
}
