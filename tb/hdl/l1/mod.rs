//! Lockstep testbenches of the components of the load-store unit (LSU) and its caches.

automod::dir!(pub(crate) "l1");

mod bypass;
