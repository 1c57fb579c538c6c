//! Serializes a configuration as text inside a saved state. The keys of a scheme become known only during
//! parsing, which formats without field names do not support.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes the configuration as a JSON string.
///
/// # Errors
/// Errors of JSON serialization or of the serializer.
pub fn serialize<T: Serialize, S: Serializer>(config: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(config).map_err(S::Error::custom)?)
}

/// Deserializes a configuration from a JSON string.
///
/// # Errors
/// Errors of the deserializer, or a text that is not a configuration of this type.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
