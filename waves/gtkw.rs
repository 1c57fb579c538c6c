//! # GTKWave save files: a dump that opens with its signals already displayed
//!
//! A save file lists the signals that GTKWave displays, with their order, groups, formats and colors.
//! Enumerated signals are displayed by name through *translate filters*, small tables in `NAME.filters/` next
//! to the dump. All paths in a save file are absolute: GTKWave resolves relative paths against its working
//! directory and silently ignores a missing filter.
//!
//! [`by_block`] lists all signals of a dump, [`crate::view`] provides the curated selections, and
//! [`SaveFile::write`] writes either of these lists.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::atomic_file::AtomicFile;
use crate::scope::Selection;
use crate::signal::{Display, EnumNames, ScopeId, SignalId, Tree, is_entry};

/// Width and height of the GTKWave window, and width of its column of names, in pixels.
const WINDOW: (u64, u64) = (1400, 900);
const NAME_PIXELS: u64 = 320;
/// Width in pixels of the area in which GTKWave draws waves, without its borders.
const WAVE_PIXELS: u64 = WINDOW.0 - NAME_PIXELS - 80;
/// Width in pixels to which GTKWave's zoom refers. The zoom is minus the base-2 logarithm of the time that
/// this width represents.
const FRAME_PIXELS: u64 = 200;

/// Maximum number of markers: GTKWave names them with the letters A to Z.
pub const MAX_MARKERS: usize = 26;

/// Color in which GTKWave draws a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colour {
    /// GTKWave's color 1.
    Red,
    /// GTKWave's color 2.
    Orange,
    /// GTKWave's color 3.
    Yellow,
    /// GTKWave's color 4.
    Green,
    /// GTKWave's color 5.
    Blue,
    /// GTKWave's color 6.
    Indigo,
    /// GTKWave's color 7.
    Violet,
}

impl Colour {
    /// All colors with their names, in GTKWave's order.
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

/// Item in the list of traces: a group, or the trace of one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Group with a title, which can be folded.
    Group {
        /// Title that GTKWave displays.
        title: String,
        /// True if GTKWave shows the group unfolded.
        open: bool,
        /// Entries of the group.
        items: Vec<Item>,
    },
    /// Trace of one signal.
    Signal {
        /// Signal to display.
        id: SignalId,
        /// Color of the trace; GTKWave's default if `None`.
        colour: Option<Colour>,
        /// Name that GTKWave displays; the name of the signal if `None`. It must not contain dots, since
        /// GTKWave shows only the text after the last dot.
        label: Option<String>,
    },
}

/// Time with a label, which GTKWave marks with a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Time of the marker, in time units of the dump.
    pub time: u64,
    /// Text at the marker.
    pub label: String,
}

/// Lists every selected signal. Each scope that contains selected signals becomes a group, and groups are
/// nested like the scopes. The groups of the root and of its child scopes are unfolded.
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

/// Returns the path of a save file: for the dump `x.vcd`, `x.gtkw` with all signals, or `x.VIEW.gtkw` for a
/// view.
pub fn save_path(dump: &Path, view: Option<&str>) -> PathBuf {
    match view {
        Some(view) => dump.with_extension(format!("{view}.gtkw")),
        None => dump.with_extension("gtkw"),
    }
}

/// Path of the folder with the translate filters of a dump: `x.filters` for `x.vcd`.
pub fn filters_path(dump: &Path) -> PathBuf {
    dump.with_extension("filters")
}

/// Contents of a save file.
#[derive(Debug, Clone, Copy)]
pub struct SaveFile<'a> {
    /// Path of the dump that the save file opens.
    pub dump: &'a Path,
    /// Description of all signals of the machine.
    pub tree: &'a Tree,
    /// Groups and traces from top to bottom. Every signal in them must be in the dump.
    pub items: &'a [Item],
    /// Markers in the order of their letters, at most [`MAX_MARKERS`].
    pub markers: &'a [Marker],
    /// First and last visible time, in time units of the dump.
    pub sight: (u64, u64),
}

impl SaveFile<'_> {
    /// Writes the save file and the translate filters that it needs. Returns the paths of all written files.
    pub fn write(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let (text, filters) = self.render(path)?;
        let mut written = Vec::new();
        if let Some((first, _)) = filters.first() {
            fs::create_dir_all(first.parent().unwrap_or(Path::new(".")))?;
        }
        for (path, table) in filters {
            // Returns the path relative to the folder that the caller gave, not the absolute path that the
            // save file contains.
            let path = filters_path(self.dump).join(path.file_name().unwrap_or_default());
            let mut file = AtomicFile::create(&path)?;
            file.write_all(table.as_bytes())?;
            written.push(file.commit()?);
        }
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        written.push(file.commit()?);
        Ok(written)
    }

    /// Returns the text of the save file, and the path and text of each translate filter to which it refers.
    fn render(&self, path: &Path) -> io::Result<(String, Vec<(PathBuf, String)>)> {
        let (from, to) = self.sight;
        if to < from || self.markers.len() > MAX_MARKERS {
            let problem = match to < from {
                true => format!("the visible times are {from} to {to}, expected the first not after the last"),
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
        // GTKWave computes a time from the zoom and truncates it to an integer, so half a unit is added here.
        // The line of the save file contains the zoom, the primary marker, and the markers A to Z. GTKWave
        // lists the values at the primary marker next to the names.
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

/// Enumeration of state names: a signal that uses it, the names of its codes, and its width in bits. Its
/// filter file is named after this signal.
type EnumUse = (SignalId, EnumNames, u32);

/// Lists the distinct enumerations of a tree. Their numbers are the same for all views, so all save files of
/// a dump use the same filter files.
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

/// Returns the bit range that the dump appends to the name of a one-bit signal: `[0]` for an array entry, and
/// nothing for any other signal.
fn bit_range(name: &str) -> &'static str {
    if is_entry(name) { "[0]" } else { "" }
}

struct Lines<'a> {
    tree: &'a Tree,
    enums: Vec<EnumUse>,
    folder: PathBuf,
    /// Translate filters to which the save file refers so far, as indices into `enums`. GTKWave numbers
    /// filters from 1 in this order.
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
        // Format flags of GTKWave, in hexadecimal: right-justified (20), binary (8), hexadecimal (2), decimal
        // (4), drawn as steps (8000), translated by a filter (2000), number of ones (20000000). If an FST
        // contains the names of states, GTKWave ignores the filter unless flag 100000000 is also set.
        let format = match signal.display {
            Display::Bit | Display::Binary => "28",
            Display::Hex => "22",
            Display::Unsigned => "24",
            Display::Count => "8024",
            Display::Enum(_) => "100002028",
            Display::MemberCount => "20000024",
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
            // GTKWave draws a one-bit signal as a level. So that it displays the names of states instead, the
            // save file declares the signal as a vector of one element.
            (1, Display::Enum(_)) => {
                let name = label.as_ref().unwrap_or(&path);
                self.add(format_args!("#{{{name}}} {path}{}", bit_range(&signal.name)));
            }
            (1, _) => self.add(format_args!("{alias}{path}{}", bit_range(&signal.name))),
            (width, _) => self.add(format_args!("{alias}{path}[{}:0]", width - 1)),
        }
        if signal.display == Display::Count {
            // A blank row below the trace doubles the height in which the steps are drawn.
            self.add(format_args!("@20000\n-"));
        }
        Ok(())
    }

    fn filter_path(&self, number: usize) -> PathBuf {
        let name = &self.tree.signal(self.enums[number].0).name;
        let base = name.split('[').next().unwrap_or(name);
        self.folder.join(format!("{base}_{number}.txt"))
    }

    /// Formats a translate filter: one line `DIGITS NAME` for each code that has a name.
    fn table(&self, number: usize) -> String {
        let (_, names, width) = self.enums[number];
        let width = width as usize;
        let used = names.iter().enumerate().filter(|(_, name)| !name.is_empty());
        used.map(|(code, name)| format!("{code:0width$b} {name}\n")).collect()
    }
}

/// Replaces control characters in a title or a label. A line break would begin a new line of the save file.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn absolute(path: &Path) -> io::Result<String> {
    text_of(&std::path::absolute(path)?).map(str::to_owned)
}

fn text_of(path: &Path) -> io::Result<&str> {
    let odd = || {
        let problem = "expected a path in UTF-8 and on one line: a save file names it in one line of text";
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {problem}", path.display()))
    };
    path.to_str().filter(|text| !text.contains(char::is_control)).ok_or_else(odd)
}
