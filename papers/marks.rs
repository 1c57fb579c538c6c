//! # Marks of series
//! Marks by which a chart distinguishes its series: colors, hatches of bars and markers of lines. Hatches and
//! markers make the series distinguishable in gray prints, and for readers who cannot distinguish the colors.

use plotters::style::{BLACK, HSLColor, RGBColor, WHITE};

use super::picture::{Hatch, Lines, Picture, Point};

/// Colors that readers with red-green color blindness can distinguish (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(150, 150, 150),
    RGBColor(60, 60, 60),
];
/// Half of the width of a marker, in points.
pub(crate) const MARKER: f64 = 2.3;
/// Number of marker shapes.
const SHAPES: usize = 8;
/// Lightness of a color below which the hatch lines on it are white.
const IS_DARK: f64 = 0.5;

/// Returns the color of a series. If there are more series than predefined colors, computes a color that
/// clearly differs from that of the previous series.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS.get(number).copied().unwrap_or_else(|| {
        let further = (number - COLOURS.len()) as f64;
        let hsl = HSLColor((0.25 + 0.47 * further).fract(), 0.6, 0.3 + 0.15 * (further % 3.0));
        let (red, green, blue) = plotters::style::Color::to_backend_color(&hsl).rgb;
        RGBColor(red, green, blue)
    })
}

/// Returns the perceived lightness of a color, from 0 to 1.
pub(crate) fn lightness(RGBColor(red, green, blue): RGBColor) -> f64 {
    (0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)) / 255.0
}

/// Hatches of the second to the eighth series. The four flags of a hatch stand for rising, falling,
/// horizontal and vertical lines.
const HATCHES: [[bool; 4]; 7] = [
    [true, false, false, false],
    [false, true, false, false],
    [true, true, false, false],
    [false, false, true, false],
    [false, false, false, true],
    [false, false, true, true],
    [true, false, true, false],
];

/// Returns the hatch of a series; the first series has none. The assignment of hatches shifts by one after
/// every eight series, so that series `n` and `n + 8` differ.
fn hatch(number: usize) -> Option<Hatch> {
    let kind = (number + number / COLOURS.len()) % (HATCHES.len() + 1);
    let [rising, falling, level, upright] = *HATCHES.get(kind.checked_sub(1)?)?;
    let lines = Lines { rising, falling, level, upright };
    Some(Hatch { lines, is_white: lightness(colour(number)) < IS_DARK })
}

/// Draws a bar with the color and the hatch of its series.
pub(crate) fn fill(picture: &mut Picture, from: Point, to: Point, number: usize) {
    picture.draw_hatched(from, to, colour(number), hatch(number));
    let (left, right) = (from.0, to.0);
    picture.line(&[from, (right, from.1), to, (left, to.1), from], 0.3, BLACK);
}

/// Draws the marker of a series on a white disk, which separates the marker from lines and markers below it.
pub(crate) fn marker(picture: &mut Picture, at: Point, half: f64, number: usize) {
    let colour = colour(number);
    picture.circle(at, 1.2 * half, WHITE);
    let places = |places: &[Point]| places.iter().map(|(x, y)| (at.0 + half * x, at.1 + half * y)).collect::<Vec<_>>();
    let mut polygon = |corners: &[Point]| picture.polygon(&places(corners), colour);
    match (number + number / SHAPES) % SHAPES {
        0 => picture.circle(at, 0.95 * half, colour),
        1 => polygon(&[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]),
        2 => polygon(&[(0.0, -1.1), (1.05, 0.8), (-1.05, 0.8)]),
        3 => polygon(&[(0.0, -1.2), (1.0, 0.0), (0.0, 1.2), (-1.0, 0.0)]),
        4 => polygon(&[(0.0, 1.1), (1.05, -0.8), (-1.05, -0.8)]),
        5 => {
            picture.line(&places(&[(-0.85, -0.85), (0.85, 0.85)]), 1.0, colour);
            picture.line(&places(&[(-0.85, 0.85), (0.85, -0.85)]), 1.0, colour);
        }
        6 => {
            picture.line(&places(&[(-1.05, 0.0), (1.05, 0.0)]), 1.0, colour);
            picture.line(&places(&[(0.0, -1.05), (0.0, 1.05)]), 1.0, colour);
        }
        _ => {
            picture.circle(at, half, colour);
            picture.circle(at, 0.5 * half, WHITE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_of_a_chart_have_one_colour_and_those_alike_in_grey_differ_in_hatch_and_marker() {
        let colours: Vec<_> = (0..40).map(colour).collect();
        assert!(colours.iter().enumerate().all(|(at, colour)| !colours[..at].contains(colour)), "{colours:?}");
        for number in 0..COLOURS.len() {
            for other in 0..number {
                assert_ne!(hatch(number).map(|hatch| hatch.lines), hatch(other).map(|hatch| hatch.lines));
            }
        }
        assert_eq!(hatch(0), None);
        assert!(hatch(7).unwrap().is_white && !hatch(1).unwrap().is_white);
    }

    #[test]
    fn every_shape_of_a_marker_is_drawn() {
        let drawn = |number| {
            let mut picture = Picture::new((20.0, 20.0));
            marker(&mut picture, (10.0, 10.0), MARKER, number);
            picture
        };
        let all: Vec<_> = (0..SHAPES).map(drawn).collect();
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)));
    }
}
