//! # FST: the compressed dump format for long runs
//!
//! An FST file is compressed, and GTKWave and Surfer open it immediately whatever its size. It starts with
//! the scopes and names of the equivalent VCD plus the names of states (`header`). Value changes accumulate
//! in memory in file format and are compressed and written whenever they reach `SECTION_BYTES` (`section`).
//!
//! No existing crate writes such files: `fst-writer` has no names of states, and it takes values as text and
//! packs them bit by bit, which would cost more than the simulation.
//!
//! A signal without a value yet is unknown (`x`) from time 0 on. The header contains the first time that the
//! simulator recorded; viewers start their display at this time. As in a VCD, no date and no version number
//! is written: equal runs give equal bytes.

mod header;
mod section;

use std::io::{self, Seek, Write};

use self::header::Header;
use self::section::Section;
use crate::scope::Selection;
use crate::signal::{SignalId, Tree};
use crate::sink::Sink;
use crate::values::Values;
use crate::vcd::Timescale;

/// Size in bytes of the changes that are collected in memory before they are compressed and written.
const SECTION_BYTES: usize = 16 << 20;

/// Writer of one FST dump to `W`.
pub struct FstWriter<W: Write + Seek> {
    out: W,
    values: Values,
    /// Number of each signal in the file, indexed by signal id. For an unselected signal, the number is 0 and
    /// unused.
    numbers: Vec<u32>,
    header: Header,
    section: Section,
    num_sections: u64,
    first: Option<u64>,
    now: u64,
    /// True while no value has changed at the current time. The time itself is recorded with its first
    /// change.
    due: bool,
    /// Total size in bytes of the sections written so far, before compression.
    gathered: u64,
    /// Size in bytes at which a section is written: [`SECTION_BYTES`] except in tests.
    section_bytes: usize,
    failed: Option<(io::ErrorKind, String)>,
}

impl<W: Write + Seek> FstWriter<W> {
    /// Writes the header: the selected signals and the scopes that contain them.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn new(mut out: W, tree: &Tree, selection: &Selection, timescale: Timescale) -> io::Result<FstWriter<W>> {
        let header = Header::write(&mut out, tree, selection, timescale)?;
        let mut numbers = vec![0; tree.len()];
        for (number, id) in (0..).zip(&header.ids) {
            numbers[id.index()] = number;
        }
        Ok(FstWriter {
            out,
            values: Values::new(tree, selection),
            numbers,
            section: Section::new(header.ids.iter().map(|&id| tree.signal(id).width)),
            header,
            num_sections: 0,
            first: None,
            now: 0,
            due: false,
            gathered: 0,
            section_bytes: SECTION_BYTES,
            failed: None,
        })
    }

    /// Size of the dump so far, before compression, in bytes.
    pub fn bytes(&self) -> u64 {
        self.gathered + self.section.size() as u64
    }

    /// True if a value has changed at the current time.
    pub fn has_changed(&self) -> bool {
        !self.due
    }

    /// Writes the remaining data and returns the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written, now or earlier.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.check()?;
        // An FST section must contain at least one time other than 0.
        self.section.time(self.now.max(1));
        self.write_section()?;
        let Self { mut out, header, section, num_sections, first, .. } = self;
        header.finish(&mut out, [first.unwrap_or(0), section.end()], num_sections)?;
        out.flush()?;
        Ok(out)
    }

    /// Writes the new value of a signal.
    #[inline]
    fn put(&mut self, id: SignalId) -> io::Result<()> {
        if std::mem::take(&mut self.due) {
            self.check()?;
            self.section.time(self.now);
        }
        if let Some(value) = self.values.get(id) {
            self.section.change(self.numbers[id.index()] as usize, value);
        }
        Ok(())
    }

    /// Writes the changes collected so far as a section. The current values become the frame of the next
    /// section.
    #[cold]
    fn write_section(&mut self) -> io::Result<()> {
        self.gathered += self.section.size() as u64;
        self.num_sections += 1;
        if let Err(error) = self.section.write(&mut self.out) {
            self.failed = Some((error.kind(), error.to_string()));
            return Err(error);
        }
        for (id, value) in self.values.known() {
            self.section.set_frame(self.numbers[id.index()] as usize, value);
        }
        Ok(())
    }

    /// Returns an error if an earlier write failed, so that every later write reports the same error.
    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

impl<W: Write + Seek> Sink for FstWriter<W> {
    fn time(&mut self, now: u64) -> io::Result<()> {
        self.first.get_or_insert(now);
        if self.section.size() >= self.section_bytes {
            self.check()?;
            self.write_section()?;
        }
        self.now = now;
        self.due = true;
        Ok(())
    }

    #[inline]
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        if self.values.take(id, value) { self.put(id) } else { Ok(()) }
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        if self.values.take_wide(id, value) { self.put(id) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::header::COUNTS_AT;
    use super::*;
    use crate::signal::{Display, Kind, TreeBuilder};
    use crate::vcd::TimeUnit;

    /// Time of every change of a signal, with the new value as binary digits.
    type Changes = Vec<(u64, String)>;

    /// Writes four signals at 200 times: one of one bit, a narrow one, a wide one and a constant one. A
    /// section is written when its changes reach `section_bytes` bytes. Returns the changes that a reader
    /// finds, and the number of sections.
    fn written_and_read(section_bytes: usize, first: u64) -> (Vec<Changes>, u64) {
        let mut build = TreeBuilder::new("machine");
        let ids = [("bit", 1), ("number", 7), ("wide", 70), ("still", 3)].map(|(name, width)| {
            let display = if width == 1 { Display::Bit } else { Display::Hex };
            build.signal(name, width, Kind::Reg, display)
        });
        let tree = build.finish();
        let timescale = Timescale::new(1, TimeUnit::NS);
        let selection = Selection::default_of(&tree);
        let mut dump = FstWriter::new(Cursor::new(Vec::new()), &tree, &selection, timescale).expect("memory");
        dump.section_bytes = section_bytes;
        for time in 0..200 {
            dump.time(first + 3 * time).expect("memory");
            let [bit, number, wide, still] = ids;
            dump.sample(bit, time / 3 % 2).expect("memory");
            dump.sample(number, time % 100).expect("memory");
            dump.sample_wide(wide, &[time << 60, time % 64]).expect("memory");
            dump.sample(still, 5).expect("memory");
        }
        let bytes = dump.into_inner().expect("memory").into_inner();
        let sections = bytes[COUNTS_AT as usize + 24..][..8].try_into().map(u64::from_be_bytes);
        let mut wave = wellen::simple::read_from_reader(Cursor::new(bytes)).expect("wellen reads the dump");
        let times = wave.time_table().to_vec();
        let signals: Vec<_> = {
            let hierarchy = wave.hierarchy();
            hierarchy.all_vars().map(|var| hierarchy[var].signal_ref()).collect()
        };
        wave.load_signals(&signals);
        let changes = signals.iter().map(|&signal| {
            let changes = wave.get_signal(signal).expect("it was loaded").iter_changes();
            let mut found: Changes =
                changes.map(|(at, value)| (times[at as usize], value.to_bit_string().expect("a bit vector"))).collect();
            // Each section begins with the values at the end of the previous section, which are not changes.
            found.dedup_by(|later, earlier| later.1 == earlier.1);
            found
        });
        (changes.collect(), sections.expect("eight bytes"))
    }

    #[test]
    fn changes_are_the_same_in_one_section_and_in_many() {
        let (whole, one) = written_and_read(SECTION_BYTES, 20);
        let (parts, many) = written_and_read(64, 20);
        assert_eq!((one, many > 20), (1, true), "{many} sections");
        assert_eq!(whole, parts);
        let numbers: Vec<usize> = whole.iter().map(Vec::len).collect();
        assert_eq!(numbers, [68, 201, 201, 2], "all are unknown at first");
    }

    #[test]
    fn values_of_time_0_are_there_from_time_0_on() {
        let (changes, _) = written_and_read(64, 0);
        let first: Vec<(u64, &str)> = changes.iter().map(|changes| (changes[0].0, changes[0].1.as_str())).collect();
        assert_eq!(first[1..], [(0, "0000000"), (0, "0".repeat(70).as_str()), (0, "101")]);
    }
}
