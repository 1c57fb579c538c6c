//! # Heat maps
//! A number for each pair of two parameters, as SVG text: a field whose colour goes with the number that is written in
//! it. Several maps stand below one another on one scale.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Heat maps over the same two parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMaps {
    /// What they show.
    pub title: String,
    /// The parameter across, and its values.
    pub across: (String, Vec<String>),
    /// The parameter down, and its values.
    pub down: (String, Vec<String>),
    /// Each with its name, and its numbers row by row; none where nothing is known.
    pub maps: Vec<(String, Vec<Option<f64>>)>,
}

/// Size of a field, and room for a letter.
const FIELD: (i32, i32) = (76, 28);
const LETTER: i32 = 7;
/// Height of the title, and of each line of text above a map.
const TITLE: i32 = 36;
const LINE: i32 = 18;
const AROUND: i32 = 12;
/// Ends of the scale: the least number is pale, the largest dark.
const PALE: [f64; 3] = [236.0, 243.0, 250.0];
const DARK: [f64; 3] = [8.0, 64.0, 129.0];
/// From here on the scale is too dark for black letters.
const IS_DARK: f64 = 0.5;
const FONT: (&str, i32) = ("sans-serif", 12);

type Area<'b> = DrawingArea<SVGBackend<'b>, plotters::coord::Shift>;
type Failed<'b> = DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>;

impl HeatMaps {
    /// The maps as SVG.
    ///
    /// # Panics
    /// If a map has not one number, or none, for each pair of values.
    #[must_use]
    pub fn svg(&self) -> String {
        let (columns, rows) = (self.across.1.len(), self.down.1.len());
        for (name, values) in &self.maps {
            assert_eq!(values.len(), columns * rows, "{name}: a number for each pair");
        }
        let texts = self.maps.iter().map(|(name, _)| name).chain([&self.title]);
        let longest = texts.map(|text| letters(text)).max().unwrap_or(0);
        let width = (self.left() + columns as i32 * FIELD.0).max(longest * 3 / 2) + 2 * AROUND;
        let height = TITLE + self.maps.len() as i32 * self.map_height() + AROUND;
        let mut text = String::new();
        let drawn = self.draw(SVGBackend::with_string(&mut text, (width as u32, height as u32)));
        drawn.expect("text grows as it must");
        text
    }

    /// Where the fields begin.
    fn left(&self) -> i32 {
        let names = self.down.1.iter().chain([&self.down.0]);
        AROUND + names.map(|name| letters(name)).max().unwrap_or(0) + LETTER
    }

    /// A map with its name, the parameter across and its values.
    fn map_height(&self) -> i32 {
        3 * LINE + self.down.1.len() as i32 * FIELD.1 + AROUND
    }

    fn draw<'b>(&self, backend: SVGBackend<'b>) -> Result<(), Failed<'b>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let title = ("sans-serif", 18).into_font().color(&BLACK);
        root.draw(&Text::new(self.title.clone(), (AROUND, AROUND), title))?;
        for (number, map) in self.maps.iter().enumerate() {
            self.draw_map(&root, TITLE + number as i32 * self.map_height(), map)?;
        }
        root.present()
    }

    fn draw_map<'b>(
        &self,
        root: &Area<'b>,
        top: i32,
        (name, values): &(String, Vec<Option<f64>>),
    ) -> Result<(), Failed<'b>> {
        let (left, columns) = (self.left(), self.across.1.len());
        let write = |text: &str, at: (i32, i32), colour: &RGBColor, across: HPos| {
            let style = FONT.into_font().color(colour).pos(Pos::new(across, VPos::Center));
            root.draw(&Text::new(text.to_owned(), at, style))
        };
        write(name, (AROUND, top + LINE / 2), &BLACK, HPos::Left)?;
        write(&self.across.0, (left, top + LINE * 3 / 2), &BLACK, HPos::Left)?;
        write(&self.down.0, (left - LETTER, top + LINE * 5 / 2), &BLACK, HPos::Right)?;
        let fields = top + 3 * LINE;
        let centre = |column: usize, row: usize| {
            (left + column as i32 * FIELD.0 + FIELD.0 / 2, fields + row as i32 * FIELD.1 + FIELD.1 / 2)
        };
        for (column, value) in self.across.1.iter().enumerate() {
            write(value, (centre(column, 0).0, top + LINE * 5 / 2), &BLACK, HPos::Center)?;
        }
        for (row, value) in self.down.1.iter().enumerate() {
            write(value, (left - LETTER, centre(0, row).1), &BLACK, HPos::Right)?;
        }
        let (low, high) = self.range();
        for (at, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (x, y) = centre(at % columns, at / columns);
            let height = if high > low { (value - low) / (high - low) } else { 0.0 };
            let corners = [(x - FIELD.0 / 2, y - FIELD.1 / 2), (x + FIELD.0 / 2 - 1, y + FIELD.1 / 2 - 1)];
            root.draw(&Rectangle::new(corners, colour(height).filled()))?;
            write(&short(*value), (x, y), if height > IS_DARK { &WHITE } else { &BLACK }, HPos::Center)?;
        }
        Ok(())
    }

    fn range(&self) -> (f64, f64) {
        let values = self.maps.iter().flat_map(|(_, values)| values.iter().copied().flatten());
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    }
}

/// Room for a text.
fn letters(text: &str) -> i32 {
    text.chars().count() as i32 * LETTER
}

/// A place on the scale from 0 to 1.
fn colour(height: f64) -> RGBColor {
    let [red, green, blue] = std::array::from_fn(|at| (PALE[at] + height * (DARK[at] - PALE[at])).round() as u8);
    RGBColor(red, green, blue)
}

/// A number in eight letters at most.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.2}G", value / 1e9),
        size if size >= 1e6 => format!("{:.2}M", value / 1e6),
        size if size >= 1e3 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_number_has_a_field_that_is_darker_the_larger_it_is() {
        let values = |names: [&str; 2]| names.map(str::to_owned).into();
        let maps = vec![("pric & co".to_owned(), vec![Some(1.0), Some(2_500_000.0), None, Some(7.25)])];
        let across = ("l1.sets".to_owned(), values(["16", "32"]));
        let down = ("l1.ways".to_owned(), values(["2", "4"]));
        let svg = HeatMaps { title: "cycles".to_owned(), across, down, maps }.svg();
        for text in ["cycles", "pric &amp; co", "l1.sets", "l1.ways", "16", "32", "2", "4", "1", "2.50M", "7.250"] {
            assert!(svg.contains(&format!("\n{text}\n")), "no {text}: {svg}");
        }
        // The background is a box too.
        assert_eq!(svg.matches("<rect").count(), 1 + 3, "{svg}");
        assert_eq!([colour(0.0), colour(1.0)], [RGBColor(236, 243, 250), RGBColor(8, 64, 129)]);
        assert!(svg.contains("#ECF3FA") && svg.contains("#084081"), "{svg}");
    }
}
