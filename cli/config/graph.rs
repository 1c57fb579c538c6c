//! Draws the hardware blocks of a machine and the links between them. There is one column per clock, one box
//! per kind of hardware block, and one line for all links between two kinds.

use std::fmt::Write;

use super::super::output::{escape_xml, format_count};
use rtl::kernel::{Bundle, Clocks, Group, Outline};
use rtl::machine::CLOCKS;

const COLUMN: f64 = 330.0;
/// Width reserved at the left edge of the picture for the names of links, in SVG units.
const LEFT: f64 = 30.0;
const BOX: [f64; 2] = [150.0, 34.0];
const ROW: f64 = 96.0;
const TOP: f64 = 70.0;
const LINE: f64 = 12.0;

/// Position of the center of a box, in SVG units.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
}

/// Draws the hardware blocks and links of the machine with the given name. In `clocks`, clock 0 is the core
/// clock.
pub(super) fn svg(name: &str, outline: &Outline, clocks: &Clocks) -> String {
    let Outline { groups, bundles, islands } = outline;
    let mut rows = [0u32; CLOCKS.len()];
    let places: Vec<Place> = groups
        .iter()
        .map(|group| {
            let row = &mut rows[usize::from(group.clock)];
            *row += 1;
            Place { x: LEFT + (f64::from(group.clock) + 0.5) * COLUMN, y: TOP + (f64::from(*row) - 0.5) * ROW }
        })
        .collect();
    let height = TOP + f64::from(rows.iter().copied().max().unwrap_or(0)) * ROW + 10.0;
    let width = LEFT + COLUMN * CLOCKS.len() as f64;
    let islands = match islands {
        Some(islands) => format_count(*islands as u64, "island", "islands"),
        None => "one island".to_owned(),
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0,0 L8,4 L0,8 z\" fill=\"#345\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"20\" font-size=\"15\">{}: blocks and links, {islands}; delays in core cycles, of beats and of credits</text>\n",
        escape_xml(name)
    );
    for (clock, name) in CLOCKS.iter().enumerate() {
        let (x, mhz) = (
            LEFT + (clock as f64 + 0.5) * COLUMN,
            clocks.ticks_per_second() / u64::from(clocks.period(clock)) / 1_000_000,
        );
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "<text x=\"{x}\" y=\"44\" text-anchor=\"middle\" fill=\"#567\">{name}, {mhz} MHz</text>");
    }
    let pairs = bundles.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to));
    for pair in pairs {
        draw_links(&mut text, [places[pair[0].from], places[pair[0].to]], pair, clocks.period(0));
    }
    for (group, place) in groups.iter().zip(&places) {
        draw_group(&mut text, group, *place);
    }
    text.push_str("</svg>\n");
    text
}

fn draw_group(text: &mut String, Group { name, blocks, .. }: &Group, Place { x, y }: Place) {
    let ([width, height], count) = (BOX, if *blocks > 1 { format!(" × {blocks}") } else { String::new() });
    let _ = writeln!(
        text,
        "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"5\" fill=\"#e8eef6\" stroke=\"#345\"/>\
         <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-size=\"13\">{}{count}</text>",
        x - width / 2.0,
        y - height / 2.0,
        y + 4.0,
        escape_xml(name),
    );
}

/// Draws all links from one kind of hardware block to another as one line. Labels the line with the names of
/// the links, one below the other.
fn draw_links(text: &mut String, [from, to]: [Place; 2], links: &[Bundle], cycle: u32) {
    let half = BOX[0] / 2.0;
    if (from.x, from.y) == (to.x, to.y) {
        return draw_loop(text, from, links, cycle);
    }
    // Links in opposite directions between the same two boxes are drawn as two separate lines.
    let (start, end, bend) = if from.x == to.x {
        let side = if to.y > from.y { half } else { -half };
        let bend = side * (1.1 + (to.y - from.y).abs() / ROW * 0.4);
        (Place { x: from.x + side, ..from }, Place { x: to.x + side, ..to }, [from.x + bend, to.x + bend])
    } else {
        let (side, apart) = if to.x > from.x { (half, -6.0) } else { (-half, 6.0) };
        let (start, end) = (Place { x: from.x + side, y: from.y + apart }, Place { x: to.x - side, y: to.y + apart });
        let middle = (start.x + end.x) / 2.0;
        (start, end, [middle, middle])
    };
    let _ = writeln!(
        text,
        "<path d=\"M{:.1},{:.1} C{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" fill=\"none\" stroke=\"#345\" marker-end=\"url(#end)\"/>",
        start.x, start.y, bend[0], start.y, bend[1], end.y, end.x, end.y
    );
    // Labels are placed away from the middle of the curve: in the middle, the labels of crossing or parallel
    // lines would overlap.
    let t = if from.x == to.x && to.y < from.y {
        0.35
    } else if from.x == to.x && to.y - from.y > ROW {
        0.8
    } else {
        0.6
    };
    let u = 1.0 - t;
    let at = |a: f64, b: f64, c: f64, d: f64| u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d;
    let (x, y) = (at(start.x, bend[0], bend[1], end.x), at(start.y, start.y, end.y, end.y));
    let above = if from.x <= to.x { -(links.len() as f64 - 1.0) * LINE - 3.0 } else { LINE };
    draw_names(text, Place { x, y: y + above }, links, cycle);
}

/// Draws the links between hardware blocks of the same kind as a loop above the box of that kind.
fn draw_loop(text: &mut String, Place { x, y }: Place, links: &[Bundle], cycle: u32) {
    let (top, reach) = (y - BOX[1] / 2.0, 26.0);
    let _ = writeln!(
        text,
        "<path d=\"M{:.1},{top:.1} C{:.1},{:.1} {:.1},{:.1} {:.1},{top:.1}\" fill=\"none\" stroke=\"#345\" marker-end=\"url(#end)\"/>",
        x + reach,
        x + reach,
        top - reach,
        x - reach,
        top - reach,
        x - reach
    );
    let above = (links.len() as f64 - 1.0) * LINE + reach * 0.75 + 3.0;
    draw_names(text, Place { x, y: top - above }, links, cycle);
}

/// Writes the names of links, one per line of text, each with the number of links and their delays in core
/// cycles.
fn draw_names(text: &mut String, Place { x, y }: Place, links: &[Bundle], cycle: u32) {
    for (row, Bundle { name, links, spec, .. }) in links.iter().enumerate() {
        let cycles = |ticks: u64| ticks / u64::from(cycle);
        let delays = match [spec.latency, spec.credit].map(cycles) {
            [0, 0] => String::new(),
            [latency, credit] => format!(", {latency}/{credit}"),
        };
        let _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\">{links} {}{delays}</text>",
            y + row as f64 * LINE,
            escape_xml(name.trim_end_matches('_'))
        );
    }
}
