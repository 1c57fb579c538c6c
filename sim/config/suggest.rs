//! Suggestions for a name that does not exist.

use input::{join_names, nearest};

/// Returns `did you mean ...?` if a candidate is similar to the misspelled `name`. Otherwise returns the
/// heading `what`, followed by the list of all candidates.
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
