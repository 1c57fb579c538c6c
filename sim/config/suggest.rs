//! What may have been meant by a name that does not exist.

/// `did you mean ..?` for a typing slip, else the whole list, introduced by `what`.
pub fn suggestion(name: &str, what: &str, candidates: &[&str]) -> String {
    let length = name.chars().count();
    // A slip leaves most of the word standing; a word of one letter has no near ones.
    let slips = (length / 3).max(1).min(length.saturating_sub(1));
    let distances = candidates.iter().map(|c| (strsim::damerau_levenshtein(name, c), c));
    match distances.min_by_key(|&(distance, _)| distance).filter(|&(distance, _)| distance <= slips) {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => format!("there are no {what}"),
        None => format!("{what}: {}", candidates.join(", ")),
    }
}
