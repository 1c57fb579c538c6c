//! # A scheme selected by a configuration
//! In `{ kind = "pdp", distance = 16 }`, the kind selects the scheme and all other keys are its parameters.
//! Any crate linked into the program can add schemes. The crate implements the trait that belongs to the
//! configuration key (such as `l1.bypass`), with the attribute `#[typetag::serde(name = KIND)]`.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kernel::name::Name;

/// Name and size of the cache for which a scheme is created.
#[derive(Clone, Copy, Debug)]
pub struct CacheGeometry<'a> {
    /// Name of the configuration group of the cache, such as `l1`.
    pub group: Name,
    /// Hierarchical path of the cache, such as `sm3.l1`.
    pub path: &'a str,
    /// Number of sets of the cache.
    pub sets: u32,
    /// Number of ways per set.
    pub ways: u32,
}

impl CacheGeometry<'static> {
    /// Returns an example of a cache in the configuration group `group`, with 64 sets of 4 ways. Used for
    /// schemes that are created only to list their counters.
    #[must_use]
    pub(crate) const fn example(group: Name) -> Self {
        Self { group, path: group, sets: 64, ways: 4 }
    }
}

/// Scheme that a configuration selects. `S` is the trait of all schemes that the same configuration key can
/// select.
pub struct Choice<S: ?Sized>(Arc<S>);

impl<S: ?Sized> Choice<S> {
    /// Creates a choice that selects `scheme`.
    #[must_use]
    pub fn new(scheme: Arc<S>) -> Self {
        Self(scheme)
    }
}

impl<S: ?Sized> Choice<S>
where
    Box<S>: for<'de> Deserialize<'de>,
{
    /// Returns every scheme linked into the program that this configuration key can select, with default
    /// parameters, in the order of the kinds. Schemes with a parameter that has no default value are omitted.
    #[must_use]
    pub fn linked() -> Vec<Self> {
        let of_kind = |kind: &'static str| Self::deserialize(MapDeserializer::new([("kind", kind)].into_iter()));
        // No scheme has an empty kind, so this call returns an error, which lists all kinds.
        let Err(Rejected(kinds)) = of_kind("") else { return Vec::new() };
        kinds.iter().filter_map(|kind| of_kind(kind).ok()).collect()
    }
}

/// Error of [`Choice::linked`]: the requested kind does not exist. Holds the kinds that exist.
#[derive(Debug)]
struct Rejected(&'static [&'static str]);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of {}", self.0.join(", "))
    }
}

impl std::error::Error for Rejected {}

impl serde::de::Error for Rejected {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, kinds: &'static [&'static str]) -> Self {
        Self(kinds)
    }
}

impl<S: ?Sized> Deref for Choice<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: ?Sized> Clone for Choice<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: ?Sized + fmt::Debug> fmt::Debug for Choice<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Two choices are equal if their `Debug` outputs are equal. The `Debug` output contains the kind and all
/// keys.
impl<S: ?Sized + fmt::Debug> PartialEq for Choice<S> {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl<S: ?Sized + fmt::Debug> Eq for Choice<S> {}

impl<S: ?Sized + Serialize> Serialize for Choice<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, S: ?Sized> Deserialize<'de> for Choice<S>
where
    Box<S>: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::deserialize(deserializer).map(|scheme| Self(Arc::from(scheme)))
    }
}
