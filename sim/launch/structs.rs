//! Reads the `[[type]]` tables of a launch file, which declare struct types, and the initial contents of
//! buffers of structs.

use golden::reference::ElementType;
use input::noun;

use super::buffers::{read_element, read_init};
use super::model::Init;
use super::node::{Node, Place, Table};
use super::problem::Problems;
use super::read::Scope;
use crate::config::suggestion;

/// Field of a struct type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field.
    pub name: String,
    /// Type of the field.
    pub element: ElementType,
    /// Offset from the start of the struct, in bytes.
    pub offset: usize,
}

/// Struct type declared in the launch file.
pub(super) struct StructType {
    pub name: String,
    /// Fields of the struct; `None` if their declaration breaks a rule.
    pub fields: Option<Vec<Field>>,
}

impl StructType {
    /// Size of one struct in bytes, including the padding that C adds after the last field.
    pub fn bytes(fields: &[Field]) -> usize {
        let end = fields.last().map_or(0, |field| field.offset + field.element.bytes());
        end.next_multiple_of(fields.iter().map(|field| field.element.bytes()).max().unwrap_or(1))
    }
}

pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Vec<StructType> {
    let mut types: Vec<StructType> = Vec::new();
    for node in root.tables("type", problems) {
        let Some(table) = node.table(&["name", "fields"], problems) else { continue };
        let name = table.require("name", problems);
        let name = name.and_then(|node| {
            let text = node.text("the name of a type", problems)?;
            if ElementType::from_name(text).is_some() || types.iter().any(|other| other.name == text) {
                problems.refuse(&node.place, "a unique name: another type has the same");
                return None;
            }
            Some(text.to_owned())
        });
        let fields = table.require("fields", problems).and_then(|node| read_fields(&node, problems));
        types.extend(name.map(|name| StructType { name, fields }));
    }
    types
}

/// Reads the fields of a struct type. Each field is placed at the next multiple of its size.
fn read_fields(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<Field>> {
    let what = "a table of fields and their types, such as { x = \"f32\", n = \"i32\" }";
    let entries = node.any_table().map(|table| table.entries().collect::<Vec<_>>());
    let Some(entries) = entries.filter(|entries| !entries.is_empty()) else {
        problems.refuse(&node.place, what);
        return None;
    };
    let mut end = 0usize;
    let field = |(name, node): (&str, Node<'_>)| {
        let element = read_element(&node, &[], problems)?;
        let offset = end.next_multiple_of(element.bytes());
        end = offset + element.bytes();
        Some(Field { name: name.to_owned(), element, offset })
    };
    let fields: Vec<_> = entries.into_iter().map(field).collect();
    fields.into_iter().collect()
}

/// Reads the initial contents of each struct field, such as `{ x = "iota", n = { file = "n.npy" } }`. Fields
/// that are not listed start as zeros.
pub(super) fn read_struct_init(
    scope: &Scope<'_>,
    node: &Node<'_>,
    fields: &[Field],
    structs: usize,
    problems: &mut Problems<'_>,
) -> Option<Init> {
    if node.as_text() == Some("zeros") {
        return Some(Init::Zeros);
    }
    if !node.is_table() {
        problems.refuse(&node.place, "\"zeros\", or a table of fields and their contents");
        return None;
    }
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    let table = node.table(&names, problems)?;
    let of = |field: &Field| {
        let node = table.get(&field.name)?;
        let init = read_init(scope, &node, field.element, Some(structs), problems);
        if let Some(Init::File(array)) = &init
            && array.len() != structs
        {
            let found = array.len();
            let unit = noun(structs, "element", "elements");
            problems.refuse(&node.place, format!("a file of {structs} {unit}, as the buffer has: it holds {found}"));
            return Some(None);
        }
        Some(init.map(|init| (field.clone(), init)))
    };
    let inits: Vec<_> = fields.iter().filter_map(of).collect();
    inits.into_iter().collect::<Option<_>>().map(Init::Fields)
}

/// Reports that a buffer has no field with this name.
pub(super) fn refuse_field(place: &Place, name: &str, buffer: &str, fields: &[Field], problems: &mut Problems<'_>) {
    if fields.is_empty() {
        problems.refuse(place, format!("none: the elements of buffer `{buffer}` are not structs"));
        return;
    }
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    let help = suggestion(name, "fields", &names);
    problems.refuse_with_help(place, format!("a field of buffer `{buffer}`"), Some(help));
}
