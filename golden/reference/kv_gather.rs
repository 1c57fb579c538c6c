//! CPU reference: tokens of sequences, gathered from the pages of a KV cache.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Tokens of each sequence in order. Token t of a sequence lies in page `blocks[t / page]` of the cache. What
/// follows the last token of a sequence stays zero.
pub(super) static KV_GATHER: Reference = Reference {
    name: "kv_gather",
    summary: "tokens of sequences in order, from the pages that the block table names",
    inputs: &[input("cache", ElementType::U32), input("blocks", ElementType::I32), input("length", ElementType::I32)],
    parameters: &[count("sequences"), count("pages"), count("page"), count("words")],
    output: ElementType::U32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [sequences, pages, page, words] = ["sequences", "pages", "page", "words"].map(|name| arguments.count(name));
    let cache = arguments.input("cache", page * words, "a page")?;
    let mut out = vec![0; sequences * pages * page * words];
    for sequence in 0..sequences {
        let places = cached_tokens(arguments, sequence, cache.len() / (page * words))?;
        for (token, (block, offset)) in places.into_iter().enumerate() {
            for word in 0..words {
                out[(sequence * pages * page + token) * words + word] =
                    cache.integer((block * page + offset) * words + word);
            }
        }
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::U32, out)))
}

/// Returns the place of each token of a sequence in a KV cache of `cached` pages: the page that the block
/// table names, and the offset of the token in that page.
pub(super) fn cached_tokens(
    arguments: &Arguments<'_>,
    sequence: usize,
    cached: usize,
) -> Result<Vec<(usize, usize)>, ReferenceError> {
    let [sequences, pages, page] = ["sequences", "pages", "page"].map(|name| arguments.count(name));
    let blocks = arguments.input("blocks", sequences * pages, "sequences * pages")?;
    let length = arguments.input("length", sequences, "sequences")?;
    let what = format_args!("the length of sequence {sequence}");
    let tokens = arguments.check_index(what, length.integer(sequence), pages * page + 1)?;
    let place = |token: usize| {
        let entry = sequence * pages + token / page;
        let block = arguments.check_index(format_args!("block {entry}"), blocks.integer(entry), cached)?;
        Ok((block, token % page))
    };
    (0..tokens).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run};
    use super::super::{Array, ElementType};

    #[test]
    fn kv_gather_follows_the_block_table_up_to_the_length() {
        // The cache has three pages. Each page has two tokens, and each token one word.
        let cache = Array::from_integers(ElementType::U32, [10, 11, 20, 21, 30, 31]);
        let of = |blocks: &[i128], length: &[i128]| {
            let inputs = [("cache", &cache), ("blocks", &integers(blocks)), ("length", &integers(length))];
            let sizes = [("sequences", Count(2)), ("pages", Count(2)), ("page", Count(2)), ("words", Count(1))];
            run("kv_gather", &inputs, &sizes)
        };
        let expected = of(&[2, 0, 0, 9], &[3, 1]).unwrap();
        assert_eq!(expected.values, Array::from_integers(ElementType::U32, [30, 31, 10, 0, 10, 0, 0, 0]));
        let error = |blocks: &[i128], length: &[i128]| of(blocks, length).unwrap_err().to_string();
        assert!(error(&[2, 3, 0, 0], &[3, 1]).contains("block 1 is 3, expected 0 to 2"));
        assert!(error(&[0; 4], &[1, 5]).contains("the length of sequence 1 is 5, expected 0 to 4"));
    }
}
