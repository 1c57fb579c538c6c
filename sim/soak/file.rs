//! Test cases of soak tests (long random tests) as TOML files.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ShrunkCase;
use super::shrink::Search;

/// Parses a test case from the text of a file.
///
/// # Errors
/// Returns an error if the text is not TOML, or not a test case of type `T`.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(text).map_err(|error| format!("is no text: {error}"))?;
    toml::from_str(text).map_err(|error| error.to_string())
}

/// Formats a failing test case as a TOML file that begins with a comment about the failure.
#[must_use]
pub fn found<T: Serialize>(search: &Search, case: &T, shrunk: String) -> ShrunkCase {
    // Serialization cannot fail, since test cases consist of strings, numbers and lists.
    let text = toml::to_string(case).unwrap_or_else(|error| format!("# cannot be written: {error}\n"));
    let comment: String = search.kind().lines().map(|line| format!("# {}\n", line.trim())).collect();
    ShrunkCase { ending: "toml".to_owned(), bytes: (comment + &text).into_bytes(), shrunk }
}
