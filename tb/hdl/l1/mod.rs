//! Lockstep benches of the components of the LSU and its caches.

automod::dir!("l1");

mod bypass;
