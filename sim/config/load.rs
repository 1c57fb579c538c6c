//! Reading machines, designs and `--set` into fields.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use input::counted;
use toml::de::{DeTable, DeValue};

use super::as_file;
use super::builtin::{self, Builtin, SCHEMA};
use super::clash;
use super::fields::{Fields, Overlay};
use super::meta::{About, DESIGN_KEYS, MACHINE_KEYS, Meta};
use super::problem::{ConfigError, Problems};
use super::source::{Asked, Giver, Place, Sources};
use super::suggest::suggestion;
use super::typed;
use super::units;
use crate::content::Content;

/// Machines that may stand on each other's shoulders.
const MAX_BASES: usize = 8;

impl About {
    /// Reads what a built-in file says about itself.
    ///
    /// # Errors
    /// If the file is broken, which the tests rule out.
    pub fn of(file: &Builtin) -> Result<Self, ConfigError> {
        let (mut sources, mut problems) = (Sources::default(), Problems::default());
        let source = sources.add(Giver::Machine, file.path, file.text);
        let document = parse(&sources, source, file.text, &mut problems).unwrap_or_default();
        let about = Meta { sources: &sources, source, table: &document, problems: &mut problems }.about(file.name);
        problems.or(about)
    }
}

/// A machine file that was read.
pub(super) struct Machine {
    pub about: About,
    pub fields: Fields,
}

/// Reads the files of one configuration. What is wrong with one part keeps no other from being read.
#[derive(Clone)]
pub(super) struct Loader {
    /// Every text read.
    pub sources: Sources,
    /// The fields of the preset that has all keys, with legal values.
    pub schema: Fields,
    /// What is wrong so far.
    pub problems: Problems,
    /// A file could not be read: what it would have stated is unknown.
    pub lacks_file: bool,
    /// The files read; what is built in is none.
    pub files: Vec<PathBuf>,
    /// A text that stands in the place of a file.
    pub text: Option<(PathBuf, String)>,
}

impl Loader {
    /// Before anything is read but the schema, which is read once in a process.
    pub fn new() -> Self {
        static SCHEMA_ALONE: LazyLock<Loader> = LazyLock::new(Loader::of_schema);
        SCHEMA_ALONE.clone()
    }

    fn of_schema() -> Self {
        let (sources, problems) = (Sources::default(), Problems::default());
        let schema = Fields::default();
        let mut loader = Self { sources, schema, problems, lacks_file: false, files: Vec::new(), text: None };
        for file in builtin::machines().iter().filter(|file| file.name == SCHEMA) {
            let source = loader.sources.add(Giver::Machine, file.path, file.text);
            let Some(document) = loader.parse(source, file.text) else { continue };
            let mut schema = Fields::flatten(&document, source, MACHINE_KEYS);
            loader.meta(source, &document).mark_assumed(&mut schema);
            loader.schema = schema;
        }
        loader
    }

    /// The machine of `--machine`: the schema where there is none of that name.
    pub fn machine(&mut self, name: &str) -> Machine {
        let asked = self.sources.ask(&Asked::alone("--machine", name));
        let unknown = Machine { about: About::unknown(name), fields: self.schema.clone() };
        self.machine_at(name, as_file(name), &asked, 0).unwrap_or(unknown)
    }

    /// A machine, unless it cannot be read or stands on none.
    fn machine_at(&mut self, name: &str, file: Option<PathBuf>, asked: &Place, depth: usize) -> Option<Machine> {
        let file = self.open("machine", name, file, builtin::machines(), asked, Giver::Machine)?;
        let text = self.sources.get(file.source).text.clone();
        let document = self.parse(file.source, text.text())?;
        let mut meta = self.meta(file.source, &document);
        let about = meta.about(&file.name);
        let base = meta.text("based-on");
        let is_based = base.is_some();
        let mut fields = match base {
            None => self.schema.clone(),
            Some((_, place)) if depth == MAX_BASES => {
                let message = format!("more than {MAX_BASES} machines are based on each other, in a circle perhaps");
                self.problems.add(&self.sources, &place, message, None);
                self.lacks_file = true;
                return None;
            }
            Some((base, place)) => {
                let path = as_file(&base).map(|path| file.folder.join(path));
                self.machine_at(&base, path, &place, depth + 1)?.fields
            }
        };
        self.apply(file.source, MACHINE_KEYS, &document, &mut fields);
        if !is_based {
            let missing: Vec<_> = fields.iter().filter(|f| f.place.source != file.source).map(|f| &*f.path).collect();
            if let Some(message) = missing_message(&missing) {
                let place = Place { source: file.source, span: 0..0 };
                let help = format!("state all fields, or start from another machine: based-on = \"{SCHEMA}\"");
                self.problems.add(&self.sources, &place, message, Some(help));
            }
        }
        self.meta(file.source, &document).mark_assumed(&mut fields);
        Some(Machine { about, fields })
    }

    /// Applies the designs in order; their names.
    pub fn designs(&mut self, designs: &[Asked], fields: &mut Fields) -> Vec<String> {
        let mut taken: Vec<About> = Vec::new();
        for asked in designs {
            taken.extend(self.design(asked, &taken, fields));
        }
        taken.into_iter().map(|about| about.name).collect()
    }

    /// Applies a design, unless it cannot be read or does not go with those `taken`.
    fn design(&mut self, asked: &Asked, taken: &[About], fields: &mut Fields) -> Option<About> {
        let (place, name) = (self.sources.ask(asked), asked.name());
        let giver = Giver::Design(name.to_owned());
        let file = self.open("design", name, as_file(name), builtin::designs(), &place, giver)?;
        let text = self.sources.get(file.source).text.clone();
        let document = self.parse(file.source, text.text())?;
        let about = self.meta(file.source, &document).about(&file.name);
        let stated = Fields::flatten(&document, file.source, DESIGN_KEYS);
        if let Some((message, help)) = clash::between(taken, &about, &stated, fields, &self.sources) {
            self.problems.add(&self.sources, &place, message, help);
            return None;
        }
        self.apply(file.source, DESIGN_KEYS, &document, fields);
        Some(about)
    }

    /// Applies `--set` options in order, none of which may give what another gives.
    pub fn sets(&mut self, sets: &[String], fields: &mut Fields) {
        let texts: Vec<_> = sets.iter().map(|text| with_quotes(text)).collect();
        let sources: Vec<_> = texts.iter().map(|text| self.sources.add(Giver::Set, "--set", text)).collect();
        let legal = fields.clone();
        let mut overlay = self.overlay(0, &[]);
        for (text, source) in texts.iter().zip(sources) {
            overlay.source = source;
            let (document, errors) = DeTable::parse_recoverable(text);
            if errors.is_empty() && !document.get_ref().is_empty() && is_single(text) {
                overlay.apply(document.get_ref(), fields);
                continue;
            }
            let (message, help) = match errors.iter().find(|error| error.message() == "duplicate key") {
                Some(_) => (format!("`{text}` gives a key twice"), None),
                None => {
                    let help = "for example l1.sets=64, or 'l1.index={ kind = \"fermi\" }'".to_owned();
                    (format!("`{text}` is not of the form KEY=VALUE"), Some(help))
                }
            };
            overlay.refuse(0..text.len(), message, help);
        }
        typed::restore(fields, &legal, &self.sources, &mut self.problems);
    }

    /// Changes `fields` as a file says; a value of a wrong type stays what it was.
    fn apply(&mut self, source: usize, meta: &[&str], document: &DeTable<'_>, fields: &mut Fields) {
        let legal = fields.clone();
        self.overlay(source, meta).apply(document, fields);
        typed::restore(fields, &legal, &self.sources, &mut self.problems);
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
    ) -> Option<Opened> {
        let content = if matches!(giver, Giver::Design(_)) { Content::Design } else { Content::Machine };
        let (message, help) = match file {
            Some(path) => match self.text_of(&path, content) {
                Ok(text) => {
                    let source = self.sources.add(giver, &path.display().to_string(), &text);
                    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                    self.files.push(path);
                    return Some(Opened { source, name, folder });
                }
                Err(reason) => (format!("{}: cannot read the {what} file: {reason}", path.display()), None),
            },
            None => {
                if let Some(file) = builtins.iter().find(|file| file.name == name) {
                    let source = self.sources.add(giver, file.path, file.text);
                    return Some(Opened { source, name: name.to_owned(), folder: PathBuf::new() });
                }
                let names: Vec<_> = builtins.iter().map(|file| file.name).collect();
                let help = suggestion(name, &format!("{what}s"), &names);
                let and = if help.ends_with('?') { " The" } else { "; the" };
                let (kind, option, others) = match content {
                    Content::Design => ("machine", "--machine", builtin::machines()),
                    _ => ("design", "--design", builtin::designs()),
                };
                let help = match others.iter().any(|file| file.name == name) {
                    true => format!("it is a {kind}: {option} {name}"),
                    false => format!("{help}{and} name of a file ends in .toml"),
                };
                (format!("there is no {what} `{name}`"), Some(help))
            }
        };
        self.problems.add(&self.sources, asked, message, help);
        self.lacks_file = true;
        None
    }

    fn text_of(&self, path: &Path, content: Content) -> std::io::Result<String> {
        match &self.text {
            Some((of, text)) if of == path => Ok(text.clone()),
            _ => content.read(path),
        }
    }

    fn parse<'t>(&mut self, source: usize, text: &'t str) -> Option<DeTable<'t>> {
        let document = parse(&self.sources, source, text, &mut self.problems);
        self.lacks_file |= document.is_none();
        document
    }

    fn meta<'a>(&'a mut self, source: usize, table: &'a DeTable<'a>) -> Meta<'a> {
        Meta { sources: &self.sources, source, table, problems: &mut self.problems }
    }

    fn overlay<'a>(&'a mut self, source: usize, meta: &'a [&'a str]) -> Overlay<'a> {
        Overlay { sources: &self.sources, source, meta, problems: &mut self.problems, given: Vec::new() }
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
fn parse<'t>(sources: &Sources, source: usize, text: &'t str, problems: &mut Problems) -> Option<DeTable<'t>> {
    // Further errors are mostly consequences of the first.
    let error = match DeTable::parse(text) {
        Ok(document) => return Some(document.into_inner()),
        Err(error) => error,
    };
    let place = Place { source, span: error.span().unwrap_or_default() };
    problems.add(sources, &place, format!("not TOML: {}", error.message()), None);
    None
}

/// Whether a text gives one key, and not further ones on further lines.
fn is_single(text: &str) -> bool {
    let one = text.trim().split_once('=');
    one.is_some_and(|(key, value)| !key.contains('\n') && DeValue::parse(value.trim()).is_ok())
}

/// `key=word` with the word in quotes, if it is no TOML value itself: shells eat quotes. A number with a unit is a word
/// that no field takes, and is refused as such.
fn with_quotes(text: &str) -> String {
    let Some((key, value)) = text.split_once('=') else { return text.to_owned() };
    let value = value.trim();
    let is_text = is_word(value) || units::split(value).is_some();
    if is_text && DeValue::parse(value).is_err() { format!("{key}=\"{value}\"") } else { text.to_owned() }
}

/// Whether a string can stand on a command line as it is.
pub(super) fn is_word(value: &str) -> bool {
    value.starts_with(|c: char| c.is_ascii_alphabetic())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

fn missing_message(missing: &[&str]) -> Option<String> {
    const SHOWN: usize = 5;
    let names: Vec<_> = missing.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
    match missing.len() {
        0 => None,
        more if more > SHOWN => {
            let more = counted((more - SHOWN) as u64, "more field", "more fields");
            Some(format!("the file leaves out {} and {more}", names.join(", ")))
        }
        _ => Some(format!("the file leaves out {}", names.join(", "))),
    }
}
