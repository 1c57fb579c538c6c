//! Configuration as a flat list of fields, and the changes that TOML tables make to these fields.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::problem::Problems;
use super::source::{Origin, Sources, TextPlace};
use super::suggest::suggestion;
use super::units;

/// Key that makes a table a single field. Its value is the name of a scheme or of a variant, which
/// determines the other legal keys of the table.
pub(super) const KIND: &str = "kind";

/// Configuration field: a scalar, an array, or a table with a `kind`.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Dotted path, such as `l1.sets`.
    pub path: String,
    /// Current value of the field, after the files and options applied so far.
    pub value: Value,
    /// Origin of the current value: a line of a file, or the text of an option.
    pub place: TextPlace,
    /// Value that the field has in the machine file, if a design or `--set` has replaced it; otherwise
    /// `None`.
    pub machine_value: Option<Value>,
    /// True if the value is an assumption, because no paper states it.
    pub assumed: bool,
}

/// All fields of a configuration, in the order of the schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<Field>);

/// One step in the resolution of a configuration. It sets some fields to the values in one TOML table.
pub(super) struct Overlay<'a> {
    pub sources: &'a Sources,
    /// Index of the source text that contains the TOML table.
    pub source: usize,
    /// Keys at the root of the table that are not configuration fields, such as the name of the file.
    pub meta: &'a [&'a str],
    pub problems: &'a mut Problems,
    /// Paths of the fields that this table has set so far.
    pub given: Vec<String>,
}

impl Field {
    /// Returns the value at `path`, which is either the field itself or a key inside the field.
    pub fn at(&self, path: &str) -> Option<&Value> {
        keys_below(path, &self.path)?.try_fold(&self.value, |value, key| value.get(key))
    }

    /// Replaces the value at `path` inside the field, or removes it if `value` is `None`. Returns `None` if
    /// the table that should contain the value does not exist.
    pub fn put(&mut self, path: &str, value: Option<Value>) -> Option<()> {
        let mut keys: Vec<_> = keys_below(path, &self.path)?.collect();
        let Some(last) = keys.pop() else {
            self.value = value?;
            return Some(());
        };
        let table = keys.into_iter().try_fold(&mut self.value, |table, key| table.get_mut(key))?.as_table_mut()?;
        match value {
            Some(value) => drop(table.insert(last.to_owned(), value)),
            None => drop(table.remove(last)),
        }
        Some(())
    }

    /// Returns the paths of all keys inside the field, except keys named `kind`. The list is empty if the
    /// field is not a table.
    pub fn inner_paths(&self) -> Vec<String> {
        fn add(path: &str, value: &Value, paths: &mut Vec<String>) {
            for (key, value) in value.as_table().into_iter().flatten().filter(|(key, _)| *key != KIND) {
                let path = join_path(path, key);
                match value {
                    Value::Table(_) => add(&path, value, paths),
                    _ => paths.push(path),
                }
            }
        }
        let mut paths = Vec::new();
        add(&self.path, &self.value, &mut paths);
        paths
    }
}

/// Returns the keys that lead from the field `holder` to `path`. Returns `None` if `path` is not inside
/// `holder`.
fn keys_below<'a>(path: &'a str, holder: &str) -> Option<impl Iterator<Item = &'a str>> {
    let inner = path.strip_prefix(holder)?;
    let inner = if inner.is_empty() { inner } else { inner.strip_prefix('.')? };
    Some(inner.split('.').filter(|key| !key.is_empty()))
}

impl Fields {
    /// Iterates over all fields.
    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// Returns the field with exactly this path.
    pub fn get(&self, path: &str) -> Option<&Field> {
        self.0.iter().find(|field| field.path == path)
    }

    pub fn get_mut(&mut self, path: &str) -> Option<&mut Field> {
        self.0.iter_mut().find(|field| field.path == path)
    }

    /// Returns the field that contains `path`: either the field with this path, or the table with a `kind`
    /// that encloses it.
    pub fn holder_of(&self, path: &str) -> Option<&Field> {
        self.0.iter().find(|field| is_within(path, &field.path))
    }

    /// Returns the text position at which the value of the field `path` is set. If `path` is a group of
    /// fields, returns the position of its first field.
    pub fn place_of(&self, path: &str) -> TextPlace {
        self.known_place_of(path).unwrap_or(TextPlace { source: 0, span: 0..0 })
    }

    /// Returns the text position at which the value of the field or group `path` is set. Returns `None` if
    /// there is no such field or group.
    pub fn known_place_of(&self, path: &str) -> Option<TextPlace> {
        let below = || self.0.iter().find(|field| is_within(&field.path, path));
        self.holder_of(path).or_else(below).map(|field| field.place.clone())
    }

    /// Iterates over the fields in the group `path`, or over the single field with this path.
    pub fn below_mut(&mut self, path: &str) -> impl Iterator<Item = &mut Field> {
        self.0.iter_mut().filter(move |field| is_within(&field.path, path))
    }

    /// Returns the names of the keys directly in a group of fields. An empty path stands for the root.
    pub fn children(&self, group: &str) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for field in &self.0 {
            let inside = match group {
                "" => Some(field.path.as_str()),
                _ => field.path.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')),
            };
            let key = inside.map(|inside| inside.split_once('.').map_or(inside, |(key, _)| key));
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
        keys
    }

    /// Reads the fields of a machine file that sets every field.
    pub fn flatten(table: &DeTable<'_>, source: usize, meta: &[&str]) -> Self {
        let mut fields = Self::default();
        fields.add("", table, source, meta);
        fields
    }

    fn add(&mut self, group: &str, table: &DeTable<'_>, source: usize, meta: &[&str]) {
        for (key, value) in table.iter().filter(|(key, _)| !meta.contains(&key.get_ref().as_ref())) {
            let path = join_path(group, key.get_ref());
            match value.get_ref().as_table() {
                Some(inner) if !inner.contains_key(KIND) => self.add(&path, inner, source, &[]),
                _ => self.0.push(Field {
                    path,
                    value: plain(value.get_ref()),
                    place: TextPlace { source, span: value.span() },
                    machine_value: None,
                    assumed: false,
                }),
            }
        }
    }

    /// Returns the configuration as nested TOML tables.
    pub fn to_value(&self) -> Value {
        let mut root = toml::Table::new();
        for field in &self.0 {
            let mut table = &mut root;
            let mut keys = field.path.split('.').peekable();
            while let Some(key) = keys.next() {
                if keys.peek().is_none() {
                    table.insert(key.to_owned(), field.value.clone());
                    break;
                }
                let inner = table.entry(key).or_insert_with(|| Value::Table(toml::Table::new()));
                let Value::Table(inner) = inner else { break };
                table = inner;
            }
        }
        Value::Table(root)
    }
}

impl Overlay<'_> {
    /// Applies the values in `table` to the configuration `fields`, and reports invalid values.
    pub fn apply(&mut self, table: &DeTable<'_>, fields: &mut Fields) {
        self.group("", table, fields);
    }

    fn group(&mut self, group: &str, table: &DeTable<'_>, fields: &mut Fields) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            if group.is_empty() && self.meta.contains(&name) {
                continue;
            }
            let path = join_path(group, name);
            if fields.get(&path).is_some() {
                self.field(&path, value, fields);
                continue;
            }
            let children = fields.children(&path);
            if children.is_empty() {
                let help = self.problems.wants_help().then(|| self.meant(group, name, fields));
                self.refuse(key.span(), format!("unknown key `{path}`"), help);
            } else if let Some(inner) = value.get_ref().as_table() {
                self.group(&path, inner, fields);
            } else {
                let shown = format_value(&plain(value.get_ref()));
                let message = format!("`{path}` is {shown}, expected a table of {}", children.join(", "));
                self.refuse(value.span(), message, None);
            }
        }
    }

    /// Returns a suggestion for an unknown key: the same key in other groups, or a similar key in the same
    /// group.
    fn meant(&self, group: &str, name: &str, fields: &Fields) -> String {
        let same = fields.iter().filter(|field| field.path.rsplit('.').next() == Some(name));
        let same: Vec<_> = same.map(|field| format!("`{}`", field.path)).collect();
        if !same.is_empty() {
            return format!("did you mean {}?", same.join(" or "));
        }
        let mut legal = fields.children(group);
        if group.is_empty() {
            legal.extend(self.meta);
        }
        suggestion(name, "legal keys", &legal)
    }

    fn field(&mut self, path: &str, given: &Spanned<DeValue<'_>>, fields: &mut Fields) {
        let Some(field) = fields.get(path) else { return };
        if self.is_given(path, given) {
            return;
        }
        let Some(value) = self.replacement(field, given) else { return };
        let place = TextPlace { source: self.source, span: first_change(given).span() };
        let giver = &self.sources.get(self.source).giver;
        if let (Origin::Design(earlier), Origin::Design(_)) = (&self.sources.of(&field.place).giver, giver)
            && field.value != value
        {
            let (value, other) = (format_value(&value), format_value(&field.value));
            let message = format!("`{path}` is {value}, but design `{earlier}` sets it to {other}");
            let help = "use one of the two designs, and set the other changes of the second with `--set`".to_owned();
            self.refuse(given.span(), message, Some(help));
            return;
        }
        let is_machine = *giver == Origin::Machine;
        if let Some(field) = fields.get_mut(path) {
            let old = std::mem::replace(&mut field.value, value);
            field.machine_value = if is_machine { None } else { field.machine_value.take().or(Some(old)) };
            field.place = place;
            field.assumed = false;
        }
    }

    /// True if the current TOML table has already set the field or a key inside it. In this case, also
    /// reports a problem, since a second value would replace the first.
    fn is_given(&mut self, path: &str, given: &Spanned<DeValue<'_>>) -> bool {
        // A table with `kind` and other keys replaces the whole field. A table with `kind` alone counts as
        // one key: the other keys of this `kind` may be set after it, but not before it.
        let is_whole = |table: &&DeTable<'_>| table.contains_key(KIND) && table.len() > 1;
        let keys: Vec<_> = match given.get_ref().as_table().filter(|table| !is_whole(table)) {
            Some(table) => changes(path, table),
            None => vec![(path.to_owned(), given.span())],
        };
        let kind = join_path(path, KIND);
        if let Some((_, span)) = keys.iter().find(|(key, _)| *key == kind)
            && let Some(earlier) = self.given.iter().find(|other| **other != kind && is_within(other, path))
        {
            let message = format!("`{kind}` is given after `{earlier}`, which it would undo");
            self.refuse(span.clone(), message, Some("give the kind first".to_owned()));
            return true;
        }
        let is_twice = |key: &str| self.given.iter().any(|other| is_within(key, other) || is_within(other, key));
        let twice = keys.iter().find(|(key, _)| is_twice(key)).cloned();
        self.given.extend(keys.into_iter().map(|(key, _)| key));
        let Some((key, span)) = twice else { return false };
        self.refuse(span, format!("`{key}` is given twice"), Some("omit one of them".to_owned()));
        true
    }

    /// Returns the new value of a field. Reports an error if its type differs from the type of the old value.
    fn replacement(&mut self, field: &Field, given: &Spanned<DeValue<'_>>) -> Option<Value> {
        let value = plain(given.get_ref());
        match (&field.value, given.get_ref().as_table()) {
            (Value::Table(old), Some(_)) if value.get(KIND).is_some_and(|kind| old.get(KIND) != Some(kind)) => {
                Some(value)
            }
            (Value::Table(old), Some(table)) => self.patch_table(&field.path, old, table).map(Value::Table),
            (old, _) if old.same_type(&value) => Some(value),
            (old, _) => {
                let message = format!("`{}` is {}, expected {}", field.path, format_value(&value), legal(old));
                let unit = value.as_str().filter(|_| old.is_integer()).and_then(|text| units::meant(&field.path, text));
                let help = (old.is_table() && value.is_str()).then(|| {
                    let (path, kind) = (&field.path, format_value(&value));
                    format!("the kind is given in a table with its keys: {path} = {{ kind = {kind}, ... }}")
                });
                self.refuse(given.span(), message, help.or(unit));
                None
            }
        }
    }

    /// Changes single keys of a table with a `kind`, or of a table nested in it, and returns the changed
    /// table. Returns `None` if a change is invalid.
    fn patch_table(&mut self, path: &str, old: &toml::Table, changes: &DeTable<'_>) -> Option<toml::Table> {
        let mut table = old.clone();
        let mut is_legal = true;
        for (key, given) in changes {
            let name: &str = key.get_ref();
            let value = plain(given.get_ref());
            match table.get_mut(name) {
                Some(Value::Table(old)) if value.is_table() => {
                    let inner = given
                        .get_ref()
                        .as_table()
                        .and_then(|inner| self.patch_table(&join_path(path, name), old, inner));
                    is_legal &= inner.is_some();
                    *old = inner.unwrap_or_default();
                }
                Some(old) if old.same_type(&value) => *old = value,
                Some(old) => {
                    let path = join_path(path, name);
                    let message = format!("`{path}` is {}, expected {}", format_value(&value), legal(old));
                    let help = value.as_str().filter(|_| old.is_integer()).and_then(|text| units::meant(&path, text));
                    self.refuse(given.span(), message, help);
                    is_legal = false;
                }
                // The table lacks this key: either the key still has its default value, or the kind has no
                // such key. The second case is reported later, when the fields are converted to the typed
                // configuration.
                None => {
                    table.insert(name.to_owned(), value);
                }
            }
        }
        is_legal.then_some(table)
    }

    /// Reports a problem at a position in the text of this table.
    pub fn refuse(&mut self, span: std::ops::Range<usize>, message: String, help: Option<String>) {
        self.problems.add(self.sources, &TextPlace { source: self.source, span }, message, help);
    }
}

/// Lists the path and the text position of every value in a table, including the values in nested tables.
fn changes(path: &str, table: &DeTable<'_>) -> Vec<(String, std::ops::Range<usize>)> {
    let of_key = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let path = join_path(path, key.get_ref());
        match value.get_ref().as_table() {
            Some(table) => changes(&path, table),
            None => vec![(path, value.span())],
        }
    };
    table.iter().flat_map(of_key).collect()
}

/// Returns the first value that `given` sets: the first value of the table or of its first nested table. If
/// `given` is not a table, or is a table with a `kind`, returns `given` itself.
fn first_change<'a, 't>(given: &'a Spanned<DeValue<'t>>) -> &'a Spanned<DeValue<'t>> {
    let table = given.get_ref().as_table().filter(|table| !table.contains_key(KIND));
    table.and_then(|table| table.values().next()).map_or(given, first_change)
}

/// Describes the type of `value` for error messages.
fn legal(value: &Value) -> String {
    match value {
        Value::String(_) => "a string".to_owned(),
        Value::Integer(_) => "an integer".to_owned(),
        Value::Float(_) => "a number with a decimal point".to_owned(),
        Value::Boolean(_) => "true or false".to_owned(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Table(_) => format!("a table such as {}", format_value(value)),
    }
}

/// Formats a value as TOML on one line.
pub(super) fn format_value(value: &Value) -> String {
    match value {
        Value::Table(table) if table.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entries: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", format_value(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(elements) => format!("[{}]", elements.iter().map(format_value).collect::<Vec<_>>().join(", ")),
        scalar => scalar.to_string(),
    }
}

/// Converts a parsed TOML value to a value without text positions. Integers that do not fit in 64 bits become
/// strings, which no integer field accepts.
pub(super) fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::String(integer.to_string()),
        },
        DeValue::Float(real) => real.as_str().parse().map_or_else(|_| Value::String(real.to_string()), Value::Float),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(date) => Value::Datetime(*date),
        DeValue::Array(elements) => Value::Array(elements.iter().map(|v| plain(v.get_ref())).collect()),
        DeValue::Table(table) => {
            Value::Table(table.iter().map(|(key, v)| (key.get_ref().to_string(), plain(v.get_ref()))).collect())
        }
    }
}

fn join_path(group: &str, key: &str) -> String {
    if group.is_empty() { key.to_owned() } else { format!("{group}.{key}") }
}

/// True if `path` equals `group` or lies inside the group. Every path lies inside the root, which is the
/// empty path.
fn is_within(path: &str, group: &str) -> bool {
    group.is_empty() || path.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
