//! `[[step]]` and `[[step.launch]]`: what runs, in order.

use golden::reference::{Array, ElementType};

use super::buffers::read_number;
use super::model::{Argument, KernelLaunch, Number, Repeat, Step};
use super::node::{Node, Place, Table};
use super::problem::Problems;
use super::read::{Scope, existing_file};

/// Largest extent of a grid and of a block in x, y, z, as PTX defines them.
const MAX_GRID: [i128; 3] = [i32::MAX as i128, 65535, 65535];
const MAX_BLOCK: [i128; 3] = [1024, 1024, 64];
const MAX_THREADS: u32 = 1024;
const MAX_SHARED_BYTES: i128 = 48 * 1024;

pub(super) fn read(scope: &Scope<'_>, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Step>> {
    root.require("step", problems)?;
    let nodes = root.tables("step", problems);
    let steps: Vec<_> = nodes.iter().map(|node| read_step(scope, node, problems)).collect();
    steps.into_iter().collect()
}

fn read_step(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Step> {
    let table = node.table(&["repeat", "launch"], problems)?;
    let repeat = match table.get("repeat") {
        None => Some(Repeat::Times(1)),
        Some(node) => read_repeat(scope, &node, problems),
    };
    table.require("launch", problems)?;
    let nodes = table.tables("launch", problems);
    let launches: Vec<_> = nodes.iter().map(|node| read_launch(scope, node, problems)).collect();
    Some(Step { repeat: repeat?, launches: launches.into_iter().collect::<Option<_>>()? })
}

fn read_repeat(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Repeat> {
    let times = 1..=i128::from(u32::MAX);
    if !node.is_table() {
        let why = "a count of iterations, or a table of until_zero and at_most";
        let count = node.integer(times, why, problems)?;
        return u32::try_from(count).ok().map(Repeat::Times);
    }
    let table = node.table(&["until_zero", "at_most"], problems)?;
    let flag_node = table.require("until_zero", problems);
    let flag = flag_node.as_ref().and_then(|node| scope.buffer(node, problems));
    if let (Some(node), Some(flag)) = (&flag_node, flag)
        && let Some(element) = scope.buffers[flag.0].element.filter(|e| e.is_real())
    {
        let why = format!("a buffer of integers: this one is {element}, whose zero may be -0.0");
        problems.refuse(&node.place, why);
    }
    let at_most = table.require("at_most", problems);
    let at_most = at_most.and_then(|node| {
        let why = "iterations after which a flag still set is an error";
        node.integer(times, why, problems)
    });
    Some(Repeat::UntilZero { flag: flag?, at_most: u32::try_from(at_most?).ok()? })
}

fn read_launch(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<KernelLaunch> {
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
    let args = args_node.as_ref().and_then(|node| read_args(scope, node, problems));
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

fn read_args(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<(Argument, Place)>> {
    let what = "buffer names and typed scalars such as { f32 = 1.5 }";
    let nodes = node.elements(what, problems)?;
    let args: Vec<_> = nodes.into_iter().map(|node| Some((read_arg(scope, &node, problems)?, node.place))).collect();
    args.into_iter().collect()
}

fn read_arg(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Argument> {
    if node.has_key("texture") {
        let table = node.table(&["texture"], problems)?;
        let buffer = scope.buffer(&table.require("texture", problems)?, problems)?;
        if !scope.has_texture(buffer) {
            problems.refuse(&node.place, "a buffer with a `texture`");
            return None;
        }
        return Some(Argument::Texture(buffer));
    }
    if node.has_key("struct") {
        let table = node.table(&["struct"], problems)?;
        let members = table.require("struct", problems)?;
        let members = members.elements("members of a struct: buffer names and typed scalars", problems)?;
        let simple = members.iter().map(|member| match member.has_key("struct") {
            true => {
                problems.refuse(&member.place, "no struct within a struct: list its members");
                None
            }
            false => read_arg(scope, member, problems),
        });
        return simple.collect::<Option<Vec<_>>>().map(Argument::Struct);
    }
    if !node.is_table() {
        if node.as_text().is_none() {
            let legal = "the name of a buffer or a typed scalar such as { f32 = 1.5 }";
            problems.refuse(&node.place, legal);
            return None;
        }
        return scope.buffer(node, problems).map(Argument::Buffer);
    }
    let table = node.table(&ElementType::ALL.map(ElementType::name), problems)?;
    let mut entries = table.entries();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        problems.refuse(&node.place, "one type and its value, such as { f32 = 1.5 }");
        return None;
    };
    let element = ElementType::from_name(name)?;
    let array = match read_number(&value, element, problems)? {
        Number::Integer(value) => Array::from_integers(element, [value]),
        Number::Real(value) => Array::from_reals(element, [value]),
    };
    Some(Argument::Scalar(array))
}
