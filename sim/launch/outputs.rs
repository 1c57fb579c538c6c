//! `[[output]]`: which buffers are results, what they should hold, how they are compared.

use std::path::PathBuf;

use golden::reference::{self, ElementType, ParameterKind, ParameterValue, Reference, Rule, lookup};

use super::model::{BufferId, Comparison, Expect, Output};
use super::node::{Node, Place, Table};
use super::problem::Problems;
use super::read::Scope;
use crate::config::suggestion;

pub(super) fn read(scope: &Scope<'_>, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Output>> {
    let mut outputs: Vec<Option<Output>> = Vec::new();
    for node in root.tables("output", problems) {
        let output = read_output(scope, &node, problems);
        if let Some(output) = &output {
            refuse_twice(scope, output, &outputs, problems);
        }
        outputs.push(output);
    }
    outputs.into_iter().collect()
}

/// A buffer is one output, and a file holds one.
fn refuse_twice(scope: &Scope<'_>, output: &Output, above: &[Option<Output>], problems: &mut Problems<'_>) {
    let Place { path, span, .. } = &output.place;
    let above = || above.iter().flatten();
    if above().any(|other| other.buffer == output.buffer) {
        let name = &scope.buffers[output.buffer.0].name;
        let message = format!("`{path}` names buffer `{name}`, expected another: it is an output already");
        problems.add(span.clone(), message, None);
    }
    if let Some(file) = &output.write
        && above().any(|other| other.write.as_ref() == Some(file))
    {
        let file = file.display();
        let message = format!("`{path}` writes {file}, expected another file: an output above writes it");
        problems.add(span.clone(), message, None);
    }
}

fn read_output(scope: &Scope<'_>, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Output> {
    let keys = &["buffer", "write", "expect", "compare", "tolerance", "because"];
    let table = node.table(keys, problems)?;
    let buffer = table.require("buffer", problems);
    let buffer = buffer.and_then(|node| scope.buffer(&node, problems));
    let write = match table.get("write") {
        None => Some(None),
        Some(node) => read_write(scope, &node, problems).map(Some),
    };
    let expect_node = table.get("expect");
    let has_expect = expect_node.is_some();
    let expect = match (expect_node, buffer) {
        (Some(node), Some(buffer)) => read_expect(scope, &node, buffer, problems).map(Some),
        _ => Some(None),
    };
    let compare = read_comparison(&table, has_expect, problems);
    Some(Output { buffer: buffer?, write: write?, expect: expect?, compare: compare?, place: node.place.clone() })
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
            problems.refuse(&node.place, "an `expect` beside it: nothing else would judge");
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
    Some(Rule::Tolerance { relative: relative?, absolute: absolute? })
}

fn read_expect(scope: &Scope<'_>, node: &Node<'_>, buffer: BufferId, problems: &mut Problems<'_>) -> Option<Expect> {
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
            read_expected_file(scope, &file, buffer, rule, problems)
        }
        (None, Some(name)) => {
            let reference = read_reference(scope, &name, buffer, problems)?;
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
    buffer: BufferId,
    rule: Rule,
    problems: &mut Problems<'_>,
) -> Option<Expect> {
    let text = node.text("the path of a .npy file", problems)?;
    let buffer = &scope.buffers[buffer.0];
    let (element, elements) = (buffer.element?, buffer.elements?);
    match scope.data(text, element) {
        Ok(values) if values.len() == elements => Some(Expect::File { values, rule }),
        Ok(values) => {
            let (found, name) = (values.len(), &buffer.name);
            let expected = format!("a file of {elements} elements, as buffer `{name}` has: it holds {found}");
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
    scope: &Scope<'_>,
    node: &Node<'_>,
    buffer: BufferId,
    problems: &mut Problems<'_>,
) -> Option<&'static Reference> {
    let name = node.text("the name of a reference", problems)?;
    let Some(reference) = lookup(name) else {
        let names: Vec<_> = reference::ALL.iter().map(|r| r.name).collect();
        let help = suggestion(name, "references", &names);
        problems.refuse_with_help(&node.place, "the name of a reference", Some(help));
        return None;
    };
    let buffer = &scope.buffers[buffer.0];
    if buffer.element.is_some_and(|is| is != reference.output) {
        let (name, output) = (&buffer.name, reference.output);
        let expected = format!("a reference for buffer `{name}`: this one judges {output}");
        problems.refuse(&node.place, expected);
        return None;
    }
    Some(reference)
}

/// The buffers that a reference reads: those of the same name, unless `inputs` maps another.
fn read_inputs(
    scope: &Scope<'_>,
    expect: &Table<'_>,
    reference: &'static Reference,
    problems: &mut Problems<'_>,
) -> Option<Vec<(&'static str, BufferId)>> {
    let names: Vec<_> = reference.inputs.iter().map(|input| input.name).collect();
    let table = match expect.get("inputs") {
        None => None,
        Some(node) => Some(node.table(&names, problems)?),
    };
    let mut inputs = Some(Vec::new());
    for input in reference.inputs {
        let mapped = table.as_ref().and_then(|table| table.get(input.name));
        let same_name = || scope.buffers.iter().position(|b| b.name == input.name);
        let found = match &mapped {
            Some(node) => scope.buffer(node, problems),
            None => same_name().map(BufferId),
        };
        let name = input.name;
        if mapped.is_none() && found.is_none() {
            let message = format!(
                "`{}.inputs` has no `{name}`, which reference `{}` needs, and no buffer has that name",
                expect.path, reference.name
            );
            problems.add(expect.span.clone(), message, None);
        }
        let element = found.and_then(|id| scope.buffers[id.0].element);
        if let Some(is) = element.filter(|&is| is != input.element) {
            let message = format!(
                "input `{name}` of reference `{}` is a buffer of {is}, expected {}",
                reference.name, input.element
            );
            let span = mapped.map_or(expect.span.clone(), |node| node.place.span);
            problems.add(span, message, None);
        }
        inputs = inputs.zip(found).map(|(mut inputs, id)| {
            inputs.push((name, id));
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
