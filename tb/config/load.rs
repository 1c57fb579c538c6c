//! Reading machines, designs and `--set` into fields.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::as_file;
use super::builtin::{self, Builtin, SCHEMA};
use super::fields::{Fields, Overlay, plain, shown};
use super::problem::{ConfigError, Problems};
use super::source::{Giver, Place, Sources};
use super::suggest::suggestion;

/// Keys of a machine file that are not fields.
const MACHINE_KEYS: &[&str] = &["name", "description", "source", "based-on", "assumed"];
/// Keys of a design file that are not fields.
const DESIGN_KEYS: &[&str] = &["name", "description", "source", "slot"];
/// Machines that may stand on each other's shoulders.
const MAX_BASES: usize = 8;

/// The part of the machine that a design replaces. Two designs in one slot exclude each other; a
/// design without a slot goes with every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Set index function.
    Index,
    /// Tag store.
    Tags,
    /// Which loads go past the L1.
    Bypass,
    /// Which line makes room.
    Replacement,
    /// How many warps run.
    Throttle,
    /// How operands are read.
    Operands,
    /// Queues ahead of the L1.
    Queue,
    /// The L2.
    L2,
    /// The sharing tracker.
    Tracker,
}

impl Slot {
    /// Every slot.
    pub const ALL: [Self; 9] = [
        Self::Index,
        Self::Tags,
        Self::Bypass,
        Self::Replacement,
        Self::Throttle,
        Self::Operands,
        Self::Queue,
        Self::L2,
        Self::Tracker,
    ];

    /// Its name in design files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Tags => "tags",
            Self::Bypass => "bypass",
            Self::Replacement => "replacement",
            Self::Throttle => "throttle",
            Self::Operands => "operands",
            Self::Queue => "queue",
            Self::L2 => "l2",
            Self::Tracker => "tracker",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What every machine and design file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: String,
    /// What it is, in one line.
    pub description: String,
    /// The papers it follows.
    pub source: String,
    /// The slot of a design.
    pub slot: Option<Slot>,
}

impl About {
    /// Reads what a built-in file says about itself.
    ///
    /// # Errors
    /// If the file is broken, which the tests rule out.
    pub fn of(file: &Builtin) -> Result<Self, ConfigError> {
        let mut sources = Sources::default();
        let source = sources.add(Giver::Machine, file.path, file.text);
        let document = parse(&sources, source, file.text)?;
        let mut problems = Problems::default();
        let mut meta = Meta { sources: &sources, source, table: &document, problems: &mut problems };
        let about = meta.about(file.name);
        problems.or(about)
    }
}

/// A machine file that was read.
pub(super) struct Machine {
    pub about: About,
    pub fields: Fields,
}

/// Reads the files of one configuration.
pub(super) struct Loader {
    /// Every text read.
    pub sources: Sources,
    /// The fields of the preset that has all keys, with legal values.
    pub schema: Fields,
    /// The files read; what is built in is none.
    pub files: Vec<PathBuf>,
}

impl Loader {
    pub fn new() -> Result<Self, ConfigError> {
        let mut sources = Sources::default();
        let mut problems = Problems::default();
        let mut schema = Fields::default();
        for file in builtin::machines().iter().filter(|file| file.name == SCHEMA) {
            let source = sources.add(Giver::Machine, file.path, file.text);
            let document = parse(&sources, source, file.text)?;
            schema = Fields::flatten(&document, source, MACHINE_KEYS);
            let mut meta = Meta { sources: &sources, source, table: &document, problems: &mut problems };
            meta.mark_assumed(&mut schema);
        }
        problems.or(Self { sources, schema, files: Vec::new() })
    }

    /// The machine of `--machine`.
    pub fn machine(&mut self, name: &str) -> Result<Machine, ConfigError> {
        let source = self.sources.add(Giver::Option, "--machine", name);
        let asked = Place { source, span: 0..name.len() };
        self.machine_at(name, as_file(name), &asked, 0)
    }

    fn machine_at(
        &mut self,
        name: &str,
        file: Option<PathBuf>,
        asked: &Place,
        depth: usize,
    ) -> Result<Machine, ConfigError> {
        let file = self.open("machine", name, file, builtin::machines(), asked, Giver::Machine)?;
        let text = self.sources.get(file.source).text.clone();
        let document = parse(&self.sources, file.source, &text)?;
        let mut problems = Problems::default();
        let mut meta = Meta { sources: &self.sources, source: file.source, table: &document, problems: &mut problems };
        let about = meta.about(&file.name);
        let base = meta.text("based-on");
        let is_based = base.is_some();
        let mut fields = match base {
            None => self.schema.clone(),
            Some((_, place)) if depth == MAX_BASES => {
                let message = format!("more than {MAX_BASES} machines are based on each other, in a circle perhaps");
                problems.add(&self.sources, &place, message, None);
                return problems.or(Machine { about, fields: Fields::default() });
            }
            Some((base, place)) => {
                let path = as_file(&base).map(|path| file.folder.join(path));
                self.machine_at(&base, path, &place, depth + 1)?.fields
            }
        };
        let mut overlay =
            Overlay { sources: &self.sources, source: file.source, meta: MACHINE_KEYS, problems: &mut problems };
        overlay.apply(&document, &mut fields);
        if !is_based {
            let missing: Vec<_> = fields.iter().filter(|f| f.place.source != file.source).map(|f| &*f.path).collect();
            if let Some(message) = missing_message(&missing) {
                let place = Place { source: file.source, span: 0..0 };
                let help = format!("state all fields, or start from another machine: based-on = \"{SCHEMA}\"");
                problems.add(&self.sources, &place, message, Some(help));
            }
        }
        let mut meta = Meta { sources: &self.sources, source: file.source, table: &document, problems: &mut problems };
        meta.mark_assumed(&mut fields);
        problems.or(Machine { about, fields })
    }

    /// Applies the designs in order; their names.
    pub fn designs(&mut self, names: &[String], fields: &mut Fields) -> Result<Vec<String>, ConfigError> {
        let mut taken: Vec<About> = Vec::new();
        for name in names {
            let source = self.sources.add(Giver::Option, "--design", name);
            let asked = Place { source, span: 0..name.len() };
            let giver = Giver::Design(name.clone());
            let file = self.open("design", name, as_file(name), builtin::designs(), &asked, giver)?;
            let text = self.sources.get(file.source).text.clone();
            let document = parse(&self.sources, file.source, &text)?;
            let mut problems = Problems::default();
            let mut meta =
                Meta { sources: &self.sources, source: file.source, table: &document, problems: &mut problems };
            let about = meta.about(&file.name);
            for other in &taken {
                let clash = if other.name == about.name {
                    Some(format!("design `{}` is given twice", about.name))
                } else {
                    let slot = about.slot.filter(|slot| other.slot == Some(*slot));
                    slot.map(|slot| {
                        let names = format!("designs `{}` and `{}`", other.name, about.name);
                        format!("{names} both fill the slot `{slot}`, which holds one")
                    })
                };
                if let Some(message) = clash {
                    problems.add(&self.sources, &asked, message, None);
                }
            }
            problems.or(())?;
            let mut problems = Problems::default();
            let mut overlay =
                Overlay { sources: &self.sources, source: file.source, meta: DESIGN_KEYS, problems: &mut problems };
            overlay.apply(&document, fields);
            problems.or(())?;
            taken.push(about);
        }
        Ok(taken.into_iter().map(|about| about.name).collect())
    }

    /// Applies `--set` options in order.
    pub fn sets(&mut self, sets: &[String], fields: &mut Fields) -> Result<(), ConfigError> {
        let mut problems = Problems::default();
        for text in sets {
            let text = with_quotes(text);
            let source = self.sources.add(Giver::Set, "--set", &text);
            let (document, errors) = DeTable::parse_recoverable(&text);
            if !errors.is_empty() || document.get_ref().is_empty() {
                let place = Place { source, span: 0..text.len() };
                let message = format!("`{text}` is not of the form KEY=VALUE");
                let help = "for example l1.sets=64, or 'l1.index={ kind = \"fermi\" }'".to_owned();
                problems.add(&self.sources, &place, message, Some(help));
                continue;
            }
            let mut overlay = Overlay { sources: &self.sources, source, meta: &[], problems: &mut problems };
            overlay.apply(document.get_ref(), fields);
        }
        problems.or(())
    }

    /// Reads a file, or finds a built-in one.
    fn open(
        &mut self,
        what: &'static str,
        name: &str,
        file: Option<PathBuf>,
        builtins: &[Builtin],
        asked: &Place,
        giver: Giver,
    ) -> Result<Opened, ConfigError> {
        if let Some(path) = file {
            let text = std::fs::read_to_string(&path).map_err(|reason| ConfigError::Unreadable {
                path: path.clone(),
                what,
                reason,
            })?;
            let source = self.sources.add(giver, &path.display().to_string(), &text);
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            self.files.push(path);
            return Ok(Opened { source, name, folder });
        }
        if let Some(file) = builtins.iter().find(|file| file.name == name) {
            let source = self.sources.add(giver, file.path, file.text);
            return Ok(Opened { source, name: name.to_owned(), folder: PathBuf::new() });
        }
        let names: Vec<_> = builtins.iter().map(|file| file.name).collect();
        let help = suggestion(name, &format!("{what}s"), &names);
        let and = if help.ends_with('?') { " The" } else { "; the" };
        let help = format!("{help}{and} name of a file ends in .toml");
        let mut problems = Problems::default();
        problems.add(&self.sources, asked, format!("there is no {what} `{name}`"), Some(help));
        problems.or(Opened { source: 0, name: String::new(), folder: PathBuf::new() })
    }
}

/// A file that was read.
struct Opened {
    source: usize,
    /// Name that it has if it states none.
    name: String,
    folder: PathBuf,
}

/// The document in `text`, which is that of `source`.
fn parse<'t>(sources: &Sources, source: usize, text: &'t str) -> Result<DeTable<'t>, ConfigError> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut problems = Problems::default();
    // Further errors are mostly consequences of the first.
    for error in errors.iter().take(1) {
        let place = Place { source, span: error.span().unwrap_or_default() };
        problems.add(sources, &place, format!("not TOML: {}", error.message()), None);
    }
    problems.or(document.into_inner())
}

/// `key=word` with the word in quotes, if it is no TOML value itself: shells eat quotes.
fn with_quotes(text: &str) -> String {
    let Some((key, value)) = text.split_once('=') else { return text.to_owned() };
    let value = value.trim();
    let is_word = value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    if is_word && DeValue::parse(value).is_err() { format!("{key}=\"{value}\"") } else { text.to_owned() }
}

fn missing_message(missing: &[&str]) -> Option<String> {
    const SHOWN: usize = 5;
    let names: Vec<_> = missing.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
    match missing.len() {
        0 => None,
        more if more > SHOWN => {
            Some(format!("the file leaves out {} and {} more fields", names.join(", "), more - SHOWN))
        }
        _ => Some(format!("the file leaves out {}", names.join(", "))),
    }
}

/// Reads the keys of a file that are not fields.
struct Meta<'a> {
    sources: &'a Sources,
    source: usize,
    table: &'a DeTable<'a>,
    problems: &'a mut Problems,
}

impl Meta<'_> {
    fn about(&mut self, default_name: &str) -> About {
        let mut text = |key| self.text(key).map(|(text, _)| text);
        let name = text("name").filter(|name| !name.is_empty()).unwrap_or_else(|| default_name.to_owned());
        let description = text("description").unwrap_or_default();
        let source = text("source").unwrap_or_default();
        About { name, description, source, slot: self.slot() }
    }

    fn slot(&mut self) -> Option<Slot> {
        let (name, place) = self.text("slot")?;
        let slot = Slot::ALL.into_iter().find(|slot| slot.name() == name);
        if slot.is_none() {
            let help = suggestion(&name, "slots", &Slot::ALL.map(Slot::name));
            let message = format!("`slot` is {name:?}, expected the name of a slot, or no such key");
            self.problems.add(self.sources, &place, message, Some(help));
        }
        slot
    }

    /// A key that must be a string if it is there.
    fn text(&mut self, key: &str) -> Option<(String, Place)> {
        let value = self.table.get(key)?;
        let place = Place { source: self.source, span: value.span() };
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("`{key}` is {}, expected a string", shown(&plain(value.get_ref())));
            self.problems.add(self.sources, &place, message, None);
            return None;
        };
        Some((text.to_owned(), place))
    }

    /// Marks the fields and groups that `assumed` lists.
    fn mark_assumed(&mut self, fields: &mut Fields) {
        let Some(value) = self.table.get("assumed") else { return };
        let Some(paths) = value.get_ref().as_array() else {
            let place = Place { source: self.source, span: value.span() };
            let message = "`assumed` is no array, expected dotted paths of fields".to_owned();
            self.problems.add(self.sources, &place, message, None);
            return;
        };
        for path in paths.iter() {
            let place = Place { source: self.source, span: path.span() };
            let name = path.get_ref().as_str().unwrap_or_default();
            let mut marked = 0;
            for field in fields.below_mut(name).filter(|_| !name.is_empty()) {
                field.assumed = true;
                marked += 1;
            }
            if marked == 0 {
                let paths: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
                let near = suggestion(name, "", &paths);
                let help = near.starts_with("did").then_some(near);
                let message = "`assumed` names a field that does not exist".to_owned();
                self.problems.add(self.sources, &place, message, help);
            }
        }
    }
}
