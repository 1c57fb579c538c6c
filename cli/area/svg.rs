//! Draws the area of a machine as a chart with one column per level of the tree of hardware blocks. Each
//! hardware block is a box whose height is proportional to its area. Identical hardware blocks share a box.
//! To the right of a box are the boxes of the hardware blocks inside it.

use std::fmt::Write;

use super::super::output::escape_xml;
use super::Estimate;
use warpsieve::estimate::FoldedScopes;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 800.0;
const TOP: f64 = 30.0;
/// Number of columns in the chart, one per level of the tree of hardware blocks.
const LEVELS: u32 = 5;
const COLUMN: f64 = WIDTH / LEVELS as f64;
/// Minimum height of a drawn box, in SVG units. A box lower than `LINE`, the height of a line of text, is
/// drawn without its name.
const MIN_HEIGHT: f64 = 0.5;
const LINE: f64 = 13.0;

/// Colors of the outermost hardware blocks: hue in degrees, and saturation in percent. If there are more than
/// six blocks, the colors repeat. No color is red or green, so that readers with color blindness can tell
/// neighboring blocks apart.
const BRANCHES: [(u32, u32); 6] = [(210, 60), (38, 80), (285, 35), (192, 50), (52, 70), (230, 12)];

/// Position of a box in SVG units, and the index of the outermost hardware block to which it belongs.
#[derive(Clone, Copy)]
struct Place {
    level: u32,
    top: f64,
    height: f64,
    branch: usize,
}

pub(super) fn svg(estimate: &Estimate<'_>) -> String {
    let Estimate { machine, designs, node_nm, tree, .. } = estimate;
    let name: Vec<_> = [*machine].into_iter().chain(designs.iter().map(String::as_str)).collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"4\" y=\"19\" font-size=\"15\">{}: {:.3} mm² at {node_nm} nm, an estimate</text>\n",
        HEIGHT + TOP + 4.0,
        escape_xml(&name.join(" + ")),
        tree.um2 / 1e6,
    );
    let place = Place { level: 0, top: TOP, height: HEIGHT, branch: 0 };
    draw(&mut text, &FoldedScopes::of(tree), "", place);
    text.push_str("</svg>\n");
    text
}

fn draw(text: &mut String, block: &FoldedScopes<'_>, above: &str, place: Place) {
    let Place { level, top, height, branch } = place;
    if height < MIN_HEIGHT || level == LEVELS {
        return;
    }
    let path = if above.is_empty() { block.name.clone() } else { format!("{above}.{}", block.name) };
    let um2 = block.one.um2;
    let size = if block.count > 1 {
        format!("{} x {:.4} mm²", block.count, um2 / 1e6)
    } else {
        format!("{:.4} mm²", um2 / 1e6)
    };
    let left = f64::from(level) * COLUMN;
    let (hue, saturation) = BRANCHES[branch % BRANCHES.len()];
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "<g><title>{path}: {size}</title><rect x=\"{left}\" y=\"{top:.2}\" width=\"{COLUMN}\" height=\"{height:.2}\" \
         fill=\"hsl({hue},{saturation}%,{}%)\" stroke=\"white\" stroke-width=\"0.7\"/>",
        58 + 7 * level,
        path = escape_xml(&path),
    );
    if height >= LINE {
        let (x, y) = (left + 4.0, top + LINE.min(height) - 2.5);
        let _ = write!(text, "<text x=\"{x}\" y=\"{y:.2}\">{} {size}</text>", escape_xml(&block.name));
    }
    text.push_str("</g>\n");
    let mut top = top;
    for (number, child) in (0..).zip(&block.children) {
        let part = child.one.um2 * f64::from(child.count) / um2;
        let height = if um2 > 0.0 { height * part } else { 0.0 };
        let branch = if level == 0 { number } else { branch };
        draw(text, child, &path, Place { level: level + 1, top, height, branch });
        top += height;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_branch_is_red_or_green_and_neighbours_differ() {
        for (at, (hue, saturation)) in BRANCHES.iter().enumerate() {
            assert!(*saturation < 20 || !(70..170).contains(hue) && (20..340).contains(hue), "{hue}");
            assert_ne!(BRANCHES[at], BRANCHES[(at + 1) % BRANCHES.len()]);
        }
    }
}
