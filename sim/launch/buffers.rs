//! Reads the `[[buffer]]` tables of a launch file: names, types, sizes and initial contents of buffers.

use std::collections::HashSet;

use golden::reference::ElementType;

use super::launches::NULL;
use super::model::{Buffer, Init, Number, Sequence, TextureShape};
use super::node::{Node, Place, Table};
use super::problem::Problems;
use super::read::Scope;
use super::structs::{Field, StructType, read_struct_init};
use super::texture::read_texture;
use crate::config::suggestion;

/// Buffer that the launch file declares, possibly with errors. A property that could not be read is `None`.
/// The buffer is recorded in any case, because other tables of the file may refer to it.
pub(super) struct DeclaredBuffer {
    pub name: String,
    /// Element type of the buffer, as written in the file.
    pub type_name: String,
    pub element: Option<ElementType>,
    pub elements: Option<usize>,
    /// Fields of the struct if the elements are structs, otherwise empty. `None` if the struct type breaks a
    /// rule.
    pub fields: Option<Vec<Field>>,
    init: Option<Init>,
    address: Option<u64>,
    symbol: Option<String>,
    pub texture: Option<TextureShape>,
    place: Place,
}

impl DeclaredBuffer {
    pub fn into_buffer(self) -> Option<Buffer> {
        let Self { name, element, elements, fields, init, address, symbol, texture, place, .. } = self;
        let (element, elements, fields) = (element?, elements?, fields?);
        Some(Buffer { name, element, elements, fields, init: init?, address, symbol, texture, place })
    }
}

/// Maximum size of a buffer in bytes. It leaves space for other buffers in a 32-bit address space.
const MAX_BYTES: usize = 1 << 31;
/// Lowest address that a launch file can state for a buffer.
const LOWEST_ADDRESS: i128 = 0x10_0000;

pub(super) fn read(scope: &Scope<'_>, root: &Table<'_>, problems: &mut Problems<'_>) -> Vec<DeclaredBuffer> {
    let mut declared: Vec<DeclaredBuffer> = Vec::new();
    let mut names = HashSet::new();
    for node in root.tables("buffer", problems) {
        let keys = &["name", "type", "elements", "init", "address", "symbol", "texture"];
        let Some(table) = node.table(keys, problems) else {
            continue;
        };
        let name = table.require("name", problems);
        let name = name.and_then(|name| {
            let text = name.text("the name of a buffer", problems)?;
            if text == NULL {
                problems.refuse(&name.place, "another name: as an argument, this one is the null pointer");
                return None;
            }
            if !names.insert(text) {
                let expected = "a unique name: an earlier buffer has the same";
                problems.refuse(&name.place, expected);
                return None;
            }
            Some(text.to_owned())
        });
        let (element, fields) = read_type(scope, &table, problems);
        let address = table.get("address").and_then(|node| {
            let why = "lower addresses stay free, so that accesses through a null pointer are detected";
            u64::try_from(node.integer(LOWEST_ADDRESS..=i128::from(u32::MAX) << 16, why, problems)?).ok()
        });
        let symbol = table.get("symbol");
        let symbol = symbol.and_then(|node| Some(node.text("the name of a variable", problems)?.to_owned()));
        let (elements, mut init) = match fields.as_deref() {
            Some([]) | None => read_contents(scope, &table, element, problems),
            Some(fields) => read_structs(scope, &table, fields, problems),
        };
        if symbol.is_some() && table.get("init").is_none() {
            init = Some(Init::Module);
        }
        let texture = match (table.get("texture"), element, elements) {
            (Some(node), _, _) if fields.as_ref().is_some_and(|fields| !fields.is_empty()) => {
                problems.refuse(&node.place, "no texture: the elements of the buffer are structs");
                None
            }
            (Some(node), Some(element), Some(elements)) => read_texture(&node, element, elements, problems),
            _ => None,
        };
        if let Some(name) = name {
            let place = node.place.clone();
            let type_name = table.get("type").and_then(|node| node.as_text()).unwrap_or_default().to_owned();
            declared.push(DeclaredBuffer {
                name,
                type_name,
                element,
                elements,
                fields,
                init,
                address,
                symbol,
                texture,
                place,
            });
        }
    }
    declared
}

/// Reads the element type of a buffer, and the fields of its structs. A buffer of structs is treated as a
/// buffer of bytes; other buffers have no fields.
fn read_type(
    scope: &Scope<'_>,
    table: &Table<'_>,
    problems: &mut Problems<'_>,
) -> (Option<ElementType>, Option<Vec<Field>>) {
    let Some(node) = table.require("type", problems) else { return (None, Some(Vec::new())) };
    match scope.types.iter().find(|known| node.as_text() == Some(&known.name)) {
        Some(known) => (Some(ElementType::U8), known.fields.clone()),
        None => {
            let names: Vec<_> = scope.types.iter().map(|known| known.name.as_str()).collect();
            (read_element(&node, &names, problems), Some(Vec::new()))
        }
    }
}

/// Reads an element type. If the name is unknown, the error message suggests similar element types and names
/// from `others`, such as struct types.
pub(super) fn read_element(node: &Node<'_>, others: &[&str], problems: &mut Problems<'_>) -> Option<ElementType> {
    let name = node.text("the name of an element type", problems)?;
    let element = ElementType::from_name(name);
    if element.is_none() {
        let names = [&ElementType::ALL.map(ElementType::name), others].concat();
        let help = suggestion(name, "element types", &names);
        problems.refuse_with_help(&node.place, "an element type", Some(help));
    }
    element
}

/// Reads the total size in bytes and the initial contents of a buffer of structs.
fn read_structs(
    scope: &Scope<'_>,
    table: &Table<'_>,
    fields: &[Field],
    problems: &mut Problems<'_>,
) -> (Option<usize>, Option<Init>) {
    let bytes = StructType::bytes(fields);
    let structs = table.require("elements", problems).and_then(|node| {
        let why = "a buffer has at least one element and at most 2 GiB";
        usize::try_from(node.integer(1..=(MAX_BYTES / bytes) as i128, why, problems)?).ok()
    });
    let init = match (table.get("init"), structs) {
        (Some(node), Some(structs)) => read_struct_init(scope, &node, fields, structs, problems),
        _ => Some(Init::Zeros),
    };
    (structs.map(|structs| structs * bytes), init)
}

/// Reads the number of elements and the initial contents of a buffer. The number may also follow from the
/// initial contents.
fn read_contents(
    scope: &Scope<'_>,
    table: &Table<'_>,
    element: Option<ElementType>,
    problems: &mut Problems<'_>,
) -> (Option<usize>, Option<Init>) {
    let init = table.get("init");
    let from_file = init.as_ref().is_some_and(|node| node.has_key("file"));
    let elements = if from_file { table.get("elements") } else { table.require("elements", problems) };
    let most = MAX_BYTES / element.map_or(1, ElementType::bytes);
    let stated = elements.as_ref().and_then(|node| {
        let why = "a buffer has at least one element and at most 2 GiB";
        let count = node.integer(1..=most as i128, why, problems)?;
        usize::try_from(count).ok()
    });
    let (Some(init), Some(element)) = (init, element) else {
        return (stated, Some(Init::Zeros));
    };
    let init = read_init(scope, &init, element, stated, problems);
    let found = match &init {
        Some(Init::File(array)) => Some(array.len()),
        _ => None,
    };
    if let (Some(found), Some(stated), Some(node)) = (found, stated, &elements)
        && found != stated
    {
        problems.refuse(&node.place, format!("{found}, the number of elements in the file of `init`"));
    }
    (stated.or(found), init)
}

pub(super) fn read_init(
    scope: &Scope<'_>,
    node: &Node<'_>,
    element: ElementType,
    elements: Option<usize>,
    problems: &mut Problems<'_>,
) -> Option<Init> {
    match node.as_text() {
        Some("zeros") => return Some(Init::Zeros),
        Some("iota") => return read_iota(node, None, element, elements, problems),
        _ => {}
    }
    let forms = "\"zeros\", \"iota\", or a table with one of iota, random, file";
    if !node.is_table() {
        problems.refuse(&node.place, forms);
        return None;
    }
    let table = node.table(&["iota", "random", "file"], problems)?;
    let mut entries = table.entries();
    match (entries.next(), entries.next()) {
        (Some(("iota", inner)), None) => {
            let table = inner.table(&["start", "step"], problems)?;
            read_iota(&inner, Some(&table), element, elements, problems)
        }
        (Some(("random", inner)), None) => read_random(&inner, element, problems),
        (Some(("file", inner)), None) => read_file(scope, &inner, element, problems),
        // The table has a single key, which is unknown. `Node::table` has already reported this.
        (Some(_), None) => None,
        _ => {
            problems.refuse(&node.place, forms);
            None
        }
    }
}

fn read_iota(
    node: &Node<'_>,
    table: Option<&Table<'_>>,
    element: ElementType,
    elements: Option<usize>,
    problems: &mut Problems<'_>,
) -> Option<Init> {
    let mut value = |key, default| match table.and_then(|table| table.get(key)) {
        None => Some(default),
        Some(node) => read_number(&node, element, problems),
    };
    let zero = if element.is_real() {
        [Number::Real(0.0), Number::Real(1.0)]
    } else {
        [Number::Integer(0), Number::Integer(1)]
    };
    let (start, step) = (value("start", zero[0]), value("step", zero[1]));
    let sequence = Sequence { start: start?, step: step? };
    if let (Some(range), Some(elements)) = (element.integer_range(), elements) {
        let last = sequence.at(elements as u64 - 1).integer()?;
        if !(range.0..=range.1).contains(&last) {
            let (low, high) = range;
            problems
                .refuse(&node.place, format!("values of {element}, {low} to {high}: the last element would be {last}"));
            return None;
        }
    }
    Some(Init::Iota(sequence))
}

fn read_random(node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Init> {
    let table = node.table(&["seed", "low", "high"], problems)?;
    let seed = table.require("seed", problems);
    let seed = seed.and_then(|seed| {
        let why = "a seed has 63 bits";
        seed.integer(0..=i128::from(i64::MAX), why, problems)
    });
    let low = table.require("low", problems);
    let low = low.and_then(|node| read_number(&node, element, problems));
    let high_node = table.require("high", problems);
    let high = high_node.as_ref().and_then(|node| {
        // The upper bound `high` is excluded from the range, so it may be one larger than the largest value
        // of the type.
        match (node.number(), element.integer_range()) {
            (Some(Number::Integer(end)), Some((_, last))) if end == last + 1 => Some(Number::Integer(end)),
            _ => read_number(node, element, problems),
        }
    });
    let (seed, low, high) = (seed?, low?, high?);
    let ordered = match (low, high) {
        (Number::Integer(low), Number::Integer(high)) => low < high,
        _ => low.real() < high.real(),
    };
    if !ordered {
        let low = match low {
            Number::Integer(low) => low.to_string(),
            Number::Real(low) => format!("{low:?}"),
        };
        let expected = format!("more than `low`, {low}: values are drawn from low to below high");
        problems.refuse(&high_node?.place, expected);
        return None;
    }
    let seed = u64::try_from(seed).ok()?;
    Some(Init::Random { seed, low, high })
}

fn read_file(scope: &Scope<'_>, node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Init> {
    let text = node.text("the path of a .npy file", problems)?;
    match scope.data(text, element) {
        Ok(array) if array.is_empty() => {
            problems.refuse(&node.place, "a file with at least one element");
            None
        }
        Ok(array) => Some(Init::File(array)),
        Err(error) => {
            problems.refuse(&node.place, format!("a .npy file of {element}: {error}"));
            None
        }
    }
}

/// Reads a value of the buffer's element type: an integer in the range of the type, or a real number that is
/// finite after rounding to the type.
pub(super) fn read_number(node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Number> {
    if let Some((low, high)) = element.integer_range() {
        let why = format!("the values of {element}");
        return node.integer(low..=high, &why, problems).map(Number::Integer);
    }
    let number = node.number().map(Number::real);
    let rounded = number.map(|value| element.round(value));
    let finite = rounded.filter(|value| value.is_finite());
    if finite.is_none() {
        problems.refuse(&node.place, format!("a number that is finite in {element}"));
    }
    finite.map(Number::Real)
}
