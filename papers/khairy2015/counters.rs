//! Section 4.2: what DWT-CS needs to detect thrashing, against the victim tags of CCWS.

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::machine::Machine;

use super::MACHINE;
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};
use warpsieve::config::{Request, Resolved};
use warpsieve::estimate::Block;
use warpsieve::readers::Counts;

/// The chip of a GTX 480, in square millimetres.
const CHIP: f64 = 529.0;

/// What a design adds to the machine.
struct Added {
    design: &'static str,
    bits: u64,
    flops: u64,
    um2: f64,
}

/// The structures of the machine with a design.
fn counted(design: &str) -> Result<Counts, Report> {
    let request = Request { machine: MACHINE.to_owned(), designs: vec![design.to_owned()], sets: Vec::new() };
    Ok(Counts::of(&Machine::new(&Resolved::new(&request)?.config)))
}

/// The scope at a path.
fn scope<'a>(counts: &'a Counts, path: &[&str]) -> Option<&'a Counts> {
    path.iter().try_fold(counts, |scope, name| scope.children.iter().find(|inner| inner.block == *name))
}

pub(in super::super) fn counters() -> Result<Page, Halt> {
    let technology = Technology::built_in().into_diagnostic()?;
    let block = |design: &str| Ok::<_, Report>(Block::of(&counted(design)?, &technology, Node::N45));
    let baseline = block("baseline")?;
    let added = |design: &'static str| -> Result<Added, Report> {
        let with = block(design)?;
        let (bits, flops, um2) = (with.bits - baseline.bits, with.flops - baseline.flops, with.um2 - baseline.um2);
        Ok(Added { design, bits, flops, um2 })
    };
    let (dwt, ccws) = (added("dwt-cs")?, added("ccws")?);
    let with_ccws = counted("ccws")?;
    let tags =
        scope(&with_ccws, &["sm0", "l1", "victims"]).and_then(|at| at.arrays.iter().find(|array| array.name == "tags"));
    let (victims, victim_bits) = tags.map_or((0, 0), |tags| (tags.rows * tags.columns, tags.bits()));
    let monitor = scope(&counted("dwt-cs")?, &["sm0", "core", "dwt"]).map_or(0, |monitor| monitor.flops);
    let state = |added: &Added| (added.bits + added.flops) as f64;
    let times = |more: f64, less: f64| format!("{:.1} times", more / less);
    let mut page = Page::new("khairy2015/counters", false, "khairy2015 section 4.2: two counters against victim tags");
    page.text(&format!(
        "The paper holds that DWT-CS needs negligible hardware to detect thrashing, two counters a core and a few registers for the best\n\
         numbers of warps, where CCWS needs victim tag arrays of {} tags a core (Table 4). Here by structures: what `dwt-cs` and `ccws` add to `fermi`,\n\
         the links to the coordinator included, at 45 nm.",
        16 * 48
    ));
    page.judged(vec![
        Row::claim(Class::Exact, "victim tags a core", &victims.to_string(), "768", victims == 768),
        Row::claim(
            Class::Sign,
            "flip-flops of a core's monitor",
            &format!("{monitor}, against {victim_bits} bits of victim tags"),
            "two counters and a few registers: fewer",
            monitor < victim_bits,
        ),
        Row::claim(
            Class::Sign,
            "state of CCWS over that of DWT-CS",
            &times(state(&ccws), state(&dwt)),
            "more",
            state(&ccws) > state(&dwt),
        ),
        Row::claim(
            Class::Sign,
            "area of CCWS over that of DWT-CS",
            &times(ccws.um2, dwt.um2),
            "more",
            ccws.um2 > dwt.um2,
        ),
    ]);
    let head = ["design", "memory bits", "flip-flops", "mm2", "% of the chip"];
    let cells: Vec<_> = [&dwt, &ccws]
        .into_iter()
        .map(|Added { design, bits, flops, um2 }| {
            let mm2 = um2 / 1e6;
            vec![
                (*design).to_owned(),
                bits.to_string(),
                flops.to_string(),
                format!("{mm2:.4}"),
                format!("{:.4}", 100.0 * mm2 / CHIP),
            ]
        })
        .collect();
    page.csv = comma_separated(&head, &cells)?;
    page.table(&head, cells, 1);
    Ok(page)
}
