//! Serializes a configuration as JSON text inside the saved state of a simulation. The `kind` of a scheme
//! determines the names of its parameters, so a configuration can be parsed only from a format with field
//! names. The format of the saved state has no field names.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes the configuration as a JSON string.
///
/// # Errors
/// Returns an error if the conversion to JSON or the serializer fails.
pub fn serialize<T: Serialize, S: Serializer>(config: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&serde_json::to_string(config).map_err(S::Error::custom)?)
}

/// Deserializes a configuration from a JSON string.
///
/// # Errors
/// Returns an error if the deserializer fails, or if the string is not a configuration of this type.
pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}
