//! # Next-line prefetching
//! Prefetches the lines that follow an accessed line in the numbering of the bank (Smith, ACM Computing
//! Surveys 14(3), 1982, section 2.1).

use super::{BankInfo, ByLines, Prefetcher, Scheme};
use crate::l1::prefetch::next_line::Config;

#[typetag::deserialize(name = "next-line")]
impl Scheme for Config {
    fn twin(&self, place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        ByLines::of(self, place)
    }
}
