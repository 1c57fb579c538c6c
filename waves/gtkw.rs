//! # GTKWave save files: a dump that opens ready to read
//!
//! A save file lists what GTKWave shows, in which order, group, format and colour. Enumerated signals are shown by
//! name through *translate filters*, small tables in `NAME.filters/` beside the dump. All paths in a save file are
//! absolute: GTKWave resolves relative ones against its working directory and passes over a missing filter silently.
//!
//! [`by_block`] lists a whole dump, [`crate::view`] the curated selections; [`SaveFile::write`] writes either.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::part_file::PartFile;
use crate::scope::Selection;
use crate::signal::{Display, EnumNames, ScopeId, SignalId, Tree, is_entry};

/// Size of the opened window in pixels, and what its names take of the width.
const WINDOW: (u64, u64) = (1400, 900);
const NAME_PIXELS: u64 = 320;
/// What is left for the waves, short of the borders.
const WAVE_PIXELS: u64 = WINDOW.0 - NAME_PIXELS - 80;
/// GTKWave's zoom is minus the logarithm of the time that so many pixels show.
const FRAME_PIXELS: u64 = 200;

/// GTKWave names its markers with letters.
pub const MAX_MARKERS: usize = 26;

/// Colour of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// GTKWave's colour 1.
    Red,
    /// GTKWave's colour 2.
    Orange,
    /// GTKWave's colour 3.
    Yellow,
    /// GTKWave's colour 4.
    Green,
    /// GTKWave's colour 5.
    Blue,
    /// GTKWave's colour 6.
    Indigo,
    /// GTKWave's colour 7.
    Violet,
}

impl Colour {
    /// Every colour with its name, in GTKWave's order.
    pub const NAMES: [(&'static str, Colour); 7] = [
        ("red", Colour::Red),
        ("orange", Colour::Orange),
        ("yellow", Colour::Yellow),
        ("green", Colour::Green),
        ("blue", Colour::Blue),
        ("indigo", Colour::Indigo),
        ("violet", Colour::Violet),
    ];

    fn number(self) -> usize {
        Colour::NAMES.iter().take_while(|&&(_, colour)| colour != self).count() + 1
    }
}

/// A line of the list of traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A titled group that can be folded.
    Group {
        /// Shown in place of a name.
        title: String,
        /// Unfolded when opened.
        open: bool,
        /// What it holds.
        items: Vec<Item>,
    },
    /// One signal.
    Signal {
        /// Which.
        id: SignalId,
        /// GTKWave's default colour if `None`.
        colour: Option<Colour>,
        /// Shown in place of the signal's own name, without dots: GTKWave shows what follows the last one.
        label: Option<String>,
    },
}

/// A named time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Time in units of the dump.
    pub time: u64,
    /// Shown at the marker.
    pub label: String,
}

/// Every selected signal, one group for each block that has any, groups nested as the blocks are. The root and the
/// scopes in it are unfolded.
pub fn by_block(tree: &Tree, selection: &Selection) -> Vec<Item> {
    vec![block(tree, selection, ScopeId::ROOT, 0)]
}

fn block(tree: &Tree, selection: &Selection, scope: ScopeId, depth: u32) -> Item {
    let about = tree.scope(scope);
    let chosen = about.signals.iter().filter(|&&id| selection.contains(id));
    let signals = chosen.map(|&id| Item::Signal { id, colour: None, label: None });
    let inner = about.scopes.iter().filter(|&&inner| selection.touches(tree, inner));
    let blocks = inner.map(|&inner| block(tree, selection, inner, depth + 1));
    Item::Group { title: about.name.clone(), open: depth < 2, items: signals.chain(blocks).collect() }
}

/// The save file of a dump: `x.vcd` has `x.gtkw`, and `x.VIEW.gtkw` for a view.
pub fn save_path(dump: &Path, view: Option<&str>) -> PathBuf {
    match view {
        Some(view) => dump.with_extension(format!("{view}.gtkw")),
        None => dump.with_extension("gtkw"),
    }
}

/// The folder of the filters of a dump: `x.vcd` has `x.filters`.
pub fn filters_path(dump: &Path) -> PathBuf {
    dump.with_extension("filters")
}

/// A save file to be written.
#[derive(Debug, Clone, Copy)]
pub struct SaveFile<'a> {
    /// The dump it opens.
    pub dump: &'a Path,
    /// What the dump was made from.
    pub tree: &'a Tree,
    /// The traces, top to bottom; each must be in the dump.
    pub items: &'a [Item],
    /// At most [`MAX_MARKERS`].
    pub markers: &'a [Marker],
    /// First and last time in sight, in units of the dump.
    pub sight: (u64, u64),
}

impl SaveFile<'_> {
    /// Writes the filters that the save file needs and the save file. Returns the paths of all.
    pub fn write(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let (text, filters) = self.render(path)?;
        let mut written = Vec::new();
        if let Some((first, _)) = filters.first() {
            fs::create_dir_all(first.parent().unwrap_or(Path::new(".")))?;
        }
        for (path, table) in filters {
            // By the name that the caller knows.
            let path = filters_path(self.dump).join(path.file_name().unwrap_or_default());
            let mut file = PartFile::create(&path)?;
            file.write_all(table.as_bytes())?;
            written.push(file.keep()?);
        }
        let mut file = PartFile::create(path)?;
        file.write_all(text.as_bytes())?;
        written.push(file.keep()?);
        Ok(written)
    }

    /// The text of the save file, and the path and text of each filter in it.
    fn render(&self, path: &Path) -> io::Result<(String, Vec<(PathBuf, String)>)> {
        let (from, to) = self.sight;
        if to < from || self.markers.len() > MAX_MARKERS {
            let problem = match to < from {
                true => format!("the times in sight are {from} to {to}, expected the first not after the last"),
                false => format!("{} markers, expected at most {MAX_MARKERS}: A to Z", self.markers.len()),
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {problem}", path.display())));
        }
        let mut lines = Lines {
            tree: self.tree,
            enums: enums_of(self.tree),
            folder: std::path::absolute(filters_path(self.dump))?,
            used: Vec::new(),
            text: String::new(),
        };
        lines.add(format_args!("[*] GTKWave save file, generated with the dump"));
        lines.add(format_args!("[dumpfile] \"{}\"", absolute(self.dump)?));
        lines.add(format_args!("[savefile] \"{}\"", absolute(path)?));
        lines.add(format_args!("[timestart] {from}"));
        lines.add(format_args!("[size] {} {}", WINDOW.0, WINDOW.1));
        lines.add(format_args!("[pos] -1 -1"));
        // It cuts that time to a whole number, hence the half. The primary marker comes next, whose values stand beside
        // the names, then A to Z.
        let frame = (to - from).saturating_add(1).saturating_mul(FRAME_PIXELS).div_ceil(WAVE_PIXELS);
        let zoom = -(frame as f64 + 0.5).log2();
        let primary = self.markers.first().map_or("-1".to_owned(), |marker| marker.time.to_string());
        let times = self.markers.iter().map(|marker| marker.time.to_string());
        let unset = std::iter::repeat_n("-1".to_owned(), MAX_MARKERS);
        let times: Vec<String> = times.chain(unset).take(MAX_MARKERS).collect();
        lines.add(format_args!("*{zoom:.6} {primary} {}", times.join(" ")));
        for (letter, marker) in ('A'..='Z').zip(self.markers) {
            lines.add(format_args!("[markername] {letter}{}", one_line(&marker.label)));
        }
        lines.add(format_args!("[treeopen] {}.", self.tree.scope(ScopeId::ROOT).name));
        lines.add(format_args!("[signals_width] {NAME_PIXELS}"));
        lines.add(format_args!("[sst_expanded] 0"));
        for item in self.items {
            lines.item(item)?;
        }
        let filters = lines.used.iter().map(|&number| (lines.filter_path(number), lines.table(number))).collect();
        Ok((lines.text, filters))
    }
}

/// An enumeration in use: the signal that names its file, the names, the width of the digits.
type EnumUse = (SignalId, EnumNames, u32);

/// The different enumerations of a tree. Numbered over the whole tree, so that all save files of a dump agree.
fn enums_of(tree: &Tree) -> Vec<EnumUse> {
    let mut found: Vec<EnumUse> = Vec::new();
    for id in tree.ids() {
        let signal = tree.signal(id);
        if let Display::Enum(names) = signal.display
            && !found.iter().any(|&(_, seen, width)| seen == names && width == signal.width)
        {
            found.push((id, names, signal.width));
        }
    }
    found
}

/// How GTKWave writes the range that a dump states for a single bit: only array entries have one.
fn bit_range(name: &str) -> &'static str {
    if is_entry(name) { "[0]" } else { "" }
}

struct Lines<'a> {
    tree: &'a Tree,
    enums: Vec<EnumUse>,
    folder: PathBuf,
    /// Filters named so far, as indices of `enums`; GTKWave counts them from 1 in this order.
    used: Vec<usize>,
    text: String,
}

impl Lines<'_> {
    fn add(&mut self, line: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match item {
            Item::Signal { id, colour, label } => self.signal(*id, *colour, label.as_deref()),
            Item::Group { title, open, items } => {
                let title = one_line(title);
                self.add(format_args!("@{}", if *open { "800200" } else { "c00200" }));
                self.add(format_args!("-{title}"));
                for item in items {
                    self.item(item)?;
                }
                self.add(format_args!("@{}", if *open { "1000200" } else { "1401200" }));
                self.add(format_args!("-{title}"));
                Ok(())
            }
        }
    }

    fn signal(&mut self, id: SignalId, colour: Option<Colour>, label: Option<&str>) -> io::Result<()> {
        let tree = self.tree;
        let signal = tree.signal(id);
        // Right-justified (20), in binary (8), hexadecimal (2) or decimal (4), as steps (8000), translated by a filter
        // (2000), ones counted (20000000). Where an FST has the names of states itself, GTKWave passes over the filter unless it is
        // told to use them (100000000).
        let format = match signal.display {
            Display::Bit | Display::Binary => "28",
            Display::Hex => "22",
            Display::Unsigned => "24",
            Display::Count => "8024",
            Display::Enum(_) => "100002028",
            Display::Members => "20000024",
        };
        self.add(format_args!("@{format}"));
        if let Display::Enum(names) = signal.display {
            let same = |&(_, seen, width): &EnumUse| seen == names && width == signal.width;
            let number = self.enums.iter().position(same).expect("every enumeration of the tree is listed");
            let place = self.used.iter().position(|&seen| seen == number).unwrap_or_else(|| {
                self.used.push(number);
                self.used.len() - 1
            });
            let path = self.filter_path(number);
            self.add(format_args!("^{} {}", place + 1, text_of(&path)?));
        }
        if let Some(colour) = colour {
            self.add(format_args!("[color] {}", colour.number()));
        }
        let path = tree.path(id);
        let label = label.map(one_line);
        let alias = label.as_ref().map(|label| format!("+{{{label}}} ")).unwrap_or_default();
        match (signal.width, signal.display) {
            // GTKWave draws a single bit as a level, so its names appear only if it is made a vector of one.
            (1, Display::Enum(_)) => {
                let name = label.as_ref().unwrap_or(&path);
                self.add(format_args!("#{{{name}}} {path}{}", bit_range(&signal.name)));
            }
            (1, _) => self.add(format_args!("{alias}{path}{}", bit_range(&signal.name))),
            (width, _) => self.add(format_args!("{alias}{path}[{}:0]", width - 1)),
        }
        if signal.display == Display::Count {
            // Steps are drawn over a blank row below, too.
            self.add(format_args!("@20000\n-"));
        }
        Ok(())
    }

    fn filter_path(&self, number: usize) -> PathBuf {
        let name = &self.tree.signal(self.enums[number].0).name;
        let base = name.split('[').next().unwrap_or(name);
        self.folder.join(format!("{base}_{number}.txt"))
    }

    /// A line `DIGITS NAME` for each code in use.
    fn table(&self, number: usize) -> String {
        let (_, names, width) = self.enums[number];
        let width = width as usize;
        let used = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        used.map(|(code, name)| format!("{code:0width$b} {name}\n")).collect()
    }
}

/// Titles and labels are ours or a user's; a line break in one would be read as a line of the save file.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn absolute(path: &Path) -> io::Result<String> {
    text_of(&std::path::absolute(path)?).map(str::to_owned)
}

fn text_of(path: &Path) -> io::Result<&str> {
    let odd = || {
        let problem = "expected a path in UTF-8 and on one line: a save file is a text that names it";
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {problem}", path.display()))
    };
    path.to_str().filter(|text| !text.contains(char::is_control)).ok_or_else(odd)
}
