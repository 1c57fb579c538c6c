//! # The twin of a scheme
//! A scheme's hardware and its twin are found by the same kind and read the same keys.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What the keys of a scheme make of its twin, `T`.
///
/// # Errors
/// If no twin is of the scheme's kind, or it does not know the keys: what is wrong, in words.
pub fn twin<T: DeserializeOwned>(scheme: &impl Serialize) -> Result<T, String> {
    let keys = toml::Value::try_from(scheme).map_err(|e| e.to_string())?;
    let kind = keys.get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    keys.try_into().map_err(|error: toml::de::Error| format!("no twin of `{kind}` is known: {}", error.message()))
}
