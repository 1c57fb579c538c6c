//! Suggestions for a name that does not exist.

use input::{join_names, nearest};

/// Formats `did you mean ..?` for a misspelled name, and otherwise the list of candidates, introduced by
/// `what`.
pub fn suggestion(name: &str, what: &str, candidates: &[&str]) -> String {
    match near(name, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => format!("there are no {what}"),
        None => format!("{what}: {}", join_names(candidates)),
    }
}

/// Returns the candidate closest to a misspelled name, or `None` if no candidate is close enough.
#[must_use]
pub fn near<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    nearest(name, candidates.iter().copied())
}
