//! # Stream prefetching
//! The streams of Srinath et al. (HPCA 2007, section 2.1), trained by the misses of the bank.

use super::{BankInfo, ByLines, Prefetcher, Scheme};
use crate::l1::prefetch::stream::Config;

#[typetag::deserialize(name = "stream")]
impl Scheme for Config {
    fn twin(&self, place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        ByLines::of(self, place)
    }
}
