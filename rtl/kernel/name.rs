//! # Names in a saved state
//! A name in the state of a block is text of the program. Read back it is a copy of that text, kept as long as the
//! program runs and once for all that are equal. For fields of type [`Name`] with `#[serde(with = "kernel::name")]`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serializer};

/// Text of the program. Where it is spelt out, `serde` takes it for text borrowed from what is read.
pub type Name = &'static str;

static KNOWN: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());

/// Writes the text.
///
/// # Errors
/// Those of the writer.
pub fn serialize<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

/// Reads a name.
///
/// # Errors
/// Those of the reader.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    let name = String::deserialize(deserializer)?;
    // A set of names is whole at any time.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(match known.get(&*name) {
        Some(name) => name,
        None => {
            let name: Name = name.leak();
            known.insert(name);
            name
        }
    })
}
