//! Text with a name. It converts byte offsets into lines and columns.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Size of a block of text in bytes. The index stores the number of characters before each block, so that
/// a column far into a long line is found quickly.
const BLOCK: usize = 4096;

/// Text with the name of its file. The first lookup of a position builds the index of lines.
#[derive(Debug)]
pub struct Text {
    name: Arc<str>,
    text: Arc<str>,
    index: OnceLock<Index>,
}

#[derive(Debug)]
struct Index {
    /// Offset in bytes of the start of each line.
    starts: Vec<usize>,
    /// Number of characters of the text before each multiple of [`BLOCK`] bytes.
    characters: Vec<usize>,
}

impl Text {
    /// Creates a text with a name.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into(), index: OnceLock::new() }
    }

    /// Name of the file that contains the text, or of the option that gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text itself, without its name.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte offset, both counted from 1; a column counts characters. An
    /// offset beyond the end of the text is treated as the end of the text.
    #[must_use]
    pub fn place(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.line_of(at);
        (line + 1, self.characters_before(at) - self.characters_before(self.index().starts[line]) + 1)
    }

    /// Returns the line number of a byte offset, counted from 0.
    fn line_of(&self, at: usize) -> usize {
        self.index().starts.partition_point(|&start| start <= at) - 1
    }

    /// Returns the byte range of a line, without its line end.
    fn line(&self, number: usize) -> Range<usize> {
        let starts = &self.index().starts;
        let end = starts.get(number + 1).map_or(self.text.len(), |next| next - 1);
        starts[number]..end
    }

    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        self.index().characters[block] + characters(&self.text.as_bytes()[block * BLOCK..at])
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let ends = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1);
            let mut before = 0;
            let mut count = |block: &[u8]| {
                let ahead = before;
                before += characters(block);
                ahead
            };
            let mut counted: Vec<_> = bytes.chunks(BLOCK).map(&mut count).collect();
            counted.push(count(&[]));
            Index { starts: std::iter::once(0).chain(ends).collect(), characters: counted }
        })
    }
}

/// Returns the number of characters that begin in `bytes`, a section of UTF-8 text.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Text {}

impl SourceCode for Text {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset().saturating_add(span.len()));
        if end > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let (first, last) = (self.line_of(start), self.line_of(end.saturating_sub(1).max(start)));
        let context = first.saturating_sub(lines_before);
        let (from, line, column) = match lines_before {
            0 => (start, first, self.place(start).1 - 1),
            _ => (self.line(context).start, context, 0),
        };
        let after = (last + lines_after).min(self.index().starts.len() - 1);
        let to = if lines_after == 0 { end } else { self.line(after).end };
        let data = &self.text.as_bytes()[from..to.max(from)];
        let span = SourceSpan::new(from.into(), data.len());
        let name = self.name.to_string();
        Ok(Box::new(MietteSpanContents::new_named(name, data, span, line, column, after - context + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_counting_from_the_start_gives() {
        let text = "ä = 1\n\n".repeat(3000) + &"ü,".repeat(5000) + "\nend";
        let named = Text::new("a.toml", text.as_str());
        for (at, _) in text.char_indices().step_by(37).chain([(text.len(), ' ')]) {
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            assert_eq!(named.place(at), (line, column), "byte {at}");
        }
        assert_eq!(named.place(usize::MAX), (6002, 4));
        assert_eq!(Text::new("", "").place(0), (1, 1));
    }

    #[test]
    fn an_excerpt_is_what_a_plain_text_gives() {
        let text = "one\ntwo is here\nthree\n\nfive";
        let named = Text::new("a.toml", text);
        for span in [(0, 3), (8, 2), (4, 0), (16, 5), (22, 0), (23, 4), (2, 16)] {
            for around in [0, 1, 2] {
                let span = SourceSpan::new(span.0.into(), span.1);
                let ours = named.read_span(&span, around, around).unwrap();
                let theirs = text.read_span(&span, around, around).unwrap();
                let all = |it: &dyn SpanContents<'_>| {
                    (String::from_utf8_lossy(it.data()).trim_end().to_owned(), it.line(), it.column())
                };
                assert_eq!(all(&*ours), all(&*theirs), "{span:?} with {around}");
            }
        }
        assert!(named.read_span(&SourceSpan::new(20.into(), 50), 1, 1).is_err());
    }
}
