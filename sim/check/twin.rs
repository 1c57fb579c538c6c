//! # Lookup of a scheme's twin
//! A scheme and its golden twin have the same `kind` and read the same configuration keys.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Creates the twin of a scheme from the scheme's configuration keys.
///
/// # Errors
/// Fails if no twin has the scheme's kind or accepts its keys. The error is a message.
pub fn twin<T: DeserializeOwned>(scheme: &impl Serialize) -> Result<T, String> {
    let keys = toml::Value::try_from(scheme).map_err(|e| e.to_string())?;
    let kind = keys.get("kind").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
    keys.try_into().map_err(|error: toml::de::Error| format!("no twin of `{kind}` is known: {}", error.message()))
}
