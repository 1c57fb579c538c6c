//! # Charts
//! Bar charts with groups of bars, or line charts over the same groups, as SVG text. Series differ not only
//! by color but also by hatches and markers, so that charts are readable without color. The same numbers give
//! the same bytes on every computer.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::judge::{geometric_mean, mean};
use super::marks::{MARKER, colour, fill, marker};
use super::picture::{Anchor, Label, Picture, Point, Width, reserved_width, shorten_to_width, width_of};

/// Chart that shows several series over the same groups. Each series has one value per group; a value may be
/// missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title above the chart; not drawn if empty.
    pub title: String,
    /// Label of the vertical axis.
    pub unit: String,
    /// Label of the horizontal axis; empty if the group names suffice.
    pub across: String,
    /// Names of the groups along the horizontal axis.
    pub groups: Vec<String>,
    /// Series of the chart. Each has one value per group.
    pub series: Vec<Series>,
    /// Shape of the marks: bars or lines.
    pub form: Form,
    /// True for a logarithmic vertical axis, on which only values above zero are drawn.
    pub is_log: bool,
    /// Value at which a horizontal reference line is drawn, such as the baseline; `None` if there is no line.
    pub neutral: Option<f64>,
    /// Number of groups that are means of other groups. The means are the last groups, and a gap separates
    /// them from the groups before them.
    pub means: usize,
}

/// Values that one series has in all groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Values in the order of the groups; `None` if a value is unknown.
    pub values: Vec<Option<f64>>,
}

/// Shape in which a chart draws its values: bars or lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Bars; the bars of a group are next to each other.
    #[default]
    Bars,
    /// Lines; each series is one line.
    Lines,
}

impl Chart {
    /// Creates a chart without values.
    #[must_use]
    pub fn new(title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned(), ..Self::default() }
    }

    /// Creates a chart of ratios without values, with the reference line at 1.
    #[must_use]
    pub fn relative(title: &str, unit: &str) -> Self {
        Self { neutral: Some(1.0), ..Self::new(title, unit) }
    }

    /// Makes the vertical axis logarithmic.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { is_log: true, ..self }
    }

    /// Sorts the groups by the mean of their values, in ascending order. Groups that hold means of other
    /// groups stay at the end.
    #[must_use]
    pub fn sort_groups(mut self) -> Self {
        let key = |group: usize| {
            let known: Vec<f64> = self.series.iter().filter_map(|series| series.values[group]).collect();
            mean(&known).unwrap_or(f64::INFINITY)
        };
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        let others = self.groups.len() - self.means;
        order[..others].sort_by(|one, other| key(*one).total_cmp(&key(*other)));
        self.groups = order.iter().map(|at| self.groups[*at].clone()).collect();
        for series in &mut self.series {
            series.values = order.iter().map(|at| series.values[*at]).collect();
        }
        self
    }

    /// Adds a group that contains the mean of each series: the geometric mean for a chart of ratios, the
    /// arithmetic mean otherwise. If a series has an unknown value, its mean is unknown too.
    #[must_use]
    pub fn with_mean(mut self) -> Self {
        let (name, of) = match self.neutral {
            Some(_) => ("geomean", geometric_mean as fn(&[f64]) -> Option<f64>),
            None => ("mean", mean as fn(&[f64]) -> Option<f64>),
        };
        for series in &mut self.series {
            let known: Option<Vec<f64>> = series.values.iter().copied().collect();
            series.values.push(known.and_then(|values| of(&values)));
        }
        self.groups.push(name.to_owned());
        self.means += 1;
        self
    }
}

impl Series {
    /// Creates a series in which no value is missing.
    #[must_use]
    pub fn new(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self { name: name.to_owned(), values: values.into_iter().map(Some).collect() }
    }
}

/// Margin around the chart. All length constants below are in points; those whose names end in `EMS` are
/// multiples of the font size instead.
const MARGIN: f64 = 4.0;
/// Height of a line of text.
const LINE_EMS: f64 = 1.4;
/// Distance between an axis and its labels.
const APART: f64 = 3.0;
/// Maximum number of tick labels on the vertical axis.
const TICKS: usize = 7;
/// Maximum number of decimal places of tick labels.
const MAX_PLACES: usize = 6;
/// Height of the plot area in points: first for pictures of a given width, then for pictures whose width
/// follows from the number of groups and series.
const HEIGHT: (f64, f64) = (118.0, 190.0);
/// Lengths in points from which the width of a picture follows if it is not given: minimum and maximum width
/// of the plot area, gap between the bars of two groups, and width of a bar.
const WIDTH: (f64, f64, f64, f64) = (330.0, 900.0, 8.0, 6.0);
/// Maximum width of the name of a group.
const NAME: f64 = 150.0;
/// Fraction of the width of a group that its bars fill.
const FILLED: f64 = 0.8;
/// Gap before the groups that hold means, as a multiple of the width of a group.
const GAP: f64 = 0.6;
/// Vertical distance in points below which two lines are regarded as coincident.
const COINCIDENT: f64 = 1.2;
/// Length in points of the dashes with which coincident lines are drawn.
const DASH: f64 = 5.0;
const GREY: RGBColor = RGBColor(217, 217, 217);

/// Positions of the elements of a chart, and range of its vertical axis.
struct Layout {
    letters: f64,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    /// Value at the lower end of the vertical axis, as a logarithm if the axis is logarithmic.
    low: f64,
    /// Value at the upper end of the vertical axis, as a logarithm if the axis is logarithmic.
    high: f64,
}

impl Layout {
    /// Returns the vertical position of a value in the picture. On a logarithmic axis, `scaled` is the
    /// logarithm of the value.
    fn y(&self, scaled: f64) -> f64 {
        self.bottom - (scaled - self.low) / (self.high - self.low) * (self.bottom - self.top)
    }
}

impl Chart {
    /// Returns the chart as SVG, in its natural width.
    ///
    /// # Panics
    /// Panics if a series does not have exactly one entry per group.
    #[must_use]
    pub fn svg(&self) -> String {
        self.picture(Width::Free).svg()
    }

    /// Draws the chart in the given width.
    ///
    /// # Panics
    /// Panics if a series does not have exactly one entry per group.
    #[must_use]
    pub fn picture(&self, width: Width) -> Picture {
        for series in &self.series {
            assert_eq!(series.values.len(), self.groups.len(), "{}: a number for each group", series.name);
        }
        let letters = width.letters();
        let line = LINE_EMS * letters;
        let (low, high) = self.range();
        let ticks = self.ticks(low, high);
        let numbers = ticks.iter().map(|(_, text)| reserved_width(text, letters)).fold(0.0, f64::max);
        let left = MARGIN + line + numbers + APART;
        let all = width.points().unwrap_or_else(|| {
            let (least, most, group, bar) = WIDTH;
            let bars = if self.form == Form::Bars { self.series.len() as f64 } else { 1.0 };
            left + (self.slots() * (group + bars * bar)).clamp(least, most) + MARGIN
        });
        let right = all - MARGIN;
        let pitch = (right - left) / self.slots();
        let names: Vec<String> = self.groups.iter().map(|name| shorten_to_width(name, letters, NAME)).collect();
        let widest = names.iter().map(|name| reserved_width(name, letters)).fold(0.0, f64::max);
        let is_upright = widest > pitch - APART;
        let below = if is_upright { widest } else { line };
        let legend = self.legend(letters, right - MARGIN);
        let rows = legend.last().map_or(0, |(row, ..)| row + 1);
        let title = if self.title.is_empty() { 0.0 } else { 1.3 * line };
        let top = MARGIN + title + rows as f64 * line + letters / 2.0;
        let bottom = top + if width == Width::Free { HEIGHT.1 } else { HEIGHT.0 };
        let across = if self.across.is_empty() { 0.0 } else { line };
        let layout = Layout { letters, left, top, right, bottom, low, high };
        let mut picture = Picture::new((all, bottom + APART + below + across + MARGIN));
        let label = |across| Label::new(letters, across);
        if !self.title.is_empty() {
            let size = 1.15 * letters;
            let text = shorten_to_width(&self.title, size, all - 2.0 * MARGIN);
            picture.text(&text, (all / 2.0, MARGIN + line / 2.0), Label::new(size, Anchor::Middle));
        }
        for (row, x, name, number) in &legend {
            let y = MARGIN + title + (*row as f64 + 0.5) * line;
            self.swatch(&mut picture, (*x, y), letters, *number);
            picture.text(name, (x + 2.0 * letters, y), label(Anchor::Start));
        }
        self.axes(&mut picture, &layout, &ticks);
        for (at, name) in names.iter().enumerate() {
            let x = self.x(&layout, at);
            if is_upright {
                picture.text(name, (x, bottom + APART), label(Anchor::End).upright());
            } else {
                picture.text(name, (x, bottom + APART + line / 2.0), label(Anchor::Middle));
            }
        }
        let y = bottom + APART + below + across / 2.0;
        picture.text(&self.across, ((left + right) / 2.0, y), label(Anchor::Middle));
        let neutral = self.neutral.and_then(|neutral| self.scale_value(neutral)).map(|neutral| layout.y(neutral));
        let neutral = neutral.map(|y| [(left, y), (right, y)]);
        let cross = |picture: &mut Picture| neutral.iter().for_each(|ends| picture.line(ends, 0.6, BLACK));
        match self.form {
            Form::Bars => {
                self.bars(&mut picture, &layout);
                cross(&mut picture);
            }
            Form::Lines => {
                cross(&mut picture);
                self.lines(&mut picture, &layout);
            }
        }
        picture
    }

    /// Returns the width of the horizontal axis as a multiple of the width of a group, including the gap
    /// before means.
    fn slots(&self) -> f64 {
        self.groups.len().max(1) as f64 + if self.has_gap() { GAP } else { 0.0 }
    }

    fn has_gap(&self) -> bool {
        self.means > 0 && self.means < self.groups.len()
    }

    /// Returns the horizontal position of the center of a group.
    fn x(&self, layout: &Layout, group: usize) -> f64 {
        let gap = if self.has_gap() && group >= self.groups.len() - self.means { GAP } else { 0.0 };
        layout.left + (group as f64 + gap + 0.5) * (layout.right - layout.left) / self.slots()
    }

    /// Computes the layout of the legend above the plot. Returns, for each entry: its row, its left edge, its
    /// text, and the index of its series.
    fn legend(&self, letters: f64, right: f64) -> Vec<(usize, f64, String, usize)> {
        let (mut legend, mut row, mut x) = (Vec::new(), 0, MARGIN);
        if self.series.len() < 2 {
            return legend;
        }
        for (number, series) in self.series.iter().enumerate() {
            let key = 2.0 * letters;
            let name = shorten_to_width(&series.name, letters, right - MARGIN - key);
            let width = key + reserved_width(&name, letters);
            if x > MARGIN && x + width > right {
                (row, x) = (row + 1, MARGIN);
            }
            legend.push((row, x, name, number));
            x += width + letters;
        }
        legend
    }

    fn swatch(&self, picture: &mut Picture, (x, y): Point, letters: f64, number: usize) {
        let half = 0.38 * letters;
        match self.form {
            Form::Bars => fill(picture, (x, y - half), (x + 1.6 * letters, y + half), number),
            Form::Lines => {
                picture.line(&[(x, y), (x + 1.6 * letters, y)], 1.0, colour(number));
                marker(picture, (x + 0.8 * letters, y), MARKER, number);
            }
        }
    }

    /// Draws grid lines, axes, tick labels and axis labels.
    fn axes(&self, picture: &mut Picture, layout: &Layout, ticks: &[(f64, String)]) {
        let &Layout { letters, left, top, right, bottom, .. } = layout;
        for (scaled, text) in ticks {
            let y = layout.y(*scaled);
            picture.line(&[(left, y), (right, y)], 0.4, GREY);
            picture.text(text, (left - APART, y), Label::new(letters, Anchor::End));
        }
        if self.has_gap() {
            let first = self.groups.len() - self.means;
            let x = (self.x(layout, first - 1) + self.x(layout, first)) / 2.0;
            picture.line(&[(x, top), (x, bottom)], 0.4, RGBColor(150, 150, 150));
        }
        picture.line(&[(left, top), (left, bottom), (right, bottom)], 0.6, BLACK);
        let size = [1.0, 0.9, 0.8, 0.7].map(|part| part * letters);
        let fits = |size: &&f64| width_of(&self.unit, **size) <= bottom - MARGIN;
        let size = size.iter().find(fits).copied().unwrap_or(0.7 * letters);
        let unit = shorten_to_width(&self.unit, size, bottom - MARGIN);
        let half = width_of(&unit, size) / 2.0;
        let middle = f64::midpoint(top, bottom).min(bottom + APART - half).max(MARGIN + half);
        let x = MARGIN + LINE_EMS * letters / 2.0;
        picture.text(&unit, (x, middle), Label::new(size, Anchor::Middle).upright());
    }

    fn bars(&self, picture: &mut Picture, layout: &Layout) {
        let pitch = (layout.right - layout.left) / self.slots();
        let width = FILLED * pitch / self.series.len() as f64;
        let foot = layout.y(self.scale_value(self.foot()).unwrap_or(0.0));
        for (number, series) in self.series.iter().enumerate() {
            for (at, value) in series.values.iter().enumerate() {
                let left = self.x(layout, at) - FILLED * pitch / 2.0 + number as f64 * width;
                match value.and_then(|value| self.scale_value(value)) {
                    Some(height) => {
                        let y = layout.y(height);
                        fill(picture, (left, y.min(foot)), (left + width, y.max(foot)), number);
                    }
                    None => {
                        // If the value of a bar is unknown, a cross is drawn instead, so that the value is
                        // not mistaken for zero.
                        let (x, y, arm) = (left + width / 2.0, foot - 2.5, (width / 2.0).min(1.5));
                        picture.line(&[(x - arm, y - arm), (x + arm, y + arm)], 0.6, colour(number));
                        picture.line(&[(x - arm, y + arm), (x + arm, y - arm)], 0.6, colour(number));
                    }
                }
            }
        }
    }

    /// Draws each series as a line with markers. Lines that coincide are drawn with alternating dashes, and
    /// markers that coincide are drawn side by side.
    fn lines(&self, picture: &mut Picture, layout: &Layout) {
        let height = |number: usize, at: usize| Some(layout.y(self.scale_value(self.series[number].values[at]?)?));
        let is_near = |one: Option<f64>, other: Option<f64>, by: f64| {
            one.zip(other).is_some_and(|(one, other)| (one - other).abs() <= by)
        };
        let all = 0..self.series.len();
        for at in 1..self.groups.len() {
            let ends = |number| (height(number, at - 1), height(number, at));
            for number in all.clone() {
                let (Some(from), Some(to)) = ends(number) else { continue };
                let with = |other: &usize| {
                    let (start, end) = ends(*other);
                    is_near(start, Some(from), COINCIDENT) && is_near(end, Some(to), COINCIDENT)
                };
                let together: Vec<usize> = all.clone().filter(with).collect();
                let turn = together.iter().position(|other| *other == number).unwrap_or(0);
                let (from, to) = ((self.x(layout, at - 1), from), (self.x(layout, at), to));
                dashes(picture, from, to, (turn, together.len()), colour(number));
            }
        }
        let pitch = (layout.right - layout.left) / self.slots();
        for at in 0..self.groups.len() {
            let mut known: Vec<(f64, usize)> =
                all.clone().filter_map(|number| Some((height(number, at)?, number))).collect();
            known.sort_by(|one, other| one.0.total_cmp(&other.0));
            for together in known.chunk_by(|one, next| next.0 - one.0 <= 1.6 * MARKER) {
                let mut together = together.to_vec();
                together.sort_by_key(|(_, number)| *number);
                let step = (2.1 * MARKER).min(pitch / together.len() as f64);
                let first = self.x(layout, at) - step * (together.len() - 1) as f64 / 2.0;
                for (turn, (y, number)) in together.into_iter().enumerate() {
                    marker(picture, (first + turn as f64 * step, y), MARKER, number);
                }
            }
        }
    }

    /// Returns the value at which bars begin: zero, or the value of the reference line if the axis is
    /// logarithmic.
    fn foot(&self) -> f64 {
        if self.is_log { self.neutral.unwrap_or(1.0) } else { 0.0 }
    }

    /// Converts a value to the scale of the vertical axis: takes the logarithm if the axis is logarithmic.
    /// Returns `None` if the axis cannot show the value.
    fn scale_value(&self, value: f64) -> Option<f64> {
        match self.is_log {
            true => (value > 0.0 && value.is_finite()).then(|| value.log10()),
            false => value.is_finite().then_some(value),
        }
    }

    /// Returns the lower and the upper end of the vertical axis. All values, the start of the bars and the
    /// reference line are between these ends. The upper end includes a margin, and so does the lower end if
    /// it is below zero.
    fn range(&self) -> (f64, f64) {
        let values = self.series.iter().flat_map(|series| series.values.iter().copied().flatten());
        let heights = values.chain(self.neutral).chain([self.foot()]).filter_map(|value| self.scale_value(value));
        let (low, high) =
            heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), height| (low.min(height), high.max(height)));
        // The margin is 5 % of the range of the values. If all values are equal, the margin is 1, since there
        // is no range.
        let room = if high > low { ((high - low) * 0.05).max(1e-3) } else { 1.0 };
        (if low < 0.0 { low - room } else { low }, high + room)
    }

    /// Returns the ticks of the vertical axis: for each, its position on the axis (a logarithm if the axis is
    /// logarithmic) and its label.
    fn ticks(&self, low: f64, high: f64) -> Vec<(f64, String)> {
        if !self.is_log {
            return linear_ticks(low, high, TICKS);
        }
        let (least, most) = (10_f64.powf(low), 10_f64.powf(high));
        log_ticks(least, most, TICKS).into_iter().map(|(value, text)| (value.log10(), text)).collect()
    }
}

/// Draws one of several coincident lines with dashes, so that the dashes of these lines alternate. A line
/// that coincides with no other line is drawn solid.
fn dashes(picture: &mut Picture, from: Point, to: Point, (turn, lines): (usize, usize), colour: RGBColor) {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let at = |way: f64| {
        let part = (way / length).clamp(0.0, 1.0);
        (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1))
    };
    if lines < 2 || length == 0.0 {
        return picture.line(&[from, to], 1.0, colour);
    }
    let mut start = turn as f64 * DASH;
    while start < length {
        picture.line(&[at(start), at(start + DASH)], 1.2, colour);
        start += lines as f64 * DASH;
    }
}

/// Returns at most `count` ticks on a linear axis from `low` to `high`, each with its label.
pub(crate) fn linear_ticks(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let ticks = RangedCoordf64::from(low..high).key_points(count);
    let of_all = places(&ticks);
    ticks.into_iter().map(|tick| (tick, format_tick(tick, of_all))).collect()
}

/// Returns about `count` ticks on a logarithmic axis from `least` to `most`, each with its label. The ticks
/// are round numbers in each decade or, if `most` is less than 4 times `least`, equidistant numbers.
pub(crate) fn log_ticks(least: f64, most: f64, count: usize) -> Vec<(f64, String)> {
    if most / least < 4.0 {
        let ticks = linear_ticks(least, most, count);
        return ticks.into_iter().filter(|(tick, _)| *tick > 0.0).collect();
    }
    let decades = (least.log10().floor() as i32)..=(most.log10().ceil() as i32);
    let of = |digits: &[f64], step: usize| -> Vec<f64> {
        let tens = decades.clone().step_by(step).map(|decade| 10_f64.powi(decade));
        let ticks = tens.flat_map(|ten| digits.iter().map(move |digit| digit * ten));
        ticks.filter(|tick| (least * 0.999..=most * 1.001).contains(tick)).collect()
    };
    let finest = [of(&[1.0, 2.0, 5.0], 1), of(&[1.0, 3.0], 1), of(&[1.0], 1), of(&[1.0], 2), of(&[1.0], 4)];
    let ticks = finest.iter().find(|ticks| ticks.len() <= count + 1).or(finest.last()).cloned().unwrap_or_default();
    ticks.into_iter().map(|tick| (tick, short(tick))).collect()
}

/// Formats a value with two significant digits.
fn short(value: f64) -> String {
    let text = format!("{value:.*}", (1 - value.abs().log10().floor() as i32).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns the number of decimal places that all tick labels share: if a tick is 10 or more, or if two
/// decimal places are too few for some tick. Otherwise returns `None`: each label then has as many decimal
/// places as its own value needs.
pub(crate) fn places(ticks: &[f64]) -> Option<usize> {
    let step = ticks.windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min);
    let is_exact = |tick: &f64, places: usize| {
        format!("{tick:.places$}").parse().is_ok_and(|shown: f64| (shown - tick).abs() < step / 100.0)
    };
    let places = (0..MAX_PLACES).find(|&places| ticks.iter().all(|tick| is_exact(tick, places)));
    let places = places.unwrap_or(MAX_PLACES);
    (places > 2 || ticks.iter().any(|tick| tick.abs() >= 10.0)).then_some(places)
}

/// Formats a tick label. `of_all` is the number of decimal places that all labels share, or `None` if the
/// number of decimal places depends on the size of the value.
pub(crate) fn format_tick(value: f64, of_all: Option<usize>) -> String {
    let places = match (value.abs(), of_all) {
        (0.0, _) => 0,
        (_, Some(places)) => places,
        (size, None) if size < 0.1 => 3,
        (size, None) if size < 10.0 => 2,
        (_, None) => 0,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(form: Form) -> Chart {
        let groups = ["vadd", "syrk", "a < b & c"].map(str::to_owned).into();
        let none = Series { name: "published".to_owned(), values: vec![None, Some(21.0), None] };
        let series = vec![Series::new("ours", [0.9, 13.0, 1.0]), none];
        Chart {
            title: "IPC".to_owned(),
            unit: "times".to_owned(),
            groups,
            series,
            form,
            is_log: true,
            neutral: Some(1.0),
            ..Chart::default()
        }
    }

    /// Returns the width and the height of a picture in inches.
    fn size(svg: &str) -> (f64, f64) {
        let number = |key: &str| svg.split_once(key).unwrap().1.split_once("in\"").unwrap().0.parse().unwrap();
        (number(" width=\""), number(" height=\""))
    }

    #[test]
    fn a_bar_is_drawn_for_each_known_number_and_hatched_from_the_second_series_on() {
        let svg = chart(Form::Bars).svg();
        // Each series has one box per known value and one more box in the legend.
        let boxes = |fill: &str| svg.matches(&format!("fill=\"{fill}\"")).count();
        assert_eq!((boxes("#0072B2"), boxes("#E69F00")), (3 + 1, 1 + 1), "{svg}");
        assert_eq!(svg.matches("fill=\"url(#hatch-").count(), 1 + 1, "{svg}");
        // Two crosses mark the two unknown values, and each cross has two strokes.
        assert_eq!(svg.matches("stroke=\"#E69F00\"").count(), 2 * 2, "{svg}");
    }

    #[test]
    fn no_two_ticks_have_one_number() {
        let texts = |ticks: &[f64]| ticks.iter().map(|tick| format_tick(*tick, places(ticks))).collect::<Vec<_>>();
        assert_eq!(texts(&[0.0, 5.0, 10.0]), ["0", "5", "10"]);
        assert_eq!(texts(&[10.0, 10.5, 11.0]), ["10.0", "10.5", "11.0"]);
        assert_eq!(texts(&[0.0, 0.5, 1.0]), ["0", "0.50", "1.00"]);
        assert_eq!(texts(&[1.001, 1.002]), ["1.001", "1.002"]);
        for (least, most) in [(0.9, 1.1), (0.3, 3.0), (0.01, 31.0), (1e-9, 1e9), (1.0, 1.001)] {
            let ticks = log_ticks(least, most, TICKS);
            assert!((2..=TICKS + 2).contains(&ticks.len()), "{ticks:?}");
            assert!(ticks.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1), "{ticks:?}");
        }
        let texts: Vec<_> = log_ticks(0.1, 10.0, TICKS).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
    }

    #[test]
    fn numbers_that_are_all_zero_stand_below_an_axis_up_to_one() {
        let none = Chart { groups: vec!["a".to_owned()], series: vec![Series::new("x", [0.0])], ..Chart::default() };
        assert_eq!(none.range(), (0.0, 1.0));
    }

    #[test]
    fn a_picture_is_as_wide_as_a_column_or_as_its_names_need() {
        let mut long = chart(Form::Bars);
        assert_eq!(size(&long.picture(Width::Single).svg()).0, 3.3);
        assert_eq!(size(&long.picture(Width::Double).svg()).0, 7.0);
        let before = size(&long.svg());
        long.groups[0] = "kernels/a-folder-with-a-long-name/that-goes-on/launch.toml".to_owned();
        let after = size(&long.svg());
        assert!(after.0 >= before.0 && after.1 > before.1 + 1.0, "{before:?} {after:?}");
        // With 12 more series, the legend needs several rows, and it needs more rows in a narrow picture than
        // in a wide one.
        long.series.extend((0..12).map(|number| Series::new(&format!("bypass-all, {number} sets"), [1.0; 3])));
        assert!(size(&long.picture(Width::Single).svg()).1 > size(&long.picture(Width::Double).svg()).1);
        assert!(long.picture(Width::Single).svg().contains('…'));
    }

    #[test]
    fn groups_are_sorted_and_their_mean_stands_at_the_end() {
        let chart = Chart::relative("", "speed-up");
        let groups = ["a", "b", "c"].map(str::to_owned).into();
        let partial = Series { name: "partial".to_owned(), values: vec![Some(1.0), None, Some(1.0)] };
        let chart = Chart { groups, series: vec![Series::new("x", [4.0, 0.5, 0.5]), partial], ..chart };
        let chart = chart.with_mean().sort_groups();
        assert_eq!(chart.groups, ["b", "c", "a", "geomean"]);
        assert_eq!(chart.series[0].values, [Some(0.5), Some(0.5), Some(4.0), Some(1.0)]);
        assert_eq!(chart.series[1].values, [None, Some(1.0), Some(1.0), None]);
        let sums = Chart { groups: vec!["a".to_owned()], series: vec![Series::new("x", [3.0])], ..Chart::new("", "") };
        assert_eq!(sums.with_mean().groups, ["a", "mean"]);
    }

    #[test]
    fn lines_that_coincide_have_dashes_in_turn_and_markers_side_by_side() {
        let lines = |other: [f64; 2]| {
            let groups = ["16", "32"].map(str::to_owned).into();
            let series = vec![Series::new("a", [1.0, 2.0]), Series::new("b", other)];
            Chart { groups, series, form: Form::Lines, ..Chart::new("", "") }.svg()
        };
        let strokes = |svg: &str, colour: &str| svg.matches(&format!("stroke=\"{colour}\"")).count();
        let (apart, shared) = (lines([2.0, 1.0]), lines([1.0, 2.0]));
        // A line that does not coincide with another line consists of one stroke in the plot, and has one
        // more in the legend.
        assert_eq!([strokes(&apart, "#0072B2"), strokes(&apart, "#E69F00")], [2, 2], "{apart}");
        let [one, other] = ["#0072B2", "#E69F00"].map(|colour| strokes(&shared, colour));
        assert!(one > 5 && other > 5 && one.abs_diff(other) <= 1, "{one} {other}");
        assert!(!apart.contains("NaN") && !shared.contains("NaN"));
    }

    #[test]
    fn names_are_escaped_and_the_same_numbers_give_the_same_bytes() {
        for form in [Form::Bars, Form::Lines] {
            let svg = chart(form).svg();
            assert!(svg.contains("a &lt; b &amp; c") && svg.contains("syrk"), "{svg}");
            assert_eq!(svg, chart(form).svg());
        }
    }
}
