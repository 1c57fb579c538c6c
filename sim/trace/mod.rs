//! # Accel-Sim traces: their memory accesses, and their replay on a machine
//!
//! | module        | content                                                          |
//! |---------------|------------------------------------------------------------------|
//! | [`profile`]   | instruction mix, transactions and strides of a kernel            |
//! | [`footprint`] | lines that a kernel accesses, with access counts                 |
//! | [`sass`]      | SASS opcodes of PTX instructions, for exported traces            |
//! | `names`       | register numbers of PTX registers, for exported traces           |
//! | [`source`]    | CTAs of a kernel's trace, read during the replay                 |
//! | [`synthetic`] | synthetic kernels with known access patterns                     |

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub mod footprint;
pub(crate) mod names;
pub mod profile;
pub mod sass;
pub mod source;
pub mod synthetic;

/// File name of the list of kernels in the folder of a trace.
pub const LIST: &str = "kernelslist.g";

/// Returns the path of a trace's list of kernels. `path` may be the list itself or the folder that contains
/// the list. Returns `None` if `path` is neither.
#[must_use]
pub fn list_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(LIST));
    }
    (path.extension() == Some(OsStr::new("g"))).then(|| path.to_owned())
}

/// True if the name of a file is that of a single kernel's trace, which may be compressed.
#[must_use]
pub fn is_kernel(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".traceg"))
}
