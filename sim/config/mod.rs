//! # Configuration: from names and `--set` to one checked machine
//! A machine preset states every field. Designs and `--set` change single fields, and the result is checked
//! as a whole.
//!
//! ```text
//! machine file (built in or --machine FILE; may name another one it is based on)
//!   -> designs, in the order given          each applies the fields that its file states
//!     -> --set KEY=VALUE, each key once
//!       -> derived values: default keys of each kind, polynomials left open
//!         -> typed `MachineConfig` -> validation rules
//! ```
//!
//! The preset `fermi` is also the schema. It states every field, so its keys are the legal keys and its
//! values have the legal types. An inline table with a `kind` is one value, because its other keys depend on
//! the kind. A file or option that states another `kind` replaces the whole table. With the same kind or
//! without a kind, it changes only the keys that it states.
//!
//! All problems are reported at once, each with the origin of the value: a line of a file, or the text of
//! `--set`. An invalid value is skipped and the resolution continues: an unknown key changes nothing, and
//! after a value of the wrong type, the field keeps its previous value.

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
pub use print::{PrintedField, fnv1a};
pub use problem::{ConfigError, Problem};
pub use suggest::{near, suggestion};

use rtl::machine::MachineConfig;

use fields::Fields;
use load::Loader;
use problem::Problems;
use source::{RequestedName, Sources};

/// Machine, designs and settings requested on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of a built-in machine, or path of a machine file.
    pub machine: String,
    /// Names of built-in designs, or paths of design files, in the order in which they are applied.
    pub designs: Vec<String>,
    /// Texts of the `--set` options, such as `l1.sets=64`.
    pub sets: Vec<String>,
}

/// Configuration of a machine after its designs and `--set` options were applied, with the origin of each
/// value.
#[derive(Debug)]
pub struct ResolvedMachine {
    /// Metadata of the machine file, such as its name.
    pub machine: About,
    /// Names of the applied designs, in the order in which they were applied.
    pub designs: Vec<String>,
    /// Typed configuration, which satisfies all validation rules.
    pub config: MachineConfig,
    /// Paths of the machine and design files that were read, except built-in files.
    pub files: Vec<PathBuf>,
    fields: Fields,
    sources: Sources,
}

impl ResolvedMachine {
    /// Resolves a request into a checked configuration.
    ///
    /// # Errors
    /// Returns all problems found in the requested configuration.
    pub fn new(request: &Request) -> Result<Self, ConfigError> {
        Self::of(request, Loader::new())
    }

    /// Resolves a request that names the file `path`, and uses `text` instead of the contents of this file.
    ///
    /// # Errors
    /// Returns all problems found in the requested configuration.
    pub fn of_text(request: &Request, path: &Path, text: &str) -> Result<Self, ConfigError> {
        Self::of(request, Loader { text: Some((path.to_owned(), text.to_owned())), ..Loader::new() })
    }

    fn of(request: &Request, loader: Loader) -> Result<Self, ConfigError> {
        let designs: Vec<_> = request.designs.iter().map(|name| RequestedName::from_option("--design", name)).collect();
        Self::with(loader, &request.machine, &designs, &request.sets)
    }

    /// Resolves several requests that differ in one design. `set` is the list of these designs, as given by
    /// `--design-set`. Each request is paired with the index of its design in `set`.
    ///
    /// # Errors
    /// Returns the problems found in all requests. A problem that occurs in several requests is listed once.
    ///
    /// # Panics
    /// Panics if an index is beyond the end of `set`.
    pub fn resolve_set(requests: &[(Request, usize)], set: &[String]) -> Result<Vec<Self>, ConfigError> {
        let set = RequestedName::list("--design-set", set);
        let mut problems = Problems::default();
        let mut all = Vec::new();
        for (Request { machine, designs, sets }, number) in requests {
            let under = designs.iter().map(|name| RequestedName::from_option("--design", name));
            let designs: Vec<_> = under.chain([set[*number].clone()]).collect();
            match Self::with(Loader::new(), machine, &designs, sets) {
                Ok(resolved) => all.push(resolved),
                Err(error) => problems.merge(error),
            }
        }
        problems.or(all)
    }

    fn with(
        mut loader: Loader,
        machine: &str,
        designs: &[RequestedName],
        sets: &[String],
    ) -> Result<Self, ConfigError> {
        let load::Machine { about, mut fields } = loader.machine(machine);
        let designs = loader.designs(designs, &mut fields);
        loader.sets(sets, &mut fields);
        fields.follow();
        let config = loader.validate(&fields);
        let Loader { sources, problems, files, .. } = loader;
        problems.or(Self { machine: about, designs, config, files, fields, sources })
    }
}

/// Returns `name` as a path if it ends in `.toml` or contains a folder. Otherwise it is the name of a
/// built-in file, and the result is `None`.
fn as_file(name: &str) -> Option<PathBuf> {
    let is_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    is_file.then(|| PathBuf::from(name))
}

/// Resolves a machine without designs and options, for tests.
#[cfg(test)]
pub(crate) fn preset(machine: &str) -> MachineConfig {
    let request = Request { machine: machine.to_owned(), ..Request::default() };
    ResolvedMachine::new(&request).expect("a preset is valid").config
}

#[cfg(test)]
mod tests;
