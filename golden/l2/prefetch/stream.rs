//! # Stream prefetching
//! Tracks streams as Srinath et al. describe them (HPCA 2007, section 2.1), and trains them with the misses
//! of the bank.

use super::{BankInfo, ByLines, Prefetcher, Scheme};
use crate::l1::prefetch::stream::Config;

#[typetag::deserialize(name = "stream")]
impl Scheme for Config {
    fn twin(&self, place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        ByLines::of(self, place)
    }
}
