//! Lockstep testbenches of the network between SMs and memory partitions.

automod::dir!(pub(crate) "noc");
