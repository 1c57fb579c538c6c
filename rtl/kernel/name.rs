//! # Names in a saved state
//! Saves and restores static names (`&'static str`) that are part of a hardware block's state. A restored
//! name is copied to memory that is never freed. Equal names share one copy. Fields of type [`Name`] select
//! this module with `#[serde(with = "kernel::name")]`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serializer};

/// Name as static text. The alias is needed because `serde` treats a field declared as `&'static str` as
/// borrowed from the serialized input.
pub type Name = &'static str;

static KNOWN: Mutex<BTreeSet<Name>> = Mutex::new(BTreeSet::new());

/// Serializes the text of a name.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn serialize<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

/// Deserializes a name.
///
/// # Errors
/// Returns the errors of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
    Ok(intern(String::deserialize(deserializer)?))
}

/// Deserializes a name that may be absent.
///
/// # Errors
/// Returns the errors of the deserializer.
pub fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Name>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(intern))
}

/// Returns the shared static copy of a name that is composed at run time.
#[must_use]
pub fn intern(name: String) -> Name {
    // A panic while the lock is held cannot leave the set of names inconsistent, so a poisoned lock is
    // ignored.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match known.get(&*name) {
        Some(name) => name,
        None => {
            let name: Name = name.leak();
            known.insert(name);
            name
        }
    }
}
