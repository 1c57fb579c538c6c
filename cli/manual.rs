//! `warpsieve completions` and `warpsieve man`: the command line for shells and for `man`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use miette::{IntoDiagnostic, Report, WrapErr};
use waves::part_file::PartFile;

use super::args::Arguments;
use super::{Exit, output};

pub(super) fn completions(shell: Shell) -> Result<Exit, Report> {
    let mut command = Arguments::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print(&String::from_utf8(script).into_diagnostic()?)?;
    Ok(Exit::Done)
}

/// Writes a page for every command.
pub(super) fn pages(folder: &Path) -> Result<Exit, Report> {
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut written = Vec::new();
    page(command, folder, &mut written)?;
    output::wrote(false, written)?;
    Ok(Exit::Done)
}

fn page(command: Command, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), Report> {
    let inside: Vec<_> = command.get_subcommands().cloned().collect();
    let page = Man::new(command);
    let path = folder.join(page.get_filename());
    let context = || format!("{} cannot be written", path.display());
    let mut file = PartFile::create(&path).into_diagnostic().wrap_err_with(context)?;
    page.render(&mut file).into_diagnostic().wrap_err_with(context)?;
    written.push(file.keep().into_diagnostic().wrap_err_with(context)?);
    inside.into_iter().try_for_each(|command| self::page(command, folder, written))
}
