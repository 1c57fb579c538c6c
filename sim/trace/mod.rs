//! # Accel-Sim traces: what they ask of the memory, and how they come to a machine
//!
//! | module        | holds                                                            |
//! |---------------|------------------------------------------------------------------|
//! | [`profile`]   | instruction mix, transactions, strides of a kernel               |
//! | [`footprint`] | the lines it touches, and how often each                         |
//! | [`sass`]      | PTX instructions in the words of a trace                         |
//! | `names`       | their registers in its numbers                                   |
//! | [`source`]    | a kernel's CTAs, read while it runs                              |
//! | [`synthetic`] | made-up kernels with access patterns that are known beforehand   |

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub mod footprint;
pub(crate) mod names;
pub mod profile;
pub mod sass;
pub mod source;
pub mod synthetic;

/// Name of the list of a trace in its folder.
pub const LIST: &str = "kernelslist.g";

/// The list that a path stands for, if it stands for one: its own, or that of a folder.
#[must_use]
pub fn list_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.join(LIST));
    }
    (path.extension() == Some(OsStr::new("g"))).then(|| path.to_owned())
}

/// Whether a path is named like one kernel's trace, plain or compressed.
#[must_use]
pub fn is_kernel(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".traceg"))
}
