//! Suggestions for misspelled names.

/// Maximum length in bytes of a name that is compared with other names. The limit is needed because a
/// comparison takes time proportional to the product of the lengths of the two names.
pub const MAX_COMPARED_BYTES: usize = 64;
/// Maximum number of names that [`join_names`] shows.
const LISTED: usize = 60;

/// Returns the candidate with the smallest edit distance to `name`, or `None` if no candidate is close. At
/// most a third of the characters of `name` may differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let length = name.chars().count();
    // A misspelled name shares at least one letter with the correct one, so a one-letter name has no close
    // candidate.
    let slips = (length / 3).max(1).min(length.saturating_sub(1));
    let letters = letters(name);
    let may_be_near = |candidate: &&str| {
        candidate.len() <= MAX_COMPARED_BYTES
            && candidate.chars().count().abs_diff(length) <= slips
            && (letters & !self::letters(candidate)).count_ones() as usize <= slips
    };
    let candidates = candidates.into_iter().filter(may_be_near);
    let distances = candidates.map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate));
    let nearest = distances.min_by_key(|&(distance, _)| distance).filter(|&(distance, _)| distance <= slips);
    nearest.map(|(_, near)| near)
}

/// Returns the set of characters of a name as a bit mask, indexed by the code of the character modulo 64. The
/// masks of two names give a lower bound of their edit distance, since one edit changes at most one character
/// of a name.
fn letters(name: &str) -> u64 {
    name.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) % 64))
}

/// Joins names with commas, at most 60 of them, and adds the number of names left out.
#[must_use]
pub fn join_names(names: &[&str]) -> String {
    let shown = names.len().min(LISTED);
    let more = names.len() - shown;
    let names = names[..shown].join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_that_of_the_least_distance_of_all() {
        let names = ["sets", "ways", "mshr_entries", "mshr_merges", "line_bytes", "größe"];
        let near = |name: &str| nearest(name, names);
        assert_eq!(
            [near("setz"), near("wyas"), near("mshr_entires"), near("grösse")],
            [Some("sets"), Some("ways"), Some("mshr_entries"), Some("größe")]
        );
        assert_eq!([near("x"), near(""), near("something"), near(&"sets".repeat(100))], [None; 4]);
    }

    #[test]
    fn a_long_list_is_cut_and_counts_the_others() {
        assert_eq!(join_names(&["a", "b"]), "a, b");
        assert!(join_names(&["x"; 1000]).ends_with("x, x and 940 more"));
    }
}
