//! Pictures as SVG, written by the library plotters.

use std::fmt::Write as _;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use warpsieve::config::fnv1a;

use super::{Anchor, Hatch, Label, Lines, PITCH, Picture, Point, STROKE, Shape, foot};

/// Number of SVG units per point. The library plotters supports only integer coordinates, so the unit is
/// small.
const UNITS: f64 = 20.0;
/// Factor by which the library plotters divides every font size that it receives.
const PLOTTERS_SCALE: f64 = 1.24;
/// Distance by which the library plotters moves the baseline of a text below the given position, as a
/// multiple of the font size.
const PLOTTERS_FOOT: f64 = 0.25;
/// Fonts in order of preference: the font whose widths are used, then fonts with the same widths, then any
/// sans-serif font.
const FONTS: &str = "Liberation Sans, Arial, Helvetica, sans-serif";
/// Panic message for drawing errors, which cannot occur, because the picture is written to a string.
const DRAWN: &str = "text grows as it must";

fn units((x, y): Point) -> (i32, i32) {
    ((x * UNITS).round() as i32, (y * UNITS).round() as i32)
}

pub fn svg(picture: &Picture) -> String {
    let (width, height) = units(picture.size);
    let mut hatches = Vec::new();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
        for shape in &picture.shapes {
            draw(&area, shape, &mut hatches).expect(DRAWN);
        }
        area.present().expect(DRAWN);
    }
    let inches = |points: f64| format!("{:.4}in", points / 72.0);
    let pixels = format!("width=\"{width}\" height=\"{height}\"");
    let size = format!("width=\"{}\" height=\"{}\"", inches(picture.size.0), inches(picture.size.1));
    with_hatches(text.replacen(&pixels, &size, 1), &hatches)
}

type Area<'b> = DrawingArea<SVGBackend<'b>, plotters::coord::Shift>;
type DrawError<'b> = DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>;

fn draw<'b>(area: &Area<'b>, shape: &Shape, hatches: &mut Vec<Hatch>) -> Result<(), DrawError<'b>> {
    let all = |places: &[Point]| places.iter().map(|place| units(*place)).collect::<Vec<_>>();
    match shape {
        Shape::Rect { from, to, colour, hatch } => {
            let corners = [units(*from), units(*to)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            let Some(hatch) = hatch else { return Ok(()) };
            if !hatches.contains(hatch) {
                hatches.push(*hatch);
            }
            let number = hatches.iter().position(|other| other == hatch).unwrap_or(0);
            area.draw(&Rectangle::new(corners, stand_in(number).filled()))
        }
        Shape::Line { places, width, colour } => {
            let style = colour.stroke_width(((width * UNITS).round() as u32).max(1));
            area.draw(&PathElement::new(all(places), style))
        }
        Shape::Polygon { places, colour } => area.draw(&Polygon::new(all(places), colour)),
        Shape::Circle { at, radius, colour } => {
            area.draw(&Circle::new(units(*at), (radius * UNITS).round() as i32, colour.filled()))
        }
        Shape::Text { text, at, label } => {
            let Label { size, anchor, is_upright, colour } = *label;
            let across = match anchor {
                Anchor::Start => HPos::Left,
                Anchor::Middle => HPos::Center,
                Anchor::End => HPos::Right,
            };
            let (x, y) = foot(*at, label);
            let up = PLOTTERS_FOOT * size;
            let at = if is_upright { (x - up, y) } else { (x, y - up) };
            let style = (FONTS, size * UNITS * PLOTTERS_SCALE).into_font().color(&colour);
            let style = style.pos(Pos::new(across, VPos::Center));
            let style = if is_upright { style.transform(FontTransform::Rotate270) } else { style };
            area.draw(&Text::new(text.clone(), units(at), style))
        }
    }
}

/// Returns a placeholder color for a hatch; no picture uses this color otherwise. The library plotters can
/// fill boxes only with a single color, so [`with_hatches`] later replaces the placeholder by the hatch.
fn stand_in(number: usize) -> RGBColor {
    RGBColor(1, 2, number as u8)
}

/// Adds the definitions of the hatches to the SVG text, and fills the boxes that have placeholder colors with
/// these hatches.
fn with_hatches(mut text: String, hatches: &[Hatch]) -> String {
    // A page may contain several pictures, so the names of hatches must be unique on the page.
    let digest = fnv1a(text.as_bytes()) as u32;
    let mut defined = String::new();
    for (number, hatch) in hatches.iter().enumerate() {
        let RGBColor(red, green, blue) = stand_in(number);
        let Hatch { lines: Lines { rising, falling, level, upright }, is_white } = *hatch;
        let side = if rising || falling { std::f64::consts::SQRT_2 * PITCH } else { PITCH } * UNITS;
        let half = side / 2.0;
        // A hatch is drawn as a tile that is repeated. A tile with slanted lines has one along its diagonal
        // and short ones across the other two corners, so that the lines of neighboring tiles join without
        // gaps.
        let (before, behind) = (-half, side + half);
        let paths = [
            (
                rising,
                format!(
                    "M{before:.1},{behind:.1}L{behind:.1},{before:.1}M{before:.1},{half:.1}L{half:.1},{before:.1}M{half:.1},{behind:.1}L{behind:.1},{half:.1}"
                ),
            ),
            (
                falling,
                format!(
                    "M{before:.1},{before:.1}L{behind:.1},{behind:.1}M{half:.1},{before:.1}L{behind:.1},{half:.1}M{before:.1},{half:.1}L{half:.1},{behind:.1}"
                ),
            ),
            (level, format!("M0,{half:.1}L{side:.1},{half:.1}")),
            (upright, format!("M{half:.1},0L{half:.1},{side:.1}")),
        ];
        let path: String = paths.into_iter().filter(|(is_drawn, _)| *is_drawn).map(|(_, path)| path).collect();
        let colour = if is_white { "white" } else { "black" };
        let name = format!("hatch-{digest:08x}-{number}");
        text = text.replace(&format!("fill=\"#{red:02X}{green:02X}{blue:02X}\""), &format!("fill=\"url(#{name})\""));
        // Writing to a string cannot fail.
        let _ = writeln!(
            defined,
            "<pattern id=\"{name}\" patternUnits=\"userSpaceOnUse\" width=\"{side:.1}\" height=\"{side:.1}\">\
             <path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/></pattern>",
            STROKE * UNITS
        );
    }
    match text.find(">\n") {
        Some(at) if !defined.is_empty() => text.insert_str(at + 2, &format!("<defs>\n{defined}</defs>\n")),
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::picture::tests::picture;

    #[test]
    fn a_picture_has_its_size_in_inches_and_a_hatch_is_defined_once_where_it_is_needed() {
        let mut picture = picture();
        let svg = picture.svg();
        assert!(svg.starts_with("<svg width=\"3.3000in\" height=\"2.0000in\" viewBox=\"0 0 4752 2880\""), "{svg}");
        let again = picture.shapes[1].clone();
        picture.shapes.push(again);
        let svg = picture.svg();
        let names: Vec<_> = svg.split("<pattern id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let [name] = names[..] else { panic!("{svg}") };
        assert_eq!(svg.matches(&format!("fill=\"url(#{name})\"")).count(), 2, "{svg}");
        assert!(svg.contains("\nspeed-up &lt;1&gt;\n"), "{svg}");
        // A changed picture must use other names for its hatches, because both pictures may be on the same
        // page.
        picture.circle((1.0, 1.0), 1.0, plotters::style::BLACK);
        assert!(!picture.svg().contains(name));
        picture.shapes.truncate(1);
        assert!(!picture.svg().contains("<defs>"));
    }
}
