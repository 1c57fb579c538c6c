//! Loading of machines, designs and `--set` options into fields.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use input::format_count;
use toml::de::{DeTable, DeValue};

use super::as_file;
use super::builtin::{self, Builtin, SCHEMA};
use super::clash;
use super::fields::{Fields, Overlay};
use super::meta::{About, DESIGN_KEYS, MACHINE_KEYS, Meta};
use super::problem::{ConfigError, Problems};
use super::source::{Origin, RequestedName, Sources, TextPlace};
use super::suggest::suggestion;
use super::typed;
use super::units;
use crate::content::Content;

/// Maximum length of a chain of machine files, each of which is based on the next.
const MAX_BASES: usize = 8;

impl About {
    /// Reads the name, description and other metadata of a built-in file.
    ///
    /// # Errors
    /// Fails if the file is malformed. Tests ensure that no built-in file is malformed.
    pub fn of(file: &Builtin) -> Result<Self, ConfigError> {
        let (mut sources, mut problems) = (Sources::default(), Problems::default());
        let source = sources.add(Origin::Machine, file.path, file.text);
        let document = parse(&sources, source, file.text, &mut problems).unwrap_or_default();
        let about = Meta { sources: &sources, source, table: &document, problems: &mut problems }.about(file.name);
        problems.or(about)
    }
}

/// Contents of a machine file after loading.
pub(super) struct Machine {
    pub about: About,
    pub fields: Fields,
}

/// Loader of the files of one configuration. A problem in one file does not prevent the loader from reading
/// the other files.
#[derive(Clone)]
pub(super) struct Loader {
    /// Texts of all files and options read so far.
    pub sources: Sources,
    /// Fields of the machine preset that serves as the schema: it has every key, each with a legal value.
    pub schema: Fields,
    /// Problems found so far.
    pub problems: Problems,
    /// True if any file could not be read, so that the configuration lacks the values of that file.
    pub lacks_file: bool,
    /// Paths of the files read so far, except built-in files.
    pub files: Vec<PathBuf>,
    /// Path of a file, and a text that the loader reads instead of the file's contents.
    pub text: Option<(PathBuf, String)>,
}

impl Loader {
    /// Creates a loader that has read the schema, but no file yet. The schema is read once per process.
    pub fn new() -> Self {
        static SCHEMA_ALONE: LazyLock<Loader> = LazyLock::new(Loader::of_schema);
        SCHEMA_ALONE.clone()
    }

    fn of_schema() -> Self {
        let (sources, problems) = (Sources::default(), Problems::default());
        let schema = Fields::default();
        let mut loader = Self { sources, schema, problems, lacks_file: false, files: Vec::new(), text: None };
        for file in builtin::machines().iter().filter(|file| file.name == SCHEMA) {
            let source = loader.sources.add(Origin::Machine, file.path, file.text);
            let Some(document) = loader.parse(source, file.text) else { continue };
            let mut schema = Fields::flatten(&document, source, MACHINE_KEYS);
            loader.meta(source, &document).mark_assumed(&mut schema);
            loader.schema = schema;
        }
        loader
    }

    /// Loads the machine given by `--machine`. If it cannot be loaded, returns the schema preset instead.
    pub fn machine(&mut self, name: &str) -> Machine {
        let asked = self.sources.add_option(&RequestedName::from_option("--machine", name));
        let unknown = Machine { about: About::with_name(name), fields: self.schema.clone() };
        self.machine_at(name, as_file(name), &asked, 0).unwrap_or(unknown)
    }

    /// Loads a machine. Returns `None` if its file, or the file of a machine on which it is based, cannot be
    /// read.
    fn machine_at(&mut self, name: &str, file: Option<PathBuf>, asked: &TextPlace, depth: usize) -> Option<Machine> {
        let file = self.open("machine", name, file, builtin::machines(), asked, Origin::Machine)?;
        let text = self.sources.get(file.source).text.clone();
        let document = self.parse(file.source, text.text())?;
        let mut meta = self.meta(file.source, &document);
        let about = meta.about(&file.name);
        let base = meta.text("based-on");
        let is_based = base.is_some();
        let mut fields = match base {
            None => self.schema.clone(),
            Some((_, place)) if depth == MAX_BASES => {
                let message = format!("more than {MAX_BASES} machines are based on each other, perhaps in a cycle");
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
                let place = TextPlace { source: file.source, span: 0..0 };
                let help = format!("state all fields, or start from another machine: based-on = \"{SCHEMA}\"");
                self.problems.add(&self.sources, &place, message, Some(help));
            }
        }
        self.meta(file.source, &document).mark_assumed(&mut fields);
        Some(Machine { about, fields })
    }

    /// Applies the designs to the fields in the given order, and returns the names of the designs.
    pub fn designs(&mut self, designs: &[RequestedName], fields: &mut Fields) -> Vec<String> {
        let mut taken: Vec<About> = Vec::new();
        for asked in designs {
            taken.extend(self.design(asked, &taken, fields));
        }
        taken.into_iter().map(|about| about.name).collect()
    }

    /// Applies a design to the fields. Returns `None` if its file cannot be read, or if the design conflicts
    /// with an earlier one in `taken`.
    fn design(&mut self, asked: &RequestedName, taken: &[About], fields: &mut Fields) -> Option<About> {
        let (place, name) = (self.sources.add_option(asked), asked.name());
        let giver = Origin::Design(name.to_owned());
        let file = self.open("design", name, as_file(name), builtin::designs(), &place, giver)?;
        let text = self.sources.get(file.source).text.clone();
        let document = self.parse(file.source, text.text())?;
        let about = self.meta(file.source, &document).about(&file.name);
        let stated = Fields::flatten(&document, file.source, DESIGN_KEYS);
        if let Some((message, help)) = clash::find_conflict(taken, &about, &stated, fields, &self.sources) {
            self.problems.add(&self.sources, &place, message, help);
            return None;
        }
        self.apply(file.source, DESIGN_KEYS, &document, fields);
        Some(about)
    }

    /// Applies the `--set` options to the fields in the given order. Each key may be set only once.
    pub fn sets(&mut self, sets: &[String], fields: &mut Fields) {
        let texts: Vec<_> = sets.iter().map(|text| with_quotes(text)).collect();
        let sources: Vec<_> = texts.iter().map(|text| self.sources.add(Origin::Set, "--set", text)).collect();
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

    /// Applies the values of a file to `fields`. If a value has the wrong type, reports it and keeps the
    /// previous value of the field.
    fn apply(&mut self, source: usize, meta: &[&str], document: &DeTable<'_>, fields: &mut Fields) {
        let legal = fields.clone();
        self.overlay(source, meta).apply(document, fields);
        typed::restore(fields, &legal, &self.sources, &mut self.problems);
    }

    /// Reads the file at a path, or finds a built-in file by its name.
    fn open(
        &mut self,
        what: &'static str,
        name: &str,
        file: Option<PathBuf>,
        builtins: &[Builtin],
        asked: &TextPlace,
        giver: Origin,
    ) -> Option<OpenFile> {
        let content = if matches!(giver, Origin::Design(_)) { Content::Design } else { Content::Machine };
        let (message, help) = match file {
            Some(path) => match self.text_of(&path, content) {
                Ok(text) => {
                    let source = self.sources.add(giver, &path.display().to_string(), &text);
                    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                    self.files.push(path);
                    return Some(OpenFile { source, name, folder });
                }
                Err(reason) => (format!("{}: cannot read the {what} file: {reason}", path.display()), None),
            },
            None => {
                if let Some(file) = builtins.iter().find(|file| file.name == name) {
                    let source = self.sources.add(giver, file.path, file.text);
                    return Some(OpenFile { source, name: name.to_owned(), folder: PathBuf::new() });
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

/// Machine or design file that was read.
struct OpenFile {
    source: usize,
    /// Name of the machine or design if the file does not state one.
    name: String,
    folder: PathBuf,
}

/// Parses `text`, which is the text with index `source`, as TOML.
fn parse<'t>(sources: &Sources, source: usize, text: &'t str, problems: &mut Problems) -> Option<DeTable<'t>> {
    // Only the first syntax error is reported, since later errors are mostly consequences of the first.
    let error = match DeTable::parse(text) {
        Ok(document) => return Some(document.into_inner()),
        Err(error) => error,
    };
    let place = TextPlace { source, span: error.span().unwrap_or_default() };
    problems.add(sources, &place, format!("not TOML: {}", error.message()), None);
    None
}

/// True if the text is a single `KEY=VALUE`, without a second line that sets another key.
fn is_single(text: &str) -> bool {
    let one = text.trim().split_once('=');
    one.is_some_and(|(key, value)| !key.contains('\n') && DeValue::parse(value.trim()).is_ok())
}

/// Adds the quotes that the shell removed from a `--set` option. `key=word` becomes `key="word"`, unless the
/// word is itself a TOML value. A number with a unit also becomes a string, which is later rejected with a
/// clear message.
fn with_quotes(text: &str) -> String {
    let Some((key, value)) = text.split_once('=') else { return text.to_owned() };
    let value = value.trim();
    let is_text = is_word(value) || units::split(value).is_some();
    if is_text && DeValue::parse(value).is_err() { format!("{key}=\"{value}\"") } else { text.to_owned() }
}

/// True if a string needs no quotes on a command line.
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
            let more = format_count((more - SHOWN) as u64, "more field", "more fields");
            Some(format!("the file lacks {} and {more}", names.join(", ")))
        }
        _ => Some(format!("the file lacks {}", names.join(", "))),
    }
}
