//! # Pictures
//! Vector picture of a given physical size, written as SVG or PDF. Coordinates are in points (1/72 inch) from
//! the upper left corner. Text widths are computed from a built-in font, so a picture has the same bytes on
//! every computer.

mod font;
mod pdf;
mod svg;

use plotters::style::{BLACK, RGBColor, WHITE};

/// Horizontal and vertical coordinate of a position in a picture, in points (1/72 inch).
pub(crate) type Point = (f64, f64);

/// Width of a picture: the width of a column or page in print, or the natural width, which the content needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// One column of a two-column page: 3.3 inches.
    Single,
    /// Both columns of a two-column page: 7 inches.
    Double,
    /// Natural width: the width that the content needs, for pages that are read on a screen.
    #[default]
    Free,
}

impl Width {
    /// Returns the width of the picture in points, or `None` if it has its natural width.
    pub(crate) const fn points(self) -> Option<f64> {
        match self {
            Self::Single => Some(3.3 * 72.0),
            Self::Double => Some(7.0 * 72.0),
            Self::Free => None,
        }
    }

    /// Returns the font size of the picture in points.
    pub(crate) const fn letters(self) -> f64 {
        match self {
            Self::Single => 7.0,
            Self::Double | Self::Free => 8.0,
        }
    }
}

/// Vector picture: shapes on a white background, in the order in which they are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    size: Point,
    shapes: Vec<Shape>,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Filled box, given by its upper left and lower right corners.
    Rect {
        from: Point,
        to: Point,
        colour: RGBColor,
        hatch: Option<Hatch>,
    },
    Line {
        places: Vec<Point>,
        width: f64,
        colour: RGBColor,
    },
    Polygon {
        places: Vec<Point>,
        colour: RGBColor,
    },
    Circle {
        at: Point,
        radius: f64,
        colour: RGBColor,
    },
    Text {
        text: String,
        at: Point,
        label: Label,
    },
}

/// Horizontal alignment of a text: its start, middle or end is at the given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Style of a text: size, color, alignment and rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Label {
    /// Font size in points.
    pub size: f64,
    pub anchor: Anchor,
    /// True if the text is rotated, so that it reads from bottom to top.
    pub is_upright: bool,
    pub colour: RGBColor,
}

/// Hatch lines on a filled box. They make series distinguishable without color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hatch {
    pub lines: Lines,
    /// True if the hatch lines are white; false if they are black.
    pub is_white: bool,
}

/// Directions of the lines in a hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub rising: bool,
    pub falling: bool,
    pub level: bool,
    pub upright: bool,
}

/// Distance between neighboring lines of a hatch, in points.
const PITCH: f64 = 3.2;
/// Thickness of the lines of a hatch, in points.
const STROKE: f64 = 0.45;
/// Distance from the vertical center of a text down to its baseline, as a multiple of the font size.
const FOOT: f64 = 0.36;

impl Label {
    pub fn new(size: f64, anchor: Anchor) -> Self {
        Self { size, anchor, is_upright: false, colour: BLACK }
    }

    pub fn upright(self) -> Self {
        Self { is_upright: true, ..self }
    }
}

impl Picture {
    /// Creates an empty picture with the given width and height.
    pub(crate) fn new(size: Point) -> Self {
        let mut picture = Self { size, shapes: Vec::new() };
        picture.rect((0.0, 0.0), size, WHITE);
        picture
    }

    /// Returns the picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::svg(self)
    }

    /// Returns the picture as PDF. The shapes of the letters that it uses are embedded in the file.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        pdf::pdf(self)
    }

    pub(crate) fn rect(&mut self, from: Point, to: Point, colour: RGBColor) {
        self.draw_hatched(from, to, colour, None);
    }

    pub(crate) fn draw_hatched(&mut self, from: Point, to: Point, colour: RGBColor, hatch: Option<Hatch>) {
        self.shapes.push(Shape::Rect { from, to, colour, hatch });
    }

    /// Adds a line through the given positions.
    pub(crate) fn line(&mut self, places: &[Point], width: f64, colour: RGBColor) {
        if !places.is_empty() {
            self.shapes.push(Shape::Line { places: places.into(), width, colour });
        }
    }

    pub(crate) fn polygon(&mut self, places: &[Point], colour: RGBColor) {
        self.shapes.push(Shape::Polygon { places: places.into(), colour });
    }

    pub(crate) fn circle(&mut self, at: Point, radius: f64, colour: RGBColor) {
        self.shapes.push(Shape::Circle { at, radius, colour });
    }

    /// Adds a text whose vertical center is at `at`. If the text is rotated, its horizontal center is at `at`
    /// instead.
    pub(crate) fn text(&mut self, text: &str, at: Point, label: Label) {
        if !text.is_empty() {
            self.shapes.push(Shape::Text { text: text.to_owned(), at, label });
        }
    }
}

/// Returns the position of a text's baseline. `at` is halfway up the text.
fn foot(at: Point, label: &Label) -> Point {
    let down = FOOT * label.size;
    if label.is_upright { (at.0 + down, at.1) } else { (at.0, at.1 + down) }
}

/// Returns the lines of a hatch, clipped to the edges of a box.
fn hatch_lines((left, top): Point, (right, bottom): Point, lines: Lines) -> Vec<(Point, Point)> {
    let steps = |from: f64, to: f64, by: f64| {
        let first = (from / by).ceil();
        (0..).map(move |step| (first + f64::from(step)) * by).take_while(move |place| *place < to)
    };
    let slant = std::f64::consts::SQRT_2 * PITCH;
    let mut found = Vec::new();
    if lines.rising {
        let line = |sum: f64| {
            let [one, other] = [left.max(sum - bottom), right.min(sum - top)];
            ((one, sum - one), (other, sum - other))
        };
        found.extend(steps(left + top, right + bottom, slant).map(line));
    }
    if lines.falling {
        let line = |apart: f64| {
            let [one, other] = [left.max(apart + top), right.min(apart + bottom)];
            ((one, one - apart), (other, other - apart))
        };
        found.extend(steps(left - bottom, right - top, slant).map(line));
    }
    if lines.level {
        found.extend(steps(top, bottom, PITCH).map(|y| ((left, y), (right, y))));
    }
    if lines.upright {
        // A box that is narrower than the distance between hatch lines gets one line in its center.
        let count = ((right - left) / PITCH).round().max(1.0);
        let places = (0..count as u32).map(|at| left + (f64::from(at) + 0.5) * (right - left) / count);
        found.extend(places.map(|x| ((x, top), (x, bottom))));
    }
    found
}

/// Returns the width of a text in points, as computed from the built-in font.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    size * font::ems(text)
}

/// Returns the width to reserve for a text, in points. This width is larger than the result of [`width_of`],
/// because a screen may use a wider font.
pub(crate) fn reserved_width(text: &str, size: f64) -> f64 {
    1.15 * width_of(text, size)
}

/// Returns the text, shortened by leaving out its middle if it is wider than `width` points.
pub(crate) fn shorten_to_width(text: &str, size: f64, width: f64) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| -> String {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        letters[..head].iter().copied().chain(['…']).chain(letters[letters.len() - tail..].iter().copied()).collect()
    };
    let fits = |kept: &usize| width_of(&cut(*kept), size) <= width;
    cut((0..letters.len()).rev().find(fits).unwrap_or(0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const RISING: Lines = Lines { rising: true, falling: false, level: false, upright: false };

    /// Creates a picture of column width that contains a hatched box, one of each other kind of shape, and
    /// two texts.
    pub(crate) fn picture() -> Picture {
        let mut picture = Picture::new((237.6, 144.0));
        let hatch = Some(Hatch { lines: RISING, is_white: true });
        picture.draw_hatched((10.0, 20.0), (20.0, 40.0), BLACK, hatch);
        picture.line(&[(0.0, 0.0), (9.0, 9.0)], 1.0, BLACK);
        picture.polygon(&[(30.0, 30.0), (40.0, 30.0), (30.0, 40.0)], BLACK);
        picture.circle((50.0, 50.0), 5.0, BLACK);
        picture.text("speed-up <1>", (60.0, 60.0), Label::new(8.0, Anchor::Start));
        picture.text("IPC", (60.0, 60.0), Label::new(8.0, Anchor::End).upright());
        picture
    }

    #[test]
    fn a_text_that_does_not_fit_keeps_its_ends() {
        let text = "kernels/a-folder/launch.toml";
        assert_eq!(shorten_to_width(text, 8.0, width_of(text, 8.0)), text);
        let short = shorten_to_width(text, 8.0, 60.0);
        assert!(short.starts_with("ker") && short.contains('…') && short.ends_with("oml"), "{short}");
        assert!(width_of(&short, 8.0) <= 60.0);
        assert!(width_of("WWW", 8.0) > 2.0 * width_of("iii", 8.0));
    }

    #[test]
    fn lines_of_a_hatch_end_at_the_box() {
        let all = Lines { rising: true, falling: true, level: true, upright: true };
        for (from, to) in [((3.0, 7.0), (40.0, 60.0)), ((3.0, 7.0), (4.0, 60.0)), ((3.0, 7.0), (40.0, 7.5))] {
            let lines = hatch_lines(from, to, all);
            let is_inside = |(x, y): Point| {
                (from.0 - 1e-9..=to.0 + 1e-9).contains(&x) && (from.1 - 1e-9..=to.1 + 1e-9).contains(&y)
            };
            assert!(lines.iter().all(|(one, other)| is_inside(*one) && is_inside(*other)), "{lines:?}");
            assert!(!hatch_lines(from, to, Lines { upright: true, ..RISING }).is_empty());
        }
    }
}
