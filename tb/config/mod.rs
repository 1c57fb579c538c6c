//! # Configuration: from names and `--set` to one checked machine
//! A machine preset states every field; designs and `--set` change single fields; the result is
//! checked as a whole.
//!
//! ```text
//! machine file (built in or --machine FILE; may name another one it is based on)
//!   -> designs, in the order given          each changes what its file states
//!     -> --set KEY=VALUE, in the order given
//!       -> typed `MachineConfig` -> its rules
//! ```
//!
//! The preset `fermi` is also the schema: it states every field there is, so its keys are the legal
//! keys and its values have the legal types. An inline table with a `kind` is one value, because its
//! other keys depend on the kind: stating it with a `kind` replaces it, without one changes single
//! keys of it.
//!
//! Each stage (reading, types, rules) reports everything that is wrong with it at once, with the
//! place where the value was given: a line of a file, or the text of `--set`.

mod builtin;
mod fields;
mod load;
mod print;
mod problem;
mod source;
mod suggest;
mod typed;

use std::path::PathBuf;

pub use builtin::{Builtin, designs, machines};
pub use load::{About, Slot};
pub(crate) use print::fnv1a;
pub use problem::{ConfigError, Problem};
pub use suggest::suggestion;

use rtl::machine::MachineConfig;

use fields::Fields;
use load::Loader;
use source::Sources;

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
    /// Everything that is wrong in the first stage that finds something wrong.
    pub fn new(request: &Request) -> Result<Self, ConfigError> {
        let mut loader = Loader::new()?;
        let load::Machine { about, mut fields } = loader.machine(&request.machine)?;
        let designs = loader.designs(&request.designs, &mut fields)?;
        loader.sets(&request.sets, &mut fields)?;
        let Loader { sources, schema, files } = loader;
        let config: MachineConfig = typed::read(&fields, &schema, &sources)?;
        problem::refuse_violations(config.validate(), &fields, &sources)?;
        Ok(Self { machine: about, designs, config, files, fields, sources })
    }
}

/// Where a machine or design file is: names have no folder and no ending.
fn as_file(name: &str) -> Option<PathBuf> {
    let is_file = name.ends_with(".toml") || name.contains(std::path::is_separator);
    is_file.then(|| PathBuf::from(name))
}

#[cfg(test)]
mod tests;
