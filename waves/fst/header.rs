//! # Header: the blocks before the changes in an FST
//!
//! | block     | content                                                                                          |
//! |-----------|--------------------------------------------------------------------------------------------------|
//! | head      | first and last time; numbers of scopes, names, signals and sections; time unit; name of the writer |
//! | hierarchy | scopes, signals and tables of state names, compressed with LZ4                                   |
//! | geometry  | width of every signal                                                                            |
//!
//! Times and counts are known only at the end; [`Header::finish`] fills them in. No date and no version is
//! written: equal runs give equal bytes.
//!
//! The file contains the names of states. A table of names and codes comes before the first signal that uses
//! it. Each signal that uses a table comes directly after a reference to the table.

use std::io::{self, Seek, SeekFrom, Write};

use super::section::{put_long, put_number};
use crate::scope::Selection;
use crate::signal::{Display, EnumNames, Kind, ScopeId, SignalId, Tree, is_entry};
use crate::vcd::Timescale;

/// Types of the blocks of the file format: head, geometry (widths of all signals), and hierarchy compressed
/// with LZ4.
const HEAD: u8 = 0;
const GEOMETRY: u8 = 3;
const HIERARCHY: u8 = 6;

/// Sizes in bytes of the head block, of its text field for the writer's name, and of its text field for the
/// date.
const HEAD_BYTES: u64 = 329;
const VERSION_BYTES: usize = 128;
const DATE_BYTES: usize = 119;
/// Position in the file, in bytes, of the first and the last time of the dump. The type and the length of the
/// head block come before them.
const TIMES_AT: u64 = 9;
/// Position in the file, in bytes, of four counts: of scopes, names, signals and sections.
pub(super) const COUNTS_AT: u64 = 41;

/// Bytes that mark the kinds of entries in the hierarchy. There are two kinds of signals: wires and
/// registers.
const BEGIN_SCOPE: u8 = 254;
const END_SCOPE: u8 = 255;
const ATTRIBUTE: u8 = 252;
const WIRE: u8 = 16;
const REG: u8 = 5;
/// Code of the scope type: a module.
const MODULE: u8 = 0;
/// Code of the signal direction: not a port.
const NO_PORT: u8 = 0;
/// Codes of an attribute's type (miscellaneous) and subtype (table of state names).
const STATE_NAMES: [u8; 2] = [0, 7];

/// Header blocks of a file. Their times and counts are filled in at the end of the dump.
pub(super) struct Header {
    /// Selected signals, in the order in which the file lists them.
    pub(super) ids: Vec<SignalId>,
    num_scopes: u64,
}

impl Header {
    /// Writes the selected signals and the scopes that contain them.
    pub(super) fn write(
        out: &mut impl Write,
        tree: &Tree,
        selection: &Selection,
        timescale: Timescale,
    ) -> io::Result<Header> {
        let mut hierarchy =
            Hierarchy { tree, selection, bytes: Vec::new(), ids: Vec::new(), num_scopes: 0, tables: Vec::new() };
        hierarchy.scope(ScopeId::ROOT);
        let Hierarchy { bytes, ids, num_scopes, .. } = hierarchy;
        let mut head = vec![HEAD];
        put_long(&mut head, HEAD_BYTES);
        // The fields are, in order: first and last time; the constant e, from which readers detect the byte
        // order; the writer's memory use; the counts of scopes, names, signals and sections.
        head.extend_from_slice(&[0; 16]);
        head.extend_from_slice(&std::f64::consts::E.to_le_bytes());
        head.extend_from_slice(&[0; 40]);
        head.extend_from_slice(&timescale.exponent().to_be_bytes());
        put_text(&mut head, "warpsieve", VERSION_BYTES);
        put_text(&mut head, "", DATE_BYTES);
        // File type 0 means Verilog. The next number is the offset that viewers add to every time; it is 0.
        head.push(0);
        put_long(&mut head, 0);
        out.write_all(&head)?;
        let mut packed = Vec::new();
        put_long(&mut packed, bytes.len() as u64);
        packed.extend_from_slice(&lz4_flex::block::compress(&bytes));
        put_block(out, HIERARCHY, &packed)?;
        let mut widths = Vec::new();
        for &id in &ids {
            put_number(&mut widths, tree.signal(id).width.into());
        }
        let mut geometry = Vec::new();
        // The uncompressed length and the stored length are equal. From this, readers see that the widths are
        // not compressed.
        for number in [widths.len(), ids.len()] {
            put_long(&mut geometry, number as u64);
        }
        geometry.extend_from_slice(&widths);
        put_block(out, GEOMETRY, &geometry)?;
        Ok(Header { ids, num_scopes })
    }

    /// Fills in the first and last time and the counts, including the number of sections.
    pub(super) fn finish(&self, out: &mut (impl Write + Seek), times: [u64; 2], num_sections: u64) -> io::Result<()> {
        let signals = self.ids.len() as u64;
        let counts = [self.num_scopes, signals, signals, num_sections];
        for (at, numbers) in [(TIMES_AT, &times[..]), (COUNTS_AT, &counts[..])] {
            out.seek(SeekFrom::Start(at))?;
            numbers.iter().try_for_each(|number| out.write_all(&number.to_be_bytes()))?;
        }
        out.seek(SeekFrom::End(0))?;
        Ok(())
    }
}

/// Writes a block: its type, its length (which includes the length field), and its content.
fn put_block(out: &mut impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    out.write_all(&[kind])?;
    out.write_all(&(content.len() as u64 + 8).to_be_bytes())?;
    out.write_all(content)
}

/// Appends a text in a field of `bytes` bytes, padded with zeros.
fn put_text(to: &mut Vec<u8>, text: &str, bytes: usize) {
    let end = to.len() + bytes;
    to.extend_from_slice(text.as_bytes());
    to.resize(end, 0);
}

/// Hierarchy block under construction.
struct Hierarchy<'a> {
    tree: &'a Tree,
    selection: &'a Selection,
    bytes: Vec<u8>,
    ids: Vec<SignalId>,
    num_scopes: u64,
    /// State names and signal width of each table of state names that has been written. The first table has
    /// number 1.
    tables: Vec<(EnumNames, u32)>,
}

impl Hierarchy<'_> {
    /// Declares the selected signals of a scope and of the scopes inside it. Scopes without a selected signal
    /// are omitted.
    fn scope(&mut self, scope: ScopeId) {
        let (tree, selection) = (self.tree, self.selection);
        if !selection.touches(tree, scope) {
            return;
        }
        let about = tree.scope(scope);
        self.bytes.extend_from_slice(&[BEGIN_SCOPE, MODULE]);
        self.name(&about.name);
        // Name of the module that the scope instantiates: none.
        self.name("");
        self.num_scopes += 1;
        about.signals.iter().filter(|&&id| selection.contains(id)).for_each(|&id| self.signal(id));
        about.scopes.iter().for_each(|&inner| self.scope(inner));
        self.bytes.push(END_SCOPE);
    }

    fn signal(&mut self, id: SignalId) {
        let signal = self.tree.signal(id);
        if let Display::Enum(names) = signal.display {
            self.states(&signal.name, names, signal.width);
        }
        let kind = match signal.kind {
            Kind::Wire => WIRE,
            Kind::Reg => REG,
        };
        // The bit range, such as `[31:0]`, is part of the signal's name. Without it, viewers would take the
        // `[5]` of an array entry for a bit number.
        let ranged = signal.width > 1 || is_entry(&signal.name);
        let range = if ranged { format!(" [{}:0]", signal.width - 1) } else { String::new() };
        self.bytes.extend_from_slice(&[kind, NO_PORT]);
        self.name(&format!("{}{range}", signal.name));
        put_number(&mut self.bytes, signal.width.into());
        // Alias number 0: the signal has values of its own and is not another name for an earlier signal.
        put_number(&mut self.bytes, 0);
        self.ids.push(id);
    }

    /// Writes a reference to the table that contains these state names. At its first use, the table itself
    /// precedes the reference.
    fn states(&mut self, signal: &str, names: EnumNames, width: u32) {
        let known = self.tables.iter().position(|&table| table == (names, width));
        let at = known.unwrap_or_else(|| {
            self.tables.push((names, width));
            self.attribute(&table(signal, names, width), self.tables.len());
            self.tables.len() - 1
        });
        self.attribute("", at + 1);
    }

    fn attribute(&mut self, text: &str, number: usize) {
        self.bytes.push(ATTRIBUTE);
        self.bytes.extend_from_slice(&STATE_NAMES);
        self.name(text);
        put_number(&mut self.bytes, number as u64);
    }

    fn name(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }
}

/// Formats a table as text: its name, the number of codes in use, their names, and their binary digits.
fn table(name: &str, names: EnumNames, width: u32) -> String {
    let used = || names.iter().enumerate().filter(|(_, name)| !name.is_empty());
    let texts = used().map(|(_, name)| escape(name));
    let digits = used().map(|(code, _)| format!("{code:0width$b}", width = width as usize));
    let words: Vec<String> =
        [escape(name), used().count().to_string()].into_iter().chain(texts).chain(digits).collect();
    words.join(" ")
}

/// Replaces backslashes, blanks and non-printable characters by octal codes. A blank would end the word.
fn escape(word: &str) -> String {
    let octal = |byte: u8| format!("\\{byte:03o}");
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    word.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { octal(byte) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_names_in_use_and_then_their_codes() {
        assert_eq!(table("state", &["IDLE", "", "BUSY"], 2), "state 2 IDLE BUSY 00 10");
    }

    #[test]
    fn a_blank_in_a_name_does_not_end_it() {
        assert_eq!(escape("a b\\c"), "a\\040b\\134c");
    }
}
