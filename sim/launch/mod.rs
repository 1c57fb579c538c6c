//! # Launch files: what to run, on which data, and what should come out
//! A TOML file names buffers and how they begin, kernel launches in order, and expected results.
//! [`LaunchFile::read`] turns it into a typed model or refuses it with every rule it breaks, each
//! with line, column, value and what would be legal. `docs/launch-files.md` lists every key.
//!
//! What a run does with it, in order:
//! 1. [`LaunchFile::read`]; parse the PTX files it names; [`LaunchFile::resolve_kernels`];
//!    [`LaunchFile::check_kernels`].
//! 2. [`LaunchFile::initial`] gives each buffer's bytes; [`LaunchFile::expected`] each output's.
//! 3. Run the [`Step`]s. Before each iteration of a [`Repeat::UntilZero`] the host clears the
//!    flag buffer; after it, the step ends if every byte of the flag is zero.
//! 4. `golden::reference::compare` judges each [`Output`]; [`write_npy`] stores those that ask
//!    for it.

mod arguments;
mod buffers;
mod fill;
mod iteration;
mod kernel_names;
mod launches;
mod model;
mod node;
mod npy;
mod outputs;
mod problem;
mod read;
mod steps;
mod structs;
mod texture;
mod view;

pub use arguments::{KernelShape, ParameterShape};
pub use model::{
    Action, Argument, Buffer, BufferId, Comparison, Expect, Init, KernelLaunch, LaunchFile, Number, Output, Outside,
    Repeat, Sequence, Step, TextureShape,
};
pub use node::{Node, Place, Table};
pub use npy::{NpyError, read_npy, read_npy_bytes, write_npy};
pub use problem::{LaunchError, Problem, Problems};
pub use structs::Field;
pub use view::View;

#[cfg(test)]
mod tests;
