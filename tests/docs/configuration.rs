//! Generates the configuration reference. The names, values and sources of fields are taken from the machine
//! preset `fermi`. The meanings are taken from the doc comments of the Rust types that hold the fields.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, ExprLit, Fields, Item, Lit, Meta, MetaNameValue, Type, Variant};
use toml::{Table, Value};
use warpsieve::config::{Request, ResolvedMachine};

const ROOT: &str = "MachineConfig";

/// Rust type that is part of the configuration: a structure or an enum, with its doc comment.
enum Declaration {
    Group { about: String, fields: Vec<DocumentedField> },
    Choice { variants: Vec<DocumentedField> },
}

struct DocumentedField {
    name: String,
    about: String,
    /// Name of the field's type. For an enum variant, name of the type that it contains, if any.
    ty: String,
    /// Named fields of an enum variant, if it has any.
    inner: Vec<DocumentedField>,
}

type Declarations = BTreeMap<String, Declaration>;

/// Returns the text of all tables in `docs/configuration.md`.
pub(super) fn reference() -> String {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    let resolved = ResolvedMachine::new(&request).unwrap().to_toml();
    let preset = fs::read_to_string(super::root().join("machines/fermi.toml")).unwrap();
    let declarations = declarations();
    let page = Page { remarks: remarks(&preset), declarations: &declarations };
    let mut text = String::new();
    page.group("", ROOT, &resolved.parse().unwrap(), &mut text);
    page.choices(&mut text);
    text
}

/// Returns all configuration types in the crate of the hardware model: structures, enums, and scheme slots
/// with their schemes. A scheme slot is a configuration field that selects a scheme, and its schemes are the
/// source files in the folder of the slot. Some types of saved state have the same names as configuration
/// types, so declarations in a file `config.rs` take precedence. Any other name that several files declare is
/// not a configuration type.
fn declarations() -> Declarations {
    let (mut settled, mut found, mut known) = (Declarations::new(), Declarations::new(), BTreeSet::new());
    for path in sources(&super::root().join("rtl")) {
        let text = fs::read_to_string(&path).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let (name, declared) = match item {
                Item::Struct(item) if is_read(&item.attrs) => {
                    let fields = list_documented(&item.fields);
                    (item.ident, Declaration::Group { about: about(&item.attrs), fields })
                }
                Item::Enum(item) if is_read(&item.attrs) => {
                    let variants = item.variants.iter().map(variant).collect();
                    (item.ident, Declaration::Choice { variants })
                }
                Item::Type(item) if name_of(&item.ty) == "Choice" => {
                    (item.ident, Declaration::Choice { variants: schemes(&path) })
                }
                _ => continue,
            };
            let name = name.to_string();
            if path.ends_with("config.rs") {
                settled.insert(name.clone(), declared);
            } else if known.insert(name.clone()) {
                found.insert(name, declared);
            } else {
                found.remove(&name);
            }
        }
    }
    found.extend(settled);
    found
}

/// Returns all source files in a folder and its subfolders, sorted by path.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let of_path = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    paths.into_iter().flat_map(of_path).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// True if a type with these attributes derives `Deserialize`, as all configuration types do.
fn is_read(attributes: &[Attribute]) -> bool {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let traits = derives.filter_map(|derive| derive.meta.require_list().ok());
    traits.into_iter().any(|list| list.tokens.to_string().contains("Deserialize"))
}

/// Returns the names of the schemes that can fill one slot of the machine (for example, the slot
/// `l1.bypass`). `slot` is the path of the source file that declares the slot. The other files of the same
/// folder are searched. Each of them defines one scheme, unless it registers no scheme name.
fn schemes(slot: &Path) -> Vec<DocumentedField> {
    let folder = if slot.ends_with("mod.rs") { slot.parent().unwrap().to_owned() } else { slot.with_extension("") };
    let mut found = Vec::new();
    for path in sources(&folder) {
        let text = fs::read_to_string(&path).unwrap();
        let mut header =
            text.lines().map_while(|line| line.strip_prefix("//! ")).take_while(|line| !line.starts_with('|'));
        let title = header.next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        let about = format!("{title}. {}", header.collect::<Vec<_>>().join(" "));
        // The file that declares the slot registers no scheme itself, so it is skipped.
        for item in if path == slot { Vec::new() } else { syn::parse_file(&text).unwrap().items } {
            let Item::Impl(item) = item else { continue };
            // Types that implement other traits are also registered by name, so that checkpoints can save
            // them. They are not schemes.
            let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
            if of_trait.is_none_or(|segment| segment.ident != "Scheme") {
                continue;
            }
            let Some(name) = item.attrs.iter().find_map(kind) else { continue };
            found.push(DocumentedField {
                name,
                about: about.trim_end().to_owned(),
                ty: name_of(&item.self_ty),
                inner: Vec::new(),
            });
        }
    }
    found
}

/// Returns the name under which a scheme is registered, which is the value of `name` in its attribute
/// `typetag::serde`.
fn kind(attribute: &Attribute) -> Option<String> {
    let is_tag = attribute.path().segments.first().is_some_and(|segment| segment.ident == "typetag");
    let given = attribute.parse_args::<MetaNameValue>().ok().filter(|given| is_tag && given.path.is_ident("name"))?;
    match given.value {
        Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) => Some(name.value()),
        _ => None,
    }
}

fn list_documented(fields: &Fields) -> Vec<DocumentedField> {
    let named = fields.iter().filter_map(|field| Some((field.ident.as_ref()?, field)));
    let entry = |(name, field): (&syn::Ident, &syn::Field)| DocumentedField {
        name: name.to_string(),
        about: about(&field.attrs),
        ty: name_of(&field.ty),
        inner: Vec::new(),
    };
    named.map(entry).collect()
}

/// Returns the last segment of the path that names a type.
fn name_of(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
        _ => String::new(),
    }
}

fn variant(variant: &Variant) -> DocumentedField {
    DocumentedField {
        name: kebab(&variant.ident.to_string()),
        about: about(&variant.attrs),
        ty: match &variant.fields {
            Fields::Unnamed(fields) => fields.unnamed.first().map_or(String::new(), |field| name_of(&field.ty)),
            Fields::Named(_) | Fields::Unit => String::new(),
        },
        inner: list_documented(&variant.fields),
    }
}

/// Converts a name such as `FrFcfs` to its form in TOML: `fr-fcfs`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Returns the doc comment of an item as one line.
fn about(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(line) => Some(line.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Returns the comments in a machine preset file, each with the field or the group of fields that it
/// describes. In the file, a comment is at the end of a field's line, or above a group of fields.
fn remarks(preset: &str) -> BTreeMap<String, String> {
    let mut remarks = BTreeMap::new();
    let (mut group, mut above) = (String::new(), Vec::new());
    for line in preset.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            above.push(comment.trim());
        } else if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            group = header.to_owned();
            remarks.insert(group.clone(), above.join(" "));
            above.clear();
        } else if let Some((key, rest)) = line.split_once(" = ") {
            let path = if group.is_empty() { key.to_owned() } else { format!("{group}.{key}") };
            if let Some((_, remark)) = rest.split_once(" # ") {
                remarks.insert(path, remark.to_owned());
            }
            above.clear();
        } else {
            above.clear();
        }
    }
    let table: Table = preset.parse().unwrap();
    for path in table["assumed"].as_array().unwrap() {
        remarks.insert(path.as_str().unwrap().to_owned(), "assumed".to_owned());
    }
    remarks
}

struct Page<'a> {
    remarks: BTreeMap<String, String>,
    declarations: &'a Declarations,
}

impl Page<'_> {
    /// Writes a table with the fields of a configuration group, followed by the tables of the groups inside
    /// it.
    fn group(&self, path: &str, declared: &str, values: &Table, text: &mut String) {
        let Some(Declaration::Group { about, fields }) = self.declarations.get(declared) else {
            panic!("`{declared}` of `{path}` is not declared in rtl");
        };
        let title = if path.is_empty() { "Machine".to_owned() } else { format!("`{path}`") };
        text.push_str(&format!("\n## {title}\n{about}"));
        let remark = self.remarks.get(path).filter(|_| !path.is_empty()).filter(|remark| !remark.is_empty());
        if let Some(remark) = remark {
            text.push_str(&format!(" Source: {}.", remark.trim_end_matches('.')));
        }
        text.push('\n');
        let mut inner = Vec::new();
        let mut rows = String::new();
        for field in fields {
            let value = values.get(&field.name).unwrap_or_else(|| panic!("`{path}.{}` has no value", field.name));
            let of_field = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            assert!(!field.about.is_empty(), "`{of_field}` has no doc comment");
            match (value, self.declarations.get(&field.ty)) {
                // The timing of an operation is a structure of two fields, but is more readable as a single
                // value in one row.
                (Value::Table(values), Some(Declaration::Group { .. })) if field.ty != "OpTiming" => {
                    inner.push((of_field, &field.ty, values));
                }
                _ => {
                    let assumed = self.remarks.get(path).is_some_and(|remark| remark == "assumed");
                    let remark = self.remarks.get(&of_field).map(String::as_str);
                    let source = remark.unwrap_or(if assumed { "assumed" } else { "" });
                    rows.push_str(&format!(
                        "| `{of_field}` | `{}` | {} | {source} |\n",
                        format_value(value),
                        field.about
                    ));
                }
            }
        }
        if !rows.is_empty() {
            text.push_str("\n| field | `fermi` | meaning | source |\n|---|---|---|---|\n");
            text.push_str(&rows);
        }
        for (path, declared, values) in inner {
            self.group(&path, declared, values, text);
        }
    }

    /// Writes the legal values of every configuration field whose type is an enum, and for each value the
    /// further keys that it allows.
    fn choices(&self, text: &mut String) {
        let mut paths = BTreeMap::<&str, Vec<String>>::new();
        self.uses(ROOT, "", &mut paths);
        text.push_str("\n## Choices\n\n| field | value | meaning |\n|---|---|---|\n");
        for (declared, paths) in paths {
            let Some(Declaration::Choice { variants, .. }) = self.declarations.get(declared) else { continue };
            let is_tagged = variants.iter().any(|variant| !variant.ty.is_empty() || !variant.inner.is_empty());
            let fields: Vec<_> = paths.iter().map(|path| format!("`{path}`")).collect();
            for variant in variants {
                let value =
                    if is_tagged { format!("kind = \"{}\"", variant.name) } else { format!("\"{}\"", variant.name) };
                let meaning = format!("{}{}", variant.about, self.list_keys("", self.keys(variant)));
                text.push_str(&format!("| {} | `{value}` | {meaning} |\n", fields.join(", ")));
            }
        }
    }

    /// Lists configuration keys with their meanings. If a key is a table, the keys inside the table are
    /// listed after it.
    fn list_keys(&self, path: &str, keys: &[DocumentedField]) -> String {
        let of_key = |key: &DocumentedField| {
            let name = format!("{path}{}", key.name);
            let inner = match self.declarations.get(&key.ty) {
                Some(Declaration::Group { fields, .. }) => self.list_keys(&format!("{name}."), fields),
                _ => String::new(),
            };
            format!(" `{name}`: {}{inner}", key.about)
        };
        keys.iter().map(of_key).collect()
    }

    /// Returns the further keys that an enum variant allows: its own fields, or the fields of the structure
    /// that it contains.
    fn keys<'a>(&'a self, variant: &'a DocumentedField) -> &'a [DocumentedField] {
        match self.declarations.get(&variant.ty) {
            Some(Declaration::Group { fields, .. }) => fields,
            _ => &variant.inner,
        }
    }

    /// Collects, for each configuration type, the paths of the fields that have this type.
    fn uses<'a>(&'a self, declared: &str, path: &str, paths: &mut BTreeMap<&'a str, Vec<String>>) {
        let fields: Vec<_> = match self.declarations.get(declared) {
            Some(Declaration::Group { fields, .. }) => fields.iter().collect(),
            Some(Declaration::Choice { variants }) => variants.iter().flat_map(|variant| self.keys(variant)).collect(),
            None => return,
        };
        for field in fields {
            let of_field = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            // Several kinds of a scheme may have the same key.
            let all = paths.entry(&field.ty).or_default();
            if !all.contains(&of_field) {
                all.push(of_field.clone());
            }
            self.uses(&field.ty, &of_field, paths);
        }
    }
}

/// Formats a value as TOML on one line.
fn format_value(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let entries: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", format_value(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

#[test]
fn every_field_of_the_preset_is_in_the_reference() {
    let reference = reference();
    let preset: Table = super::print(&["config"]).parse().unwrap();
    let mut missing = Vec::new();
    for (group, value) in &preset {
        // A table with a key `kind` is the value of an enum, and is documented as a single value.
        let Some(fields) = value.as_table().filter(|table| !table.contains_key("kind")) else { continue };
        let keys = fields.keys().map(|key| format!("{group}.{key}"));
        missing.extend(keys.filter(|path| !reference.contains(&format!("`{path}`"))));
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn names_are_written_as_in_toml() {
    assert_eq!(["FrFcfs", "Off", "IPoly"].map(kebab), ["fr-fcfs", "off", "i-poly"]);
}
