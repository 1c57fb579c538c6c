//! Font of the pictures.

use ttf_parser::Face;

/// Liberation Sans, whose letters are as wide as those of Arial and Helvetica.
pub const FONT: &[u8] = include_bytes!("LiberationSans-Regular.ttf");

/// Parses the built-in font.
pub fn face() -> Face<'static> {
    Face::parse(FONT, 0).expect("the font is built in")
}

/// Returns the width of a text, relative to the font size.
pub fn ems(text: &str) -> f64 {
    let face = face();
    let advance = |letter| {
        let glyph = face.glyph_index(letter).unwrap_or_default();
        f64::from(face.glyph_hor_advance(glyph).unwrap_or_default())
    };
    text.chars().map(advance).sum::<f64>() / f64::from(face.units_per_em())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_texts_are_those_of_the_font() {
        // As in Arial, an `i` is 222 of 1,000 units wide, an `m` 833.
        assert!((ems("im") - 1.055).abs() < 0.01, "{}", ems("im"));
        assert_eq!(ems(""), 0.0);
    }
}
