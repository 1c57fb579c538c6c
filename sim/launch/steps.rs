//! Reads the `[[step]]` tables of a launch file: repetitions and actions.

use super::buffers::read_number;
use super::iteration::Iterations;
use super::launches::read_launch;
use super::model::{Action, Repeat, Step};
use super::node::{Node, Table};
use super::problem::Problems;
use super::read::Scope;
use super::view::{View, read_part, read_view};

/// Kinds of actions in a step. All actions of a step run in the order of the file, whatever their kinds.
const ACTIONS: [&str; 3] = ["launch", "fill", "copy"];

pub(super) fn read(scope: &Scope<'_>, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Step>> {
    let node = root.require("step", problems)?;
    let nodes = root.tables("step", problems);
    let steps: Vec<_> = nodes.iter().map(|node| read_step(scope, node, problems)).collect();
    let steps: Vec<_> = steps.into_iter().collect::<Option<_>>()?;
    let has_launch = |step: &Step| step.actions.iter().any(|action| matches!(action, Action::Launch(_)));
    if !steps.iter().any(has_launch) {
        problems.add(node.place.span, "no `step` has a `launch`, expected at least one".to_owned(), None);
        return None;
    }
    Some(steps)
}

fn read_step(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Step> {
    let table = node.table(&[&["repeat", "iteration"], &ACTIONS[..]].concat(), problems)?;
    let repeat = match table.get("repeat") {
        None => Some(Repeat::Times(1)),
        Some(node) => read_repeat(scope, &node, problems),
    };
    let times = match repeat {
        None => 1,
        Some(Repeat::Times(times) | Repeat::UntilZero { at_most: times, .. }) => times,
    };
    let iterations = Iterations::read(table.get("iteration").as_ref(), times, problems);
    if ACTIONS.iter().all(|action| table.get(action).is_none()) {
        let message = format!("`{}` has no `launch`, `fill` or `copy`, expected at least one of them", table.path);
        problems.add(table.span.clone(), message, None);
        return None;
    }
    let of_kind = |kind, problems: &mut Problems<'_>| {
        let nodes = table.tables(kind, problems);
        nodes.into_iter().map(move |node| (kind, node))
    };
    let mut nodes: Vec<_> = ACTIONS.iter().flat_map(|&kind| of_kind(kind, problems).collect::<Vec<_>>()).collect();
    nodes.sort_by_key(|(_, node)| node.place.span.start);
    let iterations = iterations?;
    let actions: Vec<_> = nodes
        .iter()
        .map(|(kind, node)| match *kind {
            "launch" => read_launch(scope, &iterations, node, problems).map(Action::Launch),
            "fill" => read_fill(scope, node, problems),
            _ => read_copy(scope, node, problems),
        })
        .collect();
    Some(Step { repeat: repeat?, actions: actions.into_iter().collect::<Option<_>>()? })
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

fn read_fill(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Action> {
    let table = node.table(&["buffer", "field", "offset", "elements", "value"], problems)?;
    let buffer = scope.buffer(&table.require("buffer", problems)?, problems)?;
    let to = read_part(scope, buffer, &table, problems)?;
    let value = match table.get("value") {
        None => vec![0; to.bytes],
        Some(node) if to.bytes != to.element.bytes() => {
            problems.refuse(&node.place, "none without a `field`: whole structs are filled with zeros");
            return None;
        }
        Some(node) => read_number(&node, to.element, problems)?.array(to.element).bytes().to_vec(),
    };
    Some(Action::Fill { to, value })
}

fn read_copy(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Action> {
    let table = node.table(&["from", "to", "elements"], problems)?;
    let end = |key, problems: &mut Problems<'_>| {
        let node = table.require(key, problems)?;
        let view = read_view(scope, &node, &["field", "offset"], problems)?;
        Some((node, view))
    };
    let (from, to) = (end("from", problems), end("to", problems));
    let ((_, from), (to_node, to)) = (from?, to?);
    let [from_type, to_type] = [&from, &to].map(|view| type_of(scope, view));
    if from_type != to_type {
        let expected = format!("elements of {from_type} as in `from`: these are {to_type}");
        problems.refuse(&to_node.place, expected);
        return None;
    }
    let count = match table.get("elements") {
        None => from.count,
        Some(node) => {
            let most = from.count.min(to.count);
            let why = format!("`from` has {} from its offset on, `to` {}", from.count, to.count);
            usize::try_from(node.integer(1..=most as i128, &why, problems)?).ok()?
        }
    };
    if count > to.count {
        let expected = format!("space for the {count} elements of `from`: it has {} from its offset on", to.count);
        problems.refuse(&to_node.place, expected);
        return None;
    }
    let (from, to) = (View { count, ..from }, View { count, ..to });
    if from.overlaps(&to) {
        problems.refuse(&to_node.place, "elements outside `from`: the two overlap");
        return None;
    }
    Some(Action::Copy { from, to })
}

/// Describes the type of a view's elements for messages.
fn type_of(scope: &Scope<'_>, view: &View) -> String {
    let is_plain = view.bytes == view.element.bytes();
    let name = scope.buffers[view.buffer.0].type_name.clone();
    if is_plain { view.element.to_string() } else { name }
}
