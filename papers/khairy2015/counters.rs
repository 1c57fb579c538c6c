//! khairy2015 section 4.2: hardware that DWT-CS needs to detect thrashing, compared with the victim tags of
//! CCWS.

use ::area::Technology;
use miette::{IntoDiagnostic, Report};

use super::MACHINE;
use crate::FigureError;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::structures::{block, counted_scope, counts};

/// Area of the GTX 480 chip, in mm2.
const CHIP: f64 = 529.0;
/// Number of victim tags of CCWS per SM: 16 tags for each of the 48 warps (Table 4).
const VICTIMS: u32 = 16 * 48;

/// Minimum ratio of the size of CCWS's state to the size of DWT-CS's state at which the state of DWT-CS is
/// regarded as negligible.
const NEGLIGIBLE: f64 = 10.0;

/// Memory bits, flip-flops and area that a design adds to the machine.
struct AddedStructures {
    design: &'static str,
    bits: u64,
    flops: u64,
    um2: f64,
}

impl AddedStructures {
    fn new(technology: &Technology, design: &'static str) -> Result<Self, Report> {
        let [with, without] = [design, "baseline"].map(|design| block(technology, MACHINE, &[design], &[]));
        let (with, without) = (with?, without?);
        let (bits, flops, um2) = (with.bits - without.bits, with.flops - without.flops, with.um2 - without.um2);
        Ok(Self { design, bits, flops, um2 })
    }

    fn state(&self) -> f64 {
        (self.bits + self.flops) as f64
    }

    fn cells(&self) -> Vec<String> {
        let Self { design, bits, flops, um2 } = self;
        let mm2 = um2 / 1e6;
        let area = [format!("{mm2:.4}"), format!("{:.4}", 100.0 * mm2 / CHIP)];
        [(*design).to_owned(), bits.to_string(), flops.to_string()].into_iter().chain(area).collect()
    }
}

pub(in super::super) fn counters() -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let (dwt, ccws) = (AddedStructures::new(technology, "dwt-cs")?, AddedStructures::new(technology, "ccws")?);
    let about = format!(
        "The paper states that DWT-CS needs negligible hardware to detect thrashing: two counters per core and a few\n\
         registers for the best numbers of warps. CCWS needs victim tag arrays of {VICTIMS} tags per core (Table 4).\n\
         The table shows the structures that `dwt-cs` and `ccws` add to `fermi`, including the links to the\n\
         coordinator, at 45 nm."
    );
    let title = "khairy2015 section 4.2: two counters against victim tags";
    let mut page = Page::with_comparison("khairy2015/counters", false, title, &about, rows(&dwt, &ccws)?);
    let head = ["design", "memory bits", "flip-flops", "mm2", "% of the chip"];
    page.numbers(&head, vec![dwt.cells(), ccws.cells()], 1)?;
    Ok(page)
}

fn rows(dwt: &AddedStructures, ccws: &AddedStructures) -> Result<Vec<ComparisonRow>, Report> {
    let with_ccws = counts(MACHINE, &["ccws"], &[])?;
    let tags = counted_scope(&with_ccws, "sm0.l1.victims")?.arrays.iter().find(|array| array.name == "tags");
    let (victims, victim_bits) = tags.map_or((0, 0), |tags| (tags.rows * tags.columns, tags.bits()));
    let monitor = counted_scope(&counts(MACHINE, &["dwt-cs"], &[])?, "sm0.core.dwt")?.flops;
    let more = ccws.state() / dwt.state();
    let ours =
        format!("{more:.1} times; {monitor} flip-flops of a core's monitor against {victim_bits} bits of victim tags");
    let published =
        format!("two counters and a few registers against victim tags, here at least {NEGLIGIBLE:.0} times");
    Ok(vec![
        ComparisonRow::exact("victim tags per core", victims, VICTIMS)
            .mark_no_evidence("Table 4 and the design `ccws` have the same number"),
        ComparisonRow::claim(Class::Sign, "state of CCWS over that of DWT-CS", &ours, &published, more >= NEGLIGIBLE),
    ])
}
