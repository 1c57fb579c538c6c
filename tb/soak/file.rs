//! Cases as TOML files.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Found;
use super::shrink::Search;

/// The case of a file.
pub(super) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(text).map_err(|error| format!("is no text: {error}"))?;
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The file of a case, beginning with what it is about.
pub(super) fn found<T: Serialize>(search: &Search, case: &T, shrunk: String) -> Found {
    // What is written is made of texts, numbers and lists.
    let text = toml::to_string(case).unwrap_or_else(|error| format!("# cannot be written: {error}\n"));
    let comment: String = search.kind().lines().map(|line| format!("# {}\n", line.trim())).collect();
    Found { ending: "toml".to_owned(), bytes: (comment + &text).into_bytes(), shrunk }
}
