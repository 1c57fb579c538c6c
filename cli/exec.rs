//! `warpsieve exec`: runs a CUDA program on the simulated machine.

use std::env;
use std::path::{Path, PathBuf};

use ::exec::{LIBRARY, Note, Program};
use miette::{Report, miette};

use super::args::ExecArguments;
use super::explain::sources::Sources;
use super::files::Files;
use super::run::{Subject, options, simulate};
use super::{Exit, output};
use warpsieve::config::ResolvedMachine;

/// Compute capabilities of the GPUs of the built-in machines, times ten.
const CAPABILITIES: [(&str, u32); 5] = [("fermi", 20), ("kepler", 35), ("volta", 70), ("ampere", 80), ("hopper", 90)];
/// Compute capability of machines that are not built in, times ten: the lowest that nvcc 13 supports.
const DEFAULT_CAPABILITY: u32 = 75;

pub(super) fn exec(arguments: &ExecArguments) -> Result<Exit, Report> {
    let ExecArguments { emit, capability, simulation, program } = arguments;
    let resolved = ResolvedMachine::new(&simulation.machine.request())?;
    let mut options = options(simulation)?;
    // A run of a CUDA program cannot use checkpoints. The checkpoint options are passed on all the same: the
    // device rejects them and gives the reason.
    options.checkpoints.write = simulation.checkpoint.clone();
    options.checkpoints.resume = simulation.resume.clone();
    let [path, words @ ..] = &program[..] else { return Err(miette!("no program is given")) };
    let machine = &resolved.machine.name;
    let known = CAPABILITIES.iter().find(|(name, _)| name == machine).map(|&(_, capability)| capability);
    let names: Vec<_> = std::iter::once(machine).chain(&resolved.designs).map(String::as_str).collect();
    let program = Program {
        path: PathBuf::from(path),
        arguments: words.to_vec(),
        library: library()?,
        device: format!("warpsieve {}", names.join(" + ")),
        capability: capability.or(known).unwrap_or(DEFAULT_CAPABILITY),
        emit: emit.clone(),
    };
    let file = Path::new(path);
    let subject = Subject { file, resolved: &resolved, sources: Sources::default(), warnings: Vec::new() };
    let mut files = Files::of(&resolved);
    files.reads("the program", file);
    let mut status = 0;
    let exit = simulate(simulation, files, &subject, |progress| {
        let mut note = |note: Note<'_>| match note {
            Note::Launch(line) if !simulation.quiet => output::print_error(line),
            Note::Launch(_) => {}
            Note::Message(text) => output::print_error(text),
        };
        let ended = ::exec::run(&program, &resolved.config, &options, progress, &mut note)?;
        status = ended.status;
        let mut report = ended.report;
        report.written.extend(emit.clone());
        Ok(report)
    })?;
    Ok(if exit == Exit::Done { Exit::Program(status) } else { exit })
}

/// Finds the library that replaces the CUDA runtime. A build puts the library next to this command, and an
/// installation puts it in `../lib`.
fn library() -> Result<PathBuf, Report> {
    let command = env::current_exe().ok().and_then(|path| path.canonicalize().ok()).unwrap_or_default();
    let folder = command.parent().unwrap_or(Path::new("."));
    let places = [folder.join(LIBRARY), folder.join("deps").join(LIBRARY), folder.join("../lib").join(LIBRARY)];
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        miette!(
            "the library that stands for the CUDA runtime is in none of {}: build the crate `cudart`",
            places.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use warpsieve::config::machines;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn every_machine_with_a_capability_exists() {
        for (name, _) in CAPABILITIES {
            assert!(machines().iter().any(|machine| machine.name == name), "{name}");
        }
    }

    #[test]
    fn words_after_the_dashes_are_the_program_and_its_arguments() {
        let words = ["warpsieve", "exec", "--capability", "8.6", "--quiet", "--", "./a", "--quiet", "-n"];
        let Command::Exec(exec) = Arguments::parse_from(words).command else { panic!("`exec`") };
        assert_eq!((exec.capability, exec.simulation.quiet), (Some(86), true));
        assert_eq!(exec.program, ["./a", "--quiet", "-n"]);
        let refused = |words: &[&str]| Arguments::try_parse_from(words).is_err();
        assert!(refused(&["warpsieve", "exec"]) && refused(&["warpsieve", "exec", "--capability", "8", "--", "a"]));
    }
}
