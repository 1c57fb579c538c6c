//! The sharing tracker (anssari2012 chapter 3) records which L1s hold a line. When another L1 misses the
//! line, one of the recorded L1s supplies it instead of the L2.

mod bank;
pub mod config;
pub mod message;
mod stats;
mod table;
mod transfers;

pub use bank::{BankObservation, RequestDestination, Tracker, TrackerIo, TrackerPlace, TrackerPorts};
pub use config::{Probes, Protections, SharerList, TrackerConfig, TrackerScheme};
pub use message::{Answer, Forward, ForwardResult, SupplyIo, TrackShape};
pub use stats::TrackerStats;
pub use table::Table;
pub use transfers::{Transfer, Transfers};
