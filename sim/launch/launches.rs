//! `[[step.launch]]`: which kernel runs, in which shape, with which arguments.

use golden::reference::ElementType;

use super::buffers::read_number;
use super::iteration::Iterations;
use super::model::{Argument, KernelLaunch, Number, Sequence};
use super::node::{Node, Place};
use super::problem::Problems;
use super::read::{Scope, existing_file};
use super::view::read_field;

/// Largest extent of a grid and of a block in x, y, z, as PTX defines them.
const MAX_GRID: [i128; 3] = [i32::MAX as i128, 65535, 65535];
const MAX_BLOCK: [i128; 3] = [1024, 1024, 64];
const MAX_THREADS: u32 = 1024;
const MAX_SHARED_BYTES: i128 = 48 * 1024;

pub(super) fn read_launch(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<KernelLaunch> {
    let keys = &["ptx", "kernel", "grid", "block", "shared_bytes", "args"];
    let table = node.table(keys, problems)?;
    let ptx = match (table.get("ptx"), &scope.ptx) {
        (Some(node), _) => existing_file(scope, &node, "a PTX file", problems),
        (None, Some(path)) => path.clone(),
        (None, None) => {
            let message = format!("`{}` has no `ptx`, nor has the file", table.path);
            problems.add(table.span.clone(), message, None);
            None
        }
    };
    let kernel_node = table.require("kernel", problems);
    let kernel = kernel_node.as_ref().and_then(|node| node.text("the name of a kernel", problems));
    let grid = table.require("grid", problems);
    let grid = grid.and_then(|node| read_extents(&node, MAX_GRID, problems));
    let block = table.require("block", problems);
    let block = block.and_then(|node| read_block(&node, problems));
    let shared_bytes = match table.get("shared_bytes") {
        None => Some(0),
        Some(node) => {
            let why = "a CTA has at most 48 KB of shared memory";
            node.integer(0..=MAX_SHARED_BYTES, why, problems)
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
        args,
        kernel_place: kernel_node?.place,
        args_place: args_node?.place,
        arg_places,
    })
}

/// One to three extents; those left out are 1.
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
        problems
            .refuse(&node.place, format!("at most {MAX_THREADS} threads in all, not {threads}: the limit of a CTA"));
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
    if !node.is_table() {
        if node.as_text().is_none() {
            let legal = "the name of a buffer or a typed scalar such as { f32 = 1.5 }";
            problems.refuse(&node.place, legal);
            return None;
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
    read_scalar(iterations, node, problems)
}

/// `{ texture = "a" }`.
fn read_texture_handle(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    let table = node.table(&["texture"], problems)?;
    let buffer = scope.buffer(&table.require("texture", problems)?, problems)?;
    if !scope.has_texture(buffer) {
        problems.refuse(&node.place, "a buffer with a `texture`");
        return None;
    }
    Some(Argument::Texture(buffer))
}

/// `{ buffer = "a", offset = 4096 }`: the address of an element. The offset may follow the iteration.
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

/// `{ struct = ["a", { i32 = 5 }] }`.
fn read_struct(
    scope: &Scope<'_>,
    iterations: &Iterations,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) -> Option<Argument> {
    let table = node.table(&["struct"], problems)?;
    let members = table.require("struct", problems)?;
    let members = members.elements("members of a struct: buffer names and typed scalars", problems)?;
    let simple = members.iter().map(|member| match member.has_key("struct") {
        true => {
            problems.refuse(&member.place, "no struct within a struct: list its members");
            None
        }
        false => read_arg(scope, iterations, member, problems),
    });
    simple.collect::<Option<Vec<_>>>().map(Argument::Struct)
}

/// `{ f32 = 1.5 }`, or `{ i32 = "k" }` for a value that follows the iteration.
fn read_scalar(iterations: &Iterations, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    let table = node.table(&ElementType::ALL.map(ElementType::name), problems)?;
    let mut entries = table.entries();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        problems.refuse(&node.place, "one type and its value, such as { f32 = 1.5 }");
        return None;
    };
    let element = ElementType::from_name(name)?;
    if value.as_text().is_some() {
        let values = iterations.numbers(&value, element, problems)?;
        return Some(Argument::Iteration { element, values });
    }
    Some(Argument::Scalar(read_number(&value, element, problems)?.array(element)))
}
