//! What may have been meant by a name that does not exist.

use input::{listed, nearest};

/// `did you mean ..?` for a typing slip, else the list of names, introduced by `what`.
pub fn suggestion(name: &str, what: &str, candidates: &[&str]) -> String {
    match near(name, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => format!("there are no {what}"),
        None => format!("{what}: {}", listed(candidates)),
    }
}

/// The candidate of which a name is a typing slip.
#[must_use]
pub fn near<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    nearest(name, candidates.iter().copied())
}
