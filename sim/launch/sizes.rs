//! # Problem sizes of a launch file
//! The table `[size]` of a launch file declares named values for the main problem size. The table
//! `[size.NAME]` replaces some of these values in the problem size NAME. A string that begins with `=` is an
//! expression of these values, and is replaced by its result before the rest of the file is read.
//!
//! The path of a size has the name of the size as its last component, as if the size were a file. For
//! example, `kernels/syrk/small` and `kernels/syrk/launch.toml/small` both select the size `small` of
//! `kernels/syrk/launch.toml`. Some sizes need different launches, not only different values. Such a size has
//! its own launch file, for example `kernels/fwt/small.toml`. The path `kernels/fwt/small` selects this file
//! as well.
//!
//! A path can also give values: `kernels/syrk/rows=100,columns=64` replaces two values of the main size, and
//! `kernels/syrk/small,rows=100` replaces one value of the size `small`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::expression::{Value, evaluate, fits};
use super::model::LaunchFile;
use super::node::read_number;
use super::problem::{LaunchError, Problems};
use crate::config::suggestion;
use crate::content::Content;

/// File name of the launch file that is opened if a path names only its folder.
pub const MAIN: &str = "launch.toml";
/// Key of the table that declares values and problem sizes.
const SIZE: &str = "size";
/// Maximum length of a chain of values in which each value is computed from the next one.
const MAX_CHAIN: usize = 64;

/// Splits the path of a launch file. Returns the path of the file on disk, and the last component of the
/// given path if this component selects a problem size or gives values, such as `small,n=100`. The second
/// result is `None` for the main size, and also if there is no launch file at this path.
#[must_use]
pub fn locate(path: &Path) -> (PathBuf, Option<String>) {
    let main = path.join(MAIN);
    if main.is_file() {
        return (main, None);
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), false) = (name, path.exists()) else { return (path.to_owned(), None) };
    let (size, values) = split_values(name);
    // A path that ends in `.toml` is treated as the path of a file, even if the file does not exist.
    if size.is_some_and(|size| size.contains('.')) || name.ends_with(".toml") {
        return (path.to_owned(), None);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if let Some(own) = size.map(|size| folder.join(format!("{size}.toml"))).filter(|own| own.is_file()) {
        return (own, values.map(str::to_owned));
    }
    let sized = [folder.to_owned(), folder.join(MAIN)].into_iter().find(|file| file.is_file());
    match sized {
        Some(file) => (file, Some(name.to_owned())),
        None => (path.to_owned(), None),
    }
}

/// Splits the last component of a path into the name of a problem size and the values that it gives. For
/// example, `small,n=100,m=64` is split into `small` and `n=100,m=64`. One of the two results may be absent.
#[must_use]
pub fn split_values(name: &str) -> (Option<&str>, Option<&str>) {
    match name.split_once(',') {
        Some((size, values)) if !size.contains('=') && values.contains('=') => (Some(size), Some(values)),
        _ if name.contains('=') => (None, Some(name)),
        _ => (Some(name), None),
    }
}

impl LaunchFile {
    /// Returns the names of the problem sizes of a launch file in the order of the file, without the main size.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not TOML. Other rules are not checked.
    pub fn size_names(file: &Path) -> Result<Vec<String>, LaunchError> {
        names(file, true)
    }

    /// True if the path refers to an existing launch file, or to a problem size that an existing launch file
    /// declares. If the path gives values, the file must declare values of the same names.
    #[must_use]
    pub fn exists(path: &Path) -> bool {
        let (file, part) = locate(path);
        let has = |name: &str, is_size| names(&file, is_size).is_ok_and(|names| names.iter().any(|n| n == name));
        let (size, values) = part.as_deref().map_or((None, None), split_values);
        let mut values = values.into_iter().flat_map(|values| values.split(','));
        file.is_file()
            && size.is_none_or(|size| has(size, true))
            && values.all(|value| value.split_once('=').is_some_and(|(name, _)| has(name, false)))
    }

    /// Returns the contents of a launch file as TOML, with each expression replaced by its value in the
    /// problem size that `path` selects.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not TOML, or breaks a rule of sizes. Other rules are not
    /// checked.
    pub fn expand(path: &Path) -> Result<toml::Table, LaunchError> {
        let (file, size) = locate(path);
        with_expanded(&file, &read_text(&file)?, size.as_deref(), |document, problems| {
            let table = toml::Table::deserialize(Deserializer::from(document));
            table.map_err(|error| problems.add(error.span().unwrap_or_default(), error.message().to_owned(), None)).ok()
        })
    }
}

/// Returns names in the table `[size]` of a launch file, in file order: the names of the problem sizes if
/// `are_sizes` is true, otherwise the names of the values.
fn names(file: &Path, are_sizes: bool) -> Result<Vec<String>, LaunchError> {
    let text = read_text(file)?;
    let mut problems = Problems::new(file, &text);
    let names = problems.document(&text).map(|document| {
        let size = document.get_ref().get(SIZE).and_then(|size| size.get_ref().as_table());
        let named = size.into_iter().flatten().filter(|(_, value)| value.get_ref().is_table() == are_sizes);
        named.map(|(name, _)| name.get_ref().to_string()).collect()
    });
    problems.or(names)
}

/// Reads the text of a launch file.
pub(super) fn read_text(file: &Path) -> Result<String, LaunchError> {
    Content::Launch.read(file).map_err(|reason| LaunchError::Unreadable { path: file.to_owned(), reason })
}

/// Applies `read` to the document in `text`, in which each expression has been replaced by its value in the
/// given problem size. `size` is the last component of a path, as returned by [`locate`]; `None` selects the
/// main size.
///
/// # Errors
/// Fails if the text is not TOML, breaks a rule of sizes, or if `read` adds problems.
pub(super) fn with_expanded<R>(
    file: &Path,
    text: &str,
    size: Option<&str>,
    read: impl FnOnce(Spanned<DeTable<'_>>, &mut Problems<'_>) -> Option<R>,
) -> Result<R, LaunchError> {
    let mut problems = Problems::new(file, text);
    let results = Results::new();
    let document = problems.document(text).and_then(|document| expand(document, size, &results, &mut problems));
    let result = document.and_then(|document| read(document, &mut problems));
    problems.or(result)
}

/// Results of all expressions of a document as TOML, in the order of the document. They are stored here
/// because the expanded document borrows their text.
type Results = OnceCell<Vec<String>>;

/// Removes the table of sizes from a document, and replaces each expression by its value in the given problem
/// size. The size is the last part of a path; `None` selects the main size. Returns `None` if a rule is broken.
fn expand<'t>(
    mut document: Spanned<DeTable<'t>>,
    size: Option<&str>,
    results: &'t Results,
    problems: &mut Problems<'_>,
) -> Option<Spanned<DeTable<'t>>> {
    let sizes = document.get_mut().remove(SIZE);
    let (size, given) = size.map_or((None, None), split_values);
    let declared = declare(sizes.as_ref(), size, problems)?;
    let given = match given {
        Some(given) => read_given(given, &declared, sizes.as_ref(), problems)?,
        None => BTreeMap::new(),
    };
    let needs_use = given.is_empty();
    let mut values =
        Values { declared: &declared, computed: given, chain: Vec::new(), used: BTreeSet::new(), needs_use, problems };
    let mut texts = Vec::new();
    let is_known =
        document.get_ref().iter().map(|(_, value)| values.evaluate_all(value, &mut texts)).fold(true, |a, b| a & b);
    if !(values.finish() & is_known) {
        return None;
    }
    let mut texts = results.get_or_init(|| texts).iter();
    document.get_mut().iter_mut().for_each(|(_, value)| replace(value, &mut texts));
    Some(document)
}

/// Declaration of a value in the table `[size]` or `[size.NAME]`.
struct Declared<'d, 't> {
    /// Key path of the value, such as `size.small.n`.
    path: String,
    key: Range<usize>,
    value: &'d Spanned<DeValue<'t>>,
}

/// Returns the values of a problem size by name. If the size does not replace a value, it has the same value
/// as in the main size.
fn declare<'d, 't>(
    sizes: Option<&'d Spanned<DeValue<'t>>>,
    size: Option<&str>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<&'d str, Declared<'d, 't>>> {
    let mut declared = BTreeMap::new();
    let mut named = BTreeMap::new();
    if let Some(sizes) = sizes {
        let Some(table) = sizes.get_ref().as_table() else {
            problems.add(
                sizes.span(),
                "`size` must be a table of values, and of sizes such as `[size.small]`".to_owned(),
                None,
            );
            return None;
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = format!("size.{name}");
            let may = |c: char| c.is_ascii_alphanumeric() || c == '_' || (c == '-' && value.get_ref().is_table());
            if !name.chars().all(may) || name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
                let message = format!("`{path}` has an illegal name: expected letters, digits and _ after a letter");
                problems.add(key.span(), message, None);
            }
            match value.get_ref().as_table() {
                Some(values) => drop(named.insert(name, values)),
                None => drop(declared.insert(name, Declared { path, key: key.span(), value })),
            }
        }
    }
    // Unknown names are reported in all sizes, not only in the selected one. Otherwise an error in a size
    // that is never selected would go unnoticed.
    for (size, values) in &named {
        for (key, _) in *values {
            let name: &str = key.get_ref();
            if !declared.contains_key(name) {
                let help = suggestion(name, "values of `[size]`", &declared.keys().copied().collect::<Vec<_>>());
                problems.add(
                    key.span(),
                    format!("`size.{size}.{name}` has no value in the main size `[size]`"),
                    Some(help),
                );
            }
        }
    }
    if let Some(size) = size {
        let Some(values) = named.get(size) else {
            let help = suggestion(size, "sizes", &named.keys().copied().collect::<Vec<_>>());
            let span = sizes.map_or(0..0, Spanned::span);
            problems.add(span, format!("there is no problem size `{size}` in the file"), Some(help));
            return None;
        };
        for (key, value) in *values {
            let name: &str = key.get_ref();
            declared.insert(name, Declared { path: format!("size.{size}.{name}"), key: key.span(), value });
        }
    }
    Some(declared)
}

/// Reads the values that a path gives, such as `n=100,m=64`. They replace declared values, which must be integers
/// or expressions. Returns `None` if a rule is broken.
fn read_given<'d>(
    given: &str,
    declared: &BTreeMap<&'d str, Declared<'d, '_>>,
    sizes: Option<&Spanned<DeValue<'_>>>,
    problems: &mut Problems<'_>,
) -> Option<BTreeMap<&'d str, Option<Value>>> {
    let span = sizes.map_or(0..0, Spanned::span);
    let mut values = BTreeMap::new();
    let mut are_good = true;
    for text in given.split(',') {
        let (message, help) = match read_value(text, declared) {
            Ok((name, value)) => match values.insert(name, Some(value)) {
                None => continue,
                Some(_) => (format!("`{name}` is given twice in `{given}`"), None),
            },
            Err(problem) => problem,
        };
        problems.add(span.clone(), message, help);
        are_good = false;
    }
    are_good.then_some(values)
}

/// Reads a value that a path gives, such as `n=100`. The error is a message, and a help text if there is one.
fn read_value<'d>(
    text: &str,
    declared: &BTreeMap<&'d str, Declared<'d, '_>>,
) -> Result<(&'d str, Value), (String, Option<String>)> {
    let names: Vec<_> = declared.keys().copied().collect();
    let Some((name, integer)) = text.split_once('=') else {
        return Err((format!("`{text}` is not a value, expected one such as `n=100` after a comma"), None));
    };
    let Some((&name, of_file)) = declared.get_key_value(name) else {
        let help = suggestion(name, "values", &names);
        return Err((format!("`{text}`: the file has no value `{name}` in `[size]`"), Some(help)));
    };
    let is_replaceable = match of_file.value.get_ref() {
        DeValue::Integer(_) => true,
        DeValue::String(text) => text.starts_with('='),
        _ => false,
    };
    if !is_replaceable {
        let path = &of_file.path;
        return Err((format!("`{text}`: `{path}` is no integer, and a path can give integers alone"), None));
    }
    let number = DeValue::parse(integer).ok().and_then(|value| read_number(value.get_ref()));
    match number.filter(|number| number.integer().is_some_and(fits)) {
        Some(number) => Ok((name, Value::Number(number))),
        None => Err((format!("`{text}`: expected an integer of 64 bits"), None)),
    }
}

/// Evaluator of the values of a problem size. A value is computed when an expression uses its name for the
/// first time.
struct Values<'d, 't, 'p, 'f> {
    declared: &'d BTreeMap<&'d str, Declared<'d, 't>>,
    /// Values computed so far, and values given in the path. An entry is `None` if a problem with this value
    /// has been reported.
    computed: BTreeMap<&'d str, Option<Value>>,
    /// Names of the values that are being computed at the moment. Each of them needs the next one in the
    /// list.
    chain: Vec<&'d str>,
    /// Names that an expression has used.
    used: BTreeSet<&'d str>,
    /// True if a declared value that no expression uses is an error. False if the path gives values: such a
    /// value may replace an expression, and the values used in that expression may then be unused.
    needs_use: bool,
    problems: &'p mut Problems<'f>,
}

/// Text of an error that has already been reported as a problem, so that it is not reported again.
const REPORTED: String = String::new();

impl<'d> Values<'d, '_, '_, '_> {
    /// Returns the value with the given name. If a problem has been reported for this value, the error is
    /// [`REPORTED`].
    fn look_up(&mut self, name: &str) -> Result<Value, String> {
        let declared = self.declared;
        let Some((&name, value)) = declared.get_key_value(name) else {
            let names: Vec<_> = declared.keys().copied().collect();
            return Err(format!("`[size]` has no value `{name}` ({})", suggestion(name, "values", &names)));
        };
        self.used.insert(name);
        if self.chain.contains(&name) {
            return Err(format!(
                "`{name}` is computed from itself: {}",
                [&self.chain[..], &[name]].concat().join(" from ")
            ));
        }
        if self.chain.len() == MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} values are each computed from the next"));
        }
        self.chain.push(name);
        let value = self.compute(name, value);
        self.chain.pop();
        value.ok_or(REPORTED)
    }

    /// Returns the declared value of a name, and computes it if that has not been done.
    fn compute(&mut self, name: &'d str, declared: &Declared<'_, '_>) -> Option<Value> {
        if let Some(known) = self.computed.get(name) {
            return known.clone();
        }
        let value = self.of(declared.value.get_ref(), false);
        let value = value.map_err(|reason| self.report(&declared.path, declared.value.span(), reason)).ok();
        self.computed.insert(name, value.clone());
        value
    }

    fn report(&mut self, path: &str, span: Range<usize>, reason: String) {
        if reason != REPORTED {
            self.problems.add(span, format!("`{path}`: {reason}"), None);
        }
    }

    /// Converts a value of the file. If the value is an expression, returns the result of the expression.
    fn of(&mut self, value: &DeValue<'_>, in_list: bool) -> Result<Value, String> {
        let value = match value {
            DeValue::String(text) => match text.strip_prefix('=') {
                Some(expression) => evaluate(expression, &mut |name| self.look_up(name))?,
                None => Value::Text(text.to_string()),
            },
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Array(elements) => {
                let elements = elements.iter().map(|element| self.of(element.get_ref(), true));
                Value::List(elements.collect::<Result<_, _>>()?)
            }
            number => match read_number(number) {
                Some(number) => Value::Number(number),
                None => return Err("expected a number, a text, true, false or an array".to_owned()),
            },
        };
        if in_list && matches!(value, Value::List(_)) {
            return Err("expected no array within an array".to_owned());
        }
        Ok(value)
    }

    /// Computes all expressions in a value of the file and appends the results to `results`, as TOML. If an
    /// expression has no result, reports a problem and returns false.
    fn evaluate_all(&mut self, value: &Spanned<DeValue<'_>>, results: &mut Vec<String>) -> bool {
        match value.get_ref() {
            DeValue::String(text) if text.starts_with('=') => match self.of(value.get_ref(), false) {
                Ok(result) => {
                    results.push(result.to_string());
                    true
                }
                Err(reason) => {
                    self.report(text, value.span(), reason);
                    false
                }
            },
            DeValue::Array(elements) => {
                elements.iter().fold(true, |all, element| self.evaluate_all(element, results) & all)
            }
            DeValue::Table(table) => table.iter().fold(true, |all, (_, value)| self.evaluate_all(value, results) & all),
            _ => true,
        }
    }

    /// Reports values that cannot be computed. If every value must be used, also reports the values that no
    /// expression has used. Returns true if nothing was reported.
    fn finish(mut self) -> bool {
        let mut are_good = true;
        for (name, declared) in self.declared {
            are_good &= self.compute(name, declared).is_some();
        }
        let is_unused = |name: &str| self.needs_use && !self.used.contains(name);
        for (name, declared) in self.declared.iter().filter(|(name, _)| is_unused(name)) {
            let message = format!("`{}` is not used by any expression such as `\"= {name}\"`", declared.path);
            self.problems.add(declared.key.clone(), message, None);
            are_good = false;
        }
        are_good
    }
}

/// Replaces the expressions in a value of the file by their results. `results` yields the results in the
/// order of the expressions.
fn replace<'t>(value: &mut Spanned<DeValue<'t>>, results: &mut impl Iterator<Item = &'t String>) {
    match value.get_mut() {
        DeValue::String(text) if text.starts_with('=') => {
            let result = results.next().and_then(|result| DeValue::parse(result).ok());
            let result = result.expect("each expression has a result that is TOML");
            *value = move_to(result, &value.span());
        }
        DeValue::Array(elements) => elements.iter_mut().for_each(|element| replace(element, results)),
        DeValue::Table(table) => table.iter_mut().for_each(|(_, value)| replace(value, results)),
        _ => {}
    }
}

/// Sets the text position of a value, and of all elements of an array, to `span`. The value is the result of
/// an expression, and `span` is the position of that expression.
fn move_to<'t>(value: Spanned<DeValue<'t>>, span: &Range<usize>) -> Spanned<DeValue<'t>> {
    let mut value = value.into_inner();
    if let DeValue::Array(elements) = &mut value {
        for element in elements.iter_mut() {
            *element = move_to(std::mem::replace(element, Spanned::new(0..0, DeValue::Boolean(false))), span);
        }
    }
    Spanned::new(span.clone(), value)
}
