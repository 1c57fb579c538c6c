//! Generates a random sample of mutants, which depends only on the seed and on the code. After a small change
//! of the code, most of the sample stays the same.

use crate::scan::Site;

/// Returns a hash of a text and a seed: FNV-1a, finished with the mixing steps of splitmix64.
fn number(text: &str, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Returns all mutants in a random order that the seed determines.
pub fn drawn(mut sites: Vec<Site>, seed: u64) -> Vec<Site> {
    sites.sort_by_cached_key(|site| {
        let key = site.key();
        (number(&key, seed), key)
    });
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::find;

    fn sites(text: &str) -> Vec<Site> {
        let mutants = find(text).unwrap().mutants.into_iter().enumerate();
        let site =
            |(order, mutant)| Site { file: "a.rs".into(), mutant, text: String::new(), occurrence: order, order };
        mutants.map(site).collect()
    }

    #[test]
    fn a_seed_draws_the_same_mutants_and_another_seed_others() {
        let text = "fn f() { a(); b(); c(); d(); e(); g(); h(); i(); }";
        let lines = |seed| drawn(sites(text), seed).iter().map(Site::line).collect::<Vec<_>>();
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
        let (mut one, mut two) = (lines(1), lines(2));
        one.sort();
        two.sort();
        assert_eq!(one, two);
    }
}
