//! # Scatter plots
//! Scatter plot of two metrics as SVG text: one marker per item, and a line through the items of the Pareto
//! front.

use plotters::style::{BLACK, RGBColor};

use super::chart::linear_ticks;
use super::marks::{MARKER, marker};
use super::picture::{Anchor, Label, Picture, Width, reserved_width};

/// Scatter plot of items by two of their metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// Title of the plot.
    pub title: String,
    /// Label of the horizontal axis.
    pub across: String,
    /// Label of the vertical axis.
    pub up: String,
    /// Items that the plot shows as markers.
    pub dots: Vec<Dot>,
}

/// Item in a scatter plot, drawn as a marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Name of the item in the legend.
    pub name: String,
    /// Horizontal and vertical coordinate of the item's marker.
    pub at: (f64, f64),
    /// True if the line of the Pareto front passes through the item's marker.
    pub is_on_line: bool,
}

/// Margin around the plot. The length constants below are in points; those whose names end in `EMS` are
/// multiples of the font size instead.
const MARGIN: f64 = 4.0;
const LINE_EMS: f64 = 1.4;
const APART: f64 = 3.0;
/// Width and height of the plot area.
const PLOT: (f64, f64) = (330.0, 250.0);
/// Minimum width of the plot area.
const MIN_WIDTH: f64 = 60.0;
const TICKS: usize = 7;
/// Factor by which markers on the line of the Pareto front are larger than other markers.
const LARGER: f64 = 1.45;
const GREY: RGBColor = RGBColor(217, 217, 217);

impl Scatter {
    /// Returns the plot as SVG, in its natural width.
    #[must_use]
    pub fn svg(&self) -> String {
        self.picture(Width::Free).svg()
    }

    /// Draws the plot in the given width.
    #[must_use]
    pub fn picture(&self, width: Width) -> Picture {
        let letters = width.letters();
        let line = LINE_EMS * letters;
        let [(low_x, high_x), (low_y, high_y)] =
            [range(self.dots.iter().map(|dot| dot.at.0)), range(self.dots.iter().map(|dot| dot.at.1))];
        let (ticks_x, ticks_y) = (linear_ticks(low_x, high_x, TICKS), linear_ticks(low_y, high_y, TICKS));
        let numbers = ticks_y.iter().map(|(_, text)| reserved_width(text, letters)).fold(0.0, f64::max);
        let names = self.dots.iter().map(|dot| reserved_width(&dot.name, letters)).fold(0.0, f64::max);
        let title = if self.title.is_empty() { 0.0 } else { line };
        let (left, top) = (MARGIN + line + numbers + APART, MARGIN + title + line / 2.0);
        let beside = 2.0 * line + names + MARGIN;
        let right = width.points().map_or(left + PLOT.0, |all| (all - beside).max(left + MIN_WIDTH));
        let high = (PLOT.1 / PLOT.0 * (right - left)).min(PLOT.1);
        let bottom = top + high.max(self.dots.len() as f64 * line);
        let all = right + beside;
        let place = |(x, y): (f64, f64)| {
            let [across, up] = [(x - low_x) / (high_x - low_x), (y - low_y) / (high_y - low_y)];
            (left + across * (right - left), bottom - up * (bottom - top))
        };
        let mut picture = Picture::new((all, bottom + 2.0 * line + MARGIN));
        let label = |across| Label::new(letters, across);
        let middle = f64::midpoint(left, right);
        picture.text(&self.title, (middle, MARGIN + line / 2.0), Label::new(1.15 * letters, Anchor::Middle));
        for (value, text) in &ticks_x {
            let (x, _) = place((*value, low_y));
            picture.line(&[(x, top), (x, bottom)], 0.4, GREY);
            picture.text(text, (x, bottom + line / 2.0), label(Anchor::Middle));
        }
        for (value, text) in &ticks_y {
            let (_, y) = place((low_x, *value));
            picture.line(&[(left, y), (right, y)], 0.4, GREY);
            picture.text(text, (left - APART, y), label(Anchor::End));
        }
        picture.line(&[(left, top), (left, bottom), (right, bottom)], 0.6, BLACK);
        picture.text(&self.across, (middle, bottom + 1.5 * line), label(Anchor::Middle));
        let up = (MARGIN + line / 2.0, f64::midpoint(top, bottom));
        picture.text(&self.up, up, label(Anchor::Middle).upright());
        let mut on_line: Vec<_> = self.dots.iter().filter(|dot| dot.is_on_line).map(|dot| dot.at).collect();
        on_line.sort_by(|one, other| one.0.total_cmp(&other.0));
        let on_line: Vec<_> = on_line.into_iter().map(place).collect();
        picture.line(&on_line, 0.7, BLACK);
        for (number, dot) in self.dots.iter().enumerate() {
            let half = if dot.is_on_line { LARGER * MARKER } else { MARKER };
            marker(&mut picture, place(dot.at), half, number);
            let y = top + (number as f64 + 0.5) * line;
            marker(&mut picture, (right + line, y), half, number);
            picture.text(&dot.name, (right + 1.7 * line, y), label(Anchor::Start));
        }
        picture
    }
}

/// Returns the lower and the upper end of an axis: the range of the values, plus a margin at both ends.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 1.0) };
    let room = (0.06 * (high - low)).max(1e-3);
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::colour;

    fn dot(name: &str, at: (f64, f64), is_on_line: bool) -> Dot {
        Dot { name: name.to_owned(), at, is_on_line }
    }

    #[test]
    fn every_thing_has_a_marker_and_a_name_and_the_line_goes_through_its_dots_in_order() {
        let dots = vec![dot("a & b", (3.0, 2.0), true), dot("c", (2.0, 5.0), false), dot("d", (1.0, 1.0), true)];
        let scatter = Scatter { title: "Speed".to_owned(), dots, ..Scatter::default() };
        let svg = scatter.svg();
        // Each item has one marker in the plot and one in the legend.
        for number in 0..3 {
            let RGBColor(red, green, blue) = colour(number);
            let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
            assert_eq!(svg.lines().filter(|line| line.contains(&fill)).count(), 2, "{svg}");
        }
        assert!(svg.contains("\na &amp; b\n") && svg.contains("\nSpeed\n"), "{svg}");
        let lines: Vec<_> = svg.split("<polyline").skip(1).filter_map(|line| line.split_once("points=\"")).collect();
        let points = lines.last().unwrap().1.split_once('"').unwrap().0;
        let points: Vec<Vec<i32>> = points
            .split_whitespace()
            .map(|point| point.split(',').map(|number| number.parse().unwrap()).collect())
            .collect();
        // The line of the Pareto front runs from the lower left to the upper right. In SVG, y is larger at
        // the lower end.
        assert_eq!(points.len(), 2, "{points:?}");
        assert!(points[0][0] < points[1][0] && points[0][1] > points[1][1], "{points:?}");
        assert_eq!(svg, scatter.svg());
    }

    #[test]
    fn nothing_and_a_single_thing_are_drawn_as_well() {
        assert!(Scatter::default().svg().ends_with("</svg>\n"));
        let one = Scatter { dots: vec![dot("a", (1.0, 1.0), true)], ..Scatter::default() };
        assert!(!one.svg().contains("NaN"));
    }
}
