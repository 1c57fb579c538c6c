//! # Heat maps
//! Heat maps of a metric over two parameters, as SVG text. The color of each field shows the value that is
//! written in the field. All maps of a picture share one color scale, shown by a bar next to the maps. The
//! scale of ratios is logarithmic with 1 in the middle, so a gain of a factor and a loss of the same factor
//! are equally dark.

use plotters::prelude::*;

use super::chart::{linear_ticks, log_ticks};
use super::marks::lightness;
use super::picture::{Anchor, Label, Picture, Point, Width, reserved_width, shorten_to_width, width_of};

/// Heat maps of one metric over the same two parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMaps {
    /// Unit of the values in the fields of the maps.
    pub unit: String,
    /// Name of the parameter on the horizontal axis, and its values.
    pub across: (String, Vec<String>),
    /// Name of the parameter on the vertical axis, and its values.
    pub down: (String, Vec<String>),
    /// Maps, each with its name and its values row by row. A value is `None` if it is unknown.
    pub maps: Vec<(String, Vec<Option<f64>>)>,
    /// True if the values are ratios, for which 1 means neither gain nor loss.
    pub are_ratios: bool,
}

/// Margin around the maps. All length constants below are in points; those whose names end in `EMS` are
/// multiples of the font size instead.
const MARGIN: f64 = 4.0;
const LINE_EMS: f64 = 1.4;
const APART: f64 = 3.0;
/// Minimum width, maximum width, and height of a colored field in a map.
const FIELD_EMS: (f64, f64, f64) = (2.9, 6.0, 1.7);
/// Maximum width of the name of a row, of a column or of a map.
const NAME: f64 = 110.0;
/// Bar that shows the color scale: its width, its distance from the maps, and its minimum height.
const BAR: (f64, f64, f64) = (9.0, 12.0, 90.0);
const STEPS: usize = 48;
/// Maximum number of tick labels next to the bar that shows the color scale.
const TICKS: usize = 6;
/// Maximum width of a picture whose width is not given: the width of a page.
const WIDEST: f64 = 504.0;
/// Color of the largest loss: orange. It can be distinguished from the blue of gains even in a gray print.
const LOSS: [f64; 3] = [179.0, 88.0, 6.0];
/// Color of the largest gain: blue.
const GAIN: [f64; 3] = [8.0, 69.0, 148.0];
/// Color of a ratio of 1, which is neither a gain nor a loss.
const NONE: [f64; 3] = [247.0, 247.0, 247.0];
/// Color of the lowest value on a scale of values other than ratios.
const PALE: [f64; 3] = [236.0, 243.0, 250.0];
/// Color of the highest value on a scale of values other than ratios.
const DARK: [f64; 3] = [8.0, 64.0, 129.0];
/// Lightness of a color below which the text on it is white.
const IS_DARK: f64 = 0.52;
/// Minimum ratio at the upper end of the color scale of ratios. Without this minimum, differences as small as
/// noise could get dark colors.
const MIN_RATIO: f64 = 1.02;

/// Mapping from values to positions on the color scale.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    is_ratio: bool,
}

impl Scale {
    /// Returns the position of a value on the color scale, from 0 to 1.
    fn place(self, value: f64) -> f64 {
        let part = match self.is_ratio {
            true => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            false if self.high > self.low => (value - self.low) / (self.high - self.low),
            false => 0.0,
        };
        part.clamp(0.0, 1.0)
    }

    fn colour(self, place: f64) -> RGBColor {
        let between = |from: [f64; 3], to: [f64; 3], part: f64| {
            let [red, green, blue] = std::array::from_fn(|at| (from[at] + part * (to[at] - from[at])).round() as u8);
            RGBColor(red, green, blue)
        };
        match self.is_ratio {
            true if place < 0.5 => between(NONE, LOSS, 1.0 - 2.0 * place),
            true => between(NONE, GAIN, 2.0 * place - 1.0),
            false => between(PALE, DARK, place),
        }
    }

    fn ticks(self) -> Vec<(f64, String)> {
        match self.is_ratio {
            true => log_ticks(self.low, self.high, TICKS),
            false if self.high > self.low => {
                let ticks = linear_ticks(self.low, self.high, TICKS);
                ticks
                    .into_iter()
                    .map(|(tick, text)| (tick, if tick.abs() < 1e4 { text } else { short(tick, 4) }))
                    .collect()
            }
            false => vec![(self.low, short(self.low, usize::MAX))],
        }
    }
}

/// Positions and sizes of the maps in a picture.
struct Layout {
    letters: f64,
    line: f64,
    /// Width reserved for the names of rows, to the left of the maps.
    names: f64,
    field: Point,
    /// Number of maps side by side.
    columns: usize,
    /// Width and height of a map, including its name.
    map: Point,
    /// Height reserved for the names of columns, below the maps.
    below: f64,
    is_upright: bool,
    across: Vec<String>,
}

impl HeatMaps {
    /// Returns the maps as SVG, in their natural width.
    ///
    /// # Panics
    /// Panics if a map does not have exactly one entry per pair of parameter values.
    #[must_use]
    pub fn svg(&self) -> String {
        self.picture(Width::Free).svg()
    }

    /// Draws the maps in the given width.
    ///
    /// # Panics
    /// Panics if a map does not have exactly one entry per pair of parameter values.
    #[must_use]
    pub fn picture(&self, width: Width) -> Picture {
        for (name, values) in &self.maps {
            assert_eq!(values.len(), self.across.1.len() * self.down.1.len(), "{name}: a number for each pair");
        }
        let scale = self.scale();
        let ticks = scale.ticks();
        let letters = width.letters();
        let numbers = ticks.iter().map(|(_, text)| reserved_width(text, letters)).fold(0.0, f64::max);
        let bar = BAR.0 + BAR.1 + APART + numbers + LINE_EMS * letters;
        let layout = self.layout(letters, width.points().unwrap_or(WIDEST) - 2.0 * MARGIN - bar);
        let line = layout.line;
        let rows = self.maps.len().div_ceil(layout.columns).max(1);
        let right = MARGIN + layout.names + layout.columns as f64 * layout.map.0;
        let all = width.points().unwrap_or(right + bar + MARGIN);
        let maps = rows as f64 * layout.map.1 + layout.below;
        let height = maps.max(BAR.2 + line);
        let mut picture = Picture::new((all, MARGIN + height + line + MARGIN));
        let middle = (MARGIN + layout.names + right) / 2.0;
        let label = Label::new(letters, Anchor::Middle);
        picture.text(&self.across.0, (middle, MARGIN + maps + line / 2.0), label);
        picture.text(&self.down.0, (MARGIN + line / 2.0, MARGIN + (line + maps - layout.below) / 2.0), label.upright());
        for (number, (name, values)) in self.maps.iter().enumerate() {
            let (row, column) = (number / layout.columns, number % layout.columns);
            let left = MARGIN + layout.names + column as f64 * layout.map.0;
            let top = MARGIN + row as f64 * layout.map.1;
            // The maps of a picture share their column names. Only the lowest map of each column of maps
            // shows these names.
            let is_lowest = number + layout.columns >= self.maps.len();
            self.map(&mut picture, &layout, (left, top), (column == 0, is_lowest), name);
            self.fields(&mut picture, &layout, (left, top + line), values, scale);
        }
        let left = all - MARGIN - bar + BAR.1;
        let length = height.min(BAR.2.max(layout.map.1)) - line;
        self.bar(&mut picture, (left, MARGIN + line), length, letters, scale, &ticks);
        picture
    }

    fn layout(&self, letters: f64, room: f64) -> Layout {
        let line = LINE_EMS * letters;
        let (least, most, high) = FIELD_EMS;
        let widest = |names: &[String]| names.iter().map(|name| reserved_width(name, letters)).fold(0.0, f64::max);
        let names = line + widest(&self.down.1).min(NAME) + APART;
        let fields = self.across.1.len().max(1) as f64;
        let gap = line;
        // As many maps are drawn side by side as fit with fields of minimum width. The remaining width is
        // then used to widen the fields.
        let columns = ((room - names) / (fields * least * letters + gap)).floor().max(1.0);
        let columns = (columns as usize).clamp(1, self.maps.len().max(1));
        let field = ((room - names) / columns as f64 - gap) / fields;
        let field = field.clamp(0.9 * letters, most * letters);
        let across: Vec<String> = self.across.1.iter().map(|name| shorten_to_width(name, letters, NAME)).collect();
        let widest = widest(&across);
        let is_upright = widest > field - APART;
        let below = if is_upright { widest + APART } else { line };
        let map = (fields * field + gap, line + self.down.1.len() as f64 * high * letters + APART);
        Layout { letters, line, names, field: (field, high * letters), columns, map, below, is_upright, across }
    }

    /// Draws the names of rows and columns around a map.
    fn map(
        &self,
        picture: &mut Picture,
        layout: &Layout,
        (left, top): Point,
        (is_first, is_lowest): (bool, bool),
        name: &str,
    ) {
        let Layout { letters, line, field, .. } = *layout;
        let label = |across| Label::new(letters, across);
        let name = shorten_to_width(name, letters, layout.map.0 - APART);
        picture.text(&name, (left, top + line / 2.0), label(Anchor::Start));
        let fields = top + line;
        for (row, value) in self.down.1.iter().enumerate().filter(|_| is_first) {
            let at = (left - APART, fields + (row as f64 + 0.5) * field.1);
            picture.text(&shorten_to_width(value, letters, NAME), at, label(Anchor::End));
        }
        let bottom = fields + self.down.1.len() as f64 * field.1 + APART;
        for (column, value) in layout.across.iter().enumerate().filter(|_| is_lowest) {
            let x = left + (column as f64 + 0.5) * field.0;
            match layout.is_upright {
                true => picture.text(value, (x, bottom), label(Anchor::End).upright()),
                false => picture.text(value, (x, bottom + line / 2.0), label(Anchor::Middle)),
            }
        }
    }

    fn fields(&self, picture: &mut Picture, layout: &Layout, (left, top): Point, values: &[Option<f64>], scale: Scale) {
        let (width, height) = layout.field;
        let size = 0.86 * layout.letters;
        for (at, value) in values.iter().enumerate() {
            let (column, row) = (at % self.across.1.len(), at / self.across.1.len());
            let (x, y) = (left + column as f64 * width, top + row as f64 * height);
            let label = Label::new(size, Anchor::Middle);
            let middle = (x + width / 2.0, y + height / 2.0);
            let Some(value) = value.filter(|value| value.is_finite()) else {
                picture.text("–", middle, label);
                continue;
            };
            let colour = scale.colour(scale.place(value));
            picture.rect((x, y), (x + width - 0.5, y + height - 0.5), colour);
            let letters = if lightness(colour) < IS_DARK { WHITE } else { BLACK };
            // The text has as many digits as fit into the field. If fewer than two digits fit, the text is
            // omitted, because it would be misleading; only the color then shows the value.
            let text = (2..=4).rev().map(|digits| short(value, digits)).find(|text| width_of(text, size) < width - 1.5);
            picture.text(&text.unwrap_or_default(), middle, Label { colour: letters, ..label });
        }
    }

    /// Draws the bar that shows the color scale, and its tick labels.
    fn bar(
        &self,
        picture: &mut Picture,
        (left, top): Point,
        length: f64,
        letters: f64,
        scale: Scale,
        ticks: &[(f64, String)],
    ) {
        let right = left + BAR.0;
        let y = |place: f64| top + (1.0 - place) * length;
        for step in 0..STEPS {
            let [low, high] = [step, step + 1].map(|step| step as f64 / STEPS as f64);
            picture.rect((left, y(high)), (right, y(low)), scale.colour(f64::midpoint(low, high)));
        }
        picture.line(&[(left, top), (right, top), (right, y(0.0)), (left, y(0.0)), (left, top)], 0.4, BLACK);
        let mut widest: f64 = 0.0;
        for (value, text) in ticks {
            let at = y(scale.place(*value));
            picture.line(&[(right, at), (right + 2.0, at)], 0.4, BLACK);
            picture.text(text, (right + APART, at), Label::new(letters, Anchor::Start));
            widest = widest.max(reserved_width(text, letters));
        }
        let x = right + APART + widest + LINE_EMS * letters / 2.0;
        let unit = shorten_to_width(&self.unit, letters, length + 2.0 * LINE_EMS * letters);
        picture.text(&unit, (x, top + length / 2.0), Label::new(letters, Anchor::Middle).upright());
    }

    fn scale(&self) -> Scale {
        let values = self.maps.iter().flat_map(|(_, values)| values.iter().copied().flatten());
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let is_ratio = self.are_ratios && values.iter().all(|value| *value > 0.0);
        let ends = values.iter().fold(None, |ends: Option<(f64, f64)>, &value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends.unwrap_or((0.0, 0.0));
        if is_ratio {
            let most = values.iter().fold(MIN_RATIO, |most, value| most.max(*value).max(value.recip()));
            return Scale { low: most.recip(), high: most, is_ratio };
        }
        Scale { low, high, is_ratio }
    }
}

/// Formats a value with at most `digits` significant digits, but with all digits before the decimal point.
fn short(value: f64, digits: usize) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if value.fract() == 0.0 && unit.is_empty() {
        return format!("{value:.0}");
    }
    let whole = if value.abs() < 1.0 { 1 } else { value.abs().log10() as usize + 1 };
    let text = format!("{value:.*}", digits.min(4).saturating_sub(whole).min(3));
    match unit.is_empty() || !text.contains('.') {
        true => format!("{text}{unit}"),
        false => format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(values: [Option<f64>; 4], are_ratios: bool) -> HeatMaps {
        let names = |names: [&str; 2]| names.map(str::to_owned).into();
        let across = ("l1.sets".to_owned(), names(["16", "32"]));
        let down = ("l1.ways".to_owned(), names(["2", "4"]));
        HeatMaps {
            unit: "count".to_owned(),
            across,
            down,
            maps: vec![("pric & co".to_owned(), values.into())],
            are_ratios,
        }
    }

    #[test]
    fn every_known_number_has_a_field_that_is_darker_the_larger_it_is_and_a_bar_shows_the_scale() {
        let svg = maps([Some(1.0), Some(2_500_000.0), None, Some(7.25)], false).svg();
        for text in ["count", "pric &amp; co", "l1.sets", "l1.ways", "16", "32", "2", "4", "1", "2.5M", "7.250", "–"]
        {
            assert!(svg.contains(&format!("\n{text}\n")), "no {text}: {svg}");
        }
        // The picture has one rectangle for the background, three for the fields with known values, and one
        // for each step of the color bar.
        assert_eq!(svg.matches("<rect").count(), 1 + 3 + STEPS, "{svg}");
        assert!(svg.contains("#ECF3FA") && svg.contains("#084081"), "{svg}");
    }

    #[test]
    fn a_number_is_left_out_where_a_field_has_no_room_for_two_of_its_digits() {
        let names = |letter: &str, count: usize| (0..count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
        let (across, down) = (("sets".to_owned(), names("s", 20)), ("ways".to_owned(), names("w", 1)));
        let values = (0..20).map(|at| Some(1.05 + 0.04 * f64::from(at))).collect();
        let maps = vec![("a".to_owned(), values)];
        let svg = HeatMaps { unit: "x".to_owned(), across, down, maps, are_ratios: true }.picture(Width::Single).svg();
        // No field may contain just one digit. The texts "1" and "2" may each occur once, as tick labels of
        // the color bar.
        assert!(["1", "2"].iter().all(|digit| svg.matches(&format!("\n{digit}\n")).count() <= 1), "{svg}");
    }

    #[test]
    fn ratios_have_a_logarithmic_scale_around_one() {
        let ratios = maps([Some(1.0), Some(4.0), Some(0.25), Some(0.5)], true);
        let scale = ratios.scale();
        assert_eq!([0.25, 0.5, 1.0, 4.0].map(|value| scale.place(value)), [0.0, 0.25, 0.5, 1.0]);
        let greys = [0.25, 4.0, 1.0].map(|value| lightness(scale.colour(scale.place(value))));
        assert!(greys[0] < 0.5 && greys[1] < 0.5 && greys[2] > 0.9, "{greys:?}");
        assert_eq!(scale.ticks().iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["0.5", "1", "2"]);
        // A negligible difference from 1 gets a color near the middle of the scale.
        let same = maps([Some(1.0), Some(1.001), None, None], true).scale();
        assert!((same.place(1.001) - 0.5).abs() < 0.05);
        assert_eq!(maps([Some(0.0), Some(2.0), None, None], true).scale().place(1.0), 0.5);
    }

    #[test]
    fn maps_fill_the_width_of_a_column() {
        let mut many = maps([Some(1.0), Some(4.0), Some(0.25), Some(0.5)], true);
        many.maps = vec![many.maps[0].clone(); 8];
        let height = |width| {
            let svg = many.picture(width).svg();
            let text = svg.split_once(" height=\"").unwrap().1.split_once("in\"").unwrap().0.to_owned();
            text.parse::<f64>().unwrap()
        };
        assert!(height(Width::Double) < height(Width::Single));
        assert_eq!(
            [1234.0, 0.1234, 12.345, 1e5, 2.5e6].map(|value| short(value, 3)),
            ["1234", "0.12", "12.3", "100k", "2.5M"]
        );
    }
}
