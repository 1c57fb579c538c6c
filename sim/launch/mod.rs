//! # Launch files: kernels to run, their data, and their expected results
//! A launch file is a TOML file that describes buffers with their initial contents, kernel launches in order,
//! and expected results. [`LaunchFile::read`] converts it to a typed model. If it is invalid, the error lists
//! every broken rule with line, column, value and the legal values. `docs/launch-files.md` lists every key.
//!
//! A run uses a launch file in this order:
//! 1. [`LaunchFile::read`]; parse the PTX files that the file names; [`LaunchFile::resolve_kernels`];
//!    [`LaunchFile::check_kernels`].
//! 2. [`LaunchFile::initial`] returns the initial bytes of each buffer, and [`LaunchFile::compute_expected`]
//!    the expected values of each output.
//! 3. Run the [`Step`]s. Before each iteration of a [`Repeat::UntilZero`], the host clears the flag buffer.
//!    After the iteration, the step ends if every byte of the flag is zero.
//! 4. `golden::reference::compare` compares each [`Output`] with its expected values. [`write_npy`] writes
//!    the outputs that request a file.

mod arguments;
mod buffers;
mod expression;
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
mod sizes;
mod steps;
mod structs;
mod texture;
mod view;

pub use arguments::{KernelShape, ParameterShape};
pub use model::{
    Action, AddressMode, Argument, Buffer, BufferId, Comparison, Expect, Filter, Init, KernelLaunch, LaunchFile,
    Number, Output, Repeat, Sequence, Step, TextureShape,
};
pub use node::{Node, Place, Table};
pub use npy::{NpyError, read_npy, read_npy_bytes, write_npy};
pub use problem::{LaunchError, Problem, Problems};
pub use sizes::{MAIN, locate, split_values};
pub use structs::Field;
pub use view::View;

#[cfg(test)]
mod tests;
