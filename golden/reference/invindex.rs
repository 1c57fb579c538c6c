//! CPU reference: inverted index of the words in a text.

use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Reference, ReferenceError, count, input};

/// Number of different keys. Words are grouped by their key.
const KEYS: usize = 64;

const INPUTS: &[Input] = &[input("text", ElementType::U8)];

/// For each of 64 keys, the number of words that have a smaller key. A word is a run of letters a to z. Its
/// key is the hash `key = 31 * key + letter` over its letters, modulo 64.
pub(super) static INVINDEX_FIRST: Reference = Reference {
    name: "invindex_first",
    summary: "start of each of 64 keys in the list of all words",
    inputs: INPUTS,
    parameters: &[count("length")],
    output: ElementType::I32,
    compute: first,
};

/// Positions in the text at which words begin, sorted by key and then by position. Zeros follow, up to
/// `capacity` elements.
pub(super) static INVINDEX_POSTINGS: Reference = Reference {
    name: "invindex_postings",
    summary: "start of each word, sorted by key and position, then zeros up to a capacity",
    inputs: INPUTS,
    parameters: &[count("length"), count("capacity")],
    output: ElementType::I32,
    compute: postings,
};

/// Returns, for each key, the positions of the words that have this key.
fn index(arguments: &Arguments<'_>) -> Result<Vec<Vec<i128>>, ReferenceError> {
    let length = arguments.count("length");
    let text = &arguments.input("text", length, "length")?.bytes()[..length];
    let mut index = vec![Vec::new(); KEYS];
    let mut begin = 0;
    for word in text.split(|byte| !byte.is_ascii_lowercase()) {
        if !word.is_empty() {
            let hash = word.iter().fold(0_u32, |hash, &letter| hash.wrapping_mul(31).wrapping_add(letter.into()));
            index[hash as usize % KEYS].push(begin as i128);
        }
        begin += word.len() + 1;
    }
    Ok(index)
}

fn first(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let index = index(arguments)?;
    let before = index.iter().scan(0, |sum, words| {
        let before = *sum;
        *sum += words.len() as i128;
        Some(before)
    });
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, before)))
}

fn postings(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let capacity = arguments.count("capacity");
    let mut all = index(arguments)?.concat();
    if all.len() > capacity {
        let words = all.len();
        return Err(arguments
            .error(format!("parameter `capacity` is {capacity}, expected at least {words}, the number of words")));
    }
    all.resize(capacity, 0);
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, all)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{run, values};
    use super::super::{Array, ElementType};

    /// Returns the text for these tests. Word `a` has the code 97 and therefore key 33; `b` has key 34; `ab`
    /// has 97 x 31 + 98 = 3105 and therefore key 33.
    fn text() -> Array {
        Array::from_integers(ElementType::U8, b"b ab,  a.b aB".iter().map(|&byte| i128::from(byte)))
    }

    #[test]
    fn invindex_lists_words_by_key_in_the_order_of_the_text() {
        let text = text();
        let parameters = [("length", Count(13)), ("capacity", Count(7))];
        let postings = run("invindex_postings", &[("text", &text)], &parameters).unwrap();
        assert_eq!(values(&postings), [2.0, 7.0, 11.0, 0.0, 9.0, 0.0, 0.0]);
        let first = values(&run("invindex_first", &[("text", &text)], &parameters[..1]).unwrap());
        assert_eq!(first.len(), 64);
        assert_eq!((first[33], first[34], first[35], first[63]), (0.0, 3.0, 5.0, 5.0));
    }

    #[test]
    fn invindex_needs_room_for_every_word() {
        let parameters = [("length", Count(13)), ("capacity", Count(4))];
        let error = run("invindex_postings", &[("text", &text())], &parameters).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reference `invindex_postings`: parameter `capacity` is 4, expected at least 5, the number of words"
        );
    }
}
