//! Formats the area estimate as a table for people to read. Identical hardware blocks share a row. A second
//! table shows how the area was estimated.

use std::collections::BTreeMap;

use ::area::{Basis, Kind, Memory};

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
            text += &columns(&["BLOCK", "EACH: BITS", "FLIP-FLOPS", "um2", "±%", "LEAKAGE mW"], &rows);
        }
    }
    text + "\n" + &origins(tree)
}

/// Column heads of the table of hardware blocks.
pub const HEAD: [&str; 8] = ["BLOCK", "EACH: BITS", "FLIP-FLOPS", "mm2", "±%", "LEAKAGE mW", "ALL: mm2", "%"];

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
    format_significant(um2 / 1e6)
}

/// Formats a number with three significant digits: no estimate here is more accurate.
fn format_significant(number: f64) -> String {
    const DIGITS: i32 = 3;
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    match scientific.split_once('e').map(|(_, exponent)| (scientific.parse::<f64>(), exponent.parse::<i32>())) {
        Some((Ok(rounded), Ok(exponent))) if number != 0.0 => {
            format!("{rounded:.*}", (DIGITS - 1 - exponent).max(0) as usize)
        }
        _ => format!("{number}"),
    }
}

/// Returns the error of a number in percent, rounded up.
fn percent(error: f64, of: f64) -> String {
    // A sum of many areas differs from the exact one in its last digits, which must not raise a whole percentage.
    if of == 0.0 { "-".to_owned() } else { format!("{:.0}", (100.0 * error / of.abs() - 1e-6).ceil()) }
}

fn row(indent: &str, block: &FoldedScopes<'_>, copies: u32, whole: f64) -> Vec<String> {
    let Block { bits, flops, um2, um2_error, leakage_mw, .. } = block.one;
    let all = um2 * f64::from(copies);
    vec![
        format!("{indent}{}", block.name),
        format_thousands(*bits),
        format_thousands(*flops),
        mm2(*um2),
        percent(*um2_error, *um2),
        format_significant(*leakage_mw),
        mm2(all),
        format!("{:.1}", 100.0 * all / whole),
    ]
}

/// Formats a difference with three significant digits and its sign.
fn with_sign(number: f64) -> String {
    let text = format_significant(number);
    if number < 0.0 { text } else { format!("+{text}") }
}

fn format_signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "+" }, format_thousands(number.unsigned_abs()))
}

fn delta_row(indent: &str, block: &FoldedScopes<'_>) -> Vec<String> {
    let Delta { bits, flops, um2, um2_error, leakage_mw } = block.one.delta.unwrap_or_default();
    vec![
        format!("{indent}{}", block.name),
        format_signed(bits),
        format_signed(flops),
        with_sign(um2),
        percent(um2_error, um2),
        with_sign(leakage_mw),
    ]
}

/// Compares the machine with design `against`, as a text. Gives the differences in area and leakage, and the
/// extra area also in percent of all L1s and in percent of a real chip.
fn overhead(estimate: &Estimate<'_>, against: &str) -> String {
    let Estimate { tree, technology, .. } = estimate;
    let Delta { bits, flops, um2, um2_error, leakage_mw } = tree.delta.unwrap_or_default();
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
    let of_l1 = if l1 > 0.0 { format!("{} % of all L1s, ", with_sign(100.0 * um2 / l1)) } else { String::new() };
    format!(
        "difference from {against}: {} {}, {} {}, {} mm2 ±{} %, {} mW\n\
         {of_l1}{} % of the {:.0} mm2 of a {}\n",
        format_signed(bits),
        noun(bits.unsigned_abs(), "bit", "bits"),
        format_signed(flops),
        noun(flops.unsigned_abs(), "flip-flop", "flip-flops"),
        with_sign(um2 / 1e6),
        percent(um2_error, um2),
        with_sign(leakage_mw),
        with_sign(100.0 * um2 / 1e6 / chip.mm2),
        chip.mm2,
        chip.name,
    )
}

/// Returns a table that splits the total area by the method of its estimate, such as interpolation between
/// CACTI points, and a note about the largest memories of flip-flops.
fn origins(tree: &Block) -> String {
    let [mut grid, mut outside, mut small, mut logic] = [AreaSum::default(); 4];
    tree.walk(&mut |_, block| {
        for array in &block.arrays {
            let sum = match (array.memory.kind, array.cost.basis) {
                (Kind::Flops, _) | (_, Basis::Cells) => &mut small,
                (_, Basis::Grid) => &mut grid,
                (_, Basis::ClosedForm) => &mut outside,
            };
            sum.add(array.cost.um2, array.cost.um2 * array.cost.error);
        }
        block.logic.iter().for_each(|piece| logic.add(piece.um2, piece.um2_error));
    });
    let mut flops = AreaSum { um2: tree.um2, error: tree.um2_error };
    [grid, outside, small, logic].iter().for_each(|other| flops.add(-other.um2, -other.error));
    let part = |um2: f64| format!("{:.1}", 100.0 * um2 / tree.um2);
    let row =
        |what: &str, AreaSum { um2, error }: AreaSum| vec![what.to_owned(), mm2(um2), percent(error, um2), part(um2)];
    let figures = columns(
        &["FIGURES", "mm2", "±%", "%"],
        &[
            row("memories interpolated between CACTI points", grid),
            row("memories outside the CACTI points, by closed form", outside),
            row("memories built of flip-flops", small),
            row("flip-flops", flops),
            row("logic", logic),
        ],
    );
    figures + &large_flip_flop_memories(tree)
}

/// Sum of areas with its error, both in um2.
#[derive(Clone, Copy, Default)]
struct AreaSum {
    um2: f64,
    error: f64,
}

impl AreaSum {
    fn add(&mut self, um2: f64, error: f64) {
        self.um2 += um2;
        self.error += error;
    }
}

/// Returns a note about the memories of flip-flops that take most of the area: a chip would build them as SRAM,
/// in more banks or with fewer ports.
fn large_flip_flop_memories(tree: &Block) -> String {
    /// Smallest part of the total area that is mentioned.
    const MIN_PART: f64 = 0.01;
    let mut sums: BTreeMap<(&str, u32, u32, String), (u32, f64)> = BTreeMap::new();
    tree.walk(&mut |_, block| {
        for array in block.arrays.iter().filter(|array| array.memory.kind == Kind::Flops) {
            let Memory { entries, width, ports, .. } = array.memory;
            let sum = sums.entry((array.name, entries, width, ports.to_string())).or_default();
            sum.0 += 1;
            sum.1 += array.cost.um2;
        }
    });
    let mut large: Vec<_> = sums.into_iter().filter(|(_, (_, um2))| *um2 > MIN_PART * tree.um2).collect();
    large.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
    let list: Vec<_> = large
        .into_iter()
        .map(|((name, entries, width, ports), (count, um2))| {
            format!("  {count} x `{name}` of {entries} words of {width} bits, {ports}: {} mm2\n", mm2(um2))
        })
        .collect();
    if list.is_empty() {
        return String::new();
    }
    format!("\nMemories of flip-flops that a chip would build as SRAM with fewer ports:\n{}", list.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_significant_digits() {
        for (number, text) in [
            (567.533, "568"),
            (15108.8, "15100"),
            (36.2438, "36.2"),
            (0.999_6, "1.00"),
            (0.000_063_21, "0.0000632"),
            (-0.5, "-0.500"),
            (0.0, "0"),
        ] {
            assert_eq!(format_significant(number), text);
        }
        assert_eq!((with_sign(0.001_388_5), with_sign(-2.0)), ("+0.00139".to_owned(), "-2.00".to_owned()));
        assert_eq!((percent(1.0, 30.0), percent(0.0, 0.0)), ("4".to_owned(), "-".to_owned()));
        assert_eq!(percent(0.1 + 0.2, 1.5), "20");
    }
}
