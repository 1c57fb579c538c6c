//! Font of the texts in pictures.

use ttf_parser::Face;

/// Font file of Liberation Sans. Its letters have the same widths as the letters of Arial and Helvetica.
pub const FONT: &[u8] = include_bytes!("LiberationSans-Regular.ttf");

/// Parses the built-in font.
pub fn face() -> Face<'static> {
    Face::parse(FONT, 0).expect("the font is built in")
}

/// Returns the width of a text as a multiple of the font size.
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
        // As in Arial, the letter `i` is 222/1000 of the font size wide, and the letter `m` is 833/1000.
        assert!((ems("im") - 1.055).abs() < 0.01, "{}", ems("im"));
        assert_eq!(ems(""), 0.0);
    }
}
