//! Section 6.5: what the decoupled L1 costs, and what it saves.

use std::path::Path;

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report, miette};
use rtl::machine::Machine;

use super::{APPS, DESIGN, MACHINE};
use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use crate::runs::Trouble;
use warpsieve::config::{Request, Resolved};
use warpsieve::estimate::{Activity, Block, Energy};
use warpsieve::readers::Counts;
use warpsieve::run::{Outcome, RunOptions, run};

/// Bits that the fields of section 4.1 add to an L1: 256 tags of 34 bits instead of 128 of 24, two bits of
/// recency for each of 128 lines, and a count of free lines, 0 to 4, for each of 32 sets.
const ADDED_BITS: u64 = 256 * 34 - 128 * 24 + 128 * 2 + 32 * 3;
/// Applications whose energy the paper states, and how much of it is saved, in percent.
const SAVED: [(&str, f64); 3] = [("PTF", 10.4), ("BH", 14.7), ("SSSP", 11.4)];
/// The scope of an L1.
const L1: [&str; 2] = ["sm0", "l1"];

/// What tags and data of an L1 cost, without the rest of the memory pipeline, as CACTI sees a cache.
struct Cache {
    bits: u64,
    mm2: f64,
    leakage_mw: f64,
    /// Of a read of all fields of the tags of a set.
    tag_read_pj: f64,
}

impl Cache {
    fn new(technology: &Technology, designs: &[&str]) -> Result<Self, Report> {
        let request = Request {
            machine: MACHINE.to_owned(),
            designs: designs.iter().map(|design| (*design).to_owned()).collect(),
            sets: Vec::new(),
        };
        let counts = Counts::of(&Machine::new(&Resolved::new(&request)?.config));
        let machine = Block::of(&counts, technology, Node::N45);
        let inside = |block: &Block, name: &str| block.children.iter().find(|child| child.block == name).cloned();
        let l1 = L1.iter().try_fold(machine, |block, name| inside(&block, name));
        let missing = || miette!("`{MACHINE}` has no scope {}.tags with an array `data` beside it", L1.join("."));
        let l1 = l1.ok_or_else(missing)?;
        let tags = inside(&l1, "tags").ok_or_else(missing)?;
        let data = l1.arrays.iter().find(|array| array.name == "data").ok_or_else(missing)?;
        Ok(Self {
            bits: l1.bits,
            mm2: (tags.um2 + data.cost.um2) / 1e6,
            leakage_mw: tags.leakage_mw + data.cost.leakage_mw,
            tag_read_pj: tags.arrays.iter().filter_map(|array| array.cost.read_pj).sum(),
        })
    }
}

/// Energy of each run in pJ: of events, and by leakage.
fn energies(desk: &Desk) -> Result<Vec<[f64; 2]>, Halt> {
    let technology = Technology::built_in().into_diagnostic()?;
    let apps = SAVED.iter().filter_map(|(name, _)| APPS.iter().find(|app| app.name == *name));
    let points: Vec<_> =
        apps.flat_map(|app| [app.point(desk, &[], &[]), app.point(desk, &["decoupled"], &[])]).collect();
    let options = RunOptions { structures: true, ..RunOptions::default() };
    desk.runner.measure("energies", &points, &|launch: &Path, resolved: &Resolved| {
        let report = run(launch, &resolved.config, &options, &mut |_| {})?;
        match (&report.outcome, Activity::of(&report)) {
            (Outcome::Finished, Some(activity)) => {
                let Energy { dynamic_pj, leakage_pj, .. } =
                    Energy::of(&activity, &technology, Node::N45, technology.hop_mm());
                Ok([dynamic_pj, leakage_pj])
            }
            (outcome, _) => Err(Trouble::Failed(format!("{outcome:?}"))),
        }
    })
}

const WIDE: &str = "all 272 bits of the tags of a set are read at once, and with them the order of its lines; the plain tags of a set are 100 bits. In \
     memories of one read and two write ports, outside of CACTI's points, 2.7 times the width takes 4.4 times the energy by the closed form";

pub(in super::super) fn cost(desk: &Desk) -> Result<Page, Halt> {
    let technology = Technology::built_in().into_diagnostic()?;
    let [plain, decoupled] = [&[DESIGN][..], &[DESIGN, "decoupled"]].map(|designs| Cache::new(&technology, designs));
    let (plain, decoupled) = (plain?, decoupled?);
    let energies = energies(desk)?;
    let bits = decoupled.bits - plain.bits;
    let area = 100.0 * (decoupled.mm2 / plain.mm2 - 1.0);
    let mut rows = vec![
        Row::claim(
            Class::Exact,
            "bits added to an L1",
            &bits.to_string(),
            &format!("{ADDED_BITS}, by its fields"),
            bits == ADDED_BITS,
        ),
        Row::factor("area added to tags and data, %", area, 100.0 * 0.008 / 0.236, 0.0),
        Row::factor("leakage added, mW", decoupled.leakage_mw - plain.leakage_mw, 1.7, 0.0),
        Row::factor("energy added to a read, pJ", decoupled.tag_read_pj - plain.tag_read_pj, 2.0, 0.0).because(WIDE),
    ];
    for ((app, published), pair) in SAVED.iter().zip(energies.chunks(2)) {
        let saved = |of: fn(&[f64; 2]) -> f64| 100.0 * (1.0 - of(&pair[1]) / of(&pair[0]));
        let all = |[dynamic, leakage]: &[f64; 2]| dynamic + leakage;
        let leakage = 100.0 * pair[0][1] / all(&pair[0]);
        let why = format!(
            "leakage is {leakage:.0} % of the energy here, that of whole SMs most of all, and falls with the time of the run; of the rest {:.1} % is saved",
            saved(|[dynamic, _]| *dynamic)
        );
        rows.push(Row::factor(&format!("energy saved, {app}, %"), saved(all), *published, 0.0).because(&why));
    }

    let mut page = Page::new("li2015/cost", desk.is_quick, "li2015, section 6.5: cost and energy");
    page.text(
        "Tags and data of one L1 at 45 nm, estimated from the structures of the machine (`warpsieve area`); the paper has them from CACTI 6.5.\n\
         Energy is that of the whole machine with its DRAM over the run (`run --energy`).",
    );
    page.judged(rows);
    let head = ["figure", "plain", "decoupled"];
    let row = |what: &str, plain: f64, decoupled: f64| {
        [vec![what.to_owned()], [plain, decoupled].map(|value| format!("{value:.4}")).to_vec()].concat()
    };
    let mut cells = vec![
        vec!["bits of an L1".to_owned(), plain.bits.to_string(), decoupled.bits.to_string()],
        row("tags and data, mm2", plain.mm2, decoupled.mm2),
        row("tags and data, leakage in mW", plain.leakage_mw, decoupled.leakage_mw),
        row("read of the tags of a set, pJ", plain.tag_read_pj, decoupled.tag_read_pj),
    ];
    for ((app, _), pair) in SAVED.iter().zip(energies.chunks(2)) {
        let [plain, decoupled] = [pair[0], pair[1]].map(|energy| energy.map(|pj| pj / 1e9));
        cells.push(row(&format!("{app}, dynamic energy in mJ"), plain[0], decoupled[0]));
        cells.push(row(&format!("{app}, leakage in mJ"), plain[1], decoupled[1]));
    }
    page.csv = comma_separated(&head, &cells)?;
    page.table(&head, cells, 1);
    Ok(page)
}
