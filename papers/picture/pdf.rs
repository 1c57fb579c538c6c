//! Pictures as PDF. The shapes of the letters that a picture uses are embedded, as publishers require.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};
use plotters::style::RGBColor;
use subsetter::GlyphRemapper;

use super::font::{FONT, face};
use super::{Anchor, Label, Picture, Point, STROKE, Shape, foot, hatch_lines, width_of};

const FONT_NAME: Name<'static> = Name(b"F");
/// Name of the embedded font. PDF requires a prefix of six letters because only some letters of the font are
/// embedded.
const BASE_FONT: Name<'static> = Name(b"WARPSV+LiberationSans");
const SYSTEM: SystemInfo<'static> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Compression level of the PDF content, from 0 (none) to 10.
const EFFORT: u8 = 6;
/// A quarter circle is drawn as a Bezier curve. This is the distance from each of its ends to the nearer
/// control point, as a fraction of the radius.
const ROUND: f64 = 0.552_284_75;

/// Content of the PDF page under construction, with the letters that it uses.
struct Drawing {
    content: Content,
    height: f64,
    glyphs: GlyphRemapper,
    /// Letters that the picture uses, indexed by their glyph numbers in the embedded subset of the font.
    letters: BTreeMap<u16, char>,
}

pub fn pdf(picture: &Picture) -> Vec<u8> {
    let (width, height) = picture.size;
    let (content, glyphs) = (Content::new(), GlyphRemapper::new());
    let mut drawing = Drawing { content, height, glyphs, letters: BTreeMap::new() };
    picture.shapes.iter().for_each(|shape| drawing.draw(shape));
    let [catalog, pages, page, contents, font, cid_font, descriptor, file, letters] =
        std::array::from_fn(|at| Ref::new(at as i32 + 1));
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut of_page = pdf.page(page);
    of_page.media_box(Rect::new(0.0, 0.0, width as f32, height as f32)).parent(pages).contents(contents);
    of_page.resources().fonts().pair(FONT_NAME, font);
    of_page.finish();
    let drawn = compress_to_vec_zlib(drawing.content.finish().as_slice(), EFFORT);
    pdf.stream(contents, &drawn).filter(Filter::FlateDecode);

    let mut type0 = pdf.type0_font(font);
    type0.base_font(BASE_FONT).encoding_predefined(Name(b"Identity-H"));
    type0.descendant_font(cid_font).to_unicode(letters);
    type0.finish();
    let face = face();
    let scale = 1000.0 / f32::from(face.units_per_em());
    let advance = |glyph| f32::from(face.glyph_hor_advance(ttf_parser::GlyphId(glyph)).unwrap_or_default()) * scale;
    let mut cid = pdf.cid_font(cid_font);
    cid.subtype(CidFontType::Type2).base_font(BASE_FONT).system_info(SYSTEM).font_descriptor(descriptor);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    cid.widths().consecutive(0, drawing.glyphs.remapped_gids().map(advance));
    cid.finish();
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|at| f32::from(at) * scale);
    let mut about = pdf.font_descriptor(descriptor);
    about.name(BASE_FONT).flags(FontFlags::NON_SYMBOLIC).bbox(Rect::new(left, bottom, right, top)).italic_angle(0.0);
    about.ascent(f32::from(face.ascender()) * scale).descent(f32::from(face.descender()) * scale);
    about.cap_height(f32::from(face.capital_height().unwrap_or_default()) * scale).stem_v(80.0).font_file2(file);
    about.finish();
    let subset = subsetter::subset(FONT, 0, &drawing.glyphs).expect("the font is built in");
    let compressed = compress_to_vec_zlib(&subset, EFFORT);
    pdf.stream(file, &compressed).filter(Filter::FlateDecode).pair(Name(b"Length1"), subset.len() as i32);
    let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
    drawing.letters.iter().for_each(|(glyph, letter)| map.pair(*glyph, *letter));
    pdf.cmap(letters, map.finish().as_slice());
    pdf.finish()
}

fn rgb(RGBColor(red, green, blue): RGBColor) -> [f32; 3] {
    [red, green, blue].map(|part| f32::from(part) / 255.0)
}

impl Drawing {
    /// Converts a position in the picture to PDF coordinates, which have their origin in the lower left
    /// corner.
    fn place(&self, (x, y): Point) -> [f32; 2] {
        [x as f32, (self.height - y) as f32]
    }

    fn fill_in(&mut self, colour: RGBColor) {
        let [red, green, blue] = rgb(colour);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn path(&mut self, places: &[Point]) {
        for (at, place) in places.iter().enumerate() {
            let [x, y] = self.place(*place);
            if at == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    fn rect(&mut self, from: Point, to: Point) {
        let [x, y] = self.place((from.0, to.1));
        self.content.rect(x, y, (to.0 - from.0) as f32, (to.1 - from.1) as f32);
    }

    fn stroke(&mut self, width: f64, colour: RGBColor) {
        let [red, green, blue] = rgb(colour);
        self.content.set_line_width(width as f32).set_stroke_rgb(red, green, blue).stroke();
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect { from, to, colour, hatch } => {
                self.fill_in(*colour);
                self.rect(*from, *to);
                self.content.fill_nonzero();
                if let Some(hatch) = hatch {
                    for (one, other) in hatch_lines(*from, *to, hatch.lines) {
                        self.path(&[one, other]);
                    }
                    self.stroke(STROKE, if hatch.is_white { RGBColor(255, 255, 255) } else { RGBColor(0, 0, 0) });
                }
            }
            Shape::Line { places, width, colour } => {
                self.path(places);
                self.stroke(*width, *colour);
            }
            Shape::Polygon { places, colour } => {
                self.fill_in(*colour);
                self.path(places);
                self.content.close_path().fill_nonzero();
            }
            Shape::Circle { at, radius, colour } => {
                self.fill_in(*colour);
                self.circle(*at, *radius);
            }
            Shape::Text { text, at, label } => self.text(text, *at, label),
        }
    }

    fn circle(&mut self, (x, y): Point, radius: f64) {
        let around = |across: f64, down: f64| self.place((x + radius * across, y + radius * down));
        let start = around(1.0, 0.0);
        let quarters = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)].map(|(across, down): Point| {
            // A circle is drawn as four quarters. Each quarter is the previous one rotated by 90 degrees.
            let (to_across, to_down) = (-down, across);
            [
                around(across + ROUND * to_across, down + ROUND * to_down),
                around(to_across + ROUND * across, to_down + ROUND * down),
                around(to_across, to_down),
            ]
        });
        self.content.move_to(start[0], start[1]);
        for [[x1, y1], [x2, y2], [x3, y3]] in quarters {
            self.content.cubic_to(x1, y1, x2, y2, x3, y3);
        }
        self.content.close_path().fill_nonzero();
    }

    fn text(&mut self, text: &str, at: Point, label: &Label) {
        let face = face();
        let mut shown = Vec::new();
        for letter in text.chars() {
            // A letter that is missing in the font is drawn as the font's box for missing letters.
            let glyph = self.glyphs.remap(face.glyph_index(letter).unwrap_or_default().0);
            self.letters.insert(glyph, letter);
            shown.extend(glyph.to_be_bytes());
        }
        let back = match label.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        } * width_of(text, label.size);
        let (x, y) = foot(at, label);
        let (turn, [x, y]) = match label.is_upright {
            true => ([0.0, 1.0, -1.0, 0.0], self.place((x, y + back))),
            false => ([1.0, 0.0, 0.0, 1.0], self.place((x - back, y))),
        };
        let [a, b, c, d] = turn;
        self.fill_in(label.colour);
        self.content.begin_text().set_font(FONT_NAME, label.size as f32);
        self.content.set_text_matrix([a, b, c, d, x, y]).show(Str(&shown)).end_text();
    }
}

#[cfg(test)]
mod tests {
    use crate::picture::tests::picture;

    #[test]
    fn a_picture_is_a_page_of_its_size_with_the_letters_that_it_needs() {
        let page = picture().pdf();
        let text = String::from_utf8_lossy(&page);
        assert!(text.starts_with("%PDF-") && text.trim_end().ends_with("%%EOF"), "{text}");
        assert!(text.contains("/MediaBox [0 0 237.6 144]"), "{text}");
        assert!(text.contains("+LiberationSans") && text.contains("/FontFile2"), "{text}");
        // Each letter is embedded once, even if it occurs several times. The text `speed-up <1>IPC` has 13
        // different letters.
        assert!(text.contains("13 beginbfchar"), "{text}");
        assert!(page.len() < 40_000, "{} bytes", page.len());
        assert_eq!(page, picture().pdf());
    }
}
