//! `warpsieve completions` and `warpsieve man`: generate shell completions and manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use miette::{IntoDiagnostic, Report, WrapErr};
use waves::atomic_file::AtomicFile;

use super::args::Arguments;
use super::{Exit, dictionary, output};
use warpsieve::config::{Builtin, designs, machines};
use warpsieve::kernels::launches;

pub(super) fn completions(shell: Shell) -> Result<Exit, Report> {
    let names = Names::new();
    let mut command = names.with_names(Arguments::command());
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    let mut script = names.with_files(shell, String::from_utf8(script).into_diagnostic()?);
    if shell == Shell::Fish {
        script += &values_of_positions(&command);
    }
    output::print(&script)?;
    Ok(Exit::Done)
}

/// Returns lines for the completion script of the fish shell. They offer the values of positional arguments,
/// which `clap_complete` omits.
fn values_of_positions(command: &Command) -> String {
    let line = |condition: &str, command: &Command| {
        let values = command.get_positionals().flat_map(Arg::get_possible_values);
        let names: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        let line = format!("complete -c warpsieve -n \"{condition}\" -a \"{}\"\n", names.join(" "));
        if names.is_empty() { String::new() } else { line }
    };
    let lines = command.get_subcommands().flat_map(|command| {
        let name = command.get_name();
        let condition = format!("__fish_warpsieve_using_subcommand {name}");
        let inside = command
            .get_subcommands()
            .map(|inside| line(&format!("{condition}; and __fish_seen_subcommand_from {}", inside.get_name()), inside));
        std::iter::once(line(&condition, command)).chain(inside.collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Names that shell completions offer. Each entry has the ids of some arguments, and the names that all of
/// these arguments accept.
struct Names(Vec<(&'static [&'static str], Vec<String>)>);

impl Names {
    /// Collects the names of the built-in machines and designs, of the kernels that are found from the
    /// current folder, and of the counters.
    fn new() -> Self {
        let of = |files: &[Builtin]| files.iter().map(|file| file.name.to_owned()).collect::<Vec<_>>();
        let kernels = launches().unwrap_or_default().into_iter().map(|(name, _)| name);
        let kernels = kernels.filter(|name| is_plain(name)).collect();
        let counters = dictionary::counters().iter().map(|counter| counter.key.clone()).collect();
        Self(vec![
            (&["machine"], of(machines())),
            (&["designs", "design_set", "against"], of(designs())),
            (&["launch", "launches", "first"], kernels),
            (&["plot_of"], counters),
        ])
    }

    /// Returns the command line definition with possible values added. If an argument accepts names of a kind
    /// in `self`, such as designs, its possible values are all names of this kind.
    fn with_names(&self, command: Command) -> Command {
        let command = command.mut_args(|arg| match self.of(&arg) {
            Some(names) => arg.value_parser(PossibleValuesParser::new(names)),
            None => arg,
        });
        command.mut_subcommands(|command| self.with_names(command))
    }

    fn of(&self, arg: &Arg) -> Option<Vec<String>> {
        let is_one = |(ids, names): &&(&[&str], Vec<String>)| ids.contains(&arg.get_id().as_str()) && !names.is_empty();
        self.0.iter().find(is_one).map(|(_, names)| names.clone())
    }

    /// Returns the completion script of a shell, changed so that it offers files as well as names. Bash
    /// offers files by itself if no name matches; zsh and fish need the change.
    fn with_files(&self, shell: Shell, script: String) -> String {
        self.0.iter().fold(script, |script, (_, names)| {
            let words = names.join(" ");
            match shell {
                Shell::Zsh => script.replace(
                    &format!(":({words})"),
                    &format!(":{{_alternative \"names:name:({words})\" \"files:file:_files\"}}"),
                ),
                Shell::Fish => {
                    let words: Vec<_> = names.iter().map(|name| format!("{name}\\t''")).collect();
                    let words = words.join("\n");
                    script.replace(&format!("-r -f -a \"{words}\""), &format!("-r -F -a \"{words}\""))
                }
                _ => script,
            }
        })
    }
}

/// True if every shell reads `name` as one word without quotes. The names of kernels may fail this test: they
/// come from folder names, which may contain any character.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c)) && !name.starts_with(['-', '+'])
}

/// Writes a manual page for every command.
pub(super) fn pages(folder: &Path) -> Result<Exit, Report> {
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut written = Vec::new();
    page(command, folder, &mut written)?;
    output::print_written(false, written)?;
    Ok(Exit::Done)
}

fn page(command: Command, folder: &Path, written: &mut Vec<PathBuf>) -> Result<(), Report> {
    let inside: Vec<_> = command.get_subcommands().cloned().collect();
    let page = Man::new(command);
    let path = folder.join(page.get_filename());
    let context = || format!("{} cannot be written", path.display());
    let mut file = AtomicFile::create(&path).into_diagnostic().wrap_err_with(context)?;
    page.render(&mut file).into_diagnostic().wrap_err_with(context)?;
    written.push(file.commit().into_diagnostic().wrap_err_with(context)?);
    inside.into_iter().try_for_each(|command| self::page(command, folder, written))
}
