//! Reads the `[[output]]` tables of a launch file: results of the run, their expected contents and the rules
//! for comparing them.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use golden::reference::{self, ElementType, ParameterKind, ParameterValue, Reference, Rule, lookup};
use input::noun;

use super::model::{Comparison, Expect, Output};
use super::node::{Node, Place, Table};
use super::problem::Problems;
use super::read::Scope;
use super::view::{View, read_part, read_view};
use crate::config::suggestion;

pub(super) fn read(scope: &Scope<'_>, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Output>> {
    let mut outputs: Vec<Option<Output>> = Vec::new();
    let mut above = Above::default();
    for node in root.tables("output", problems) {
        let output = read_output(scope, &node, problems);
        if let Some(output) = &output {
            above.add(output, problems);
        }
        outputs.push(output);
    }
    outputs.into_iter().collect()
}

/// Outputs that have been read so far, to detect conflicts between outputs. Two outputs may neither share an
/// element nor be written to the same file.
#[derive(Default)]
struct Above {
    /// For each buffer, the views of the elements that belong to outputs, each with the name of its output.
    views: HashMap<usize, Vec<(View, String)>>,
    files: HashSet<PathBuf>,
}

impl Above {
    fn add(&mut self, output: &Output, problems: &mut Problems<'_>) {
        let Output { name, view, write, place: Place { path, span, .. }, .. } = output;
        let views = self.views.entry(view.buffer.0).or_default();
        if let Some((_, other)) = views.iter().find(|(other, _)| other.overlaps(view)) {
            let message =
                format!("`{path}` names `{name}`, expected elements outside earlier outputs: `{other}` overlaps");
            problems.add(span.clone(), message, None);
        }
        views.push((*view, name.clone()));
        if let Some(file) = write
            && !self.files.insert(file.clone())
        {
            let file = file.display();
            let message = format!("`{path}` writes {file}, expected another file: an earlier output writes it");
            problems.add(span.clone(), message, None);
        }
    }
}

fn read_output(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Output> {
    let keys = &["buffer", "field", "offset", "elements", "write", "expect", "compare", "tolerance", "because"];
    let table = node.table(keys, problems)?;
    let view = table.require("buffer", problems).and_then(|node| read_results(scope, &node, &table, problems));
    let write = match table.get("write") {
        None => Some(None),
        Some(node) => read_write(scope, &node, problems).map(Some),
    };
    let expect_node = table.get("expect");
    let has_expect = expect_node.is_some();
    let expect = match (expect_node, &view) {
        (Some(node), Some((name, view))) => read_expect(scope, &node, (name, *view), problems).map(Some),
        _ => Some(None),
    };
    let compare = read_comparison(&table, has_expect, problems);
    let (name, view) = view?;
    Some(Output { name, view, write: write?, expect: expect?, compare: compare?, place: node.place.clone() })
}

/// Reads which elements belong to an output. Returns the name of these elements for messages, and the view
/// that selects them.
fn read_results(
    scope: &Scope<'_>,
    node: &Node<'_>,
    table: &Table<'_>,
    problems: &mut Problems<'_>,
) -> Option<(String, View)> {
    let buffer = scope.buffer(node, problems)?;
    let view = read_part(scope, buffer, table, problems)?;
    if is_refused_struct(&view, &node.place, problems) {
        return None;
    }
    let mut name = scope.buffers[buffer.0].name.clone();
    if let Some(field) = table.get("field").and_then(|node| node.as_text()) {
        name = format!("{name}.{field}");
    }
    let (first, whole) = (view.start / view.stride, scope.whole(buffer)?.1);
    if view.count < whole.count {
        name = format!("{name}[{first}..{}]", first + view.count);
    }
    Some((name, view))
}

/// True if the view selects whole structs. In this case, also reports a problem: whole structs cannot be
/// compared or given to a reference function.
fn is_refused_struct(view: &View, place: &Place, problems: &mut Problems<'_>) -> bool {
    let is_struct = view.bytes != view.element.bytes();
    if is_struct {
        problems.refuse(place, "an additional `field`: the elements are structs");
    }
    is_struct
}

fn read_write(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PathBuf> {
    let legal = "a path that ends in .npy";
    let path = scope.folder.join(node.text(legal, problems)?);
    if path.extension().is_none_or(|extension| extension != "npy") {
        problems.refuse(&node.place, legal);
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let shown = folder.display();
        problems.refuse(&node.place, format!("{legal}: there is no folder {shown}"));
        return None;
    }
    Some(path)
}

fn read_comparison(table: &Table<'_>, has_expect: bool, problems: &mut Problems<'_>) -> Option<Comparison> {
    let tolerance = table.get("tolerance");
    let Some(node) = table.get("compare") else {
        if let Some(tolerance) = tolerance {
            problems.refuse(&tolerance.place, "none, unless compare = \"tolerance\"");
            return None;
        }
        return Some(Comparison::Rule(Rule::Exact));
    };
    let names = ["exact", "tolerance", "multiset", "reference"];
    let name = node.as_text();
    if name.is_some_and(|name| name != "exact" && names.contains(&name)) {
        let because = table.get("because");
        let reason = because.and_then(|node| node.text("the reason, as text", problems));
        if reason.is_none() {
            let expected = "\"exact\", or a reason in `because`: results agree bit for bit unless the kernel races";
            problems.refuse(&node.place, expected);
            return None;
        }
    }
    if name != Some("tolerance")
        && let Some(tolerance) = &tolerance
    {
        problems.refuse(&tolerance.place, "none, unless compare = \"tolerance\"");
        return None;
    }
    match name {
        Some("exact") => Some(Comparison::Rule(Rule::Exact)),
        Some("multiset") => Some(Comparison::Rule(Rule::Multiset)),
        Some("reference") if has_expect => Some(Comparison::Reference),
        Some("reference") => {
            problems.refuse(&node.place, "an additional `expect`: there is no other rule");
            None
        }
        Some("tolerance") => {
            let tolerance = table.require("tolerance", problems)?;
            read_tolerance(&tolerance, problems).map(Comparison::Rule)
        }
        _ => {
            let help = suggestion(name.unwrap_or_default(), "comparisons", &names);
            problems.refuse_with_help(&node.place, "a comparison", Some(help));
            None
        }
    }
}

fn read_tolerance(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Rule> {
    let table = node.table(&["relative", "absolute"], problems)?;
    let mut distance = |key| match table.get(key) {
        None => Some(0.0),
        Some(node) => node.distance(problems),
    };
    let (relative, absolute) = (distance("relative"), distance("absolute"));
    if let (Some(node), Some(1.0..)) = (table.get("relative"), relative) {
        problems.refuse(&node.place, "less than 1: a result of zeros would pass");
        return None;
    }
    Some(Rule::Tolerance { relative: relative?, absolute: absolute? })
}

fn read_expect(
    scope: &Scope<'_>,
    node: &Node<'_>,
    output: (&str, View),
    problems: &mut Problems<'_>,
) -> Option<Expect> {
    let keys = &["file", "reference", "inputs", "parameters", "tolerance"];
    let table = node.table(keys, problems)?;
    let rule = match table.get("tolerance") {
        None => Some(None),
        Some(node) => read_tolerance(&node, problems).map(Some),
    };
    match (table.get("file"), table.get("reference")) {
        (Some(file), None) => {
            for key in ["inputs", "parameters"] {
                if let Some(node) = table.get(key) {
                    problems.refuse(&node.place, "none: a file takes no arguments");
                }
            }
            let rule = rule?.unwrap_or(Rule::Exact);
            read_expected_file(scope, &file, output, rule, problems)
        }
        (None, Some(name)) => {
            let reference = read_reference(&name, output, problems)?;
            let inputs = read_inputs(scope, &table, reference, problems);
            let parameters = read_parameters(&table, reference, problems);
            Some(Expect::Reference { reference, inputs: inputs?, parameters: parameters?, rule: rule? })
        }
        _ => {
            problems.refuse(&node.place, "either `file` or `reference`");
            None
        }
    }
}

fn read_expected_file(
    scope: &Scope<'_>,
    node: &Node<'_>,
    (name, View { element, count: elements, .. }): (&str, View),
    rule: Rule,
    problems: &mut Problems<'_>,
) -> Option<Expect> {
    let text = node.text("the path of a .npy file", problems)?;
    match scope.data(text, element) {
        Ok(values) if values.len() == elements => Some(Expect::File { values, rule }),
        Ok(values) => {
            let found = values.len();
            let unit = noun(elements, "element", "elements");
            let expected = format!("a file of {elements} {unit}, as output `{name}` has: it holds {found}");
            problems.refuse(&node.place, expected);
            None
        }
        Err(error) => {
            problems.refuse(&node.place, format!("a .npy file of {element}: {error}"));
            None
        }
    }
}

fn read_reference(
    node: &Node<'_>,
    (output, view): (&str, View),
    problems: &mut Problems<'_>,
) -> Option<&'static Reference> {
    let name = node.text("the name of a reference", problems)?;
    let Some(reference) = lookup(name) else {
        let names: Vec<_> = reference::ALL.iter().map(|r| r.name).collect();
        let help = suggestion(name, "references", &names);
        problems.refuse_with_help(&node.place, "the name of a reference", Some(help));
        return None;
    };
    if view.element != reference.output {
        let judges = reference.output;
        let expected = format!("a reference for output `{output}`: this one computes {judges}");
        problems.refuse(&node.place, expected);
        return None;
    }
    Some(reference)
}

/// Reads the inputs of a reference function. By default, an input is the buffer of the same name. The key
/// `inputs` can assign another buffer, or a section of a buffer.
fn read_inputs(
    scope: &Scope<'_>,
    expect: &Table<'_>,
    reference: &'static Reference,
    problems: &mut Problems<'_>,
) -> Option<Vec<(&'static str, View)>> {
    let names: Vec<_> = reference.inputs.iter().map(|input| input.name).collect();
    let table = match expect.get("inputs") {
        None => None,
        Some(node) => Some(node.table(&names, problems)?),
    };
    let mut inputs = Some(Vec::new());
    for input in reference.inputs {
        let mapped = table.as_ref().and_then(|table| table.get(input.name));
        let same_name = || scope.find_buffer(input.name);
        let found = match &mapped {
            Some(node) => read_view(scope, node, &["field", "offset", "elements"], problems)
                .filter(|view| !is_refused_struct(view, &node.place, problems)),
            None => same_name().and_then(|buffer| Some(scope.whole(buffer)?.1)),
        };
        let name = input.name;
        if mapped.is_none() && same_name().is_none() {
            let message = format!(
                "`{}.inputs` has no `{name}`, which reference `{}` needs, and no buffer has that name",
                expect.path, reference.name
            );
            problems.add(expect.span.clone(), message, None);
        }
        let element = found.map(|view| view.element);
        if let Some(is) = element.filter(|&is| is != input.element) {
            let message = format!(
                "input `{name}` of reference `{}` is a buffer of {is}, expected {}",
                reference.name, input.element
            );
            let span = mapped.map_or(expect.span.clone(), |node| node.place.span);
            problems.add(span, message, None);
        }
        inputs = inputs.zip(found).map(|(mut inputs, view)| {
            inputs.push((name, view));
            inputs
        });
    }
    inputs
}

fn read_parameters(
    expect: &Table<'_>,
    reference: &'static Reference,
    problems: &mut Problems<'_>,
) -> Option<Vec<(&'static str, ParameterValue)>> {
    let names: Vec<_> = reference.parameters.iter().map(|p| p.name).collect();
    let node = match expect.get("parameters") {
        None if names.is_empty() => return Some(Vec::new()),
        _ => expect.require("parameters", problems)?,
    };
    let table = node.table(&names, problems)?;
    let mut read = |parameter: &'static reference::Parameter| {
        let node = table.require(parameter.name, problems)?;
        let value = match parameter.kind {
            ParameterKind::Count => whole(&node, 1, "a count or size", problems)?,
            ParameterKind::Index => whole(&node, 0, "an index", problems)?,
            ParameterKind::Real => {
                let number = super::buffers::read_number(&node, ElementType::F32, problems)?;
                ParameterValue::Real(number.real())
            }
        };
        Some((parameter.name, value))
    };
    let values: Vec<_> = reference.parameters.iter().map(&mut read).collect();
    values.into_iter().collect()
}

fn whole(node: &Node<'_>, least: i128, why: &str, problems: &mut Problems<'_>) -> Option<ParameterValue> {
    let value = node.integer(least..=i128::from(i32::MAX), why, problems)?;
    usize::try_from(value).ok().map(ParameterValue::Count)
}
