//! `warpsieve area`: estimates the area and leakage of each hardware block of a machine.

mod csv;
mod svg;
pub(super) mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ::area::{Kind, Node, Technology, cacti_input};
use miette::{IntoDiagnostic, Report, WrapErr};
use rtl::machine::Machine;
use serde::Serialize;

use super::args::{AreaArguments, AreaFormat};
use super::files::Files;
use super::{Exit, output};
use warpsieve::config::ResolvedMachine;
use warpsieve::estimate::{Block, FoldedScopes};
use warpsieve::readers::Counts;

/// Area estimate of a machine, with everything needed to reproduce it: machine, designs and technology node.
#[derive(Serialize)]
struct Estimate<'a> {
    machine: &'a str,
    designs: &'a [String],
    /// Design that the machine is compared with; `None` if it is not compared.
    against: Option<&'a str>,
    node_nm: u32,
    /// Sources of the technology data, such as publications. The key is a kind of data, such as the area of
    /// CAMs.
    sources: BTreeMap<&'a str, &'a str>,
    #[serde(skip)]
    technology: &'a Technology,
    #[serde(flatten)]
    tree: Block,
}

pub(super) fn area(arguments: &AreaArguments) -> Result<Exit, Report> {
    let technology = Technology::built_in().into_diagnostic()?;
    let resolved = ResolvedMachine::new(&arguments.machine.request())?;
    let mut files = Files::of(&resolved);
    let mut tree = estimate(&resolved, technology, arguments.node);
    if let Some(against) = &arguments.against {
        let mut request = arguments.machine.request();
        request.designs = vec![against.clone()];
        let other = ResolvedMachine::new(&request)?;
        files.reads_machine(&other);
        tree = tree.against(&estimate(&other, technology, arguments.node));
    }
    let estimate = Estimate {
        machine: &resolved.machine.name,
        designs: &resolved.designs,
        against: arguments.against.as_deref(),
        node_nm: arguments.node.nm(),
        sources: technology.sources().collect(),
        technology,
        tree,
    };
    let text = match arguments.format {
        AreaFormat::Table => table::table(&estimate, arguments.depth.into()),
        AreaFormat::Json => serde_json::to_string_pretty(&estimate).into_diagnostic()? + "\n",
        AreaFormat::Csv => csv::csv(&estimate.tree)?,
    };
    let mut drawn = Vec::new();
    if let Some(path) = &arguments.svg {
        files.writes("`--svg`", Some(path));
        drawn.push((path.clone(), svg::svg(&estimate)));
    }
    let inputs =
        arguments.cacti.as_deref().map(|folder| (folder, cacti_inputs(&estimate.tree, arguments.node, folder)));
    for (path, _) in inputs.iter().flat_map(|(_, inputs)| inputs) {
        files.writes("a file in `--cacti`", Some(path));
    }
    files.check()?;
    if let Some((folder, inputs)) = inputs {
        fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
        drawn.extend(inputs);
    }
    for (path, text) in drawn {
        let path = output::write(&path, &text)?;
        // Stdout carries the estimate, so this message goes to stderr.
        output::print_error(&format!("wrote {}", path.display()));
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

pub(super) fn estimate(resolved: &ResolvedMachine, technology: &Technology, node: Node) -> Block {
    Block::of(&Counts::of(&Machine::new(&resolved.config)), technology, node)
}

/// Returns the name and text of one CACTI input file per memory. Identical hardware blocks share one set of
/// files. Flip-flops get no file, since CACTI models only memories.
fn cacti_inputs(tree: &Block, node: Node, folder: &Path) -> Vec<(PathBuf, String)> {
    let mut inputs = Vec::new();
    cacti_inputs_of(&FoldedScopes::of(tree), "", node, &mut inputs);
    inputs.into_iter().map(|(name, text)| (folder.join(format!("{name}.cfg")), text)).collect()
}

fn cacti_inputs_of(block: &FoldedScopes<'_>, above: &str, node: Node, inputs: &mut Vec<(String, String)>) {
    let path = if above.is_empty() { block.one.block.to_string() } else { format!("{above}.{}", block.one.block) };
    for array in block.one.arrays.iter().filter(|array| array.memory.kind != Kind::Flops) {
        let name = format!("{path}.{}", array.name);
        inputs.push((name.clone(), cacti_input(&name, node, &array.memory)));
    }
    block.children.iter().for_each(|child| cacti_inputs_of(child, &path, node, inputs));
}
