//! # Configuration: from names and `--set` to one checked machine
//! A machine preset states every field; designs and `--set` change single fields; the result is
//! checked as a whole.
//!
//! ```text
//! machine file (built in or --machine FILE; may name another one it is based on)
//!   -> designs, in the order given          each changes what its file states
//!     -> --set KEY=VALUE, each key once
//!       -> what follows from them: keys that a kind has by default, polynomials that are left open
//!         -> typed `MachineConfig` -> its rules
//! ```
//!
//! The preset `fermi` is also the schema: it states every field there is, so its keys are the legal
//! keys and its values have the legal types. An inline table with a `kind` is one value, because its
//! other keys depend on the kind: stating it with another `kind` replaces it, with the same one or none changes
//! single keys of it.
//!
//! Everything that is wrong is reported at once, with the place where it was given: a line of a file, or the
//! text of `--set`. What cannot be understood is left out and the rest goes on: an unknown key changes nothing,
//! and a value of a wrong type leaves the one before it.

mod builtin;
mod clash;
mod fields;
mod follow;
mod load;
mod meta;
mod print;
mod problem;
mod rules;
mod source;
mod suggest;
mod typed;
mod units;

use std::path::{Path, PathBuf};

pub use builtin::{Builtin, add_designs, designs, machines};
pub use meta::{About, Slot};
pub use print::{Stated, fnv1a};
pub use problem::{ConfigError, Problem};
pub use suggest::{near, suggestion};

use rtl::machine::MachineConfig;

use fields::Fields;
use load::Loader;
use problem::Problems;
use source::{Asked, Sources};

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of a built-in machine, or path of a machine file.
    pub machine: String,
    /// Names of built-in designs, or paths of design files.
    pub designs: Vec<String>,
    /// Single fields: `l1.sets=64`.
    pub sets: Vec<String>,
}

/// A machine with its designs and single fields applied, and where each value came from.
#[derive(Debug)]
pub struct Resolved {
    /// The machine, as its file describes it.
    pub machine: About,
    /// Names of the designs, in order.
    pub designs: Vec<String>,
    /// The typed configuration, which breaks no rule.
    pub config: MachineConfig,
    /// The machine and design files that were read; what is built in is none.
    pub files: Vec<PathBuf>,
    fields: Fields,
    sources: Sources,
}

impl Resolved {
    /// Resolves a request.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn new(request: &Request) -> Result<Self, ConfigError> {
        Self::of(request, Loader::new())
    }

    /// Resolves a request as if `text` stood in the file `path`, which it names.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn of_text(request: &Request, path: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::of(request, Loader { text: Some((path.to_owned(), text.to_owned())), ..Loader::new() })
    }

    fn of(request: &Request, loader: Loader) -> Result<Self, ConfigError> {
        let designs: Vec<_> = request.designs.iter().map(|name| Asked::alone("--design", name)).collect();
        Self::with(loader, &request.machine, &designs, &request.sets)
    }

    /// Resolves every request with one more design: that of `set`, which `--design-set` gave, at its number.
    ///
    /// # Errors
    /// Everything that is wrong with any of them, once.
    ///
    /// # Panics
    /// If there is no design of that number.
    pub fn compared(requests: &[(Request, usize)], set: &[String]) -> Result<Vec<Self>, ConfigError> {
        let set = Asked::list("--design-set", set);
        let mut problems = Problems::default();
        let mut all = Vec::new();
        for (Request { machine, designs, sets }, number) in requests {
            let under = designs.iter().map(|name| Asked::alone("--design", name));
            let designs: Vec<_> = under.chain([set[*number].clone()]).collect();
            match Self::with(Loader::new(), machine, &designs, sets) {
                Ok(resolved) => all.push(resolved),
                Err(error) => problems.merge(error),
            }
        }
        problems.or(all)
    }

    fn with(mut loader: Loader, machine: &str, designs: &[Asked], sets: &[String]) -> Result<Self, ConfigError> {
        let load::Machine { about, mut fields } = loader.machine(machine);
        let designs = loader.designs(designs, &mut fields);
        loader.sets(sets, &mut fields);
        fields.follow();
        let config = loader.checked(&fields);
        let Loader { sources, problems, files, .. } = loader;
        problems.or(Self { machine: about, designs, config, files, fields, sources })
    }
}

/// Where a machine or design file is: names have no folder and no ending.
fn as_file(name: &str) -> Option<PathBuf> {
    let is_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    is_file.then(|| PathBuf::from(name))
}

/// A machine as its file has it, for tests.
#[cfg(test)]
pub(crate) fn preset(machine: &str) -> MachineConfig {
    let request = Request { machine: machine.to_owned(), ..Request::default() };
    Resolved::new(&request).expect("a preset is valid").config
}

#[cfg(test)]
mod tests;
