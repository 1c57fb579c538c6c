//! What may have been meant by a name that does not exist.

/// `did you mean ..?` for a typing slip, else the whole list, introduced by `what`.
pub fn suggestion(name: &str, what: &str, candidates: &[&str]) -> String {
    match near(name, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => format!("there are no {what}"),
        None => format!("{what}: {}", candidates.join(", ")),
    }
}

/// The candidate of which a name is a typing slip.
#[must_use]
pub fn near<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let length = name.chars().count();
    // A slip leaves most of the word standing; a word of one letter has no near ones.
    let slips = (length / 3).max(1).min(length.saturating_sub(1));
    let distances = candidates.iter().map(|c| (strsim::damerau_levenshtein(name, c), c));
    let nearest = distances.min_by_key(|&(distance, _)| distance).filter(|&(distance, _)| distance <= slips);
    nearest.map(|(_, near)| *near)
}
