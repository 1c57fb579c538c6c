//! Area that each scheme adds to the machine, and sizes of structures that follow from the text of the
//! papers.

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::kernel::Logic;

use crate::FigureError;
use crate::judge::ComparisonRow;
use crate::page::{Page, comma_separated};
use crate::structures::{block, counted_scope, counts, scope};
use warpsieve::estimate::Delta;

/// Designs that add structures to a machine, each paired with the design with which its area is compared.
const SCHEMES: [(&str, &str); 14] = [
    ("fermi-hash", "baseline"),
    ("pric", "baseline"),
    ("pdp", "baseline"),
    ("ship", "baseline"),
    ("streaming", "baseline"),
    ("decoupled", "baseline"),
    ("decoupled-dueling", "baseline"),
    ("mrpb", "baseline"),
    ("swl-1", "baseline"),
    ("dwt-cs", "baseline"),
    ("dwt-pric", "baseline"),
    ("ccws", "baseline"),
    ("transient", "baseline"),
    ("frc", "transient"),
];

const FERMI: &str = "fermi";

const HEAD: [&str; 9] =
    ["design", "against", "bits", "flip-flops", "mm2", "± mm2", "leakage mW", "% of all L1s", "% of the chip"];

pub(super) fn schemes() -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let chip = technology.chip();
    let (mut rows, mut mrpb) = (Vec::new(), Delta::default());
    for (design, against) in SCHEMES {
        let base = block(technology, FERMI, &[against], &[])?;
        let delta = block(technology, FERMI, &[design], &[])?.against(&base).delta.unwrap_or_default();
        if design == "mrpb" {
            mrpb = delta;
        }
        let Delta { bits, flops, um2, um2_error, leakage_mw } = delta;
        rows.push(vec![
            design.to_owned(),
            against.to_owned(),
            format!("{bits:+}"),
            format!("{flops:+}"),
            format!("{:+.4}", um2 / 1e6),
            format!("{:.4}", um2_error / 1e6),
            format!("{leakage_mw:+.3}"),
            format!("{:+.3}", 100.0 * um2 / base.um2_of("l1")),
            format!("{:+.4}", 100.0 * um2 / 1e6 / chip.mm2),
        ]);
    }
    let mut page = Page::new("area/schemes", false, "Area that each scheme adds");
    page.text(&format!(
        "The structures of `fermi` with a design minus those without it, at {} nm: bits of arrays, and flip-flops outside arrays, summed\n\
         over all 15 SMs and 6 partitions. The chip is a {} of {:.0} mm2. `warpsieve area --design NAME --against NAME` shows the blocks\n\
         that hold them. *± mm2* is the error of the model that 95 % of the compared structures do not exceed ([errors](errors.md)).",
        Node::N45.nm(),
        chip.name,
        chip.mm2,
    ));
    page.table(&HEAD, rows.clone(), 2);
    page.text(&explain_mrpb(technology, mrpb));
    page.add_rows(compare_published(technology)?);
    let names = ["design", "against", "bits", "flops", "mm2", "mm2_error", "leakage_mw", "l1_percent", "chip_percent"];
    page.csv = comma_separated(&names, &rows)?;
    Ok(page)
}

/// Explains the area that `mrpb` adds, which is by far the largest: its queues.
fn explain_mrpb(technology: &Technology, Delta { bits, flops, um2, .. }: Delta) -> String {
    let of_flops = technology.flops(Node::N45, flops.unsigned_abs()).um2;
    format!(
        "`mrpb` has one queue of 32 requests per warp, 48 in each of 15 L1s. Its requests without data are {flops} flip-flops, which take\n\
         {:.1} mm2. The data and byte masks of the stores that wait there are {bits} bits in one memory per L1, with one read and one write\n\
         per cycle; memory and logic take the other {:.1} mm2. All queues can be full of stores, so each request has room for a line.\n\
         Queues consist of flip-flops here, because all heads are examined in one cycle.",
        of_flops / 1e6,
        (um2 - of_flops) / 1e6,
    )
}

/// Compares the sizes of our structures with the sizes that follow from the text of the papers.
fn compare_published(technology: &Technology) -> Result<Vec<ComparisonRow>, Report> {
    let baseline = block(technology, FERMI, &["baseline"], &[])?;
    let decoupled = block(technology, FERMI, &["decoupled"], &[])?.against(&baseline);
    let tags = scope(&decoupled, "sm0.l1.tags")?.delta.unwrap_or_default().bits;
    let ccws = counts(FERMI, &["ccws"], &[])?;
    let victims = counted_scope(&ccws, "sm0.l1.victims")?.arrays.iter().find(|array| array.name == "tags");
    let victims = victims.map_or(0, |tags| tags.rows * tags.columns);
    let pric = block(technology, FERMI, &["pric"], &["l1.index.addr_bits=27"])?;
    let mut fan_ins = Vec::new();
    scope(&pric, "sm0.l1.tags")?.walk(&mut |_, block| {
        fan_ins.extend(block.logic.iter().filter_map(|piece| match piece.logic {
            Logic::XorTree { fan_in } => Some(fan_in.to_string()),
            _ => None,
        }));
    });
    let frc = block(technology, FERMI, &["frc"], &["l2.flow.frc.entries=64"])?;
    let lines = scope(&frc, "partition0.l2.frc")?.bits;
    // The table of a sharing tracker stores entries of one of two forms. The short form contains only the
    // number of the last sharer. The long form has one bit per L1, and the number of the L1 that supplies the
    // line next.
    let tables = |design| -> Result<u64, Report> {
        let machine = block(technology, "hybrid", &[design], &[])?;
        (0..8).map(|bank| Ok(scope(&machine, &format!("partition{bank}.tracker.table[0]"))?.bits)).sum()
    };
    let masks = tables("tracker")? - tables("tracker-last")?;
    let same = "the page of this paper has the same number and counts it as evidence";
    let echo = "it is the product of sizes that the configuration takes from the paper";
    Ok(vec![
        ComparisonRow::exact("bits that decoupled tags add to an SM (li2015 section 6.5)", tags, 5984)
            .mark_no_evidence(same),
        ComparisonRow::exact("victim tags of CCWS in an SM (khairy2015 section 5)", victims, 768)
            .mark_no_evidence(same),
        ComparisonRow::exact(
            "inputs of the XOR trees of PRIC (khairy2015 section 4.3)",
            fan_ins.join(", "),
            "10, 10, 10, 9, 9",
        )
        .mark_no_evidence(same),
        ComparisonRow::exact("bits of the 64 lines of an FRC (candel2018 section 5.1)", lines, 65_536)
            .mark_no_evidence(echo),
        ComparisonRow::exact("bits of the sharer masks of `hybrid`'s tracker (anssari2012 Table 4.1)", masks, 131_072)
            .mark_no_evidence(echo),
    ])
}
