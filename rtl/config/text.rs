//! A configuration in a saved state: as text, because which keys a scheme has shows only as they are read.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes it.
///
/// # Errors
/// Those of the writer.
pub fn serialize<T: Serialize, S: Serializer>(config: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(config).map_err(S::Error::custom)?)
}

/// Reads it.
///
/// # Errors
/// Those of the reader, or if this is no such configuration.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
