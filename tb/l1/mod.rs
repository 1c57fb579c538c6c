//! The LSU and its caches against their golden twins.

pub mod lockstep;

#[cfg(test)]
mod coalescer;
#[cfg(test)]
mod cycles;
#[cfg(test)]
mod lsu;
#[cfg(test)]
mod mshr;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod scoreboard;
