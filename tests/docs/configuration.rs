//! The configuration reference: names, values and sources from the preset `fermi`, meanings from
//! the doc comments of the structures that hold the fields.

use std::collections::BTreeMap;
use std::fs;

use syn::{Attribute, Expr, Fields, Item, Lit, Meta, Type, Variant};
use toml::{Table, Value};
use warpsieve::config::{Request, Resolved};

/// The files that declare configuration.
const SOURCES: [&str; 20] = [
    "rtl/machine/config.rs",
    "rtl/sm/config.rs",
    "rtl/l1/config.rs",
    "rtl/l1/bypass/mod.rs",
    "rtl/l1/bypass/pdp.rs",
    "rtl/l1/bypass/profiled.rs",
    "rtl/l1/decoupled/config.rs",
    "rtl/l1/dueling.rs",
    "rtl/l1/replacement.rs",
    "rtl/l1/mrpb.rs",
    "rtl/cells/streaming.rs",
    "rtl/throttle/mod.rs",
    "rtl/tracker/config.rs",
    "rtl/index.rs",
    "rtl/noc/xbar.rs",
    "rtl/l2/config.rs",
    "rtl/l2/bank/overlapped/config.rs",
    "rtl/l2/bank/transient/config.rs",
    "rtl/l2/bypass/mod.rs",
    "rtl/dram/config.rs",
];
const ROOT: &str = "MachineConfig";

/// A structure or a choice, with its doc comment.
enum Declared {
    Group { about: String, fields: Vec<Documented> },
    Choice { variants: Vec<Documented> },
}

struct Documented {
    name: String,
    about: String,
    /// Name of its type; of a variant, of what it holds, if it does.
    ty: String,
    /// The fields of a variant that has any.
    inner: Vec<Documented>,
}

type Declarations = BTreeMap<String, Declared>;

/// The tables of `docs/configuration.md`.
pub(super) fn reference() -> String {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    let resolved = Resolved::new(&request).unwrap().to_toml();
    let preset = fs::read_to_string(super::root().join("machines/fermi.toml")).unwrap();
    let declarations = declarations();
    let page = Page { remarks: remarks(&preset), declarations: &declarations };
    let mut text = String::new();
    page.group("", ROOT, &resolved.parse().unwrap(), &mut text);
    page.choices(&mut text);
    text
}

fn declarations() -> Declarations {
    let mut found = Declarations::new();
    for path in SOURCES {
        let text = fs::read_to_string(super::root().join(path)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            match item {
                Item::Struct(item) => {
                    let fields = documented(&item.fields);
                    found.insert(item.ident.to_string(), Declared::Group { about: about(&item.attrs), fields });
                }
                Item::Enum(item) => {
                    let variants = item.variants.iter().map(variant).collect();
                    found.insert(item.ident.to_string(), Declared::Choice { variants });
                }
                _ => {}
            }
        }
    }
    found
}

fn documented(fields: &Fields) -> Vec<Documented> {
    let named = fields.iter().filter_map(|field| Some((field.ident.as_ref()?, field)));
    let entry = |(name, field): (&syn::Ident, &syn::Field)| Documented {
        name: name.to_string(),
        about: about(&field.attrs),
        ty: name_of(&field.ty),
        inner: Vec::new(),
    };
    named.map(entry).collect()
}

/// The last word of a type's path.
fn name_of(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
        _ => String::new(),
    }
}

fn variant(variant: &Variant) -> Documented {
    Documented {
        name: kebab(&variant.ident.to_string()),
        about: about(&variant.attrs),
        ty: match &variant.fields {
            Fields::Unnamed(fields) => fields.unnamed.first().map_or(String::new(), |field| name_of(&field.ty)),
            Fields::Named(_) | Fields::Unit => String::new(),
        },
        inner: documented(&variant.fields),
    }
}

/// `FrFcfs` as it is written in TOML: `fr-fcfs`.
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

/// The doc comment on one line.
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

/// What the preset says of its values: the comment behind a field, and above a group.
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
    /// One table for the values of a group, then its inner groups.
    fn group(&self, path: &str, declared: &str, values: &Table, text: &mut String) {
        let Some(Declared::Group { about, fields }) = self.declarations.get(declared) else {
            panic!("`{declared}` of `{path}` is not declared in any of {SOURCES:?}");
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
                // A timing reads best as one value.
                (Value::Table(values), Some(Declared::Group { .. })) if field.ty != "OpTiming" => {
                    inner.push((of_field, &field.ty, values));
                }
                _ => {
                    let assumed = self.remarks.get(path).is_some_and(|remark| remark == "assumed");
                    let remark = self.remarks.get(&of_field).map(String::as_str);
                    let source = remark.unwrap_or(if assumed { "assumed" } else { "" });
                    rows.push_str(&format!("| `{of_field}` | `{}` | {} | {source} |\n", shown(value), field.about));
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

    /// The legal names of every field that is a choice, and the keys that come with each.
    fn choices(&self, text: &mut String) {
        let mut paths = BTreeMap::<&str, Vec<String>>::new();
        self.uses(ROOT, "", &mut paths);
        text.push_str("\n## Choices\n\n| field | value | meaning |\n|---|---|---|\n");
        for (declared, paths) in paths {
            let Some(Declared::Choice { variants, .. }) = self.declarations.get(declared) else { continue };
            let is_tagged = variants.iter().any(|variant| !self.keys(variant).is_empty());
            let fields: Vec<_> = paths.iter().map(|path| format!("`{path}`")).collect();
            for variant in variants {
                let value =
                    if is_tagged { format!("kind = \"{}\"", variant.name) } else { format!("\"{}\"", variant.name) };
                let meaning = format!("{}{}", variant.about, self.listed("", self.keys(variant)));
                text.push_str(&format!("| {} | `{value}` | {meaning} |\n", fields.join(", ")));
            }
        }
    }

    /// Keys with their meanings, and after each that is a table, those in it.
    fn listed(&self, path: &str, keys: &[Documented]) -> String {
        let of_key = |key: &Documented| {
            let name = format!("{path}{}", key.name);
            let inner = match self.declarations.get(&key.ty) {
                Some(Declared::Group { fields, .. }) => self.listed(&format!("{name}."), fields),
                _ => String::new(),
            };
            format!(" `{name}`: {}{inner}", key.about)
        };
        keys.iter().map(of_key).collect()
    }

    /// The keys beside a kind: its own fields, or those of what it holds.
    fn keys<'a>(&'a self, variant: &'a Documented) -> &'a [Documented] {
        match self.declarations.get(&variant.ty) {
            Some(Declared::Group { fields, .. }) => fields,
            _ => &variant.inner,
        }
    }

    /// Which fields have which type.
    fn uses<'a>(&'a self, declared: &str, path: &str, paths: &mut BTreeMap<&'a str, Vec<String>>) {
        let fields: Vec<_> = match self.declarations.get(declared) {
            Some(Declared::Group { fields, .. }) => fields.iter().collect(),
            Some(Declared::Choice { variants }) => variants.iter().flat_map(|variant| self.keys(variant)).collect(),
            None => return,
        };
        for field in fields {
            let of_field = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            paths.entry(&field.ty).or_default().push(of_field.clone());
            self.uses(&field.ty, &of_field, paths);
        }
    }
}

/// A value as TOML on one line.
fn shown(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let entries: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", shown(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

#[test]
fn every_field_of_the_preset_is_in_the_reference() {
    let reference = reference();
    let preset: Table = super::printed(&["config"]).parse().unwrap();
    let mut missing = Vec::new();
    for (group, value) in preset.iter().filter(|(_, value)| value.is_table()) {
        let keys = value.as_table().unwrap().keys().map(|key| format!("{group}.{key}"));
        missing.extend(keys.filter(|path| !reference.contains(&format!("`{path}`"))));
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn names_are_written_as_in_toml() {
    assert_eq!(["FrFcfs", "Off", "IPoly"].map(kebab), ["fr-fcfs", "off", "i-poly"]);
}
