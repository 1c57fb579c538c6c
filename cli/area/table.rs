//! Formats the area estimate as a table for people to read. Identical hardware blocks share a row. A second
//! table shows how the area was estimated.

use ::area::{Basis, Kind};

use super::super::output::{columns, format_thousands, noun};
use super::Estimate;
use warpsieve::estimate::{Block, Delta, FoldedScopes};

pub(super) fn table(estimate: &Estimate<'_>, depth: usize) -> String {
    let Estimate { machine, designs, node_nm, tree, .. } = estimate;
    let name: Vec<_> = [(*machine).to_owned()].into_iter().chain(designs.iter().cloned()).collect();
    let mut text = format!("{} at {node_nm} nm, an estimate\n", name.join(" + "));
    match estimate.against {
        None => {
            text += &columns(&HEAD, &rows(tree, depth));
        }
        Some(against) => {
            text += &overhead(estimate, against);
            let mut rows = Vec::new();
            add_rows(&FoldedScopes::of(tree), usize::MAX, "", 1, &mut |indent, block, _| {
                if block.one.differs() {
                    rows.push(delta_row(indent, block));
                }
            });
            text += &columns(&["BLOCK", "EACH: BITS", "FLIP-FLOPS", "um2", "LEAKAGE mW"], &rows);
        }
    }
    text + "\n" + &origins(tree)
}

/// Column heads of the table of hardware blocks.
pub const HEAD: [&str; 7] = ["BLOCK", "EACH: BITS", "FLIP-FLOPS", "mm2", "LEAKAGE mW", "ALL: mm2", "%"];

/// Returns the table cells of the hardware blocks in the top `depth` levels of the tree.
pub fn rows(tree: &Block, depth: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    add_rows(&FoldedScopes::of(tree), depth, "", 1, &mut |indent, block, copies| {
        rows.push(row(indent, block, copies, tree.um2));
    });
    rows
}

/// Adds a hardware block and the blocks inside it to the table, each with its number of copies in the whole
/// machine.
fn add_rows(
    block: &FoldedScopes<'_>,
    depth: usize,
    indent: &str,
    around: u32,
    add: &mut impl FnMut(&str, &FoldedScopes<'_>, u32),
) {
    let copies = around * block.count;
    add(indent, block, copies);
    if depth > 1 {
        let indent = format!("{indent}  ");
        block.children.iter().for_each(|child| add_rows(child, depth - 1, &indent, copies, add));
    }
}

fn mm2(um2: f64) -> String {
    format!("{:.4}", um2 / 1e6)
}

fn row(indent: &str, block: &FoldedScopes<'_>, copies: u32, whole: f64) -> Vec<String> {
    let Block { bits, flops, um2, leakage_mw, .. } = block.one;
    let all = um2 * f64::from(copies);
    vec![
        format!("{indent}{}", block.name),
        format_thousands(*bits),
        format_thousands(*flops),
        mm2(*um2),
        format!("{leakage_mw:.3}"),
        mm2(all),
        format!("{:.2}", 100.0 * all / whole),
    ]
}

fn format_signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "+" }, format_thousands(number.unsigned_abs()))
}

fn delta_row(indent: &str, block: &FoldedScopes<'_>) -> Vec<String> {
    let Delta { bits, flops, um2, leakage_mw } = block.one.delta.unwrap_or_default();
    vec![
        format!("{indent}{}", block.name),
        format_signed(bits),
        format_signed(flops),
        format!("{um2:+.1}"),
        format!("{leakage_mw:+.4}"),
    ]
}

/// Compares the machine with design `against`, as a text. Gives the differences in area and leakage, and the
/// extra area also in percent of all L1s and in percent of a real chip.
fn overhead(estimate: &Estimate<'_>, against: &str) -> String {
    let Estimate { tree, technology, .. } = estimate;
    let Delta { bits, flops, um2, leakage_mw } = tree.delta.unwrap_or_default();
    if !tree.differs() {
        return format!("no difference from {against}\n");
    }
    let chip = technology.chip();
    // Total area of all L1s in the machine with design `against`: the 100 % for the extra area.
    let mut l1 = 0.0;
    tree.walk(&mut |_, block| {
        if block.block == "l1" {
            l1 += block.um2 - block.delta.unwrap_or_default().um2;
        }
    });
    let of_l1 = if l1 > 0.0 { format!("{:+.4} % of all L1s, ", 100.0 * um2 / l1) } else { String::new() };
    format!(
        "difference from {against}: {} {}, {} {}, {:+.6} mm2, {leakage_mw:+.3} mW\n\
         {of_l1}{:+.6} % of the {:.0} mm2 of a {}\n",
        format_signed(bits),
        noun(bits.unsigned_abs(), "bit", "bits"),
        format_signed(flops),
        noun(flops.unsigned_abs(), "flip-flop", "flip-flops"),
        um2 / 1e6,
        100.0 * um2 / 1e6 / chip.mm2,
        chip.mm2,
        chip.name,
    )
}

/// Returns a table that splits the total area by the method of its estimate, such as interpolation between
/// CACTI points.
fn origins(tree: &Block) -> String {
    let (mut grid, mut outside, mut small) = (0.0, 0.0, 0.0);
    let (mut logic, mut flops) = (0.0, tree.um2);
    tree.walk(&mut |_, block| {
        for array in &block.arrays {
            let sum = match (array.memory.kind, array.cost.basis) {
                (Kind::Flops, _) | (_, Basis::Cells) => &mut small,
                (_, Basis::Grid) => &mut grid,
                (_, Basis::ClosedForm) => &mut outside,
            };
            *sum += array.cost.um2;
        }
        logic += block.logic.iter().map(|piece| piece.um2).sum::<f64>();
    });
    flops -= grid + outside + small + logic;
    let part = |um2: f64| format!("{:.1}", 100.0 * um2 / tree.um2);
    let row = |what: &str, um2: f64| vec![what.to_owned(), mm2(um2), part(um2)];
    columns(
        &["FIGURES", "mm2", "%"],
        &[
            row("memories interpolated between CACTI points", grid),
            row("memories outside the CACTI points, by closed form", outside),
            row("memories built of flip-flops", small),
            row("flip-flops", flops),
            row("logic", logic),
        ],
    )
}
