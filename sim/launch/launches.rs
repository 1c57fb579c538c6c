//! Reads the `[[step.launch]]` tables of a launch file: kernel, grid, CTA size and arguments of a launch.

use golden::reference::{Array, ElementType};
use isa::program::{MAX_STACK_BYTES, STACK_BYTES};

use super::buffers::read_number;
use super::iteration::Iterations;
use super::model::{Argument, KernelLaunch, Number, Sequence};
use super::node::{Node, Place};
use super::problem::Problems;
use super::read::{Scope, existing_file};
use super::view::read_field;

/// Maximum extents of a grid and of a CTA in x, y and z, as defined by PTX.
const MAX_GRID: [i128; 3] = [i32::MAX as i128, 65535, 65535];
const MAX_BLOCK: [i128; 3] = [1024, 1024, 64];
const MAX_THREADS: u32 = 1024;
/// Maximum dynamic shared memory per CTA that a launch file can request, in bytes. The limit of the machine
/// is checked later, when the kernel is known.
const MAX_SHARED_BYTES: i128 = 1 << 30;
/// Maximum alignment of a struct in bytes, as defined by PTX.
const MAX_ALIGN: i128 = 128;
/// Keyword for a null pointer in the arguments of a launch.
pub(super) const NULL: &str = "null";

pub(super) fn read_launch(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<KernelLaunch> {
    let keys = &["ptx", "kernel", "grid", "block", "shared_bytes", "stack_bytes", "args"];
    let table = node.table(keys, problems)?;
    let ptx = match (table.get("ptx"), &scope.ptx) {
        (Some(node), _) => existing_file(scope, &node, "a PTX file", problems),
        (None, Some(path)) => path.clone(),
        (None, None) => {
            let message = format!("`{}` has no `ptx`, and neither has the file", table.path);
            problems.add(table.span.clone(), message, None);
            None
        }
    };
    let kernel_node = table.require("kernel", problems);
    let kernel = kernel_node.as_ref().and_then(|node| node.text("the name of a kernel", problems));
    let grid_node = table.require("grid", problems);
    let grid = grid_node.as_ref().and_then(|node| read_extents(node, MAX_GRID, problems));
    let block_node = table.require("block", problems);
    let block = block_node.as_ref().and_then(|node| read_block(node, problems));
    let shared_node = table.get("shared_bytes");
    let shared_bytes = match &shared_node {
        None => Some(0),
        Some(node) => {
            let why = "bytes of dynamic shared memory per CTA, limited by the machine";
            node.integer(0..=MAX_SHARED_BYTES, why, problems)
        }
    };
    let stack_bytes = match table.get("stack_bytes") {
        None => Some(STACK_BYTES.into()),
        Some(node) => {
            let why = "bytes of the stack of a thread, which functions use that call themselves";
            node.integer(0..=MAX_STACK_BYTES.into(), why, problems)
        }
    };
    let args_node = table.require("args", problems);
    let args = args_node.as_ref().and_then(|node| read_args(scope, iterations, node, problems));
    let (args, arg_places) = args?.into_iter().unzip();
    Some(KernelLaunch {
        ptx: ptx?,
        kernel: kernel?.to_owned(),
        grid: grid?,
        block: block?,
        shared_bytes: u32::try_from(shared_bytes?).ok()?,
        stack_bytes: u32::try_from(stack_bytes?).ok()?,
        args,
        kernel_place: kernel_node?.place,
        block_place: block_node?.place,
        grid_place: grid_node?.place,
        shared_place: shared_node.map(|node| node.place),
        args_place: args_node?.place,
        arg_places,
    })
}

/// Reads one to three extents in x, y and z; missing extents are 1.
fn read_extents(node: &Node<'_>, most: [i128; 3], problems: &mut Problems<'_>) -> Option<[u32; 3]> {
    let elements = node.elements("1 to 3 integers: x, y, z", problems)?;
    if elements.is_empty() || elements.len() > 3 {
        problems.refuse(&node.place, "1 to 3 integers: x, y, z");
        return None;
    }
    let mut extents = [Some(1); 3];
    for (idx, element) in elements.iter().enumerate() {
        let why = ["the extent in x", "the extent in y", "the extent in z"][idx];
        let extent = element.integer(1..=most[idx], why, problems);
        extents[idx] = extent.and_then(|extent| u32::try_from(extent).ok());
    }
    let [x, y, z] = extents;
    Some([x?, y?, z?])
}

fn read_block(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<[u32; 3]> {
    let block = read_extents(node, MAX_BLOCK, problems)?;
    let threads: u32 = block.iter().product();
    if threads > MAX_THREADS {
        problems.refuse(&node.place, format!("at most {MAX_THREADS} threads in all, not {threads}: the limit per CTA"));
        return None;
    }
    Some(block)
}

fn read_args(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<(Argument, Place)>> {
    let what = "buffer names and typed scalars such as { f32 = 1.5 }";
    let nodes = node.elements(what, problems)?;
    let arg = |node: Node<'_>| Some((read_arg(scope, iterations, &node, problems)?, node.place));
    let args: Vec<_> = nodes.into_iter().map(arg).collect();
    args.into_iter().collect()
}

fn read_arg(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<Argument> {
    if node.is_array() {
        return read_members(scope, iterations, node, 1, problems);
    }
    if !node.is_table() {
        if node.as_text().is_none() {
            let legal = "the name of a buffer or a typed scalar such as { f32 = 1.5 }";
            problems.refuse(&node.place, legal);
            return None;
        }
        if node.as_text() == Some(NULL) {
            return Some(Argument::null());
        }
        let buffer = scope.buffer(node, problems)?;
        return Some(Argument::Buffer { buffer, offset: Sequence::constant(0) });
    }
    if node.has_key("texture") {
        return read_texture_handle(scope, node, problems);
    }
    if node.has_key("buffer") {
        return read_address(scope, iterations, node, problems);
    }
    if node.has_key("struct") {
        return read_struct(scope, iterations, node, problems);
    }
    if node.has_key("bytes") {
        return read_bytes(node, problems);
    }
    read_scalar(iterations, node, problems)
}

/// Reads an argument `{ texture = "a" }`, the handle of a buffer's texture.
fn read_texture_handle(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    let table = node.table(&["texture"], problems)?;
    let buffer = scope.buffer(&table.require("texture", problems)?, problems)?;
    if !scope.has_texture(buffer) {
        problems.refuse(&node.place, "a buffer with a `texture`");
        return None;
    }
    Some(Argument::Texture(buffer))
}

/// Reads an argument `{ buffer = "a", offset = 4096 }`, the address of an element in a buffer. The offset may
/// change from one iteration of the step to the next.
fn read_address(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<Argument> {
    let table = node.table(&["buffer", "field", "offset"], problems)?;
    let buffer = scope.buffer(&table.require("buffer", problems)?, problems)?;
    let view = read_field(scope, buffer, &table, problems)?;
    let name = &scope.buffers[buffer.0].name;
    let offset = match table.get("offset") {
        None => Sequence::constant(0),
        Some(node) if node.as_text().is_some() => iterations.elements(&node, view.count, name, problems)?,
        Some(node) => {
            let why = format!("an element of buffer `{name}`, counted from 0");
            Sequence::constant(node.integer(0..=view.count as i128 - 1, &why, problems)?)
        }
    };
    let (start, stride) = (view.start as i128, view.stride as i128);
    let bytes = |elements: Number| elements.integer().map(|elements| elements * stride);
    let (first, step) = (bytes(offset.start)? + start, bytes(offset.step)?);
    let offset = Sequence { start: Number::Integer(first), step: Number::Integer(step) };
    Some(Argument::Buffer { buffer, offset })
}

/// Reads an argument `{ struct = ["a", { i32 = 5 }] }`. The key `align = 16` requests a larger alignment than
/// the members of the struct require.
fn read_struct(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<Argument> {
    let table = node.table(&["struct", "align"], problems)?;
    let members = table.require("struct", problems)?;
    let align = match table.get("align") {
        None => 1,
        Some(node) => {
            let align = node.integer(1..=MAX_ALIGN, "the alignment of the struct in bytes, a power of 2", problems)?;
            if align.count_ones() != 1 {
                problems.refuse(&node.place, "a power of 2: the alignment of the struct in bytes");
                return None;
            }
            usize::try_from(align).ok()?
        }
    };
    read_members(scope, iterations, &members, align, problems)
}

/// Reads a list such as `["a", { i32 = 5 }]`: the members of a struct or the elements of an array. Lists may
/// be nested.
fn read_members(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    align: usize,
    problems: &mut Problems<'_>,
) -> Option<Argument> {
    let members = node.elements("members of a struct: buffer names and typed scalars", problems)?;
    let members: Vec<_> = members.iter().map(|member| read_arg(scope, iterations, member, problems)).collect();
    let members = members.into_iter().collect::<Option<_>>()?;
    Some(Argument::Struct { members, align })
}

/// Reads an argument `{ bytes = [0, 255] }` or `{ bytes = "00ff" }`. The first byte has the lowest address.
fn read_bytes(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    let legal = "bytes in memory order: integers from 0 to 255, or a text with two hexadecimal digits per byte";
    let value = node.table(&["bytes"], problems)?.require("bytes", problems)?;
    if value.is_array() {
        return read_list(&value, ElementType::U8, problems);
    }
    let bytes = value.as_text().and_then(parse_hex).filter(|bytes| !bytes.is_empty());
    if bytes.is_none() {
        problems.refuse(&value.place, legal);
    }
    bytes.map(|bytes| Argument::Scalar(Array::from_bytes(ElementType::U8, bytes)))
}

/// Parses `"00 ff_7f"`: two hexadecimal digits per byte, with spaces and underscores anywhere between digits.
fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|c| !c.is_whitespace() && *c != '_').map(|c| c.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect())
}

/// Reads an argument `{ f32 = 1.5 }`, or `{ u32 = [1, 2, 3] }` for the elements of an array. In `{ i32 = "k"
/// }`, the name stands for a value that depends on the iteration.
fn read_scalar(iterations: &Iterations, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    let table = node.table(&ElementType::ALL.map(ElementType::name), problems)?;
    let mut entries = table.entries();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        problems.refuse(&node.place, "one type and its value, such as { f32 = 1.5 }");
        return None;
    };
    let element = ElementType::from_name(name)?;
    if value.is_array() {
        return read_list(&value, element, problems);
    }
    if value.as_text().is_some() {
        let values = iterations.numbers(&value, element, problems)?;
        return Some(Argument::Iteration { element, values });
    }
    Some(Argument::Scalar(read_value(&value, element, problems)?.array(element)))
}

/// Reads a list such as `[1, 2, 3]`: the elements of an array, at least one.
fn read_list(node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Argument> {
    let nodes = node.elements(&format!("values of {element}"), problems)?;
    if nodes.is_empty() {
        problems.refuse(&node.place, format!("at least one value of {element}"));
        return None;
    }
    let values: Vec<_> = nodes.iter().map(|node| read_value(node, element, problems)).collect();
    let values = values.into_iter().collect::<Option<Vec<Number>>>()?;
    let bytes = values.into_iter().flat_map(|number| number.array(element).bytes().to_vec()).collect();
    Some(Argument::Scalar(Array::from_bytes(element, bytes)))
}

/// Reads a value of the element type. Unlike in a buffer, a real value may be written as `inf` or `nan`,
/// since kernels use such values as bounds.
fn read_value(node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Number> {
    let is_named = node.written().ends_with("inf") || node.written().ends_with("nan");
    match node.number() {
        Some(number @ Number::Real(_)) if element.is_real() && is_named => Some(number),
        _ => read_number(node, element, problems),
    }
}
