//! # Lookup of a scheme's golden model
//! Finds the golden model of a scheme. Both have the same `kind` and read the same configuration keys.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Creates the golden model of `scheme`, with the same configuration keys.
///
/// # Errors
/// Fails with a message if no golden model has the scheme's `kind` or accepts its keys.
pub fn twin<T: DeserializeOwned>(scheme: &impl Serialize) -> Result<T, String> {
    let keys = toml::Value::try_from(scheme).map_err(|e| e.to_string())?;
    let kind = keys.get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    keys.try_into().map_err(|error: toml::de::Error| format!("no twin of `{kind}` is known: {}", error.message()))
}
