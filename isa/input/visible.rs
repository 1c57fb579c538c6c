//! Makes text safe to print on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::count::format_count;

/// Maximum number of lines to which a message is shortened.
const MAX_LINES: usize = 100;
/// Maximum number of characters in a line of a message. The last [`LAST_CHARACTERS`] of them come from the
/// end of the line, where messages say which values are legal.
const MAX_CHARACTERS: usize = 1000;
const LAST_CHARACTERS: usize = 300;

/// Replaces each character that would control a terminal, be invisible or reorder a line. The replacement is
/// an escape such as `\u001b`, in the notation of JSON and TOML. Line ends and tabs are kept.
#[must_use]
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    // Fast path: nearly all texts are plain ASCII.
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || matches!(byte, b'\n' | b'\t');
    if text.bytes().all(is_plain) || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Escapes control characters in a text that must stay on one line, such as a name in a table row. A line end
/// becomes `\n`, a tab `\t`. If the text is long, its middle is left out, as in [`shorten`].
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    let shown = escape_hidden(text);
    if !shown.contains(['\n', '\t']) && shown.len() <= MAX_CHARACTERS {
        return shown;
    }
    Cow::Owned(cut_line(&shown.replace('\n', "\\n").replace('\t', "\\t")))
}

/// True if a character of a file must not reach a terminal. These are control characters (C0 and C1),
/// direction marks and overrides, zero-width spaces, line separators, annotations, and tags.
fn is_hidden(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Shortens a message to a few short lines, even if it quotes long values. The middle of a long line is left
/// out, and so are the last lines of a message with many lines.
#[must_use]
pub fn shorten(message: &str) -> String {
    let mut lines = message.lines();
    let mut shown: Vec<_> = lines.by_ref().take(MAX_LINES).map(|line| cut_line(&escape_hidden(line))).collect();
    match lines.count() {
        0 => {}
        more => shown.push(format!("... and {}", format_count(more as u64, "more line", "more lines"))),
    }
    shown.join("\n")
}

fn cut_line(line: &str) -> String {
    // A line that is short in bytes is short in characters too, so its characters need no counting.
    let characters = if line.len() <= MAX_CHARACTERS { 0 } else { line.chars().count() };
    if characters <= MAX_CHARACTERS {
        return line.to_owned();
    }
    let byte_of = |character| line.char_indices().nth(character).map_or(line.len(), |(at, _)| at);
    let (first, last) = (byte_of(MAX_CHARACTERS - LAST_CHARACTERS), byte_of(characters - LAST_CHARACTERS));
    let left_out = characters - MAX_CHARACTERS;
    format!("{} ... {left_out} characters ... {}", &line[..first], &line[last..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_a_terminal_or_is_not_seen_is_written_out() {
        for (text, shown) in [
            ("plain, ü and 漢\n\tstay", "plain, ü and 漢\n\tstay"),
            ("a\u{1b}[31mred", "a\\u001b[31mred"),
            ("\u{7}\u{8}\r\u{7f}\0", "\\u0007\\u0008\\u000d\\u007f\\u0000"),
            ("\u{9b}2J", "\\u009b2J"),
            ("x\u{202e}lmth\u{2066}\u{200b}\u{feff}\u{2028}", "x\\u202elmth\\u2066\\u200b\\ufeff\\u2028"),
            ("t\u{e0041}", "t\\udb40\\udc41"),
        ] {
            assert_eq!(escape_hidden(text), shown);
        }
    }

    #[test]
    fn a_name_in_a_table_stays_on_its_line() {
        for (text, shown) in [
            ("plain ü", "plain ü"),
            ("two\nlines\tapart", "two\\nlines\\tapart"),
            ("\u{1b}[2J\r\n", "\\u001b[2J\\u000d\\n"),
            (
                &format!("{}\n", "x".repeat(1200)),
                &format!("{} ... 202 characters ... {}\\n", "x".repeat(700), "x".repeat(298)),
            ),
        ] {
            assert_eq!(visible_line(text), shown);
        }
    }

    #[test]
    fn what_stands_for_a_character_means_it_in_json() {
        let value = |inner: &str| format!("\"{inner}\"");
        let shown = value(&escape_hidden("\u{1b}\u{202e}\u{e0041}"));
        assert_eq!(shown, "\"\\u001b\\u202e\\udb40\\udc41\"");
    }

    #[test]
    fn a_message_keeps_the_beginning_and_the_end_of_a_long_line_and_the_first_of_many() {
        let long = format!("`x` is \"{}\", expected a number", "ä".repeat(1_000_000));
        let shown = shorten(&long);
        assert!(shown.starts_with("`x` is \"ä") && shown.ends_with("ä\", expected a number"), "{shown}");
        assert!(shown.contains(" ... 999028 characters ... "), "{shown}");
        assert_eq!(shorten(&"line\n".repeat(500)).lines().count(), MAX_LINES + 1);
        assert!(shorten(&"line\n".repeat(500)).ends_with("\n... and 400 more lines"));
        assert!(shorten(&"line\n".repeat(MAX_LINES + 1)).ends_with("\n... and 1 more line"));
        assert_eq!(shorten("one\ntwo"), "one\ntwo");
    }
}
