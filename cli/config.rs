//! `warpsieve config`: prints the configuration of a machine, or draws its hardware blocks and links.

mod graph;

use miette::Report;
use rtl::machine::Machine;
use warpsieve::config::ResolvedMachine;

use super::args::ConfigArguments;
use super::files::Files;
use super::{Exit, output};

pub(super) fn config(arguments: &ConfigArguments) -> Result<Exit, Report> {
    let resolved = ResolvedMachine::new(&arguments.machine.request())?;
    if let Some(path) = &arguments.graph {
        let mut files = Files::of(&resolved);
        files.writes("`--graph`", Some(path));
        files.check()?;
        let machine = Machine::new(&resolved.config);
        let name =
            [&resolved.machine.name].into_iter().chain(&resolved.designs).cloned().collect::<Vec<_>>().join(" + ");
        let drawing = graph::svg(&name, &machine.outline(), machine.clocks());
        let path = output::write(path, &drawing)?;
        output::print_error(&format!("wrote {}", path.display()));
        return Ok(Exit::Done);
    }
    output::print(&resolved.to_toml())?;
    Ok(Exit::Done)
}
