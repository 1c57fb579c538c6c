//! # A scheme as a configuration names it
//! `{ kind = "pdp", distance = 16 }`: the kind is the scheme's, the other keys are its own. Every crate that a program
//! is linked with may bring schemes, each by implementing the trait of its slot under `#[typetag::serde(name = KIND)]`.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The scheme in a slot; `S` is the trait of the slot.
pub struct Choice<S: ?Sized>(Arc<S>);

impl<S: ?Sized> Choice<S> {
    /// This scheme.
    #[must_use]
    pub fn new(scheme: Arc<S>) -> Self {
        Self(scheme)
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

/// Two are equal if they show the same kind and keys.
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
