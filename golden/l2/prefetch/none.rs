//! # L2 bank without a prefetcher

use serde::Deserialize;

use super::{BankInfo, Prefetcher, Scheme};

/// Configuration of a bank without a prefetcher; it has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "none")]
impl Scheme for Config {
    fn twin(&self, _place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        None
    }
}
