//! Testbenches that compare the LSU and the L1 caches with their golden models.

pub(crate) mod coalescer;
pub(crate) mod rig;
pub(crate) mod schemes;
mod scoreboard;
pub(crate) mod statuses;
pub(crate) mod streams;

#[cfg(test)]
mod bypass;
#[cfg(test)]
mod cycles;
#[cfg(test)]
mod lookups;
#[cfg(test)]
mod lsu;
#[cfg(test)]
mod mrpb;
#[cfg(test)]
mod mshr;
#[cfg(test)]
mod mshr_policy;
#[cfg(test)]
mod prefetch;
#[cfg(test)]
mod sectors;
#[cfg(test)]
mod victim;
#[cfg(test)]
mod word_banks;
