//! # The command line of `warpsieve`
//! Prints results to stdout or a named file, and everything else to stderr. Exit status:
//!
//! | code | meaning                                                                      |
//! |------|------------------------------------------------------------------------------|
//! | 0    | done, and every check passed                                                 |
//! | 1    | a check failed: a wrong result, a golden mismatch, or a breach of the        |
//! |      | model's own rules, which is reported as an internal error                    |
//! | 2    | bad input: usage, configuration, launch file, PTX, an illegal address of the |
//! |      | kernel; nothing is written                                                   |
//! | 3    | no progress, or `--max-cycles` reached                                       |
//! | 130  | interrupted by SIGINT (143: by SIGTERM); files are complete or absent        |
//!
//! `exec` passes on the exit status of the program that it runs; it exits with 3 if the program needs
//! something that the model lacks.

mod area;
mod args;
pub mod blocks;
mod compare;
mod config;
mod counters;
pub mod dictionary;
mod dram;
mod exec;
mod explain;
mod files;
mod hdl;
mod interrupt;
mod list;
mod manual;
mod new;
mod optimize;
mod output;
mod profile;
mod progress;
mod ptx;
mod report;
mod reproduce;
mod run;
pub mod soak;
mod sweep;
mod trace;
mod watchdog;
mod waves;

use std::process::ExitCode;

use ::soak::Soak;
use clap::Parser;
use miette::Report;

use warpsieve::config::{Builtin, add_designs};
use warpsieve::crash;
use warpsieve::kernels::launch_file;
use warpsieve::run::RunError;

use args::{Arguments, Command};

/// Outcome of a command whose arguments and input were valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Done,
    CheckFailed,
    NoProgress,
    /// Some runs had invalid input.
    BadInput,
    /// Interrupted by the signal with this number.
    Interrupted(u8),
    /// `exec` ran a program, which ended with this exit status.
    Program(u8),
}

impl Exit {
    fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CheckFailed => 1,
            Self::BadInput => 2,
            Self::NoProgress => 3,
            Self::Interrupted(signal) => interrupt::STATUS_BASE + signal,
            Self::Program(status) => status,
        }
    }
}

/// Runs the command that the arguments of this process give.
///
/// `designs` are added to the built-in designs: a binary with user-defined schemes passes the designs that
/// select these schemes. `soaks` returns the soak tests (long random tests) of the hardware, usually
/// `tb::soak::soaks`. The command adds the soak tests of its own file readers.
#[must_use]
pub fn main_with(designs: &'static [Builtin], soaks: fn() -> Vec<Soak>) -> ExitCode {
    add_designs(designs);
    // For `--help`, `--version` and invalid arguments, the argument parser ends the process, with exit status
    // 0 or 2.
    let mut arguments = Arguments::try_parse().unwrap_or_else(|error| output::end_usage(&error));
    interrupt::outlive_file_limit();
    if arguments.command.simulates() {
        watchdog::watch();
    }
    let dispatched = || {
        interrupt::listen()?;
        find_launches(&mut arguments.command)?;
        dispatch(&arguments.command, soaks)
    };
    match crash::catch_panic(dispatched) {
        Ok(Ok(exit)) => ExitCode::from(exit.status()),
        Ok(Err(report)) => {
            output::print_report(&report);
            let is_stuck = matches!(report.downcast_ref(), Some(RunError::NoProgress(_)));
            ExitCode::from(if is_stuck { Exit::NoProgress } else { Exit::BadInput }.status())
        }
        Err(internal) => {
            output::print_error(&internal);
            ExitCode::from(Exit::CheckFailed.status())
        }
    }
}

/// Replaces kernel names such as `syrk/small` by the paths of launch files, where the command expects launch
/// files.
fn find_launches(command: &mut Command) -> Result<(), Report> {
    command.launches().into_iter().try_for_each(|launch| {
        *launch = launch_file(launch)?;
        Ok(())
    })
}

fn dispatch(command: &Command, soaks: fn() -> Vec<Soak>) -> Result<Exit, Report> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Replay(arguments) => run::replay(arguments),
        Command::Exec(arguments) => exec::exec(arguments),
        Command::Compare(arguments) => compare::compare(arguments),
        Command::Explain(arguments) => explain::explain(arguments),
        Command::Sweep(arguments) => sweep::sweep(arguments),
        Command::Profile(arguments) => profile::profile(arguments),
        Command::Optimize(arguments) => optimize::optimize(arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(arguments),
        Command::List(arguments) => list::list(arguments),
        Command::Config(arguments) => config::config(arguments),
        Command::Soak(arguments) => soak::soak(arguments, soaks),
        Command::Ptx(arguments) => ptx::ptx(arguments),
        Command::Trace(arguments) => trace::trace(arguments),
        Command::Dram(arguments) => dram::dram(arguments),
        Command::Area(arguments) => area::area(arguments),
        Command::Hdl(arguments) => hdl::hdl(arguments),
        Command::Waves(arguments) => waves::waves(arguments),
        Command::New(arguments) => new::new(arguments),
        Command::Counters(arguments) => counters::counters(arguments),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { folder } => manual::pages(folder),
    }
}
