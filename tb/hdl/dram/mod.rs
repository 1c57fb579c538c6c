//! Lockstep testbenches of the components of a DRAM channel.

automod::dir!(pub(crate) "dram");
